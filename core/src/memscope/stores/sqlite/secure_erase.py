"""Search the file's bytes for traces of forgotten records, and wipe them.

``secure_delete`` overwrites deleted cells and freed pages. But when SQLite spreads the cells of a full page over its
neighbours it leaves copies behind, between the cells of a page (measured: of 2,000 forgotten turns 0 to 2 in such a
gap). So the gaps are searched for pieces of the removed content; if one is found the file is rebuilt.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from memscope.records import ForgetReport, Record, Turn
from memscope.stores.local import Row
from memscope.stores.sqlite.files import has_wal
from memscope.stores.sqlite.user import SQLiteUser

PIECE = 16  # bytes; a copy of twice as many contains a whole piece
HEADER = 32  # bytes of a unit's terms that say date and speaker, as those of other units do
AT_ONCE = 128 * 1024 * 1024  # bytes of a file that forget builds anew by itself; a larger one is left to compact
READ = 256  # pages
BTREE = {0x02: 12, 0x05: 12, 0x0A: 8, 0x0D: 8}  # kind of page: length of its header (sqlite.org/fileformat2.html)
_MIX = 0x9E3779B97F4A7C15

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Marks: TypeAlias = NDArray[np.uint64]

# ---- pieces to search for


def marks(user: SQLiteUser, rows: Iterable[Row], texts: Iterable[str] = ()) -> Marks:
    """Returns hashes of the pieces of all content to be removed: texts, terms, vectors, saved replies."""
    import numpy as np

    found = [_hashes(secret, PIECE) for row in rows for secret in _secrets(user, row)]
    found += [_hashes(text.encode(), PIECE) for text in texts]
    replies = (user.reply(batch) for batch in user.batches())
    found += [
        _hashes(memory.text.encode(), PIECE)
        for change_set in replies
        if change_set is not None
        for memory in change_set.new
    ]
    return np.concatenate([np.empty(0, np.uint64), *found])


def _secrets(user: SQLiteUser, row: Row) -> Iterator[bytes]:
    for record in (row.record, *user.older(row.number)):
        yield from _words(record)
    for terms in user.terms_of(row):
        yield terms[HEADER:]
    for _, _, vector in user.vectors(row):
        yield vector


def _words(record: Record) -> Iterator[bytes]:
    yield record.text.encode()
    extra = record.metadata if isinstance(record, Turn) else record.data
    if extra:
        yield json.dumps(extra, ensure_ascii=False, separators=(",", ":")).encode()


def _hashes(data: bytes, step: int) -> Marks:
    """One hash per ``PIECE`` bytes, every ``step`` bytes."""
    import numpy as np

    count = (len(data) - PIECE) // step + 1
    if count <= 0:
        return np.empty(0, np.uint64)
    halves = (np.ndarray(count, "<u8", data, offset, (step,)) for offset in (0, PIECE // 2))
    first, second = (half.astype(np.uint64) for half in halves)
    return first * np.uint64(_MIX) ^ second


# ---- gaps of the file


def traces(path: Path, marks: Sequence[Marks]) -> bool:
    """Returns whether a piece of removed content stands in a gap of the file. Its WAL must be empty."""
    import numpy as np

    wanted = np.unique(np.concatenate(marks))
    for gaps in _gaps(path):
        found = _hashes(gaps, 1)
        at = np.minimum(np.searchsorted(wanted, found), len(wanted) - 1)
        if len(wanted) and (wanted[at] == found).any():
            return True
    return False


def _gaps(path: Path) -> Iterator[bytes]:
    """Yield the bytes between pointers and cells, of some pages at a time."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(18)[16:], "big") or 65536
        file.seek(0)
        first = True
        while block := file.read(size * READ):
            pages = (block[at : at + size] for at in range(0, len(block), size))
            yield b"\0".join(_gap(page, 100 if first and not number else 0) for number, page in enumerate(pages))
            first = False


def _gap(page: bytes, start: int) -> bytes:
    header = BTREE.get(page[start])
    if header is None:
        return b""
    cells = int.from_bytes(page[start + 3 : start + 5], "big")
    content = int.from_bytes(page[start + 5 : start + 7], "big") or 65536
    return page[start + header + 2 * cells : content].strip(b"\0")


# ---- wiping


def wipe(db: sqlite3.Connection, path: Path, marks: Sequence[Marks]) -> ForgetReport:
    """Fold the WAL into the file, truncate it, check that nothing of ``marks`` is left. Outside a transaction."""
    if not _fold(db, path):
        return pending("somebody still reads an older state")
    if traces(path, marks):
        if path.stat().st_size > AT_ONCE:
            return pending("the file is large and has to be built anew")
        return rebuild(db, path)
    return ForgetReport(physical="wiped")


def rebuild(db: sqlite3.Connection, path: Path) -> ForgetReport:
    """Rebuild the whole file from its live content."""
    large = path.stat().st_size > AT_ONCE
    db.execute(f"PRAGMA temp_store = {'FILE' if large else 'MEMORY'}")
    db.execute("VACUUM")
    return ForgetReport(physical="wiped") if _fold(db, path) else pending("somebody still reads an older state")


def _fold(db: sqlite3.Connection, path: Path) -> bool:
    busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    return not busy and not has_wal(path)


def pending(reason: str) -> ForgetReport:
    return ForgetReport(physical="pending", reason=f"{reason}; run 'memscope compact'")
