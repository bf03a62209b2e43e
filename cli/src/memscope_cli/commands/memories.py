"""Commands that read, change, forget and check a user's memories."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Literal

import click

from memscope.errors import NotFound
from memscope.reconciliation.approval import superseded_by
from memscope.reconciliation.audit import AuditReport
from memscope.records import ForgetReport
from memscope.sync import MemoryScope
from memscope_cli.commands.formatting import (
    explained,
    reason,
    record_card,
    record_json,
    record_line,
    retrieval_json,
    show_hits,
    show_proposal,
    show_receipt,
    show_record,
    show_work,
)
from memscope_cli.commands.language import count_nouns, say, say_sentence
from memscope_cli.commands.options import (
    Call,
    as_of_option,
    command,
    confirm_or_exit,
    exit_partly,
    filter_option,
    json_object,
    period,
    period_options,
    time_option,
)
from memscope_cli.commands.output import print_error, visible_columns

ALL_PROPOSALS = "all"
SELECTOR_OPTIONS = "--id, --session, --since, --until, --text, --name, --namespace, --filter, --everything"
kinds_option = click.option(
    *("--kind", "kinds"),
    type=click.Choice(["turn", "observation", "insight"]),
    multiple=True,
    callback=lambda _ctx, _param, kinds: kinds or None,
    help="Only these kinds; may be repeated.",
)


def asked_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options shared by ``retrieve`` and ``context``."""
    for option in (filter_option, kinds_option, as_of_option):
        function = option(function)
    return click.option("-k", type=int, default=10, show_default=True, help="How many hits at most.")(function)


@command("retrieve", short_help="Find the evidence for a question.")
@click.argument("query")
@asked_options
@click.option("--explain", is_flag=True, help="Show what found each hit and how it was ranked.")
def retrieve(call: Call, /, query: str, explain: bool, **asked: Any) -> None:
    """Find the evidence for QUERY: dated lines with their ids, best first."""
    hits = call.open().retrieve(query, **call.scope, **asked, explain=explain)
    answer = retrieval_json(query, hits)
    call.show.data({**answer, "explanation": hits.explanation} if explain else answer)
    show_hits(call.show, hits.hits or hits.profile, explain=explain)
    if hits.reason or not hits:
        print_error(f"memscope: {reason(hits, 'memscope add')}")
    if explain:
        call.show.line("")
        _show_lines(call, "\n".join(map(explained, hits.explanation.splitlines())))


@command("context", short_help="Print dated lines for a prompt.")
@click.argument("query")
@asked_options
@click.option("--tokens", type=int, default=1000, show_default=True, help="Token limit for the lines.")
@click.option("--lines", type=click.Choice(["memories", "turns"]), default="memories", show_default=True,
              help="Show memories, or the turns they come from.")  # fmt: skip
def context(call: Call, /, query: str, tokens: int, lines: Literal["memories", "turns"], **asked: Any) -> None:
    """Print dated lines for a prompt about QUERY, oldest first, within a budget of tokens."""
    memory = call.open()
    text = memory.context(query, **call.scope, **asked, tokens=tokens, lines=lines)
    call.show.data({"query": query, "context": text})
    _show_lines(call, text)
    if not text:
        print_error(f"memscope: {reason(memory.retrieve(query, **call.scope, **asked, speak=None), 'memscope add')}")


@command("profile", short_help="Show what is known about the user.")
@click.option("--tokens", type=int, default=200, show_default=True, help="Token limit for the lines.")
@as_of_option
def profile(call: Call, /, **asked: Any) -> None:
    """Print a summary of the user: insights, observations, or the user's own lasting statements."""
    lines = call.open().profile(**call.scope, **asked)
    call.show.data({"profile": lines})
    _show_lines(call, lines, "nothing lasting is known about this user yet")


def _show_lines(call: Call, lines: str, otherwise: str = "") -> None:
    for line in lines.splitlines():
        call.show.line(visible_columns(line))
    if otherwise and not lines:
        print_error(f"memscope: {say(otherwise)}")


@command("list", short_help="Show records with their ids.")
@kinds_option
@click.option("--text", help="Only records that contain this text.")
@period_options
@click.option("--name", help="Only the document of this name.")
@click.option("--namespace", help="Only documents of this namespace.")
@filter_option
@click.option("--superseded", is_flag=True, help="Superseded memories too.")
@click.option("--limit", type=int, default=50, show_default=True, help="How many of the newest; 0 for all.")
def list_(call: Call, /, since: str | None, until: str | None, limit: int, **asked: Any) -> None:
    """Show records in the order they were stored, with their ids."""
    when = period(since, until)
    records = call.open().list(**call.scope, **asked, period=when, limit=limit or None)
    for record in records:
        show_record(call.show, record)
    if not records:
        print_error(say("memscope: nothing there"))


@command("show", short_help="Show one record with all its fields.")
@click.argument("id")
def show(call: Call, id: str) -> None:
    """Show the turn or memory ID with all its fields."""
    record = call.open().get(id, **call.owner)
    call.show.data(record_json(record))
    if not call.json:
        record_card(call.show, record)


@command("history", short_help="Show all versions of a memory.")
@click.argument("id")
def history(call: Call, id: str) -> None:
    """Show all versions of memory ID, and what superseded what, oldest first."""
    versions = call.open().history(id, **call.owner)
    for version in versions:
        recorded = say("recorded {time}", time=call.show.minute(version.recorded))
        call.show.report(record_json(version), (f"v{version.version}  ", "dim"), (recorded, "cyan"))
        record_line(call.show, version)
    if not versions:
        print_error(say("memscope: a turn has no versions, it is never altered"))


# ------------------------------------------------------------------------------------------------------------- changing


@command("update", short_help="Correct a memory.")
@click.argument("id")
@click.option("--text", help="The new text.")
@click.option("--data", metavar="JSON", callback=json_object, help="The new data.")
@time_option("--expires", "When it expires.")
@click.option("--version", type=int, help="Only if this is the current version.")
def update(call: Call, /, id: str, **changes: Any) -> None:
    """Correct memory ID; its earlier version stays in 'memscope history'."""
    if all(changes[name] is None for name in ("text", "data", "expires")):
        raise click.UsageError(say("nothing to change: give --text, --data or --expires"))
    changed = call.open().update(id, **call.owner, **changes)
    show_record(call.show, changed)


@command("review", short_help="Accept or reject proposed memories.")
@click.option("--accept", metavar="ID", multiple=True, help="Make this proposal a memory; may be repeated; 'all'.")
@click.option("--reject", metavar="ID", multiple=True, help="Close this proposal; may be repeated; 'all'.")
def review(call: Call, accept: tuple[str, ...], reject: tuple[str, ...]) -> None:
    """Show the memories that wait for approval (the setting approve), and accept or reject them."""
    user = call.owner["user"]
    if ALL_PROPOSALS in accept and ALL_PROPOSALS in reject:
        raise click.UsageError(say("all can be accepted or rejected, not both"))
    memory = call.open()
    waiting = memory.admin.proposals(user=user)
    all_ids = tuple(one.id for one in waiting)
    accepted = memory.admin.accept(all_ids if ALL_PROPOSALS in accept else accept, user=user) if accept else 0
    rejected = memory.admin.reject(all_ids if ALL_PROPOSALS in reject else reject, user=user) if reject else 0
    replaced = {one.id: _texts(memory, superseded_by(one), user=user) for one in waiting}
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
    """Return the texts of memories, without deleted ones."""
    texts = []
    for id in ids:
        with suppress(NotFound):
            texts.append(memory.get(id, user=user).text)
    return texts


@command("forget", short_help="Remove what is selected, for good.")
@click.option("--id", "ids", metavar="ID", multiple=True, help="This turn or memory; may be repeated.")
@click.option("--text", help="Records that contain this text.")
@period_options
@click.option("--name", help="The document of this name.")
@click.option("--namespace", help="Documents of this namespace.")
@filter_option
@click.option("--everything", is_flag=True, help="All of the user's (or agent's) memory; asks first.")
@click.option("--dry-run", is_flag=True, help="Only show what would be removed.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def forget(call: Call, /, ids: tuple[str, ...], since: str | None, until: str | None, yes: bool, **chosen: Any) -> None:
    """Remove what is selected, and all that was derived from it, for good. A record must match all selectors."""
    when = period(since, until)
    if not any((ids, when, call.session, *(value for name, value in chosen.items() if name != "dry_run"))):
        raise click.UsageError(say("forget needs to know what: {selectors}", selectors=SELECTOR_OPTIONS))
    scope = call.scope
    if chosen["everything"] and not (yes or chosen["dry_run"]):
        confirm_or_exit(call, say("Forget everything of user {user}?", user=repr(call.user)))
    report = call.open().forget(**scope, **chosen, ids=ids or None, period=when)
    end_with_receipt(call, report)


def end_with_receipt(call: Call, report: ForgetReport) -> None:
    """Print the receipt. Exit with ``PARTLY`` if the bytes are still in the file."""
    show_receipt(call.show, report)
    if report.physical == "pending":
        command = call.command("memscope compact")
        exit_partly(say("out of sight, but still in the file: {reason}; run: {command}", reason=report.reason,
                        command=command))  # fmt: skip


@command("sweep", short_help="Remove expired records.")
def sweep(call: Call) -> None:
    """Remove a user's expired records for good; they are hidden already."""
    user = call.owner["user"]
    report = call.open().admin.sweep(user=user)
    number = report.observations + report.insights
    call.show.report(asdict(report), say("{records} removed", records=count_nouns(number, "memory", "memories")))


@command("audit", short_help="Find duplicate, contradicting and unsupported memories.")
@click.option("--ask", type=click.IntRange(1, 1_000),
              help="Have the chat model judge similar facts, in at most this many calls of 20 pairs.")  # fmt: skip
@click.option("--preview", is_flag=True, help="With --ask: show what it would change; write nothing.")
def audit(call: Call, ask: int | None, preview: bool) -> None:
    """Check a user's memories by rules; each finding names the command that fixes it.

    Near duplicates, contradictions, memories whose sources are gone, and loops: memories that were repeated in a
    conversation and learned again. Nothing is changed without --ask. Exit code 6 if anything was found.

    With --ask the chat model judges pairs of similar facts; verdicts that the rules allow are applied.
    """
    user = call.owner["user"]
    memory = call.open()
    report = memory.admin.audit(user=user, ask=ask, preview=preview)
    findings = report.findings if isinstance(report, AuditReport) else report
    if isinstance(report, AuditReport):
        show_work(call.show, report.work)
    for finding in findings:
        mend = call.command(f"{finding.mend} --user {shlex.quote(user)}")
        call.show.report({**asdict(finding), "mend": mend}, (f"{finding.kind}: ", "yellow"), say(finding.said))
        for id in finding.ids if not call.json else ():
            record_line(call.show, memory.get(id, user=user))
        call.show.line((f"→ {mend}", "cyan"), indent=2)
    if isinstance(report, AuditReport) and report.work.errors:
        exit_partly(say("not all was asked: {reason}", reason=say_sentence(report.work.reason)))
    if findings:
        exit_partly()
    call.show.line(say("0 findings: the memories of this user are sound"))
