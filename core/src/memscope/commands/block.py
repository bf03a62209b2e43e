"""Commands about core memory: block list, show, set, append, replace, history, revert, erase."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from memscope.commands.language import say
from memscope.commands.memories import end_with_receipt
from memscope.commands.options import Call, Group, command, confirm_or_exit
from memscope.commands.output import Display, print_error, visible, visible_text
from memscope.errors import NotFound
from memscope.records import Block
from memscope.records.serialization import block_to_json

if TYPE_CHECKING:
    from memscope.sync import SyncBlocks

T = TypeVar("T")
label_argument = click.argument("label")
reason_option = click.option("--reason", default="", help="Why, for the history.")


@click.group("block", cls=Group, short_help="Show and edit core memory.")
def block() -> None:
    """Show and edit core memory: the texts that stand in every context.

    Without --agent these are the blocks that all agents of the user share.
    """


def _ask(call: Call, work: Callable[[SyncBlocks], T], *, new: bool = False) -> T:
    whose = call.whose
    with call.memory(new=new) as memory:
        return work(memory.blocks(whose["user"], agent=whose["agent"]))


def _edit(call: Call, work: Callable[[SyncBlocks], Block], *, new: bool = False) -> None:
    show_block(call.show, _ask(call, work, new=new))


@command("list", group=block, short_help="The blocks, in the order of the context.")
def list_(call: Call) -> None:
    """List the blocks in the order of the context, empty ones too."""
    show_blocks(call.show, _ask(call, lambda blocks: blocks.list()))


@command("show", group=block, short_help="One block.")
@label_argument
@click.option("--version", type=int, help="An earlier version.")
def show(call: Call, /, label: str, version: int | None) -> None:
    """Show block LABEL with its value."""

    def find(blocks: SyncBlocks) -> Block:
        if not version:
            return blocks.get(label)
        if found := [one for one in blocks.history(label) if one.version == version]:
            return found[0]
        raise NotFound(f"block {label!r} has no version {version}", hint="memscope block history lists them")

    _edit(call, find)


@command("set", group=block, short_help="Set a block's text or its properties, or make it.")
@label_argument
@click.argument("text", required=False)
@click.option("--limit", type=int, help="Characters at most.")
@click.option("--description", help="Its purpose, for the model.")
@click.option("--order", type=int, help="Its place in the context; small ones come first.")
@click.option("--read-only/--editable", "read_only", default=None, help="Whether its text may be edited.")
@reason_option
def set_(call: Call, /, label: str, text: str | None, reason: str, **properties: Any) -> None:
    """Set the text of block LABEL, or its properties; a block that is not there is made."""
    given = {name: value for name, value in properties.items() if value is not None}
    if text is None and not given:
        raise click.UsageError(say("nothing to set: give TEXT, --limit, --description, --order or --read-only"))

    def change(blocks: SyncBlocks) -> Block:
        if label not in [one.label for one in blocks.list()]:
            return blocks.create(label, text or "", reason=reason, **given)
        made = blocks.configure(label, reason=reason, **given) if given else None
        return made if text is None and made else blocks.rethink(label, text or "", reason=reason)

    _edit(call, change, new=True)


@command("append", group=block, short_help="Add lines to a block.")
@label_argument
@click.argument("text")
@reason_option
def append(call: Call, /, label: str, text: str, reason: str) -> None:
    """Add TEXT as new lines at the end of block LABEL."""
    _edit(call, lambda blocks: blocks.append(label, text, reason=reason), new=True)


@command("replace", group=block, short_help="Replace text in a block.")
@label_argument
@click.argument("old")
@click.argument("new")
@reason_option
def replace(call: Call, /, label: str, old: str, new: str, reason: str) -> None:
    """Replace OLD, which must stand once in block LABEL, by NEW; an empty NEW removes it."""
    if new:
        _edit(call, lambda blocks: blocks.replace(label, old, new, reason=reason))
    else:
        _edit(call, lambda blocks: blocks.remove(label, old, reason=reason))


@command("history", group=block, short_help="All versions of a block.")
@label_argument
def history(call: Call, /, label: str) -> None:
    """List the versions of block LABEL, oldest first, with author and reason."""
    found = _ask(call, lambda blocks: blocks.history(label))
    for one in found:
        call.show.data(block_to_json(one))
        reason = f": {visible(one.reason)}" if one.reason else ""
        call.show.line((f"{one.version:>3}  ", "dim"), f"{one.recorded:%Y-%m-%d %H:%M} {one.author}{reason}", hang=5)
        call.show.line((_first_line(one), "dim"), indent=5)
    if not found:
        print_error(say("memscope: nobody wrote block {label} yet", label=repr(label)))


@command("revert", group=block, short_help="Bring back an earlier version of a block.")
@label_argument
@click.argument("version", type=int)
@reason_option
def revert(call: Call, /, label: str, version: int, reason: str) -> None:
    """Bring back VERSION of block LABEL, as its newest."""
    _edit(call, lambda blocks: blocks.revert(label, version, reason=reason))


@command("erase", group=block, short_help="Remove a block with its history, for good.")
@label_argument
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def erase(call: Call, /, label: str, dry_run: bool, yes: bool) -> None:
    """Remove block LABEL and every earlier version of it, for good."""
    if not (yes or dry_run):
        confirm_or_exit(call, say("Erase block {label} and its history?", label=repr(label)))
    end_with_receipt(call, _ask(call, lambda blocks: blocks.erase(label, dry_run=dry_run)))


def _describe(one: Block) -> str:
    sizes = {"version": one.version, "size": f"{len(one.value):,}", "limit": f"{one.limit:,}"}
    kept = say(", read-only") if one.read_only else ""
    return say("version {version}, {size} of {limit} characters", **sizes) + kept


def show_blocks(show: Display, blocks: list[Block]) -> None:
    """Print blocks, of each the beginning of its text."""
    for one in blocks:
        show.report(block_to_json(one), (f"{one.label:<12}", "cyan"), _describe(one))
        if one.value:
            show.line((_first_line(one), "dim"), indent=12)


def show_block(show: Display, one: Block) -> None:
    whose = say(", of agent {agent}", agent=visible(one.scope.agent)) if one.scope.agent else ""
    show.report(block_to_json(one), (one.label, "cyan"), (f"  {_describe(one)}{whose}", "dim"))
    for line in visible_text(one.value).split("\n") if one.value else ():
        show.line(line, indent=2)


def _first_line(one: Block) -> str:
    first, _, more = visible_text(one.value).partition("\n")
    return f"{first} …" if more else first
