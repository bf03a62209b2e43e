"""Read files of other systems: stream the JSON values of a file, or of the files in a zip.

``MAX_JSON_VALUE_CHARS`` and ``MAX_VALUE_ITEMS`` bound a value, and so the memory; ``MAX_UNPACK_RATIO`` bounds a zip. A
file may have any size. Damaged files raise ``InputError`` with file and position.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from json.decoder import JSONDecodeError
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from memscope import validation
from memscope.errors import InputError, LimitError, MemscopeError
from memscope.transfer import accessible

MIB = 1024 * 1024
CHUNK_BYTES = MIB
MAX_JSON_VALUE_CHARS = 32 * MIB
MAX_VALUE_ITEMS = 1_000_000  # numbers, strings, lists and objects per value, up to 200 bytes of memory each
MAX_UNPACK_RATIO = 100  # unpacked to packed bytes; conversations have 5 to 15
MAX_UNPACKED_BYTES = 64 * MIB  # allowed at any ratio
MAX_DIRECTORY_BYTES = 8 * MIB  # about 60,000 files in a zip
MAX_TOKEN_CHARS = 16  # longest token, strings aside, that may be split between chunks
ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
EXPORT_AGAIN = "export or download it again"
FILE_SIGNATURES = (
    (b"PK\3\4", "a zip", "unpack it first"),
    (b"\x1f\x8b", "compressed by gzip", "unpack it first"),
    (b"SQLite format 3\0", "a SQLite database", "give what the other system exports as JSON"),
    (b"\xff\xfe", "UTF-16", "save it as UTF-8"),
    (b"\xfe\xff", "UTF-16", "save it as UTF-8"),
)
_ZIP_ERRORS = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError, OverflowError
)  # fmt: skip
_BLANKS = re.compile(r"[ \t\n\r]*")
_TOKEN_PART = re.compile(r"[\w.\\-]*\s*")
_ITEM = re.compile(r"""[,\[{](?=[ \t\n\r]*["\[{\]}\d-])""")
_decoder = json.JSONDecoder()


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def path_of(source: Any) -> Path:
    """Convert a source to a path; ``InputError`` for anything else."""
    path = validation.path(source)
    try:
        return path.expanduser()
    except RuntimeError:  # "~name" of an unknown user
        return path


def read_json(source: Any) -> Iterator[tuple[str, Any]]:
    """Yield the JSON values of a file, each with its position for error messages; a list yields its items."""
    path = path_of(source)
    with accessible(path), path.open("rb") as file:
        yield from values(file, repr(path.name))


def unzipped(source: Any, begins: str) -> Iterator[tuple[str, Any]]:
    """Yield the values of a JSON file, or of the files in a zip whose names start with ``begins``."""
    path = path_of(source)
    with accessible(path), path.open("rb") as file:
        if not file.peek(2).startswith(b"PK"):
            yield from values(file, repr(path.name))
            return
    with accessible(path), _Archive(path) as archive:
        yield from _zipped(archive, begins)


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a JSON object, an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def sequence(value: Any) -> Sequence[Any]:
    """Return a JSON list, an empty one for anything else."""
    return value if isinstance(value, list) else []


def word(value: Any) -> str:
    """Return a JSON string, an integer as digits, "" for anything else."""
    return value if isinstance(value, str) else str(value) if type(value) is int else ""


# ---------------------------------------------------------------------------------------------------------------- JSON


def values(file: Readable, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the values of a stream with their positions: JSON lines, one value, or the items of a list."""
    text = _JsonText(file, name)
    if not text.peek():
        raise InputError(f"{name} is empty", hint=EXPORT_AGAIN)
    while char := text.peek():
        if char == "[":
            yield from _items(text, name)
        else:
            place = text.place()
            yield place, text.value(place)


def _items(text: _JsonText, name: str) -> Iterator[tuple[str, Any]]:
    text.skip()
    number, end = 0, text.peek() == "]"
    while not end:
        number += 1
        place = f"item {number} of {name}"
        yield place, text.value(place)
        if (char := text.peek()) not in (",", "]"):
            raise text.damaged(cut=not char)
        if not (end := char == "]"):
            text.skip()
    text.skip()


class _JsonText:
    """Incremental parser of JSON values. Its buffer is a chunk, or one value if that is longer."""

    def __init__(self, file: Readable, name: str) -> None:
        self._file, self._name = file, name
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._text, self._at = "", 0
        self._ahead, self._at_end = "", False  # text read beyond the buffer; end of stream reached
        self._counted, self._line, self._line_start = 0, 1, 0  # a buffer offset, its line number and line start
        raw = file.read(CHUNK_BYTES)
        for magic, kind, hint in FILE_SIGNATURES:
            if raw.startswith(magic):
                raise InputError(f"{name} is {kind}, not JSON", hint=hint)
        self._append(self._decoded(raw))

    @property
    def _ended(self) -> bool:
        return self._at_end and not self._ahead

    def peek(self) -> str:
        """Return the next non-blank character, "" at the end."""
        while True:
            match = _BLANKS.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text) or self._ended:
                return self._text[self._at : self._at + 1]
            self._read_on(CHUNK_BYTES)

    def skip(self) -> None:
        self._at += 1

    def value(self, place: str) -> Any:
        """Parse the value at the current position, reading more until it is complete."""
        self.peek()
        while True:
            try:
                value, end = _decoder.raw_decode(self._text, self._at)
            except JSONDecodeError as error:
                open_text = error.msg.startswith("Unterminated string")
                if self._ended or not (open_text or error.pos >= len(self._text) - MAX_TOKEN_CHARS):
                    cut = open_text or bool(_TOKEN_PART.fullmatch(self._text, error.pos))
                    raise self.damaged(error.pos, cut=self._ended and cut) from None
            except RecursionError:
                raise InputError(f"{place} is nested too deeply", hint=EXPORT_AGAIN) from None
            except ValueError:
                raise InputError(f"{place} has a number of too many digits", hint="write it as text") from None
            else:
                if end < len(self._text) or self._ended:
                    self._move_behind(end)
                    return value
            self._grow(place)

    def place(self) -> str:
        self._count_lines()
        return f"line {self._line} of {self._name}"

    def damaged(self, at: int | None = None, *, cut: bool) -> InputError:
        """Build the error for the text at ``at``, by default the current position; ``cut``: the file ends there."""
        at = self._at if at is None else at
        line, start = self._position(at)
        if cut:
            return InputError(
                f"line {line} of {self._name} is not JSON: the file ends in the middle", hint=EXPORT_AGAIN
            )
        message = f"line {line} of {self._name} is not JSON at character {at - start + 1}"
        return InputError(message, hint=f"mend it there, or {EXPORT_AGAIN}")

    def _move_behind(self, end: int) -> None:
        """Skip a parsed value; shrink the buffer after a long one, so that the limits apply to the next value too."""
        self._at, chunk_end = end, end + CHUNK_BYTES
        if len(self._text) > chunk_end + CHUNK_BYTES:
            self._text, self._ahead = self._text[:chunk_end], self._text[chunk_end:] + self._ahead

    def _grow(self, place: str) -> None:
        """Read more of a value, within the limits."""
        size, hint = len(self._text) - self._at, "split it, or write its parts as the items of a list"
        if size >= MAX_JSON_VALUE_CHARS:
            raise LimitError(f"characters in {place}", limit=MAX_JSON_VALUE_CHARS - 1, got=size, hint=hint)
        self._read_on(min(max(CHUNK_BYTES, size), MAX_JSON_VALUE_CHARS - size))
        items = sum(1 for _ in islice(_ITEM.finditer(self._text), MAX_VALUE_ITEMS + 1))
        if items > MAX_VALUE_ITEMS:
            raise LimitError(f"values in {place}", limit=MAX_VALUE_ITEMS, got=items, hint=hint)

    def _read_on(self, size: int) -> None:
        if not self._ahead:
            self._ahead = self._decoded(self._file.read(size))
        part, self._ahead = self._ahead[:size], self._ahead[size:]
        self._append(part)

    def _append(self, part: str) -> None:
        self._count_lines()
        self._line_start -= self._at
        self._text, self._at, self._counted = self._text[self._at :] + part, 0, 0

    def _count_lines(self) -> None:
        self._line, self._line_start = self._position(self._at)
        self._counted = self._at

    def _position(self, at: int) -> tuple[int, int]:
        """Find the line number of a buffer offset, and the start of that line."""
        lines = self._text.count("\n", self._counted, at)
        return self._line + lines, self._text.rfind("\n", self._counted, at) + 1 if lines else self._line_start

    def _decoded(self, raw: bytes) -> str:
        self._at_end = not raw
        try:
            return self._decode(raw, final=self._at_end)
        except UnicodeDecodeError as error:
            line, _ = self._position(len(self._text))
            line += error.object.count(b"\n", 0, error.start)
            raise InputError(f"line {line} of {self._name} is not UTF-8", hint="save it as UTF-8") from None


# ----------------------------------------------------------------------------------------------------------------- zip


class _Archive(io.FileIO):
    """A zip file that bounds single reads, since ``zipfile`` reads the whole directory at once."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path, self.size = path, os.fstat(self.fileno()).st_size

    def read(self, size: int | None = -1, /) -> bytes:
        size = max(0, self.size - self.tell()) if size is None or size < 0 else size
        if size > MAX_DIRECTORY_BYTES:
            raise InputError(f"{self.path.name!r} has too many files, or is damaged", hint="unpack it first")
        return super().read(size) or b""


def _zipped(file: _Archive, begins: str) -> Iterator[tuple[str, Any]]:
    name = repr(file.path.name)
    with _typed(name):
        archive = zipfile.ZipFile(file)
    wanted = {info.filename: info for info in archive.infolist() if _is_wanted(info, begins)}
    if not wanted:
        raise InputError(f"{name} has no file {begins}*.json", hint="take the zip of the data export")
    packed = min(file.size, sum(info.compress_size for info in wanted.values()))
    budget = _Budget(name, max(MAX_UNPACKED_BYTES, MAX_UNPACK_RATIO * packed))
    for filename in sorted(wanted):
        member = f"{filename[-100:]!r} in {name}"
        yield from values(_Member(archive, wanted[filename], member, budget), member)


def _is_wanted(info: zipfile.ZipInfo, begins: str) -> bool:
    last = PurePosixPath(info.filename).name
    return last.startswith(begins) and last.endswith(".json") and not info.is_dir()


class _Budget:
    """Limit of the unpacked bytes of all members of an archive."""

    def __init__(self, name: str, limit: int) -> None:
        self._name, self._limit, self._spent = name, limit, 0

    def spend(self, size: int) -> None:
        self._spent += size
        if self._spent > self._limit:
            hint = "unpack it and give the file, if it is what you expect"
            raise LimitError(f"unpacked bytes of {self._name}", limit=self._limit, got=self._spent, hint=hint)


class _Member:
    """A stored or deflated member; other compression methods can expand a few bytes to gigabytes at once."""

    def __init__(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str, budget: _Budget) -> None:
        if info.flag_bits & 1:
            raise InputError(f"{name} is encrypted", hint="unpack it first")
        if info.compress_type not in ZIP_METHODS:
            raise InputError(f"{name} is compressed by method {info.compress_type}", hint="unpack it first")
        self._name, self._budget = name, budget
        with _typed(name):
            self._file = archive.open(info)

    def read(self, size: int, /) -> bytes:
        with _typed(self._name):
            raw = self._file.read(size)
        self._budget.spend(len(raw))
        return raw


@contextmanager
def _typed(name: str) -> Iterator[None]:
    try:
        yield
    except MemscopeError:
        raise
    except _ZIP_ERRORS as error:
        raise InputError(f"{name} is damaged: {type(error).__name__}", hint=EXPORT_AGAIN) from error
