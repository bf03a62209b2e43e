"""What the back end did, as lines: MemoryScope's memory actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memscope.commands.output import Display, Part, counted, visible
from memscope.records import WorkReport

STYLES = {"new": "green", "merged": "cyan", "superseded": "yellow", "proposed": "magenta"}
STAGES = {"consolidate": "turn", "reflect": "observation"}


def action_line(show: Display, action: Mapping[str, Any]) -> None:
    show.line(*action_parts(action), indent=2, hang=12)


def action_parts(action: Mapping[str, Any]) -> list[Part]:
    """One action: what was done, to which kind of memory, its words, its id."""
    what = str(action["action"])
    return [
        (f"{what:<11} ", STYLES.get(what, "")),
        (f"{action['kind']}  ", "magenta"),
        visible(str(action["text"])),
        (f"  {action['id']}", "dim"),
    ]


def summary(report: WorkReport) -> str:
    """One sentence: what came of it, what is left and why, what it cost."""
    done = [f"{number:,} {name}" for name in ("new", "merged", "superseded") if (number := getattr(report, name))]
    read = STAGES.get(report.operation, "turn")
    parts = [f"{counted(report.done, read)} read" if not report.preview else "nothing was written", *done]
    if report.rejected:
        parts.append(f"{sum(report.rejected.values()):,} rejected ({', '.join(sorted(report.rejected))})")
    if report.pending:
        why = f" ({', '.join(f'{code} {number}' for code, number in report.errors.items())})" if report.errors else ""
        parts.append(f"{report.pending:,} pending{why}")
    if report.calls:
        parts.append(f"{counted(report.calls, 'call')} of {report.model} in {report.milliseconds / 1000:.1f} s")
    return ", ".join(parts)


def tell(show: Display, report: WorkReport) -> None:
    for action in report.actions:
        action_line(show, action)
    show.line(f"{report.operation}: {summary(report)}")
