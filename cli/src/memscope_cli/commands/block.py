"""Commands about core memory: block list, show, set, append, replace, history, revert, erase."""

from __future__ import annotations

from typing import Any

import click

from memscope.errors import NotFound
from memscope.records import Block
from memscope.records.serialization import to_json
from memscope.sync.views import SyncBlocks
from memscope_cli.commands.language import say
from memscope_cli.commands.memories import end_with_receipt
from memscope_cli.commands.options import Call, Group, command, confirm_or_exit
from memscope_cli.commands.output import Display, print_error, visible, visible_text

label_argument = click.argument("label")
reason_option = click.option("--reason", default="", help="Why, for the history.")


@click.group("block", cls=Group, short_help="Show and edit core memory.")
def block() -> None:
    """Show and edit core memory: the texts in every context.

    Without --agent these are the blocks that all agents of the user share.
    """


def _blocks(call: Call, *, new: bool = False) -> SyncBlocks:
    owner = call.owner  # raises without --user before the store is opened
    return call.open(new=new).blocks(**owner)


@command("list", group=block, short_help="The blocks, in the order of the context.")
def list_(call: Call) -> None:
    """List the blocks in the order of the context, empty ones too."""
    show_blocks(call.show, _blocks(call).list())


@command("show", group=block, short_help="One block.")
@label_argument
@click.option("--version", type=int, help="An earlier version.")
def show(call: Call, /, label: str, version: int | None) -> None:
    """Show block LABEL with its value."""
    blocks = _blocks(call)
    versions = [one for one in blocks.history(label) if one.version == version] if version else [blocks.get(label)]
    if not versions:
        raise NotFound(f"block {label!r} has no version {version}", hint="memscope block history lists them")
    show_block(call.show, versions[0])


@command("set", group=block, short_help="Set a block's text or properties, or create it.")
@label_argument
@click.argument("text", required=False)
@click.option("--limit", type=int, help="Maximum number of characters.")
@click.option("--description", help="Its purpose, for the model.")
@click.option("--order", type=int, help="Its position in the context, smallest first.")
@click.option("--read-only/--editable", "read_only", default=None, help="Whether its text may be edited.")
@reason_option
def set_(call: Call, /, label: str, text: str | None, reason: str, **properties: Any) -> None:
    """Set the text of block LABEL, or its properties; create the block if there is none."""
    changes = {name: value for name, value in properties.items() if value is not None}
    if text is None and not changes:
        raise click.UsageError(say("nothing to set: give TEXT, --limit, --description, --order or --read-only"))
    blocks = _blocks(call, new=True)
    if label not in [one.label for one in blocks.list()]:
        block = blocks.create(label, text or "", reason=reason, **changes)
    else:
        if changes:
            block = blocks.configure(label, reason=reason, **changes)
        if text is not None:
            block = blocks.rethink(label, text, reason=reason)
    show_block(call.show, block)


@command("append", group=block, short_help="Add lines to a block.")
@label_argument
@click.argument("text")
@reason_option
def append(call: Call, /, label: str, text: str, reason: str) -> None:
    """Add TEXT as new lines at the end of block LABEL."""
    show_block(call.show, _blocks(call, new=True).append(label, text, reason=reason))


@command("replace", group=block, short_help="Replace text in a block.")
@label_argument
@click.argument("old")
@click.argument("new")
@reason_option
def replace(call: Call, /, label: str, old: str, new: str, reason: str) -> None:
    """Replace OLD, which must occur once in block LABEL, with NEW; an empty NEW removes it."""
    blocks = _blocks(call)
    block = blocks.replace(label, old, new, reason=reason) if new else blocks.remove(label, old, reason=reason)
    show_block(call.show, block)


@command("history", group=block, short_help="All versions of a block.")
@label_argument
def history(call: Call, /, label: str) -> None:
    """List the versions of block LABEL, oldest first, with author and reason."""
    versions = _blocks(call).history(label)
    for one in versions:
        call.show.data(to_json(one))
        reason = f": {visible(one.reason)}" if one.reason else ""
        call.show.line((f"{one.version:>3}  ", "dim"), f"{one.recorded:%Y-%m-%d %H:%M} {one.author}{reason}", hang=5)
        call.show.line((_first_line(one), "dim"), indent=5)
    if not versions:
        print_error(say("memscope: there is no block {label} yet", label=repr(label)))


@command("revert", group=block, short_help="Bring back an earlier version of a block.")
@label_argument
@click.argument("version", type=int)
@reason_option
def revert(call: Call, /, label: str, version: int, reason: str) -> None:
    """Bring back VERSION of block LABEL, as its newest."""
    show_block(call.show, _blocks(call).revert(label, version, reason=reason))


@command("erase", group=block, short_help="Remove a block with its history, for good.")
@label_argument
@click.option("--dry-run", is_flag=True, help="Only show what would be removed.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def erase(call: Call, /, label: str, dry_run: bool, yes: bool) -> None:
    """Remove block LABEL and every earlier version of it, for good."""
    blocks = _blocks(call)
    if not (yes or dry_run):
        blocks.erase(label, dry_run=True)  # raises if there is no such block
        confirm_or_exit(call, say("Erase block {label} and its history?", label=repr(label)))
    end_with_receipt(call, blocks.erase(label, dry_run=dry_run))


def _describe(one: Block) -> str:
    sizes = {"version": one.version, "size": f"{len(one.value):,}", "limit": f"{one.limit:,}"}
    suffix = say(", read-only") if one.read_only else ""
    return say("version {version}, {size} of {limit} characters", **sizes) + suffix


def show_blocks(show: Display, blocks: list[Block]) -> None:
    """Print blocks with the first line of each."""
    for one in blocks:
        show.report(to_json(one), (f"{one.label:<12}", "cyan"), _describe(one))
        if one.value:
            show.line((_first_line(one), "dim"), indent=12)


def show_block(show: Display, one: Block) -> None:
    suffix = say(", of agent {agent}", agent=visible(one.scope.agent)) if one.scope.agent else ""
    show.report(to_json(one), (one.label, "cyan"), (f"  {_describe(one)}{suffix}", "dim"))
    for line in visible_text(one.value).split("\n") if one.value else ():
        show.line(line, indent=2)


def _first_line(one: Block) -> str:
    first, _, more = visible_text(one.value).partition("\n")
    return f"{first} …" if more else first
