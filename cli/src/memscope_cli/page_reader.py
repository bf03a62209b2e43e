"""Read the rows of a damaged SQLite file page by page, without relying on its b-trees or schema.

Only the layout of single pages is trusted (sqlite.org/fileformat2.html). Committed pages in the WAL replace those in
the file. Nothing is written. Deleted rows do not reappear, because ``secure_delete`` has overwritten them.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeAlias

from memscope.stores.sqlite.files import MAGIC

Value: TypeAlias = int | float | str | bytes | None
TABLE_LEAF, INDEX_LEAF, INDEX_INTERIOR = 0x0D, 0x0A, 0x02  # pages with rows; tables WITHOUT ROWID are indexes
PAGE_BYTES = 8192  # as set by ``schema.create``; used if the header is damaged
WAL_MAGIC = (0x377F0682, 0x377F0683)
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}  # SQLite serial type: size in bytes
MAX_OVERFLOW_READS = 8  # per overflow page: an intact file needs one, and a damaged chain can be circular


class RawRow(NamedTuple):
    """A row of a table, or of an index, whose ``rowid`` is None."""

    rowid: int | None
    values: Sequence[Value]


class InvalidRow(ValueError):
    """The bytes are not a valid row."""


class Pages:
    """The pages of a file as of the last committed transaction."""

    def __init__(self, file: BinaryIO, wal: BinaryIO | None) -> None:
        self._file, self._wal = file, wal
        self.size = _page_size(file)
        self._committed = _committed(wal, self.size) if wal else {}
        file.seek(0, 2)
        self._pages_in_file = -(-file.tell() // self.size)
        self._reads: Counter[int] = Counter()
        self.broken = 0

    def page(self, number: int) -> bytes:
        if number in self._committed and self._wal is not None:
            self._wal.seek(self._committed[number])
            return self._wal.read(self.size)
        self._file.seek((number - 1) * self.size)
        return self._file.read(self.size)

    def rows(self) -> Iterator[RawRow]:
        """Yield the rows of all tables and indexes in arbitrary order; count unreadable ones in ``broken``."""
        appended = sorted(number for number in self._committed if number > self._pages_in_file)
        for number in chain(range(2, self._pages_in_file + 1), appended):
            page = self.page(number)
            if len(page) == self.size and page[0] in (TABLE_LEAF, INDEX_LEAF, INDEX_INTERIOR):
                yield from self._rows_of(page)

    def _rows_of(self, page: bytes) -> Iterator[RawRow]:
        start = 12 if page[0] == INDEX_INTERIOR else 8
        for cell in range(min(_int(page, 3, 2), (self.size - start) // 2)):
            try:
                yield self._row(page, _int(page, start + 2 * cell, 2))
            except (InvalidRow, IndexError, UnicodeDecodeError):
                self.broken += 1

    def _row(self, page: bytes, at: int) -> RawRow:
        at += 4 if page[0] == INDEX_INTERIOR else 0
        length, at = _varint(page, at)
        rowid = None
        if page[0] == TABLE_LEAF:
            rowid, at = _varint(page, at)
        return RawRow(rowid, _values(self._payload(page, at, length, rowid is not None)))

    def _payload(self, page: bytes, at: int, length: int, table: bool) -> bytes:
        """Join the local part of a payload and its chain of overflow pages."""
        least = (self.size - 12) * 32 // 255 - 23
        most = self.size - 35 if table else (self.size - 12) * 64 // 255 - 23
        if length > self.size * (self._pages_in_file + len(self._committed)):
            raise InvalidRow
        if length <= most:
            return page[at : at + length]
        here = least + (length - least) % (self.size - 4)
        here = here if here <= most else least
        parts, left, following = [page[at : at + here]], length - here, _int(page, at + here, 4)
        while left > 0:
            more = self._overflow(following)
            parts.append(more[4 : 4 + left])
            left, following = left - (self.size - 4), _int(more, 0, 4)
        return b"".join(parts)

    def _overflow(self, number: int) -> bytes:
        self._reads[number] += 1
        known = 2 <= number <= self._pages_in_file or number in self._committed
        if not known or self._reads[number] > MAX_OVERFLOW_READS:
            raise InvalidRow
        page = self.page(number)
        if len(page) != self.size:
            raise InvalidRow
        return page


@contextmanager
def opened(path: Path) -> Iterator[Pages]:
    wal = path.with_name(path.name + "-wal")
    with path.open("rb") as file, wal.open("rb") if wal.exists() else nullcontext() as log:
        yield Pages(file, log)


def _page_size(file: BinaryIO) -> int:
    file.seek(0)
    head = file.read(100)
    size = _int(head, 16, 2) if head[:16] == MAGIC else PAGE_BYTES
    return 65536 if size == 1 else size if size >= 512 and size & (size - 1) == 0 else PAGE_BYTES


def _committed(wal: BinaryIO, size: int) -> dict[int, int]:
    """Map page numbers to offsets in the WAL, ignoring stale frames and uncommitted transactions."""
    head = wal.read(32)
    if len(head) < 32 or _int(head, 0, 4) not in WAL_MAGIC or _int(head, 8, 4) != size:
        return {}
    offsets: dict[int, int] = {}
    transaction: dict[int, int] = {}
    at = 32
    while len(frame := wal.read(24)) == 24 and frame[8:16] == head[16:24]:
        transaction[_int(frame, 0, 4)] = at + 24
        if _int(frame, 4, 4):
            offsets |= transaction
            transaction = {}
        at += 24 + size
        wal.seek(at)
    return offsets


def _int(data: bytes, at: int, length: int) -> int:
    return int.from_bytes(data[at : at + length], "big")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for _ in range(8):
        byte = data[at]
        at += 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at
    return value << 8 | data[at], at + 1


def _values(payload: bytes) -> list[Value]:
    length, at = _varint(payload, 0)
    if not at <= length <= len(payload):
        raise InvalidRow
    types: list[int] = []
    while at < length:
        kind, at = _varint(payload, at)
        types.append(kind)
    values, at = [], length
    for kind in types:
        size = _size(kind)
        if at + size > len(payload):
            raise InvalidRow
        values.append(_value(kind, payload[at : at + size]))
        at += size
    return values


def _size(kind: int) -> int:
    if kind in (10, 11):
        raise InvalidRow
    return (kind - 12) // 2 if kind >= 12 else 8 if kind == 7 else _INTEGERS.get(kind, 0)


def _value(kind: int, data: bytes) -> Value:
    if kind >= 12:
        return data.decode() if kind % 2 else data
    if kind in _INTEGERS:
        return int.from_bytes(data, "big", signed=True)
    if kind == 7:
        return float(struct.unpack(">d", data)[0])
    return {8: 0, 9: 1}.get(kind)
