"""Commands that add turns, and read and write JSON lines: add, import, export."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import click

from memscope.commands.options import PARTLY, Call, command, pass_call
from memscope.commands.output import count_nouns, print_error
from memscope.errors import InputError
from memscope.records import ROLES, AddReport
from memscope.sync import MemoryScope

BATCH = 500
SHOWN = 5  # broken lines that are named one by one
LONGEST = 4 * 1024 * 1024  # bytes of a line


# ------------------------------------------------------------------------------------------------------------------ add


@dataclass
class Added:
    """Counts of added turns; ``broken`` maps the numbers of refused lines to the reason."""

    counts: Counter[str] = field(default_factory=Counter)
    keys: list[str] = field(default_factory=list)
    broken: dict[int, str] = field(default_factory=dict)

    def count(self, report: AddReport) -> None:
        self.keys += report.keys
        for name in ("stored", "duplicates", "forgotten", "empty", "repaired", "skipped_parts", "clock_suspect"):
            self.counts[name] += getattr(report, name)


@command("add", short_help="Remember a turn, or turns from stdin.")
@click.argument("text", required=False)
@click.option("--role", type=click.Choice(ROLES), default="user", show_default=True, help="Who said it.")
@click.option("--speaker", metavar="NAME", help="The name of who said it.")
@click.option("--time", metavar="TIME", help="When it was said (ISO 8601; see --zone); now by default.")
@click.option("--id", metavar="ID", help="Its id where it comes from: adding it again adds nothing.")
@click.option("--replay", is_flag=True, help="The lines are a history shown again: add what is new of it, or nothing.")
@click.option("--strict", is_flag=True, help="Add nothing when a line is broken.")
@pass_call
def add(call: Call, /, text: str | None, replay: bool, strict: bool, **about: str | None) -> None:
    """Remember a turn: TEXT, or JSON lines from stdin.

    \b
    memscope add --user alice "I moved to Berlin last May."
    memscope add --user alice - < turns.jsonl

    A line is {"role": "user", "content": "..."} with optional speaker, time, id, session and metadata.
    """
    added = Added()
    given = {name: value for name, value in about.items() if value is not None}
    with call.memory(new=True) as memory:
        if text is not None and text != "-":
            added.count(memory.add_turns([{"content": text, **call.local(given)}], **call.scope, replay=replay))
        elif text is None and sys.stdin.isatty():
            raise click.UsageError("nothing to add: give TEXT, or JSON lines on stdin")
        elif replay or strict:
            _add_at_once(memory, call, added, replay=replay)
        else:
            _add_lines(memory, call, added)
    _report_added(call, added)


def _add_at_once(memory: MemoryScope, call: Call, added: Added, *, replay: bool) -> None:
    """All of stdin or nothing of it; a replay is one history and cannot be count_nouns in parts."""
    turns = [turn for _, turn in _turns(added)]
    if added.broken:
        number, reason = next(iter(added.broken.items()))
        raise InputError(f"line {number} {reason}", hint="nothing was stored")
    added.count(memory.add_turns(turns, **call.scope, replay=replay))


def _add_lines(memory: MemoryScope, call: Call, added: Added) -> None:
    lines = _turns(added)
    with call.show.progress("adding") as progress:
        while batch := list(islice(lines, BATCH)):
            try:
                added.count(memory.add_turns([turn for _, turn in batch], **call.scope))
            except InputError:
                _add_one_by_one(memory, call, added, batch)
            progress(batch[-1][0], None)


def _add_one_by_one(memory: MemoryScope, call: Call, added: Added, batch: list[tuple[int, Any]]) -> None:
    for number, turn in batch:
        try:
            added.count(memory.add_turns([turn], **call.scope))
        except InputError as error:
            added.broken[number] = f"cannot be taken: {error}"


def _turns(added: Added) -> Iterator[tuple[int, Any]]:
    """The turns on stdin with their line numbers; lines that are no JSON objects go to ``added.broken``."""
    for number, raw in enumerate(_raw_lines(), 1):
        line = raw.decode("utf-8-sig" if number == 1 else "utf-8", errors="replace")
        if not line.strip():
            continue
        try:
            turn = json.loads(line) if len(raw) < LONGEST else None
        except (ValueError, RecursionError):
            turn = None
        if isinstance(turn, dict):
            yield number, turn
        else:
            added.broken[number] = "is too long" if len(raw) >= LONGEST else "is not a JSON object"


def _raw_lines() -> Iterator[bytes]:
    """The lines on stdin, each cut off at ``LONGEST``, so that no input fills the memory."""
    stdin = sys.stdin.buffer
    while line := stdin.readline(LONGEST):
        rest = line
        while len(rest) == LONGEST and not rest.endswith(b"\n"):
            rest = stdin.readline(LONGEST)
        yield line


def _report_added(call: Call, added: Added) -> None:
    broken = [{"line": number, "reason": reason} for number, reason in sorted(added.broken.items())]
    call.show.data({**added.counts, "keys": added.keys, "broken": broken})
    words = {
        "duplicates": "known before",
        "forgotten": "forgotten before and not stored",
        "empty": "without text and left out",
        "repaired": "with characters replaced that no store can keep",
        "skipped_parts": "parts skipped that are no text",
        "clock_suspect": "with a time in the future",
    }
    notes = [f"{added.counts[name]:,} {said}" for name, said in words.items() if added.counts[name]]
    key = f"  {added.keys[0]}" if len(added.keys) == 1 else ""
    call.show.line(", ".join([f"{count_nouns(added.counts['stored'], 'turn')} stored", *notes]), (key, "dim"))
    if broken:
        for number, reason in sorted(added.broken.items())[:SHOWN]:
            print_error(f"memscope: line {number} {reason}")
        if len(broken) > SHOWN:
            print_error(f"memscope: {len(broken) - SHOWN} further lines are broken (--json names them all)")
        click.get_current_context().exit(PARTLY)


# ------------------------------------------------------------------------------------------------------- import, export


@command("import", short_help="Read the records of an export, or another system's memory.")
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option("--from", "name", metavar="NAME", help="Another system: openai, chatgpt, mem0, memoryscope, ...")
@click.option("--dry-run", is_flag=True, help="With --from: count what would be taken, and write nothing.")
@click.option("--strict", is_flag=True, help="Import nothing when a line is broken.")
@pass_call
def import_(call: Call, sources: tuple[str, ...], name: str | None, dry_run: bool, strict: bool) -> None:
    """Read what 'memscope export' wrote from a file ("-": stdin), for one user with --user.

    With --from NAME, read the memory of another system; --user owns it where the source names nobody. What is here
    already is left alone, what was forgotten here stays forgotten.
    """
    if name is not None:
        if strict:
            raise InputError(
                "--strict is for exports of memscope", hint="--dry-run says what another system's source holds"
            )
        return _import_from(call, name, sources, dry_run)
    if dry_run or len(sources) > 1:
        raise InputError(
            "an export is one file, read without --dry-run", hint="--from NAME reads another system's memory"
        )
    (file,) = sources
    with _source(file) as path, call.memory(new=True) as memory, call.show.progress("importing") as progress:
        counts = memory.import_(path, user=call.user, strict=strict, progress=progress)
    call.show.data(counts)
    call.show.line(_imported(counts))
    if broken := counts.get("broken", 0):
        first = counts["first_broken_line"]
        print_error(f"memscope: {count_nouns(broken, 'line')} could not be read, the first is line {first}")
        click.get_current_context().exit(PARTLY)


def _import_from(call: Call, name: str, sources: tuple[str, ...], dry_run: bool) -> None:
    with call.memory(new=True) as memory, call.show.progress("importing") as progress:
        report = memory.import_from(name, *sources, user=call.user, dry_run=dry_run, progress=progress)
    call.show.data(asdict(report))
    parts = [count_nouns(report.turns, "turn"), count_nouns(report.observations, "observation")]
    parts.append(count_nouns(report.insights, "insight"))
    parts += [count_nouns(report.blocks, "block")] if report.blocks else []
    words = {"known before": report.known, "forgotten here and left out": report.forgotten}
    notes = [f"{number:,} {said}" for said, number in words.items() if number]
    verb = "would be taken" if dry_run else "taken"
    call.show.line(", ".join([f"{', '.join(parts)} {verb} for {count_nouns(report.users, 'user')}", *notes]))
    for reason, number in sorted(report.not_taken.items()):
        call.show.line(f"not taken: {number:,} × {reason}")


@contextmanager
def _source(file: str) -> Iterator[Path]:
    """The file, or stdin spooled into one: it is read twice."""
    if file != "-":
        path = Path(file)
        if not path.is_file():
            raise InputError(f"there is no file {file!r}")
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="memscope-") as folder:
        path = Path(folder, "stdin")
        with path.open("wb") as spool:
            shutil.copyfileobj(sys.stdin.buffer, spool)
        yield path


def _imported(counts: Mapping[str, int]) -> str:
    parts = [f"{count_nouns(counts.get('turn_stored', 0), 'turn')} stored"]
    words = {
        "turn_duplicate": "known before",
        "turn_forgotten": "forgotten here and left out",
        "observation": "observations",
        "insight": "insights",
        "forgotten": "tombstones",
    }
    return ", ".join(parts + [f"{counts[name]:,} {said}" for name, said in words.items() if counts.get(name)])


@command("export", short_help="Write all records as JSON lines.")
@click.argument("file", type=click.Path(dir_okay=False))
@pass_call
def export(call: Call, file: str) -> None:
    """Write all records as JSON lines to FILE ("-": stdout), of one user with --user."""
    with tempfile.TemporaryDirectory(prefix="memscope-") as folder:
        path = Path(folder, "export") if file == "-" else Path(file)
        if not path.parent.is_dir():
            raise InputError(f"there is no folder {str(path.parent)!r}")
        with call.memory() as memory, call.show.progress("exporting") as progress:
            counts = memory.export(path, user=call.user, progress=progress)
        if file == "-":
            with path.open("rb") as exported:
                shutil.copyfileobj(exported, sys.stdout.buffer)
            sys.stdout.buffer.flush()
            return
    call.show.data({"file": file, **counts})
    words = {"turn": "turn", "observation": "observation", "insight": "insight", "forgotten": "tombstone"}
    found = ", ".join(count_nouns(counts[kind], noun) for kind, noun in words.items() if counts.get(kind))
    call.show.line(f"{found or 'nothing'} written to {file}")
