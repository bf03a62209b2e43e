"""Command ``memscope doctor``: find problems of the installation, settings, store, models and work, with remedies.

Checks are async generators that take the ``Examination`` and yield findings. Those in ``MEMORY_CHECKS`` run only if the
memory could be opened. An exception in a check becomes a finding.
"""

from __future__ import annotations

import asyncio
import os
import platform
import shlex
import shutil
import sqlite3
import stat
import time
import unicodedata
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict
from typing import Any
from uuid import uuid4

import click

from memscope import AsyncMemoryScope, __version__
from memscope.errors import DISTRIBUTIONS, ConfigError, MemscopeError, PluginError, install_hint
from memscope.stores import part_files
from memscope_cli.commands.doctor.checks import (
    Check,
    Examination,
    Finding,
    FindingState,
    MemoryCheck,
    clock,
    memories,
    models,
    secrets,
    work,
)
from memscope_cli.commands.formatting import list_origins
from memscope_cli.commands.installation import installed_version
from memscope_cli.commands.language import count_nouns, join, say, say_sentence
from memscope_cli.commands.options import BUG, PARTLY, Call, command, exit_code, require_store
from memscope_cli.commands.output import Display, pad, visible

STATUS_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}
SHOWN_DEPENDENCIES = (
    "click",
    "numpy",
    "pluggy",
    "pydantic",
    "pyyaml",
    "rich",
    "httpx2",
    "elasticsearch",
    "psycopg",
    "mcp",
)
WAL_RESET_FIXED = (3, 51, 3)
LOW_DISK_BYTES, FULL_DISK_BYTES = 500_000_000, 50_000_000  # free bytes below which doctor warns or fails
DOCTOR_USER = "memscope-doctor"


@command("doctor", short_help="Find problems and how to fix them.")
def doctor(call: Call) -> None:
    """Check the installation, the settings, the store and pending work; show how to fix each problem.

    \b
    Exit code: 0 no problems, 6 only warnings,
    3 settings or plugins, 4 the store, 5 a model does not work.
    """
    findings = asyncio.run(examine(call))
    failed = [finding for finding in findings if finding.state == "fail"]
    worst = "fail" if failed else "warn" if any(finding.state == "warn" for finding in findings) else "ok"
    call.show.data({"state": worst, "findings": [asdict(finding) for finding in findings]})
    for finding in findings:
        show_finding(call.show, finding)
    click.get_current_context().exit(failed[0].code if failed else PARTLY if worst == "warn" else 0)


def show_finding(show: Display, finding: Finding) -> None:
    state, check = pad(say(finding.state), 4), pad(say(finding.check), 11)
    show.line((state, STATUS_STYLES[finding.state]), f"  {check} ", visible(finding.said), hang=18)
    if finding.mend:
        show.line(("→ " + finding.mend, "cyan"), indent=18, hang=2)


async def examine(call: Call) -> list[Finding]:
    findings: list[Finding] = []
    async with AsyncExitStack() as opened:
        exam = Examination(call, opened)
        for check in CHECKS:
            findings += await _findings(check, exam)
        for of_memory in MEMORY_CHECKS if exam.memory else ():
            findings += await _findings(of_memory, exam, exam.memory)
    return list({(finding.said, finding.mend): finding for finding in reversed(findings)}.values())[::-1]  # unique


async def _findings(check: Callable[..., AsyncIterator[Finding]], *arguments: object) -> list[Finding]:
    findings: list[Finding] = []
    try:
        async for finding in check(*arguments):
            findings.append(finding)
    except MemscopeError as error:
        text, mend = say_sentence(error.message), say_sentence(error.hint)
        findings.append(Finding(check.__name__, "fail", text, mend, exit_code(error)))
    except Exception as error:
        unexpected = say("the check itself failed: {error}", error=type(error).__name__)
        findings.append(Finding(check.__name__, "fail", unexpected, say("please report this"), BUG))
    return findings


# --------------------------------------------------------------------------------------------------------- installation


async def versions(exam: Examination) -> AsyncIterator[Finding]:
    parts = join(f"{name} {version}" for name in SHOWN_DEPENDENCIES if (version := installed_version(name)))
    system = f"{platform.system()} {platform.machine()}"
    python = f"memscope {__version__}, Python {platform.python_version()}, {system}; {parts}"
    yield Finding("versions", "ok", python)


async def sqlite(exam: Examination) -> AsyncIterator[Finding]:
    message = f"SQLite {sqlite3.sqlite_version}"
    if sqlite3.sqlite_version_info < WAL_RESET_FIXED:
        message += say(", older than 3.51.3, which mends a way to damage a WAL file; memscope's own lock prevents that,"
                    " so let no other program write the file")  # fmt: skip
    yield Finding("sqlite", "ok", message)


async def settings(exam: Examination) -> AsyncIterator[Finding]:
    from memscope.config import files, trust
    from memscope.config.settings import hide_credentials

    exam.settings = loaded = exam.call.settings()
    changed = loaded.model_dump(mode="json", exclude_defaults=True, exclude={"store"})
    values = join(f"{name}={value}" for name, value in _flat(changed)) or say("all defaults")
    yield Finding("settings", "ok", join([f"store={hide_credentials(exam.location or '')}", values]))
    for source in files.find(exam.call.config, os.environ):
        yield Finding("settings", "ok", say("read from {file}", file=say_sentence(trust.describe(source))))
    if places := list_origins(loaded.origins):
        yield Finding("settings", "ok", say("sources: {places}", places=places))


def _flat(values: Mapping[str, Any], before: str = "") -> list[tuple[str, Any]]:
    """Flatten nested settings to dotted names. Secrets are already masked in ``values``."""
    rows: list[tuple[str, Any]] = []
    for name, value in values.items():
        rows += _flat(value, f"{before}{name}.") if isinstance(value, dict) else [(before + name, value)]
    return [(name, value) for name, value in rows if value not in (None, [])]


async def plugins(exam: Examination) -> AsyncIterator[Finding]:
    from memscope.plugins.loader import Plugins

    if exam.settings is None:
        return
    listed = Plugins(exam.settings.plugins).listed()
    loaded = join(plugin.name for plugin in listed if plugin.state == "loaded")
    yield Finding("plugins", "ok", say("loaded: {names}", names=loaded))
    for name in exam.settings.unread:
        message = say("no plugin reads the section {name} of the settings", name=repr(name))
        mend = say_sentence(install_hint(name)) if name in DISTRIBUTIONS else say("install its plugin")
        yield Finding("plugins", "warn", message, mend)
    for plugin in (plugin for plugin in listed if plugin.state == "missing"):
        mend = say("correct the name, or take it out of the settings")
        yield Finding("plugins", "warn", f"{plugin.name!r}: {say_sentence(plugin.reason)}", mend)
    for plugin in (plugin for plugin in listed if plugin.state == "broken"):
        message = say("{name} cannot be loaded: {reason}", name=repr(plugin.name), reason=plugin.reason)
        blocked = ",".join([*exam.settings.plugins.block, plugin.name])  # the variable replaces a file's whole list
        mend = say("update it, or block it: {setting}", setting=f"MEMSCOPE_PLUGINS__BLOCK={shlex.quote(blocked)}")
        yield Finding("plugins", "warn", message, mend)


# ---------------------------------------------------------------------------------------------------------------- store


async def place(exam: Examination) -> AsyncIterator[Finding]:
    """Check permissions and disk space before the store is opened; the check ``store`` reports an invalid location."""
    file = exam.file
    if file is None or file.is_dir() or not file.parent.is_dir():
        return
    parts = [part for end in ("", "-wal", "-shm") if (part := file.with_name(file.name + end)).is_file()]
    if open_ := [part for part in parts if os.name == "posix" and stat.S_IMODE(part.stat().st_mode) & 0o077]:
        mend = f"chmod 600 {shlex.join(map(str, open_))}"
        yield Finding("permissions", "warn", say("others on this machine can read the store"), mend)
    elif parts:
        yield Finding("permissions", "ok", say("only you can read the store"))
    if left := part_files.abandoned(file.resolve().parent):
        names = join(ascii(part.name) for part in left)
        message = say("unfinished backups or exports, with what was said: {names}", names=names)
        yield Finding("permissions", "warn", message, exam.command("compact"))
    free = shutil.disk_usage(file.parent).free
    state: FindingState = "fail" if free < FULL_DISK_BYTES else "warn" if free < LOW_DISK_BYTES else "ok"
    mend = "" if state == "ok" else say("make room on this disk; compacting and forgetting need some as well")
    room = say("{gigabytes} GB free at {folder}", gigabytes=f"{free / 1e9:,.1f}", folder=file.parent)
    yield Finding("disk", state, room, mend)


async def store(exam: Examination) -> AsyncIterator[Finding]:
    if exam.settings is None:
        return
    if exam.call.store is not None:
        require_store(exam.call.store)
    try:
        memory = AsyncMemoryScope(exam.call.store, settings=exam.settings)
    except (ConfigError, PluginError) as error:
        yield Finding("settings", "fail", say_sentence(error.message), say_sentence(error.hint), exit_code(error))
        return
    exam.memory = await exam.opened.enter_async_context(memory)
    exam.status = status = await memory.admin.status()
    holds = join(count_nouns(status[f"{kind}s"], kind) for kind in ("user", "turn", "observation", "insight"))
    can = join(map(say, status["capabilities"])) or say("nothing special")
    sound = say("{store} opens and is sound; {holds}; can: {can}", store=status["store"], holds=holds, can=can)
    yield Finding("store", "ok", sound)
    if status["details"].get("read_only"):
        mend = say("give yourself write permission on the file and its folder")
        yield Finding("store", "warn", say("it can only be read"), mend)


async def store_findings(exam: Examination, memory: AsyncMemoryScope) -> AsyncIterator[Finding]:
    """Report the findings of the store's own ``examine``, if it has one, as (state, finding, remedy)."""
    examine = getattr(memory.admin.runtime.services.store, "examine", None)
    for state, words, mend in await examine() if examine else ():
        yield Finding("store", state, say(words), say(mend))


async def users(exam: Examination, memory: AsyncMemoryScope) -> AsyncIterator[Finding]:
    """Warn about user names that differ only in case or Unicode form: probably the same user, written differently."""
    alike: dict[str, list[str]] = defaultdict(list)
    for name in await memory.admin.runtime.services.store.users():
        alike[unicodedata.normalize("NFKC", name).casefold()].append(name)
    for names in (names for names in alike.values() if len(names) > 1):
        message = say("different users whose names look alike: {names}", names=join(map(ascii, sorted(names))))
        turns = {name: (await memory.admin.status(user=name))["turns"] for name in sorted(names)}
        command = exam.command(f"forget --everything --user {shlex.quote(min(turns, key=turns.__getitem__))}")
        mend = say("write a name always the same way, and forget the one that is wrong: {command}", command=command)
        yield Finding("users", "warn", message, mend)


async def round_trip(exam: Examination, memory: AsyncMemoryScope) -> AsyncIterator[Finding]:
    """Write a turn as a dedicated user, find it, and forget it."""
    if exam.status["details"].get("read_only"):
        return
    word, start = f"examination{uuid4().hex}", time.perf_counter()
    turns = [{"role": "user", "content": f"The word is {word}."}]
    report = await memory.add_turns(turns, user=DOCTOR_USER, wait="searchable")
    hits = await memory.retrieve(word, user=DOCTOR_USER)
    receipt = await memory.forget(user=DOCTOR_USER, ids=report.keys)
    again = await memory.retrieve(word, user=DOCTOR_USER)
    took = f"{1000 * (time.perf_counter() - start):.0f}"
    if [hit.id for hit in hits] != list(report.keys):
        mend = say("add a turn of your own; {command} then shows why it is not found",
                   command=exam.command("retrieve --explain"))  # fmt: skip
        yield Finding("round trip", "fail", say("a turn was written and not found"), mend)
    elif len(again):
        mend = say("please report this")
        yield Finding("round trip", "fail", say("a turn was forgotten and is still found"), mend)
    elif receipt.physical == "pending":
        message = say("forgotten in {took} ms, not wiped yet: {reason}", took=took, reason=receipt.reason)
        yield Finding("round trip", "warn", message, exam.command("compact"))
    else:
        message = say(
            "written, found, forgotten and {physical} in {took} ms", physical=say(receipt.physical), took=took
        )
        yield Finding("round trip", "ok", message)


CHECKS: tuple[Check, ...] = (versions, sqlite, settings, plugins, place, store)
MEMORY_CHECKS: tuple[MemoryCheck, ...] = (store_findings, users, models, clock, work, memories, secrets, round_trip)
