"""Commands that change a user's memories, or look for what is wrong in them: update, review, forget, sweep, audit."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from memscope.commands.formatting import record_line, show_proposal, show_record
from memscope.commands.language import count_nouns, join, say
from memscope.commands.options import (
    Call,
    command,
    confirm_or_exit,
    exit_partly,
    filter_option,
    json_object,
    period,
    period_options,
    time_option,
)
from memscope.commands.output import Display, print_error
from memscope.errors import NotFound
from memscope.reconciliation.approval import superseded_by
from memscope.records import ForgetReport

if TYPE_CHECKING:
    from memscope import MemoryScope

ALL = "all"
SELECTORS = "--id, --session, --since, --until, --text, --name, --namespace, --filter, --everything"


@command("update", short_help="Correct a memory.")
@click.argument("id")
@click.option("--text", help="What it says from now on.")
@click.option("--data", metavar="JSON", callback=json_object, help="Its data from now on.")
@time_option("--expires", "When it goes out of sight.")
@click.option("--version", type=int, help="Only if this is the current version.")
def update(call: Call, /, id: str, **changes: Any) -> None:
    """Correct memory ID; its earlier version stays in 'memscope history'."""
    if all(changes[name] is None for name in ("text", "data", "expires")):
        raise click.UsageError(say("nothing to change: give --text, --data or --expires"))
    with call.memory() as memory:
        changed = memory.update(id, **call.whose, **call.local(changes))
    show_record(call.show, changed)


@command("review", short_help="Accept or reject proposed memories.")
@click.option("--accept", metavar="ID", multiple=True, help="Make this proposal a memory; may be repeated; 'all'.")
@click.option("--reject", metavar="ID", multiple=True, help="Close this proposal; may be repeated; 'all'.")
def review(call: Call, accept: tuple[str, ...], reject: tuple[str, ...]) -> None:
    """Show the memories that wait for a person's word (the setting approve), and accept or reject them."""
    whose = {"user": call.whose["user"]}
    if ALL in accept and ALL in reject:
        raise click.UsageError(say("all can be accepted or rejected, not both"))
    with call.memory() as memory:
        waiting = memory.proposals(**whose)
        every = tuple(one.id for one in waiting)
        accepted = memory.accept(every if ALL in accept else accept, **whose) if accept else 0
        rejected = memory.reject(every if ALL in reject else reject, **whose) if reject else 0
        replaced = {one.id: _texts(memory, superseded_by(one), **whose) for one in waiting}
    if accept or reject:
        decided = say("{proposals} accepted, {rejected} rejected", proposals=count_nouns(accepted, "proposal"),
                      rejected=f"{rejected:,}")  # fmt: skip
        call.show.report({"accepted": accepted, "rejected": rejected}, decided)
        return
    for one in waiting:
        show_proposal(call.show, one, replaced[one.id])
    if not waiting:
        print_error(say("memscope: nothing waits for review"))


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
def forget(call: Call, /, ids: tuple[str, ...], since: str | None, until: str | None, yes: bool, **chosen: Any) -> None:
    """Remove what is selected, and all that was derived from it, for good. Several selectors narrow each other."""
    when = period(since, until)
    if not any((ids, when, call.session, *(value for name, value in chosen.items() if name != "dry_run"))):
        raise click.UsageError(say("forget needs to know what: {selectors}", selectors=SELECTORS))
    whose = call.scope
    if chosen["everything"] and not (yes or chosen["dry_run"]):
        confirm_or_exit(call, say("Forget everything of user {user}?", user=repr(call.user)))
    with call.memory() as memory:
        report = memory.forget(**whose, **chosen, ids=ids or None, period=when)
    end_with_receipt(call, report)


def end_with_receipt(call: Call, report: ForgetReport) -> None:
    """Print the receipt; the exit code says whether the bytes are gone too."""
    call.show.data(asdict(report))
    show_receipt(call.show, report)
    if report.physical == "pending":
        exit_partly(say("out of sight, but still in the file: {reason}; run: memscope compact", reason=report.reason))


def show_receipt(show: Display, report: ForgetReport) -> None:
    """Print the receipt of a ``forget``."""
    counts = {"turn": report.turns, "observation": report.observations, "insight": report.insights}
    counts["block"] = report.blocks
    gone = join(count_nouns(number, noun) for noun, number in counts.items() if number)
    if not gone:
        show.line(say("nothing matches") if report.dry_run else say("nothing matched, nothing was removed"))
    elif report.dry_run:
        show.line(say("{records} would be removed", records=gone))
        for id in report.ids:
            show.line((id, "dim"), indent=2)
    else:
        wiped = report.physical == "wiped"
        show.line(say("{records} removed and wiped from the file" if wiped else "{records} removed", records=gone))
        if report.may_hold:
            blocks = join(report.may_hold)
            show.line(say("these blocks may repeat it, look at them: {blocks}", blocks=blocks))


@command("sweep", short_help="Remove what has expired.")
def sweep(call: Call) -> None:
    """Remove what has expired of a user's memory, for good; it is out of sight already."""
    user = call.whose["user"]
    with call.memory() as memory:
        report = memory.sweep(user=user)
    number = report.observations + report.insights
    call.show.report(asdict(report), say("{records} removed", records=count_nouns(number, "memory", "memories")))


@command("audit", short_help="Find doubled, contradicting and groundless memories.")
def audit(call: Call) -> None:
    """Find what is wrong in a user's memories, without a model, and the command that mends it.

    Near doubles, contradictions, memories without a living source, and loops: memory that was said back and learned
    again. Nothing is changed. Exit code 6 if anything was found.
    """
    user = call.whose["user"]
    with call.memory() as memory:
        found = memory.audit(user=user)
        for finding in found:
            mend = f"{finding.mend} --user {shlex.quote(user)}"
            call.show.report({**asdict(finding), "mend": mend}, (f"{finding.kind}: ", "yellow"), say(finding.said))
            for id in finding.ids if not call.json else ():
                record_line(call.show, memory.get(id, user=user))
            call.show.line((f"→ {mend}", "cyan"), indent=2)
    if found:
        exit_partly()
    call.show.line(say("0 findings: the memories of this user are sound"))
