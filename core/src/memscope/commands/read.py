"""Commands that read memory: retrieve, context, profile, list, show, history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from memscope.commands.formatting import (
    record_card,
    record_json,
    record_line,
    retrieval_json,
    show_hits,
    show_record,
)
from memscope.commands.language import say
from memscope.commands.options import Call, as_of_option, command, filter_option, period, period_options
from memscope.commands.output import print_error, visible_columns

KINDS = click.Choice(["turn", "observation", "insight"])
kinds_option = click.option(
    "--kind", "kinds", type=KINDS, multiple=True, help="Only these kinds; may be repeated.",
    callback=lambda _ctx, _param, kinds: kinds or None,
)  # fmt: skip


def asked_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options that ``retrieve`` and ``context`` share."""
    for option in (filter_option, kinds_option, as_of_option):
        function = option(function)
    return click.option("-k", type=int, default=10, show_default=True, help="How many hits at most.")(function)


def _tokens_option(default: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    about = "The most that the lines may hold."
    return click.option("--tokens", type=int, default=default, show_default=True, help=about)


@command("retrieve", short_help="Find the evidence for a question.")
@click.argument("query")
@asked_options
@click.option("--explain", is_flag=True, help="What found each hit, and how the ranking came about.")
def retrieve(call: Call, /, query: str, explain: bool, **asked: Any) -> None:
    """Find the evidence for QUERY: dated lines with their ids, best first."""
    with call.memory() as memory:
        found = memory.retrieve(query, **call.scope, **call.local(asked), explain=explain)
    answer = retrieval_json(query, found)
    call.show.data({**answer, "explanation": found.explanation} if explain else answer)
    show_hits(call.show, found.hits, explain=explain)
    if found.reason or not found:
        print_error(f"memscope: {say(found.reason or 'nothing found')}")
    if explain:
        call.show.line("")
        _show_lines(call, found.explanation)


@command("context", short_help="Print dated lines for a prompt.")
@click.argument("query")
@asked_options
@_tokens_option(1000)
@click.option("--lines", type=click.Choice(["memories", "turns"]), default="memories", show_default=True,
              help="What stands in a line: memories, or the turns they come from.")  # fmt: skip
def context(call: Call, /, query: str, **asked: Any) -> None:
    """Print dated lines for a prompt about QUERY, oldest first, within a budget of tokens."""
    with call.memory() as memory:
        lines = memory.context(query, **call.scope, **call.local(asked))
    call.show.data({"query": query, "context": lines})
    _show_lines(call, lines, "nothing found")


@command("profile", short_help="Show what is known about the user.")
@_tokens_option(200)
@as_of_option
def profile(call: Call, /, **asked: Any) -> None:
    """Print a summary of the user: insights, observations, or the user's own lasting statements."""
    with call.memory() as memory:
        lines = memory.profile(**call.scope, **call.local(asked))
    call.show.data({"profile": lines})
    _show_lines(call, lines, "nothing lasting is known about this user yet")


def _show_lines(call: Call, lines: str, otherwise: str = "") -> None:
    for line in lines.splitlines():
        call.show.line(visible_columns(line))
    if otherwise and not lines:
        print_error(f"memscope: {say(otherwise)}")


@command("list", short_help="Show records with their ids.")
@kinds_option
@click.option("--text", help="Only what contains this.")
@period_options
@click.option("--name", help="Only the document of this name.")
@click.option("--namespace", help="Only documents of this namespace.")
@filter_option
@click.option("--superseded", is_flag=True, help="Memories that were superseded too.")
@click.option("--limit", type=int, default=50, show_default=True, help="The newest ones; 0: all.")
def list_(call: Call, /, since: str | None, until: str | None, limit: int, **asked: Any) -> None:
    """Show records in the order they were stored, with their ids."""
    when = period(since, until)
    with call.memory() as memory:
        found = memory.list(**call.scope, **asked, period=when, limit=limit or None)
    for record in found:
        show_record(call.show, record)
    if not found:
        print_error(say("memscope: nothing there"))


@command("show", short_help="Show one record with all its fields.")
@click.argument("id")
def show(call: Call, id: str) -> None:
    """Show the turn or memory ID with all its fields."""
    with call.memory() as memory:
        record = memory.get(id, **call.whose)
    call.show.data(record_json(record))
    if not call.json:
        record_card(call.show, record)


@command("history", short_help="Show all versions of a memory.")
@click.argument("id")
def history(call: Call, id: str) -> None:
    """Show all versions of memory ID, and what superseded what, oldest first."""
    with call.memory() as memory:
        versions = memory.history(id, **call.whose)
    for version in versions:
        recorded = say("recorded {time}", time=f"{version.recorded:%Y-%m-%d %H:%M}")
        call.show.report(record_json(version), (f"v{version.version}  ", "dim"), (recorded, "cyan"))
        record_line(call.show, version)
    if not versions:
        print_error(say("memscope: a turn has no versions, it is never altered"))
