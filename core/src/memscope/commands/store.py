"""The store as a whole: backup, restore, recover, compact, sweep, status."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from memscope.commands.options import PARTLY, Call, command, confirmed, pass_call
from memscope.commands.output import Display, complain, counted, visible
from memscope.errors import InputError


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
        confirmed(call, f"Replace {str(target)!r} by the backup?")
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
    saved = ", ".join(counted(report[kind], kind[:-1]) for kind in kinds)
    call.show.line(f"{saved} saved in {report['store']}")
    if loss := _loss(report):
        complain(f"memscope: lost: {loss}")
        click.get_current_context().exit(PARTLY)
    call.show.line("nothing was lost")


def _loss(report: Mapping[str, Any]) -> str:
    parts = [counted(number, kind[:-1]) for kind, number in report["lost"].items() if number]
    if report["unsure"]:
        parts.append(f"what {counted(report['unsure'], 'user')} had beyond that is unknown")
    if report["unreadable_rows"]:
        parts.append(counted(report["unreadable_rows"], "unreadable row"))
    if not report["secret"]:
        parts.append("the secret of the turn keys (history shown again would be stored again)")
    return ", ".join(parts)


@command("compact", short_help="Finish what a forget could not wipe.")
@pass_call
def compact(call: Call) -> None:
    """Finish what a 'forget' could not wipe from the file at once."""
    with call.memory() as memory:
        report = memory.compact()
    call.show.data(asdict(report))
    if report.physical == "pending":
        complain(f"memscope: still pending: {report.reason}")
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
    call.show.line(f"{counted(report.observations + report.insights, 'memory', 'memories')} removed")


@command("status", short_help="Show the store, the models, what is waiting.")
@pass_call
def status(call: Call) -> None:
    """Show the store, the models, and what is pending, failed or parked; of one user with --user."""
    with call.memory() as memory:
        found = memory.status(user=call.user)
    call.show.data(found)
    tell(call.show, found)


def tell(show: Display, status: Mapping[str, Any]) -> None:
    models = ", ".join(f"{kind} {name}" for kind, name in status["models"].items())
    space = status.get("space")
    lines = {
        "memscope": status["version"],
        "store": status["store"],
        "holds": f"{counted(status['users'], 'user')}, {counted(status['turns'], 'turn')}, "
        f"{counted(status['observations'], 'observation')}, {counted(status['insights'], 'insight')}",
        "searchable": f"{counted(status['units'], 'unit')}, {counted(status['vectors'], 'vector')}"
        + (f" of {space['model']}" if space else ""),
        "models": models,
        "plugins": ", ".join(status["plugins"]),
        "pending": _work(status["pending"]),
        "failed": _work(status["failed"]),
        "parked": _work(status["parked"]),
        "errors": ", ".join(f"{code} {number}" for code, number in status["errors"].items()) or "none",
    }
    if (spent := status["usage"])["calls"]:
        lines["usage"] = f"{counted(spent['calls'], 'model call')}, {spent['prompt_characters']:,} characters, "
        lines["usage"] += f"{spent['milliseconds'] / 1000:.1f} s"
    details = {name.replace("_", " "): value for name, value in status.get("details", {}).items() if name != "path"}
    for name, value in {**lines, **details}.items():
        show.line((f"{name:<13} ", "dim"), visible(f"{value:,}" if type(value) is int else str(value)), hang=14)


def _work(items: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} to {stage}" for stage, number in items.items() if number) or "nothing"


def sqlite_path(location: str) -> Path:
    """The file of a SQLite store; other stores have their own ways to be restored."""
    if location == ":memory:" or ("://" in location and not location.startswith("sqlite://")):
        raise InputError("only a SQLite store can be restored", hint="give its file as --store")
    return Path(location.removeprefix("sqlite:///")).expanduser()
