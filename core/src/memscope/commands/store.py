"""Commands on a whole store: backup, restore, recover, copy, compact, sweep, status."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memscope.commands.formatting import budget_lines
from memscope.commands.options import PARTLY, Call, command, confirm_or_exit, file_of, pass_call, require_store
from memscope.commands.output import Display, count_nouns, print_error, visible
from memscope.errors import InputError

if TYPE_CHECKING:
    from memscope.commands.output import Progress
    from memscope.transfer.copy import Copied


@command("backup", short_help="Write a consistent copy of the store.")
@click.argument("file", type=click.Path(dir_okay=False))
@pass_call
def backup(call: Call, file: str) -> None:
    """Write a consistent copy of the store to the new file FILE, while others use the store."""
    with call.memory() as memory:
        memory.backup(file)
    size = Path(file).stat().st_size
    call.show.data({"backup": file, "bytes": size})
    call.show.line(f"{size:,} bytes written to {file}; 'memscope restore' puts them back")


@command("restore", short_help="Put a backup in the place of the store.")
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--yes", is_flag=True, help="Do not ask.")
@pass_call
def restore(call: Call, file: str, yes: bool) -> None:
    """Put the backup FILE in the place of the store. What was added or forgotten since is undone by that."""
    from memscope.transfer import sqlite_recovery

    target = sqlite_path(call.location)
    if target.exists() and not yes:
        confirm_or_exit(call, f"Replace {str(target)!r} by the backup?")
    report = asyncio.run(sqlite_recovery.restore(Path(file), target))
    call.show.data(report)
    call.show.line(f"{report['store']} is now the backup {file}")
    if report["kept"]:
        call.show.line(f"the damaged store was kept as {report['kept']}; see 'memscope recover --help'")


@command("recover", short_help="Save what is readable of a damaged store.")
@click.argument("damaged", type=click.Path(dir_okay=False))
@click.argument("new", type=click.Path(dir_okay=False))
@pass_call
def recover(call: Call, damaged: str, new: str) -> None:
    """Save what is readable of the DAMAGED store into the store NEW, and say what was lost.

    The damaged file is only read. 'memscope restore NEW' puts the new store in its place.
    """
    from memscope.transfer import sqlite_recovery

    with call.show.progress("recovering") as progress:
        report = asyncio.run(sqlite_recovery.recover(Path(damaged), Path(new), progress=progress))
    call.show.data(report)
    kinds = ("turns", "observations", "insights")
    saved = ", ".join(count_nouns(report[kind], kind[:-1]) for kind in kinds)
    call.show.line(f"{saved} saved in {report['store']}")
    if loss := _loss(report):
        print_error(f"memscope: lost: {loss}")
        click.get_current_context().exit(PARTLY)
    call.show.line("nothing was lost")


def _loss(report: Mapping[str, Any]) -> str:
    parts = [count_nouns(number, kind[:-1]) for kind, number in report["lost"].items() if number]
    if report["unsure"]:
        parts.append(f"what {count_nouns(report['unsure'], 'user')} had beyond that is unknown")
    if report["unreadable_rows"]:
        parts.append(count_nouns(report["unreadable_rows"], "unreadable row"))
    if not report["secret"]:
        parts.append("the secret of the turn keys (history shown again would be stored again)")
    return ", ".join(parts)


@command("copy", short_help="Copy a store into another.")
@click.option("--from", "source", metavar="PLACE", required=True, help="A path, or a store's URL.")
@click.option("--to", "target", metavar="PLACE", required=True, help="A path, or a store's URL.")
@pass_call
def copy(call: Call, source: str, target: str) -> None:
    """Copy everything (or one user's memory, with --user) from one store into another, and verify it.

    What is there already is left alone; what was forgotten here is forgotten there too. A copy that
    was broken off goes on where it was when it is started again.
    """
    from memscope.transfer import copy

    require_store(source)
    with call.show.progress("copying users") as progress:
        copied = asyncio.run(_copy_store(call, source, target, progress))
    call.show.data(asdict(copied))
    copy.check(copied)
    parts = ", ".join(f"{name.replace('_', ' ')} {number:,}" for name, number in sorted(copied.counts.items()))
    call.show.line(
        f"{count_nouns(copied.users, 'user')}, {copied.skipped:,} of them there already; {parts or 'nothing new'}"
    )
    if not copied.secret_adopted:
        call.show.line("the target keeps the keys of its own: a history shown again is stored again there")


async def _copy_store(call: Call, source: str, target: str, progress: Progress) -> Copied:
    from memscope.plugins.loader import Plugins
    from memscope.transfer import copy

    settings = call.settings()
    plugins = Plugins(settings.plugins)
    async with AsyncExitStack() as opened:
        stores = [plugins.make_store(place, settings) for place in (source, target)]
        for store in stores:
            opened.push_async_callback(store.close)
            await store.open()
        return await copy.copy(*stores, user=call.user, progress=progress)


@command("compact", short_help="Finish what a forget could not wipe.")
@pass_call
def compact(call: Call) -> None:
    """Finish what a 'forget' could not wipe from the file at once."""
    with call.memory() as memory:
        report = memory.compact()
    call.show.data(asdict(report))
    if report.physical == "pending":
        print_error(f"memscope: still pending: {report.reason}")
        click.get_current_context().exit(PARTLY)
    call.show.line("nothing forgotten is left in the file")


@command("sweep", short_help="Remove what has expired.")
@pass_call
def sweep(call: Call) -> None:
    """Remove what has expired of a user's memory, for good; it is out of sight already."""
    user = call.whose["user"]
    with call.memory() as memory:
        report = memory.sweep(user=user)
    call.show.data(asdict(report))
    call.show.line(f"{count_nouns(report.observations + report.insights, 'memory', 'memories')} removed")


@command("users", short_help="List the users.")
@pass_call
def users(call: Call) -> None:
    """List the users of the store, one per line."""
    with call.memory() as memory:
        found = memory.users()
    call.show.data({"users": found})
    for user in found:
        call.show.line(visible(user))
    if not found:
        print_error("memscope: nobody has a memory in this store yet")


@command("status", short_help="Show the store, the models, what is waiting.")
@pass_call
def status(call: Call) -> None:
    """Show the store, the models, and what is pending, failed or parked; of one user with --user."""
    with call.memory() as memory:
        found = memory.status(user=call.user)
    call.show.data(found)
    show_status(call.show, found)


def show_status(show: Display, status: Mapping[str, Any]) -> None:
    models = ", ".join(f"{kind} {name}" for kind, name in status["models"].items())
    space = status.get("space")
    lines = {
        "memscope": status["version"],
        "store": status["store"],
        "holds": f"{count_nouns(status['users'], 'user')}, {count_nouns(status['turns'], 'turn')}, "
        f"{count_nouns(status['observations'], 'observation')}, {count_nouns(status['insights'], 'insight')}",
        "searchable": f"{count_nouns(status['units'], 'unit')}, {count_nouns(status['vectors'], 'vector')}"
        + (f" of {space['model']}" if space else ""),
        "models": models,
        "plugins": ", ".join(status["plugins"]),
        "pending": _work(status["pending"]),
        "failed": _work(status["failed"]),
        "parked": _work(status["parked"]),
        "errors": ", ".join(f"{code} {number}" for code, number in status["errors"].items()) or "none",
    }
    if (spent := status["usage"])["calls"]:
        lines["usage"] = f"{count_nouns(spent['calls'], 'model call')}, {spent['prompt_characters']:,} characters, "
        lines["usage"] += f"{spent['milliseconds'] / 1000:.1f} s"
    lines |= {"costs": list_costs(status), "budget": "; ".join(budget_lines(status)), "facts": status["refused"]}
    lines = {name: value for name, value in lines.items() if value}
    details = {name.replace("_", " "): value for name, value in status.get("details", {}).items() if name != "path"}
    for name, value in {**lines, **details}.items():
        show.line((f"{name:<13} ", "dim"), visible(f"{value:,}" if type(value) is int else str(value)), hang=14)


def list_costs(status: Mapping[str, Any]) -> str:
    """Returns what each operation of the back end has cost so far."""
    told = ((name, one) for name, one in status["costs"].items())
    return "; ".join(
        f"{name}: {count_nouns(one['calls'], 'call')}, {one['characters']:,} characters, {one['tokens']:,} tokens"
        for name, one in told
    )


def _work(items: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} to {stage}" for stage, number in items.items() if number) or "nothing"


def sqlite_path(location: str) -> Path:
    """The file of a SQLite store; other stores have their own ways to be restored."""
    if (path := file_of(location)) is None:
        raise InputError("only a SQLite store can be restored", hint="give its file as --store")
    return path
