"""Commands on a whole store: backup, restore, recover, copy, compact, receipts, users, status."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memscope.errors import InputError
from memscope.records import weaknesses
from memscope_cli.commands.formatting import budget_lines, list_counts, list_origins, list_written
from memscope_cli.commands.language import count_nouns, join, say, say_sentence
from memscope_cli.commands.options import Call, command, confirm_or_exit, exit_partly, file_of, require_store, resumable
from memscope_cli.commands.output import Display, pad, print_error, visible

if TYPE_CHECKING:
    from memscope.transfer import Progress
    from memscope.transfer.copy import Copied

file_argument = click.argument("file", type=click.Path(dir_okay=False))


@command("backup", short_help="Write a consistent copy of the store.")
@file_argument
def backup(call: Call, file: str) -> None:
    """Write a consistent copy of the store to the new file FILE, while others use the store."""
    with call.memory() as memory:
        memory.admin.backup(file)
    size = Path(file).stat().st_size
    words = say("{size} bytes written to {file}; 'memscope restore' puts them back", size=f"{size:,}", file=file)
    call.show.report({"backup": file, "bytes": size}, words)


@command("restore", short_help="Replace the store with a backup.")
@file_argument
@click.option("--yes", is_flag=True, help="Do not ask.")
def restore(call: Call, file: str, yes: bool) -> None:
    """Replace the store with the backup FILE. This undoes what was added or forgotten since."""
    from memscope_cli import sqlite_recovery

    if (target := file_of(call.location)) is None:
        raise InputError(say("only a SQLite store can be restored"), hint=say("give its file as --store"))
    if target.exists() and not yes:
        confirm_or_exit(call, say("Replace {path} by the backup?", path=repr(str(target))))
    report = asyncio.run(sqlite_recovery.restore(file, target))
    call.show.report(report, say("{store} is now the backup {file}", store=report["store"], file=file))
    if report["kept"]:
        words = say("the damaged store was kept as {path}; see 'memscope recover --help'", path=report["kept"])
        call.show.line(words)
    if returned := report["returned"]:  # the old store, which knew them, is gone now
        for user, ids in returned.items():
            call.show.line((visible(user), "bold"), "  ", visible(" ".join(ids)), indent=2, whole=True)
        records = count_nouns(sum(map(len, returned.values())), "record")
        exit_partly(say("forgotten since the backup, and back in the store: {records}; forget them again by these ids",
                        records=records))  # fmt: skip


@command("recover", short_help="Save what is readable of a damaged store.")
@click.argument("damaged", type=click.Path(dir_okay=False))
@click.argument("new", metavar="RECOVERED", type=click.Path(dir_okay=False))
def recover(call: Call, damaged: str, new: str) -> None:
    """Save what is readable of the DAMAGED store into the new store RECOVERED, and say what was lost.

    The damaged file is only read. 'memscope restore RECOVERED' puts the new store in its place.
    """
    from memscope_cli import sqlite_recovery

    with call.show.progress(say("recovering")) as progress:
        report = asyncio.run(sqlite_recovery.recover(damaged, new, progress=progress))
    saved = join(count_nouns(report[f"{kind}s"], kind) for kind in ("turn", "observation", "insight"))
    call.show.report(report, say("{records} saved in {store}", records=saved, store=report["store"]))
    if loss := _loss(report):
        exit_partly(say("lost: {loss}", loss=loss))
    call.show.line(say("nothing was lost"))


def _loss(report: Mapping[str, Any]) -> str:
    parts = [count_nouns(number, kind[:-1]) for kind, number in report["lost"].items() if number]
    if report["unsure"]:
        parts.append(say("what {users} had beyond that is unknown", users=count_nouns(report["unsure"], "user")))
    if report["unreadable_rows"]:
        parts.append(count_nouns(report["unreadable_rows"], "unreadable row"))
    if not report["secret"]:
        parts.append(say("the secret of the turn keys (a history that is replayed will be stored again)"))
    return join(parts)


@command("copy", short_help="Copy a store into another.")
@click.option("--from", "source", metavar="PLACE", required=True, help="A path, or a store's URL.")
@click.option("--to", "target", metavar="PLACE", required=True, help="A path, or a store's URL.")
def copy(call: Call, source: str, target: str) -> None:
    """Copy everything (or one user's memory, with --user) from one store into another, and verify it.

    What is there already is left alone; what was forgotten here is forgotten there too. Ctrl-C stops it; the same
    command resumes it.
    """
    from memscope.transfer import copy

    require_store(source, "--from")
    with resumable(call, "copying users") as progress:
        copied = asyncio.run(_copy_store(call, source, target, progress))
    call.show.data(asdict(copied))
    copy.check(copied)
    known = say("{users}, {number} of them there already", users=count_nouns(copied.users, "user"),
                number=f"{copied.skipped:,}")  # fmt: skip
    new = list_written(copied.counts) if copied.counts else say("nothing new")
    call.show.line(say("{known}; {new}", known=known, new=new))
    if not copied.secret_adopted:
        call.show.line(say("the target keeps its own turn keys: a history that is replayed there will be stored again"))


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


@command("compact", short_help="Wipe what a forget could not wipe at once.")
def compact(call: Call) -> None:
    """Wipe from the file what 'forget' could not wipe at once. Stopped by Ctrl-C, it changes nothing."""
    with call.memory() as memory, call.show.progress(say("compacting")):
        report = memory.admin.compact()
    call.show.data(asdict(report))
    if report.physical == "pending":
        exit_partly(say("still pending: {reason}", reason=report.reason))
    call.show.line(say("nothing forgotten is left in the file"))


@command("receipts", short_help="List what was forgotten.")
def receipts(call: Call) -> None:
    """List what was forgotten of a user's memory: when, how much, and the ids; the content is gone."""
    user = call.owner["user"]
    listed = call.open().admin.receipts(user=user)
    call.show.data({"receipts": [asdict(receipt) for receipt in listed]})
    for receipt in listed:
        kinds = ("turns", "observations", "insights", "blocks")
        words = join(count_nouns(number, kind[:-1]) for kind in kinds if (number := getattr(receipt, kind)))
        ids = f": {join(map(visible, receipt.ids))}" if receipt.ids else ""
        call.show.line((f"{call.show.minute(receipt.at)}  ", "cyan"), words + ids)
    if not listed:
        call.show.line(say("nothing was forgotten"))


@command("users", short_help="List the users.")
def users(call: Call) -> None:
    """List the users of the store, one per line."""
    names = call.open().admin.users()
    call.show.data({"users": names})
    for user in names:
        call.show.line(visible(user))
    if not names:
        print_error(say("memscope: nobody has a memory in this store yet"))


@command("status", short_help="Show the store, the models, what is waiting.")
def status(call: Call) -> None:
    """Show the store, the models, and what is pending, failed or parked; of one user with --user."""
    report = call.open().admin.status(user=call.user)
    show_status(call.show, report)


def show_status(show: Display, status: Mapping[str, Any]) -> None:
    show.data(status)
    holds = join(count_nouns(status[f"{kind}s"], kind) for kind in ("user", "turn", "observation", "insight"))
    searchable = join((count_nouns(status["units"], "unit"), count_nouns(status["vectors"], "vector")))
    if space := status.get("space"):
        searchable = say("{vectors} of {model}", vectors=searchable, model=space["model"])
    models = join(f"{say(kind)} {say(str(name))}" for kind, name in status["models"].items())
    lines = {"memscope": status["version"], "store": status["store"], "holds": holds, "searchable": searchable}
    lines |= {"models": models, "plugins": join(status["plugins"]), "settings": list_origins(status["settings"])}
    lines |= {name: list_work(status[name]) or say("nothing") for name in ("pending", "failed", "parked")}
    lines["errors"] = list_counts(status["errors"]) or say("none")
    if (spent := status["usage"])["calls"]:
        numbers = {"characters": f"{spent['prompt_characters']:,}", "seconds": f"{spent['milliseconds'] / 1000:.1f}"}
        calls = count_nouns(spent["calls"], "model call")
        lines["usage"] = say("{calls}, {characters} characters, {seconds} s", calls=calls, **numbers)
    lines |= {
        "costs": list_costs(status),
        "budget": "; ".join(budget_lines(status)),
        "facts": "; ".join(map(say_sentence, weaknesses(status["facts"]).values())),
    }
    lines = {name: value for name, value in lines.items() if value}
    lines |= {name: value for name, value in status.get("details", {}).items() if name != "path"}
    for name, value in lines.items():
        label = say(name.replace("_", " "))
        value = say("yes" if value else "no") if isinstance(value, bool) else value
        text = f"{value:,}" if isinstance(value, int) else say(str(value)) if value != "" else "-"
        show.line((pad(label, 13) + " ", "dim"), visible(text), hang=14)


def list_costs(status: Mapping[str, Any]) -> str:
    """Format the model costs so far per operation of the back end and per 1,000 turns."""
    costs = []
    for name, one in status["costs"].items():
        numbers = {kind: f"{one[kind]:,}" for kind in ("characters", "tokens")}
        words = say(
            "{calls}, {characters} characters, {tokens} tokens", calls=count_nouns(one["calls"], "call"), **numbers
        )
        costs.append(f"{say(name)}: {words}")
    if per := status["costs_per_1000_turns"]:
        calls, tokens = count_nouns(per["calls"], "call"), f"{per['tokens']:,}"
        costs.append(say("per 1,000 turns: {calls}, {tokens} tokens", calls=calls, tokens=tokens))
    return "; ".join(costs)


def list_work(items: Mapping[str, int]) -> str:
    """List work by stage, as "3 to consolidate, 1 to embed"."""
    counts = ((stage, f"{number:,}") for stage, number in items.items() if number)
    return join(say(f"{{number}} to {stage}", number=number) for stage, number in counts)
