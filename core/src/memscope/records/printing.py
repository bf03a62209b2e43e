"""Print results: as text in a shell, as a table in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

MAX_SHORT_CHARS = 80
MAX_SHOWN_HITS = 5  # hits in the ``repr`` of a result
_STYLE = "text-align: left; vertical-align: top"


def as_text(retrieval: Any) -> str:
    """Print the hits as numbered, dated lines with their channels, the profile, and the reason, if any."""
    return "\n".join(_lines(retrieval)) or "nothing found"


def work_text(report: Any) -> str:
    """Describe the work of a consolidate or reflect in a sentence."""
    if report.model == "none" and not report.done:
        thing = "turn" if report.operation == "consolidate" else "record"
        return f"no chat model: {report.pending} {thing}{'s' * (report.pending != 1)} kept, searchable"
    counts = (f"{getattr(report, name)} {name}" for name in ("new", "merged", "superseded", "proposed"))
    changes = ", ".join(one for one in counts if not one.startswith("0 ")) or "nothing new"
    failed = "; ".join(f"{number} × {code}" for code, number in report.errors.items())
    left = f", {report.pending} pending" if report.pending else ""
    return f"{report.operation}: {changes}; {report.done} done{left}" + (f"; failed: {failed}" if failed else "")


def as_html(retrieval: Any) -> str:
    """Render the hits as an HTML table; every text is escaped."""
    from html import escape  # importing it takes a millisecond

    head = "".join(f'<th style="{_STYLE}">{name}</th>' for name in ("", "said", "what was found", "why"))
    rows = "".join(_row(number, hit) for number, hit in _numbered(retrieval))
    note = f"<p>{escape(retrieval.reason)}</p>" if retrieval.reason else ""
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f"{note}{table}" if rows else note or "nothing found"


# ---- in one line, for ``repr``


def turn(this: Any) -> str:
    return f"Turn({this.key!r}, {this.time.date()} {this.time:%H:%M}, {this.speaker!r}, {_beginning(this.text)})"


def memory(this: Any) -> str:
    mark = "" if this.current else ", proposed" if this.proposed else ", no longer current"
    return f"{type(this).__name__}({this.id!r}, {this.said.date()}, {_beginning(this.text)}{mark})"


def hit(this: Any) -> str:
    return f"Hit({this.id!r}, {this.score:.2f}, {_beginning(this.text)})"


def retrieval(this: Any) -> str:
    parts = [*map(repr, this.hits[:MAX_SHOWN_HITS]), *(["..."] if len(this.hits) > MAX_SHOWN_HITS else [])]
    profile = [f"profile of {len(this.profile)}"] if this.profile else []
    return f"Retrieval([{', '.join(parts)}]{''.join(f', {one}' for one in profile)}, reason={this.reason!r})"


def _beginning(text: str) -> str:
    line = " ".join(text.split())
    return repr(line[:MAX_SHORT_CHARS] + "…" if len(line) > MAX_SHORT_CHARS else line)


def _numbered(retrieval: Any) -> Iterator[tuple[str, Any]]:
    yield from ((str(number), hit) for number, hit in enumerate(retrieval.hits, 1))
    yield from (("profile", hit) for hit in retrieval.profile)


def _lines(retrieval: Any) -> Iterable[str]:
    for number, hit in _numbered(retrieval):
        changed = f" (changed later: {hit.changed.date()})" if hit.changed else ""
        text = " ".join(hit.text.split())
        yield f"{number}. [{hit.time.date()}] {text}{changed}  ({_why(hit)})"
    if retrieval.reason:
        yield retrieval.reason


def _row(number: str, hit: Any) -> str:
    from html import escape

    changed = f" <em>changed later: {hit.changed.date()}</em>" if hit.changed else ""
    cells = (number, f"{hit.time.date()} {hit.time:%H:%M}", escape(hit.text) + changed, escape(_why(hit)))
    return "<tr>" + "".join(f'<td style="{_STYLE}">{cell}</td>' for cell in cells) + "</tr>"


def _why(hit: Any) -> str:
    return f"{hit.score:.2f}, {', '.join(hit.found_by)}" if hit.found_by else "profile"
