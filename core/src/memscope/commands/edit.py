"""Commands that change memories: update, review, forget."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from memscope.commands.formatting import show_proposal, show_record
from memscope.commands.options import (
    PARTLY,
    Call,
    command,
    confirm_or_exit,
    filter_option,
    json_object,
    pass_call,
    period,
    period_options,
)
from memscope.commands.output import Display, count_nouns, print_error
from memscope.errors import NotFound
from memscope.reconciliation.approval import superseded_by
from memscope.records import ForgetReport

if TYPE_CHECKING:
    from memscope import MemoryScope

ALL = "all"
SELECTORS = "--id, --session, --since, --until, --text, --name, --namespace, --filter, or --everything"


@command("update", short_help="Correct a memory.")
@click.argument("id")
@click.option("--text", help="What it says from now on.")
@click.option("--data", metavar="JSON", callback=json_object, help="Its data from now on.")
@click.option("--expires", metavar="TIME", help="When it goes out of sight.")
@click.option("--version", type=int, help="Only if this is the current version.")
@pass_call
def update(call: Call, /, id: str, **changes: Any) -> None:
    """Correct memory ID; its earlier version stays in 'memscope history'."""
    if all(changes[name] is None for name in ("text", "data", "expires")):
        raise click.UsageError("nothing to change: give --text, --data or --expires")
    with call.memory() as memory:
        changed = memory.update(id, **call.whose, **call.local(changes))
    show_record(call.show, changed)


@command("review", short_help="Accept or reject proposed memories.")
@click.option("--accept", metavar="ID", multiple=True, help="Make this proposal a memory; may be repeated; 'all'.")
@click.option("--reject", metavar="ID", multiple=True, help="Close this proposal; may be repeated; 'all'.")
@pass_call
def review(call: Call, accept: tuple[str, ...], reject: tuple[str, ...]) -> None:
    """Show the memories that wait for a person's word (the setting approve), and accept or reject them."""
    whose = {"user": call.whose["user"]}
    if ALL in accept and ALL in reject:
        raise click.UsageError("all can be accepted or rejected, not both")
    with call.memory() as memory:
        waiting = memory.proposals(**whose)
        every = tuple(one.id for one in waiting)
        accepted = memory.accept(every if ALL in accept else accept, **whose) if accept else 0
        rejected = memory.reject(every if ALL in reject else reject, **whose) if reject else 0
        replaced = {one.id: _texts(memory, superseded_by(one), **whose) for one in waiting}
    if accept or reject:
        call.show.data({"accepted": accepted, "rejected": rejected})
        call.show.line(f"{count_nouns(accepted, 'proposal')} accepted, {rejected:,} rejected")
        return
    for one in waiting:
        show_proposal(call.show, one, replaced[one.id])
    if not waiting:
        print_error("memscope: nothing waits for review")


def _texts(memory: MemoryScope, ids: Sequence[str], *, user: str) -> list[str]:
    """Returns the texts of the memories that are still there."""
    texts = []
    for id in ids:
        with suppress(NotFound):
            texts.append(memory.get(id, user=user).text)
    return texts


@command("forget", short_help="Remove what is selected, for good.")
@click.option("--id", "ids", metavar="ID", multiple=True, help="This turn or memory; may be repeated.")
@click.option("--text", help="What contains this.")
@period_options
@click.option("--name", help="The document of this name.")
@click.option("--namespace", help="Documents of this namespace.")
@filter_option
@click.option("--everything", is_flag=True, help="All of the user's (or agent's) memory; asks first.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@pass_call
def forget(
    call: Call,
    /,
    ids: tuple[str, ...],
    since: str | None,
    until: str | None,
    everything: bool,
    dry_run: bool,
    yes: bool,
    **chosen: Any,
) -> None:
    """Remove what is selected, and all that was derived from it, for good. Several selectors narrow each other."""
    when = period(since, until)
    if not everything and not any((ids, when, call.session, *chosen.values())):
        raise click.UsageError(f"forget needs to know what: {SELECTORS}")
    whose = call.scope
    if everything and not (yes or dry_run):
        confirm_or_exit(call, f"Forget everything of user {call.user!r}?")
    with call.memory() as memory:
        report = memory.forget(**whose, **chosen, ids=ids or None, period=when, everything=everything, dry_run=dry_run)
    call.show.data(asdict(report))
    show_receipt(call.show, report)
    if report.physical == "pending":
        print_error(f"memscope: out of sight, but still in the file: {report.reason}; run: memscope compact")
        click.get_current_context().exit(PARTLY)


def show_receipt(show: Display, report: ForgetReport) -> None:
    """Print the receipt of a ``forget``."""
    counts = {"turn": report.turns, "observation": report.observations, "insight": report.insights}
    counts["block"] = report.blocks
    gone = ", ".join(count_nouns(number, noun) for noun, number in counts.items() if number)
    if not gone:
        show.line("nothing matches" if report.dry_run else "nothing matched, nothing was removed")
        return
    wiped = " and wiped from the file" if report.physical == "wiped" else ""
    show.line(f"{gone} would be removed" if report.dry_run else f"{gone} removed{wiped}")
    for id in report.ids if report.dry_run else ():
        show.line((id, "dim"), indent=2)
    if report.may_hold and not report.dry_run:
        show.line(f"these blocks may repeat it, look at them: {', '.join(report.may_hold)}")
