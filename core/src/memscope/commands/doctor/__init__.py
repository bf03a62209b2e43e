"""doctor: findings about the installation, settings, store, models and pending work, each with its remedy.

``CHECKS`` lists the checks, async generators from the ``Examination`` to findings. An exception of a check is a
finding; a check whose input could not be opened yields none.
"""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sqlite3
import stat
import time
import unicodedata
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict
from typing import Any
from uuid import uuid4

import click

from memscope import AsyncMemoryScope, __version__
from memscope.commands.doctor.examination import Check, Examination, Finding, State
from memscope.commands.doctor.memory_checks import clock, memories, secrets, work
from memscope.commands.doctor.model_checks import models
from memscope.commands.options import BUG, PARTLY, Call, command, exit_code, pass_call, require_store
from memscope.commands.output import Display, count_nouns, visible
from memscope.commands.plugins import installed_version
from memscope.errors import MemscopeError
from memscope.stores import unfinished

STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}
PARTS = ("click", "numpy", "pluggy", "pydantic", "pyyaml", "rich", "httpx2", "elasticsearch", "mcp")
WAL_RESET_FIXED = (3, 51, 3)
LITTLE, TOO_LITTLE = 500_000_000, 50_000_000  # bytes free on the disk
USER = "memscope-doctor"


@command("doctor", short_help="Find what is wrong, and what mends it.")
@pass_call
def doctor(call: Call) -> None:
    """Examine the installation, the settings, the store and what is waiting; say what mends it.

    \b
    Exit code: 0 all is well, 6 something should be looked at,
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
    show.line((f"{finding.state:<4}", STYLES[finding.state]), f"  {finding.check:<11} ", visible(finding.said), hang=18)
    if finding.mend:
        show.line(("→ " + finding.mend, "cyan"), indent=18, hang=2)


async def examine(call: Call) -> list[Finding]:
    findings: list[Finding] = []
    async with AsyncExitStack() as opened:
        exam = Examination(call, opened)
        for check in CHECKS:
            findings += await _findings(check, exam)
    return findings


async def _findings(check: Check, exam: Examination) -> list[Finding]:
    found: list[Finding] = []
    try:
        async for finding in check(exam):
            found.append(finding)
    except MemscopeError as error:
        message = str(error).removesuffix(error.hint).rstrip("; ")
        found.append(Finding(check.__name__, "fail", message, error.hint, exit_code(error)))
    except Exception as error:
        said = f"the check itself failed: {type(error).__name__}"
        found.append(Finding(check.__name__, "fail", said, "please report this", BUG))
    return found


# --------------------------------------------------------------------------------------------------------- installation


async def versions(exam: Examination) -> AsyncIterator[Finding]:
    parts = ", ".join(f"{name} {found}" for name in PARTS if (found := installed_version(name)))
    system = f"{platform.system()} {platform.machine()}"
    yield Finding("versions", "ok", f"memscope {__version__}, Python {platform.python_version()}, {system}; {parts}")


async def sqlite(exam: Examination) -> AsyncIterator[Finding]:
    said = f"SQLite {sqlite3.sqlite_version}"
    if sqlite3.sqlite_version_info < WAL_RESET_FIXED:
        said += (
            ", older than 3.51.3, which mends a way to damage a WAL file; memscope's own lock prevents that,"
            " so let no other program write the file"
        )
    yield Finding("sqlite", "ok", said)


async def settings(exam: Examination) -> AsyncIterator[Finding]:
    from memscope.config import files, trust
    from memscope.config.settings import hide_credentials

    exam.settings = found = exam.call.settings()
    changed = found.model_dump(mode="json", exclude_defaults=True, exclude={"store"})
    told = ", ".join(f"{name}={value}" for name, value in _flat(changed)) or "all defaults"
    yield Finding("settings", "ok", f"store={hide_credentials(exam.location)}, {told}")
    if source := files.find(exam.call.config, os.environ):
        yield Finding("settings", "ok", f"read from {trust.describe(source)}")


def _flat(values: Mapping[str, Any], before: str = "") -> list[tuple[str, Any]]:
    """Names with dots; keys and the like are masked already."""
    found: list[tuple[str, Any]] = []
    for name, value in values.items():
        found += _flat(value, f"{before}{name}.") if isinstance(value, dict) else [(before + name, value)]
    return [(name, value) for name, value in found if value not in (None, [])]


async def plugins(exam: Examination) -> AsyncIterator[Finding]:
    from memscope.plugins.loader import Plugins

    if exam.settings is None:
        return
    listed = Plugins(exam.settings.plugins).listed()
    loaded = ", ".join(plugin.name for plugin in listed if plugin.state == "loaded")
    yield Finding("plugins", "ok", f"loaded: {loaded}")
    for name in exam.settings.unread:
        yield Finding("plugins", "warn", f"no plugin reads the section {name!r} of the settings", "install its plugin")
    for plugin in (plugin for plugin in listed if plugin.state == "broken"):
        yield Finding("plugins", "warn", f"{plugin.name!r} cannot be loaded: {plugin.reason}", _blocking(plugin.name))


def _blocking(name: str) -> str:
    return f"update it, or block it: MEMSCOPE_PLUGINS__BLOCK={name}"


# ---------------------------------------------------------------------------------------------------------------- store


async def place(exam: Examination) -> AsyncIterator[Finding]:
    """Permissions and room, before anything is opened."""
    file = exam.file
    if file is None or not file.parent.is_dir():
        return
    if file.exists() and os.name == "posix" and stat.S_IMODE(file.stat().st_mode) & 0o077:
        yield Finding("permissions", "warn", "others on this machine can read the store", f"chmod 600 {file}")
    else:
        yield Finding("permissions", "ok", "only you can read the store")
    if left := unfinished.abandoned(file.resolve().parent):
        said = f"unfinished backups or exports, with what was said: {', '.join(ascii(part.name) for part in left)}"
        yield Finding("permissions", "warn", said, "memscope compact")
    free = shutil.disk_usage(file.parent).free
    state: State = "fail" if free < TOO_LITTLE else "warn" if free < LITTLE else "ok"
    mend = "" if state == "ok" else "make room on this disk; compacting and forgetting need some as well"
    yield Finding("disk", state, f"{free / 1e9:,.1f} GB free at {file.parent}", mend)


async def store(exam: Examination) -> AsyncIterator[Finding]:
    if exam.settings is None:
        return
    if exam.call.store is not None:
        require_store(exam.call.store)
    memory = AsyncMemoryScope(exam.call.store, settings=exam.settings)
    exam.memory = await exam.opened.enter_async_context(memory)
    exam.status = status = await memory.status()
    holds = ", ".join(count_nouns(status[kind], kind[:-1]) for kind in ("users", "turns", "observations", "insights"))
    can = ", ".join(status["capabilities"]) or "nothing special"
    yield Finding("store", "ok", f"{status['store']} opens and is sound; {holds}; can: {can}")
    if status["details"].get("read_only"):
        yield Finding(
            "store", "warn", "it can be read only", "give yourself write permission on the file and its folder"
        )


async def store_findings(exam: Examination) -> AsyncIterator[Finding]:
    """Findings of the store's own ``examine``, if it has that: (state, what was found, what mends it)."""
    if exam.memory is None or (examine := getattr(exam.memory.runtime.store, "examine", None)) is None:
        return
    for state, said, mend in await examine():
        yield Finding("store", state, said, mend)


async def users(exam: Examination) -> AsyncIterator[Finding]:
    """Names that look alike are different users: often a mistake of the caller."""
    if exam.memory is None:
        return
    alike: dict[str, list[str]] = defaultdict(list)
    for name in await exam.memory.runtime.store.users():
        alike[unicodedata.normalize("NFKC", name).casefold()].append(name)
    for names in (names for names in alike.values() if len(names) > 1):
        told = ", ".join(ascii(name) for name in sorted(names))
        yield Finding(
            "users", "warn", f"different users whose names look alike: {told}", "write a name always the same way"
        )


async def round_trip(exam: Examination) -> AsyncIterator[Finding]:
    """Write, find, forget, under a user of its own."""
    memory = exam.memory
    if memory is None or exam.status["details"].get("read_only"):
        return
    word, start = f"examination{uuid4().hex}", time.perf_counter()
    said = [{"role": "user", "content": f"The word is {word}."}]
    report = await memory.add_turns(said, user=USER, wait="searchable")
    found = await memory.retrieve(word, user=USER)
    receipt = await memory.forget(user=USER, ids=report.keys)
    again = await memory.retrieve(word, user=USER)
    took = f"in {1000 * (time.perf_counter() - start):.0f} ms"
    if [hit.id for hit in found] != list(report.keys):
        yield Finding("round trip", "fail", "a turn was written and not found", "memscope retrieve --explain shows why")
    elif len(again):
        yield Finding("round trip", "fail", "a turn was forgotten and is still found", "please report this")
    elif receipt.physical == "pending":
        yield Finding("round trip", "warn", f"forgotten {took}, not wiped yet: {receipt.reason}", "memscope compact")
    else:
        yield Finding("round trip", "ok", f"written, found, forgotten and {receipt.physical} {took}")


CHECKS: tuple[Check, ...] = (
    *(versions, sqlite, settings, plugins, place, store, store_findings, users),
    *(models, clock, work, memories, secrets, round_trip),
)
