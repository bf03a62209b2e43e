"""Records, hits and reports of work as lines and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memscope.commands.output import Display, Part, count_nouns, visible
from memscope.reconciliation.approval import REFUSED, WORDS
from memscope.records import Hit, Insight, Interval, Observation, Record, Retrieval, Turn, WorkReport, refusals
from memscope.records.serialization import to_json
from memscope.stores.rules import record_id

STRONGEST = 3  # features named
ACTION_STYLES = {"new": "green", "merged": "cyan", "superseded": "yellow", "proposed": "magenta"}
STAGES = {"consolidate": "turn", "reflect": "observation"}


def hit_parts(hit: Hit) -> list[Part]:
    """The line that ``context`` prints: the date, the speaker, the words."""
    from memscope.retrieval.context import line

    when, mark, words = line(hit).partition("] ")
    return [(visible(when + mark), "cyan"), " ", visible(words)]


def why(hit: Hit) -> str:
    """Returns how the hit was found, and its strongest features."""
    features = sorted((one for one in hit.features if one.contribution > 0), key=lambda one: -one.contribution)
    told = ", ".join(f"{one.name} {one.contribution:+.1f}" for one in features[:STRONGEST])
    return f"found by {' + '.join(hit.found_by)}" + (f": {told}" if told else "")


def show_record(show: Display, record: Record) -> None:
    """Print a record: one line for people, all of it for programs."""
    show.data(record_json(record))
    record_line(show, record)


def record_line(show: Display, record: Record) -> None:
    """Print a record on one line."""
    if isinstance(record, Turn):
        kind, when, who = "turn", record.time, f"{visible(record.speaker)}: "
    else:
        kind, when, who = type(record).__name__.lower(), record.said, ""
    parts: list[Part] = [
        (f"{when:%Y-%m-%d %H:%M}", "cyan"),
        "  ",
        (f"{kind}  ", "magenta"),
        (who, "bold"),
        visible(record.text),
    ]
    show.line(*parts, (f"  {visible(record_id(record))}", "dim"), *_state(record), hang=2)


def show_proposal(show: Display, memory: Observation | Insight, replaced: Sequence[str]) -> None:
    """Print a proposal with its quotes, why the words were refused as a quote, and the texts that it would replace."""
    show_record(show, memory)
    for quote in memory.quotes if isinstance(memory, Observation) else ():
        show.line(("said      ", "dim"), f"“{visible(quote.text)}”", indent=2)
    if reason := memory.data.get(REFUSED):
        words = " ".join(f"“{visible(str(one))}”" for one in memory.data.get(WORDS, ()))
        show.line((f"refused   {reason}  ", "yellow"), words, indent=2)
    for text in replaced:
        show.line(("replaces  ", "yellow"), visible(text), indent=2)


def _state(record: Record) -> list[Part]:
    if isinstance(record, Turn):
        return []
    named: list[Part] = [(f"  name={visible(record.name)}", "dim")] if record.name else []
    closed: list[Part] = [(f"  (superseded {record.closed:%Y-%m-%d})", "yellow")] if record.closed else []
    return named + closed


def record_card(show: Display, record: Record) -> None:
    """A record with all its fields, the text last and wrapped."""
    fields = {name: value for name, value in to_json(record).items() if name not in ("text", "quotes")}
    width = max(map(len, fields))
    for name, value in fields.items():
        show.line((f"{name:<{width}}  ", "dim"), visible(_field(value)), hang=width + 2)
    show.line("")
    for line in record.text.splitlines() or [""]:
        show.line(visible(line))
    for quote in record.quotes if isinstance(record, Observation) else ():
        show.line(("“", "dim"), visible(quote.text), ("”  ", "dim"), (visible(quote.turn), "dim"), indent=2)


def _field(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join("-" if item is None else str(item) for item in value)
    return str(value)


# ---------------------------------------------------------------------------------------------------------------- work


def action_parts(action: Mapping[str, Any]) -> list[Part]:
    """One memory action: its name, the kind of memory, the text, and the id, or why it was rejected and its quotes."""
    what = str(action["action"])
    quotes = " ".join(f"“{visible(words)}”" for words in action.get("quotes", ()))
    return [
        (f"{what:<11} ", ACTION_STYLES.get(what, "")),
        (f"{action['kind']}  ", "magenta"),
        visible(str(action["text"])),
        (f"  {action['id']}" if "id" in action else f"  {action['why']}  {quotes}", "dim"),
    ]


def summarize(report: WorkReport) -> str:
    """One sentence: results, pending work with its errors, usage of models."""
    done = [f"{number:,} {name}" for name in ("new", "merged", "superseded") if (number := getattr(report, name))]
    read = STAGES.get(report.operation, "turn")
    parts = [f"{count_nouns(report.done, read)} read" if not report.preview else "nothing was written", *done]
    if report.rejected:
        parts.append(f"{sum(report.rejected.values()):,} rejected ({', '.join(sorted(report.rejected))})")
        if words := refusals(report.new + report.merged, report.rejected):
            parts.append(words)
    if report.pending:
        why = f" ({', '.join(f'{code} {number}' for code, number in report.errors.items())})" if report.errors else ""
        parts.append(f"{report.pending:,} pending{why}")
    if report.calls:
        parts.append(f"{count_nouns(report.calls, 'call')} of {report.model} in {report.milliseconds / 1000:.1f} s")
    return ", ".join(parts)


def show_work(show: Display, report: WorkReport) -> None:
    """Print the memory actions of a report and its summary."""
    for action in report.actions:
        show.line(*action_parts(action), indent=2, hang=12)
    show.line(f"{report.operation}: {summarize(report)}")


# ----------------------------------------------------------------------------------------------------------------- JSON


def record_json(record: Record) -> dict[str, Any]:
    return {"id": record_id(record), **to_json(record)}


def retrieval_json(query: str, found: Retrieval) -> dict[str, Any]:
    return {
        "query": query,
        "reason": found.reason,
        "periods": [interval_json(period) for period in found.periods],
        "considered": found.considered,
        "hits": [{"rank": rank, **hit_json(hit)} for rank, hit in enumerate(found, 1)],
    }


def interval_json(interval: Interval) -> list[str]:
    return [interval.start.isoformat(), interval.end.isoformat()]


def hit_json(hit: Hit) -> dict[str, Any]:
    return {
        "id": hit.id,
        "time": hit.time.isoformat(),
        "text": hit.text,
        "score": float(hit.score),
        "found_by": list(hit.found_by),
        "changed": hit.changed and hit.changed.isoformat(),
        "turn": hit.turn and to_json(hit.turn),
        "insight": hit.insight and to_json(hit.insight),
        "observations": [to_json(memory) for memory in hit.observations],
        "features": _features(hit),
    }


def _features(hit: Hit) -> list[Mapping[str, Any]]:
    return [
        {"name": one.name, "value": float(one.value), "weight": float(one.weight)}
        for one in hit.features
        if one.contribution
    ]


def budget_lines(status: Mapping[str, Any]) -> list[str]:
    """Returns a line per limit of ``chat.budget``."""
    return [
        f"{one['name']}: {one['spent']:,} of {one['most']:,}"
        + (f" used up, work waits until {one['until']}" if one["spent"] >= one["most"] else "")
        for one in status["budget"]
    ]
