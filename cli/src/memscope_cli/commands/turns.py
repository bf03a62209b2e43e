"""Commands that add, import and export turns: add, import, export."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import click

from memscope.errors import InputError, LimitError, MemscopeError
from memscope.records import ROLES, AddReport
from memscope.sync import MemoryScope
from memscope.transfer import split
from memscope_cli.commands.formatting import NOUNS_WRITTEN, list_written, notes
from memscope_cli.commands.input import MAX_INPUT_LINE_BYTES, read_line
from memscope_cli.commands.language import count_nouns, join, say, say_error, say_sentence
from memscope_cli.commands.options import Call, command, exit_partly, resumable, time_option
from memscope_cli.commands.output import print_error, visible

TURNS_PER_CALL = 500
MAX_PRINTED_BROKEN_LINES = 5  # broken lines printed on stderr
MAX_LISTED_BROKEN_LINES = 10_000  # broken lines listed by --json
MAX_AT_ONCE_BYTES = 256 * 1024 * 1024
ADDED_PHRASES = {
    "stored": "",
    "duplicates": "{number} known before",
    "forgotten": "{number} forgotten before and not stored",
    "empty": "{number} without text and left out",
    "repaired": "{number} with characters replaced that no store can keep",
    "skipped_parts": "{number} parts skipped that are not text",
    "clock_suspect": "{number} with a time in the future",
}
TAKEN_PHRASES = {"known": "{number} known before", "forgotten": "{number} forgotten here and left out"}


# ------------------------------------------------------------------------------------------------------------------ add


@dataclass
class Added:
    """Counts of added turns. ``broken`` maps the numbers of the first refused lines to the reasons.

    ``keys`` has all turn keys if ``listed``, else just enough to know whether exactly one turn was added.
    """

    listed: bool
    counts: Counter[str] = field(default_factory=Counter)
    keys: list[str] = field(default_factory=list)
    broken: dict[int, str] = field(default_factory=dict)
    broken_lines: int = 0
    done: int = 0  # number of the last processed line

    def count(self, report: AddReport) -> None:
        if self.listed or len(self.keys) < 2:
            self.keys += report.keys
        for name in ADDED_PHRASES:
            self.counts[name] += getattr(report, name)

    def refuse(self, number: int, reason: str) -> None:
        self.broken_lines += 1
        if len(self.broken) < MAX_LISTED_BROKEN_LINES:
            self.broken[number] = reason


class StdinTurn(NamedTuple):
    """A turn read from stdin, with its line number and its size in bytes."""

    number: int
    turn: Any
    size: int


@command("add", short_help="Remember a turn, or turns from stdin.")
@click.argument("text", required=False)
@click.option("--role", type=click.Choice(ROLES), show_default="user", help="Role of the speaker.")
@click.option("--speaker", metavar="NAME", help="Name of the speaker.")
@time_option("--time", "When it was said (ISO 8601; see --zone); now by default.")
@click.option("--id", metavar="ID", help="Its id in the source system; adding it again adds nothing.")
@click.option("--replay", is_flag=True, help="The lines repeat a history: add only what is new.")
@click.option("--skip", type=click.IntRange(0), default=0, help="Lines of stdin that are stored already.")
@click.option("--strict", is_flag=True, help="Add nothing when a line is broken.")
def add(call: Call, /, text: str | None, replay: bool, strict: bool, skip: int, **about: str | None) -> None:
    """Remember a turn: TEXT, or JSON lines from stdin.

    \b
    memscope add --user alice "I moved to Berlin last May."
    memscope add --user alice - < turns.jsonl

    A line is {"role": "user", "content": "..."} with optional speaker, time, id, session and metadata. Ctrl-C stops it
    and says what to give as --skip to go on.
    """
    if text is not None and text.endswith(".jsonl") and _is_file(text):
        raise click.UsageError(say("{file} is a file: its lines are added by 'memscope add - < {file}'", file=text))
    added = Added(call.show.machine, done=skip)
    values = {name: value for name, value in about.items() if value is not None}
    one = text is not None and text != "-"
    if values and not one:
        options = join(f"--{name}" for name in values)
        raise click.UsageError(say("{options} are about TEXT; each line on stdin has its own", options=options))
    memory = call.open(new=True)
    if one:
        added.count(memory.add_turns([{"role": "user", "content": text, **values}], **call.scope, replay=replay))
    elif text is None and sys.stdin.isatty():
        raise click.UsageError(say("nothing to add: give TEXT, or JSON lines on stdin"))
    elif replay or strict:
        _add_all(memory, call, added, replay=replay)
    else:
        _add_lines(memory, call, added)
    _report_added(call, added)


def _add_all(memory: MemoryScope, call: Call, added: Added, *, replay: bool) -> None:
    """Add all of stdin or nothing. A replay must be compared as one history, so it cannot be added in batches."""
    lines = _read_all_lines(added, call.settings().limits.turns)
    if added.broken:
        number, reason = next(iter(added.broken.items()))
        raise InputError(say("line {number} {reason}", number=number, reason=reason), hint=say("nothing was stored"))
    try:
        added.count(memory.add_turns([line.turn for line in lines], **call.scope, replay=replay))
    except InputError as error:
        by_line = re.sub(
            r"turns\[(\d+)\]\.?",
            lambda place: say("line {number}: ", number=lines[int(place[1])].number),
            say_error(error),
        )
        raise InputError(by_line) from None


def _read_all_lines(added: Added, most: int) -> list[StdinTurn]:
    """Read all lines, but stop after ``most`` + 1, so that ``add_turns`` refuses them."""
    lines: list[StdinTurn] = []
    size = 0
    for line in _turns(added):
        lines.append(line)
        size += line.size
        if size > MAX_AT_ONCE_BYTES:
            hint = say("leave --strict and --replay out: then any number of lines is added")
            raise LimitError("bytes in one call", limit=MAX_AT_ONCE_BYTES, got=size, hint=hint)
        if len(lines) > most:
            break
    return lines


def _add_lines(memory: MemoryScope, call: Call, added: Added) -> None:
    with call.show.progress(say("adding")) as progress:
        try:
            for batch in split(_turns(added), TURNS_PER_CALL, lambda line: line.size):
                with _delay_interrupt():
                    _add_batch(memory, call, added, batch)
                    added.done = batch[-1].number
                progress(added.done, None)
        except (KeyboardInterrupt, MemscopeError):
            # Say where to go on, since a line without a time that is added twice is stored twice.
            if added.done and not call.json:
                print_error(say("memscope: {lines} are done; continue with --skip {number}",
                                lines=count_nouns(added.done, "line"), number=added.done))  # fmt: skip
            raise


@contextmanager
def _delay_interrupt() -> Iterator[None]:
    """Delay the first Ctrl-C to the end of the block, so that it is clear what was stored; a second acts at once."""
    came: list[int] = []

    def receive(number: int, frame: object) -> None:
        if came:
            raise KeyboardInterrupt
        came.append(number)

    before = signal.signal(signal.SIGINT, receive)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


def _add_batch(memory: MemoryScope, call: Call, added: Added, batch: list[StdinTurn]) -> None:
    try:
        added.count(memory.add_turns([line.turn for line in batch], **call.scope))
    except InputError:
        for line in batch:
            try:
                added.count(memory.add_turns([line.turn], **call.scope))
            except InputError as error:
                reason = say("cannot be taken: {error}", error=re.sub(r"turns\[0\][. ]?", "", say_error(error)))
                added.refuse(line.number, reason)


def _turns(added: Added) -> Iterator[StdinTurn]:
    """Yield the turns on stdin, and record lines that are not JSON objects in ``added.broken``."""
    skip = added.done
    for number, raw in enumerate(iter(read_line, b""), 1):
        if number <= skip or not raw.strip():
            continue
        turn = _object(raw, first=number == 1)
        if isinstance(turn, dict):
            yield StdinTurn(number, turn, len(raw))
        else:
            added.refuse(number, turn)


def _object(raw: bytes, *, first: bool) -> dict[str, Any] | str:
    """Parse a line as a JSON object, or return the reason why it is not one."""
    if len(raw) >= MAX_INPUT_LINE_BYTES:
        return say("is too long")
    try:
        turn = json.loads(raw.decode("utf-8-sig" if first else "utf-8"))
    except UnicodeDecodeError:
        return say("is not UTF-8")
    except (ValueError, RecursionError):
        turn = None
    return turn if isinstance(turn, dict) else say("is not a JSON object")


def _report_added(call: Call, added: Added) -> None:
    broken = sorted(added.broken.items())
    listed = [{"line": number, "reason": reason} for number, reason in broken]
    stored = say("{turns} stored", turns=count_nouns(added.counts["stored"], "turn"))
    key = f"  {added.keys[0]}" if len(added.keys) == 1 else ""
    report = {**added.counts, "keys": added.keys, "broken": listed, "broken_lines": added.broken_lines}
    call.show.report(report, join([stored, *notes(added.counts, ADDED_PHRASES)]), (key, "dim"))
    for number, reason in broken[:MAX_PRINTED_BROKEN_LINES]:
        print_error(say("memscope: line {number} {reason}", number=number, reason=reason))
    if broken:
        more = added.broken_lines - MAX_PRINTED_BROKEN_LINES
        further = say("{number} further lines are broken (--json names up to 10,000)", number=f"{more:,}")
        exit_partly(further if more > 0 else "")


# ------------------------------------------------------------------------------------------------------- import, export


@command("import", short_help="Read the records of an export, or another system's memory.")
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option("--from", "name", metavar="NAME", help="Another system: openai, chatgpt, mem0, memoryscope, ...")
@click.option("--dry-run", is_flag=True, help="With --from: count what would be taken, and write nothing.")
@click.option("--strict", is_flag=True, help="Import nothing when a line is broken.")
def import_(call: Call, sources: tuple[str, ...], name: str | None, dry_run: bool, strict: bool) -> None:
    """Read what 'memscope export' wrote from a file ("-": stdin), for one user with --user.

    With --from NAME, read the memory of another system; --user owns it where the source names nobody. What is here
    already is left alone, what was forgotten here stays forgotten; what was forgotten where the export is from is
    forgotten here too. Ctrl-C stops it; the same command resumes it.
    """
    if name is not None:
        if strict:
            hint = say("--dry-run says what another system's source holds")
            raise InputError(say("--strict is for exports of memscope"), hint=hint)
        _import_from(call, name, sources, dry_run)
        return
    if dry_run or len(sources) > 1:
        hint = say("--from NAME reads another system's memory")
        raise InputError(say("an export is one file, read without --dry-run"), hint=hint)
    with _source(sources[0]) as path, call.memory(new=True) as memory, resumable(call, "importing") as progress:
        counts = memory.admin.import_(path, user=call.user, strict=strict, progress=progress)
    call.show.report(counts, list_written(counts))
    if broken := counts.get("broken", 0):
        first = counts["first_broken_line"]
        words = "{lines} could not be read, the first is line {first}"
        exit_partly(say(words, lines=count_nouns(broken, "line"), first=first))


def _import_from(call: Call, name: str, sources: tuple[str, ...], dry_run: bool) -> None:
    with call.memory(new=True) as memory, resumable(call, "importing") as progress:
        report = memory.admin.import_from(name, *sources, user=call.user, dry_run=dry_run, progress=progress)
    kinds = ("turn", "observation", "insight", *(["block"] if report.blocks else []))
    records = join(count_nouns(getattr(report, f"{kind}s"), kind) for kind in kinds)
    words = "{records} would be taken for {users}" if dry_run else "{records} taken for {users}"
    taken = say(words, records=records, users=count_nouns(report.users, "user"))
    call.show.report(asdict(report), join([taken, *notes(asdict(report), TAKEN_PHRASES)]))
    for reason, number in sorted(report.not_taken.items()):
        call.show.line(
            say("not taken: {number} × {reason}", number=f"{number:,}", reason=visible(say_sentence(reason)))
        )


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except OSError:  # for example a name that is too long
        return False


@contextmanager
def _source(file: str) -> Iterator[Path]:
    """Yield the path of a file or, since it is read twice, of a temporary copy of stdin."""
    if file != "-":
        if not _is_file(file):
            raise InputError(say("there is no file {file}", file=repr(file)))
        yield Path(file)
        return
    with tempfile.TemporaryDirectory(prefix="memscope-") as folder:
        path = Path(folder, "stdin")
        with path.open("wb") as spool:
            shutil.copyfileobj(sys.stdin.buffer, spool)
        yield path


@command("export", short_help="Write all records as JSON lines.")
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--for-user", is_flag=True, help="With --user, to hand out: without the secret of the store.")
def export(call: Call, file: str, for_user: bool) -> None:
    """Write all records as JSON lines to FILE ("-": stdout), of one user with --user.

    An export contains the secret behind the turn keys: import it into another store, but do not give it to others.
    """
    user = call.owner["user"] if for_user else call.user
    with tempfile.TemporaryDirectory(prefix="memscope-") as folder:
        path = Path(folder, "export") if file == "-" else Path(file)
        if not path.parent.is_dir():
            raise InputError(say("there is no folder {folder}", folder=repr(str(path.parent))))
        with call.memory() as memory, call.show.progress(say("exporting")) as progress:
            counts = memory.admin.export(path, user=user, for_user=for_user, progress=progress)
        if file == "-":
            with path.open("rb") as exported:
                shutil.copyfileobj(exported, sys.stdout.buffer)
            sys.stdout.buffer.flush()
            return
    kinds = {"turn": "turn", **NOUNS_WRITTEN}
    parts = join(count_nouns(counts[kind], noun) for kind, noun in kinds.items() if counts.get(kind))
    words = say("{records} written to {file}", records=parts or say("nothing"), file=file)
    call.show.report({"file": file, **counts}, words)
