"""Commands about core memory: block list, show, set, append, replace, history, revert."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from memscope.commands.options import Call, command, pass_call
from memscope.commands.output import Display, print_error, visible, visible_text
from memscope.errors import NotFound
from memscope.records import Block
from memscope.records.serialization import block_to_json

if TYPE_CHECKING:
    from memscope.sync import SyncBlocks


@click.group("block", short_help="Show and edit core memory.")
def block() -> None:
    """Show and edit core memory: the texts that stand in every context.

    Without --agent these are the blocks that all agents of the user share.
    """


def _reason(function: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--reason", default="", help="Why, for the history.")(function)


@contextmanager
def _blocks(call: Call, *, new: bool = False) -> Iterator[SyncBlocks]:
    whose = call.whose
    with call.memory(new=new) as memory:
        yield memory.blocks(whose["user"], agent=whose["agent"])


@command("list", short_help="The blocks, in the order of the context.")
@pass_call
def list_(call: Call) -> None:
    """List the blocks in the order of the context, empty ones too."""
    with _blocks(call) as blocks:
        found = blocks.list()
    for one in found:
        show_line(call.show, one)


@command("show", short_help="One block.")
@click.argument("label")
@click.option("--version", type=int, help="An earlier version.")
@pass_call
def show(call: Call, /, label: str, version: int | None) -> None:
    """Show block LABEL with its value."""
    with _blocks(call) as blocks:
        found = [one for one in blocks.history(label) if one.version == version] if version else [blocks.get(label)]
    if not found:
        raise NotFound(f"block {label!r} has no version {version}", hint="memscope block history lists them")
    show_block(call.show, found[0])


@command("set", short_help="Set a block's text or its properties, or make it.")
@click.argument("label")
@click.argument("text", required=False)
@click.option("--limit", type=int, help="Characters at most.")
@click.option("--description", help="Its purpose, for the model.")
@click.option("--order", type=int, help="Its place in the context; small ones come first.")
@click.option("--read-only/--editable", "read_only", default=None, help="Whether its text may be edited.")
@_reason
@pass_call
def set_(call: Call, /, label: str, text: str | None, reason: str, **properties: Any) -> None:
    """Set the text of block LABEL, or its properties; a block that is not there is made."""
    given = {name: value for name, value in properties.items() if value is not None}
    if text is None and not given:
        raise click.UsageError("nothing to set: give TEXT, --limit, --description, --order or --read-only")
    with _blocks(call, new=True) as blocks:
        if label not in [one.label for one in blocks.list()]:
            made = blocks.create(label, text or "", reason=reason, **given)
        else:
            if given:
                made = blocks.configure(label, reason=reason, **given)
            if text is not None:
                made = blocks.rethink(label, text, reason=reason)
    show_block(call.show, made)


@command("append", short_help="Add lines to a block.")
@click.argument("label")
@click.argument("text")
@_reason
@pass_call
def append(call: Call, /, label: str, text: str, reason: str) -> None:
    """Add TEXT as new lines at the end of block LABEL."""
    with _blocks(call, new=True) as blocks:
        made = blocks.append(label, text, reason=reason)
    show_block(call.show, made)


@command("replace", short_help="Replace text in a block.")
@click.argument("label")
@click.argument("old")
@click.argument("new")
@_reason
@pass_call
def replace(call: Call, /, label: str, old: str, new: str, reason: str) -> None:
    """Replace OLD, which must stand once in block LABEL, by NEW; an empty NEW removes it."""
    with _blocks(call) as blocks:
        made = blocks.replace(label, old, new, reason=reason) if new else blocks.remove(label, old, reason=reason)
    show_block(call.show, made)


@command("history", short_help="All versions of a block.")
@click.argument("label")
@pass_call
def history(call: Call, /, label: str) -> None:
    """List the versions of block LABEL, oldest first, with author and reason."""
    with _blocks(call) as blocks:
        found = blocks.history(label)
    for one in found:
        call.show.data(block_to_json(one))
        told = f": {visible(one.reason)}" if one.reason else ""
        call.show.line((f"{one.version:>3}  ", "dim"), f"{one.recorded:%Y-%m-%d %H:%M} {one.author}{told}", hang=5)
        call.show.line((_beginning(one), "dim"), indent=5)
    if not found:
        print_error(f"memscope: nobody wrote block {label!r} yet")


@command("revert", short_help="Bring back an earlier version of a block.")
@click.argument("label")
@click.argument("version", type=int)
@_reason
@pass_call
def revert(call: Call, /, label: str, version: int, reason: str) -> None:
    """Bring back VERSION of block LABEL, as its newest."""
    with _blocks(call) as blocks:
        made = blocks.revert(label, version, reason=reason)
    show_block(call.show, made)


for one in (list_, show, set_, append, replace, history, revert):
    block.add_command(one)


def show_line(show: Display, one: Block) -> None:
    show.data(block_to_json(one))
    kept = ", read-only" if one.read_only else ""
    about = f"version {one.version}, {len(one.value):,} of {one.limit:,} characters{kept}"
    show.line((f"{one.label:<12}", "cyan"), about)
    if one.value:
        show.line((_beginning(one), "dim"), indent=12)


def show_block(show: Display, one: Block) -> None:
    show.data(block_to_json(one))
    whose = f", of agent {visible(one.scope.agent)}" if one.scope.agent else ""
    kept = ", read-only" if one.read_only else ""
    about = f"  version {one.version}, {len(one.value):,} of {one.limit:,} characters{kept}{whose}"
    show.line((one.label, "cyan"), (about, "dim"))
    for line in visible_text(one.value).split("\n") if one.value else ():
        show.line(line, indent=2)


def _beginning(one: Block) -> str:
    first, _, more = visible_text(one.value).partition("\n")
    return f"{first} …" if more else first
