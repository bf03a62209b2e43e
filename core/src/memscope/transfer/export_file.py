"""The file of an export: replaced atomically, read in bounded memory; broken lines raise errors or are counted."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from io import BytesIO
from itertools import chain
from json.decoder import JSONDecodeError
from pathlib import Path
from typing import BinaryIO

from memscope.errors import InputError, LimitError, MemscopeError
from memscope.stores.part_files import part_of
from memscope.transfer import accessible
from memscope.transfer.export_lines import ExportLine

UNLIMITED_LINE_BYTES = 1 << 40
FIRST_WITH_END = 4  # first format with a last line
READ_BYTES = 1024 * 1024
EXPORT_START = b'{"memscope": '
BOM = b"\xef\xbb\xbf"
NO_EXPORT = "give a file that 'memscope export' wrote; --from NAME reads another system's memory"
STRICT_REMEDY = "export it again, or import without strict, which skips such lines"
COPY_AGAIN = "it was truncated or edited: copy it again, or import without strict, which takes what is there"
REFUSALS = (ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError)


def lines(file: BinaryIO, most: int) -> Iterator[bytes]:
    """Yield the lines; cut longer ones to ``most`` + 1 bytes."""
    while line := file.readline(most + 1):
        rest = line
        while len(line) > most and rest and not rest.endswith(b"\n"):
            rest = file.readline(READ_BYTES)
        yield line


def count_lines(path: Path) -> int:
    with accessible(path), path.open("rb") as file:
        count, last = 0, b"\n"
        while part := file.read(READ_BYTES):
            count, last = count + part.count(b"\n"), part[-1:]
        return count + (last != b"\n")


def checked(
    path: Path, parse: Callable[[str], ExportLine], most: int, *, strict: bool, counts: Counter[str]
) -> Iterator[tuple[int, ExportLine]]:
    """Yield the numbered lines of a file. Count broken lines and a missing end, or raise if ``strict``."""
    export = _Export(parse, most)
    with accessible(path), path.open("rb") as file:
        for number, raw in enumerate(chain(lines(file, most), (b"",)), 1):
            try:
                line = export.take(raw)
            except REFUSALS as error:
                if strict or export.first is None:
                    raise _refused(number, path, error) from error
                counts["broken"] += 1
                counts["first_broken_line"] = counts["first_broken_line"] or number
                continue
            if line is not None:
                yield number, line


class _Export:
    """Parse the lines of an export, and check by header and last line that it is complete."""

    def __init__(self, parse: Callable[[str], ExportLine], most: int) -> None:
        self._parse, self._most = parse, most
        self._taken = 0
        self.first: ExportLine | None = None
        self._last: ExportLine | None = None

    def take(self, raw: bytes) -> ExportLine | None:
        """Parse a line; None for a blank one and at the end (b"")."""
        if not raw.strip():
            if not raw and (self.first is None or (self.first.number >= FIRST_WITH_END and self._last is None)):
                raise InputError("the file ends before the last line of the export", hint=COPY_AGAIN)
            return None
        self._taken += 1
        line = self._parse(self._decoded(raw))
        if (self._taken == 1) != (line.kind == "header"):
            raise InputError("the first line must be the header of an export, and only that", hint=NO_EXPORT)
        if self._last is not None:
            raise InputError("it follows the last line of the export", hint="give one export at a time")
        self.first = self.first or line
        if line.kind == "end":
            self._last = line
            if line.number != self._taken - 1:
                message = f"the export had {line.number} lines before it, the file has {self._taken - 1}"
                raise InputError(message, hint=COPY_AGAIN)
        return line

    def _decoded(self, line: bytes) -> str:
        if len(line) > self._most:
            hint = "use 'memscope copy', which has no such limit"
            raise LimitError("bytes in the line", limit=self._most, got=len(line), hint=hint)
        return (line.removeprefix(BOM) if self._taken == 1 else line).decode()


def _refused(number: int, path: Path, error: Exception) -> InputError:
    message = f"line {number} of {path.name!r} is not a line of an export: {_reason(error)[:200]}"
    hint = error.hint if isinstance(error, MemscopeError) else ""
    return InputError(message, hint=hint or (NO_EXPORT if number == 1 else STRICT_REMEDY))


def _reason(error: Exception) -> str:
    if isinstance(error, MemscopeError):
        return error.message
    if isinstance(error, JSONDecodeError):
        return f"not JSON at character {error.colno}"
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8"
    return "nested too deeply" if isinstance(error, RecursionError) else type(error).__name__


@asynccontextmanager
async def replacing(path: Path) -> AsyncIterator[BinaryIO]:
    """Open a new file, mode 0600, that replaces ``path`` at the end; an error removes it instead."""
    path = await asyncio.to_thread(_resolved, path)
    part = part_of(path)
    try:
        file = await asyncio.to_thread(_opened, part)
        try:
            yield file
            await asyncio.to_thread(_sync, file)
        finally:
            await asyncio.to_thread(file.close)
        await asyncio.to_thread(part.replace, path)
    except (Exception, asyncio.CancelledError):
        await asyncio.to_thread(part.unlink, missing_ok=True)  # it contains conversation
        raise


def _resolved(path: Path) -> Path:
    path = path.resolve()  # replace the target of a link, not the link
    if path.exists() and not path.is_file():
        raise InputError(f"{str(path)!r} is not a regular file", hint="export to a file, or to standard output")
    with path.open("rb") if path.exists() else BytesIO() as present:  # a store, if --store and FILE are swapped
        if not EXPORT_START.startswith(present.read(len(EXPORT_START))):
            raise InputError(f"{str(path)!r} exists and is not an export", hint="choose a new name")
    return path


def _opened(part: Path) -> BinaryIO:
    return open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
