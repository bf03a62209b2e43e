"""Commands that read memory: retrieve, context, profile, list, show, history."""

from __future__ import annotations

from typing import Any

import click

from memscope.commands.formatting import (
    hit_parts,
    record_card,
    record_json,
    record_line,
    retrieval_json,
    show_record,
    why,
)
from memscope.commands.options import Call, command, filter_option, pass_call, period, period_options
from memscope.commands.output import print_error, visible, visible_columns
from memscope.records import Kind

KINDS = click.Choice(["turn", "observation", "insight"])


@command("retrieve", short_help="Find the evidence for a question.")
@click.argument("query")
@click.option("-k", type=int, default=10, show_default=True, help="How many hits at most.")
@click.option("--as-of", metavar="TIME", help="What could be known then.")
@click.option("--kind", "kinds", type=KINDS, multiple=True, help="Only these kinds; may be repeated.")
@filter_option
@click.option("--explain", is_flag=True, help="How the ranking came about.")
@pass_call
def retrieve(call: Call, /, query: str, kinds: tuple[Kind, ...], explain: bool, **asked: Any) -> None:
    """Find the evidence for QUERY: dated lines, best first, each with what found it."""
    with call.memory() as memory:
        found = memory.retrieve(query, **call.scope, **call.local(asked), kinds=kinds or None, explain=explain)
    answer = retrieval_json(query, found)
    call.show.data({**answer, "explanation": found.explanation} if explain else answer)
    for rank, hit in enumerate(found, 1):
        call.show.line((f"{rank:>2}  ", "dim"), *hit_parts(hit), hang=4)
        call.show.line((f"{why(hit)}  {visible(hit.id)}", "dim"), indent=4, hang=2)
    if found.reason or not found:
        print_error(f"memscope: {found.reason or 'nothing found'}")
    if explain:
        call.show.line("")
        for line in found.explanation.splitlines():
            call.show.line(visible_columns(line))


@command("context", short_help="Print dated lines for a prompt.")
@click.argument("query")
@click.option("-k", type=int, default=10, show_default=True, help="How many hits at most.")
@click.option("--tokens", type=int, default=1000, show_default=True, help="The most that the lines may hold.")
@click.option("--lines", type=click.Choice(["memories", "turns"]), default="memories", show_default=True)
@click.option("--as-of", metavar="TIME", help="What could be known then.")
@click.option("--kind", "kinds", type=KINDS, multiple=True, help="Only these kinds; may be repeated.")
@filter_option
@pass_call
def context(call: Call, /, query: str, kinds: tuple[Kind, ...], **asked: Any) -> None:
    """Print dated lines for a prompt about QUERY, oldest first, within a budget of tokens."""
    with call.memory() as memory:
        lines = memory.context(query, **call.scope, **call.local(asked), kinds=kinds or None)
    call.show.data({"query": query, "context": lines})
    for line in lines.splitlines():
        call.show.line(visible_columns(line))
    if not lines:
        print_error("memscope: nothing found")


@command("profile", short_help="Show what is known about the user.")
@click.option("--tokens", type=int, default=200, show_default=True, help="The most that the lines may hold.")
@click.option("--as-of", metavar="TIME", help="What could be known then.")
@pass_call
def profile(call: Call, /, **asked: Any) -> None:
    """Print a summary of the user: insights, observations, or the user's own lasting statements."""
    with call.memory() as memory:
        lines = memory.profile(**call.scope, **call.local(asked))
    call.show.data({"profile": lines})
    for line in lines.splitlines():
        call.show.line(visible_columns(line))
    if not lines:
        print_error("memscope: nothing lasting is known about this user yet")


@command("list", short_help="Show records with their ids.")
@click.option("--kind", "kinds", type=KINDS, multiple=True, help="Only these kinds; may be repeated.")
@click.option("--text", help="Only what contains this.")
@period_options
@click.option("--name", help="Only the document of this name.")
@click.option("--namespace", help="Only documents of this namespace.")
@filter_option
@click.option("--superseded", is_flag=True, help="Memories that were superseded too.")
@click.option("--limit", type=int, default=50, show_default=True, help="The newest ones; 0: all.")
@pass_call
def list_(
    call: Call, /, kinds: tuple[Kind, ...], since: str | None, until: str | None, limit: int, **asked: Any
) -> None:
    """Show records in the order they were stored, with their ids."""
    with call.memory() as memory:
        found = memory.list(
            **call.scope, **asked, kinds=kinds or None, period=period(since, until), limit=limit or None
        )
    for record in found:
        show_record(call.show, record)
    if not found:
        print_error("memscope: nothing there")


@command("show", short_help="Show one record with all its fields.")
@click.argument("id")
@pass_call
def show(call: Call, id: str) -> None:
    """Show the turn or memory ID with all its fields."""
    with call.memory() as memory:
        record = memory.get(id, **call.whose)
    call.show.data(record_json(record))
    if not call.json:
        record_card(call.show, record)


@command("history", short_help="Show all versions of a memory.")
@click.argument("id")
@pass_call
def history(call: Call, id: str) -> None:
    """Show all versions of memory ID, and what superseded what, oldest first."""
    with call.memory() as memory:
        versions = memory.history(id, **call.whose)
    for version in versions:
        call.show.data(record_json(version))
        call.show.line((f"v{version.version}  ", "dim"), (f"recorded {version.recorded:%Y-%m-%d %H:%M}", "cyan"))
        record_line(call.show, version)
    if not versions:
        print_error("memscope: a turn has no versions, it is never altered")
