"""Search the file's bytes for traces of forgotten records, and wipe them.

``secure_delete`` overwrites deleted cells and freed pages. But when SQLite redistributes the cells of a full page,
copies can remain in the gap between pointers and cells (measured: 0 to 2 of 2,000 forgotten turns). So the gaps are
searched for pieces of the removed content; if one is found the file is rebuilt.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from memscope.records import ForgetReport, Record, Turn
from memscope.stores.local import Row
from memscope.stores.sqlite.files import file_bytes, reading, wal_bytes
from memscope.stores.sqlite.reserve import Reserve
from memscope.stores.sqlite.user import SQLiteUser

PIECE_BYTES = 16  # pieces are aligned: a copy of 32 bytes contains a whole one
HEADER_BYTES = 32  # skipped start of a unit's terms: date and speaker, which other units share
MAX_REBUILT_BYTES = 128 * 1024 * 1024  # forget leaves larger files to compact
PAGES_PER_READ = 256
BTREE = {0x02: 12, 0x05: 12, 0x0A: 8, 0x0D: 8}  # kind of page: length of its header (sqlite.org/fileformat2.html)
_MIX = 0x9E3779B97F4A7C15

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Fingerprints: TypeAlias = NDArray[np.uint64]

# ---- pieces to search for


def fingerprints(user: SQLiteUser, rows: Iterable[Row], texts: Iterable[str]) -> Fingerprints:
    """Hash the pieces of all content to be removed: texts, terms, vectors, saved replies."""
    import numpy as np

    saved = [reply for batch in user.batches() if (reply := user.reply(batch))]
    written = [*texts, *(memory.text for reply in saved for memory in reply.new)]
    secrets = chain((secret for row in rows for secret in _secrets(user, row)), map(str.encode, written))
    return np.concatenate([np.empty(0, np.uint64), *(_hashes(secret, PIECE_BYTES) for secret in secrets)])


def _secrets(user: SQLiteUser, row: Row) -> Iterator[bytes]:
    for record in (row.record, *user.older(row.number)):
        yield from _words(record)
    for terms in user.terms_of(row):
        yield terms[HEADER_BYTES:]
    for _, _, vector in user.vectors(row):
        yield vector


def _words(record: Record) -> Iterator[bytes]:
    yield record.text.encode()
    extra = record.metadata if isinstance(record, Turn) else record.data
    if extra:
        yield json.dumps(extra, ensure_ascii=False, separators=(",", ":")).encode()


def _hashes(data: bytes, step: int) -> Fingerprints:
    """Hash ``PIECE_BYTES`` bytes at every ``step`` bytes."""
    import numpy as np

    count = (len(data) - PIECE_BYTES) // step + 1
    if count <= 0:
        return np.empty(0, np.uint64)
    halves = (np.ndarray(count, "<u8", data, offset, (step,)) for offset in (0, PIECE_BYTES // 2))
    first, second = (half.astype(np.uint64) for half in halves)
    return first * np.uint64(_MIX) ^ second


# ---- gaps of the file


def traces(path: Path, fingerprints: Sequence[Fingerprints]) -> bool:
    """Search the gaps between pointers and cells of the file for a piece of removed content. The WAL must be empty."""
    import numpy as np

    wanted = np.unique(np.concatenate(fingerprints))
    with reading(path) as read:
        size = int.from_bytes(read(18, 0)[16:], "big") or 65536
        offset = 0
        while block := read(size * PAGES_PER_READ, offset):
            pages = (block[at : at + size] for at in range(0, len(block), size))
            gaps = b"\0".join(_gap(page, 0 if offset or number else 100) for number, page in enumerate(pages))
            hashes = _hashes(gaps, 1)
            at = np.minimum(np.searchsorted(wanted, hashes), len(wanted) - 1)
            if len(wanted) and (wanted[at] == hashes).any():
                return True
            offset += len(block)
    return False


def _gap(page: bytes, start: int) -> bytes:
    header = BTREE.get(page[start])
    if header is None:
        return b""
    cells = int.from_bytes(page[start + 3 : start + 5], "big")
    content = int.from_bytes(page[start + 5 : start + 7], "big") or 65536
    return page[start + header + 2 * cells : content].strip(b"\0")


# ---- wiping


def wipe(db: sqlite3.Connection, path: Path, fingerprints: Sequence[Fingerprints]) -> ForgetReport:
    """Truncate the WAL and check that nothing of ``fingerprints`` is left in the file; outside a transaction only."""
    if file_bytes(db) - path.stat().st_size > _room(path):  # a checkpoint would fill the disk
        return pending("the disk is full")
    if not _fold(db, path):
        return pending("another connection reads an older state")
    if traces(path, fingerprints):
        if path.stat().st_size > MAX_REBUILT_BYTES:
            return pending("the file is large and has to be rebuilt")
        return rebuild(db, path)
    return ForgetReport(physical="wiped")


def rebuild(db: sqlite3.Connection, path: Path) -> ForgetReport:
    """Rebuild the file from its live content, which passes through the WAL."""
    if file_bytes(db) > _room(path) + wal_bytes(path):
        return pending("the disk is full")
    large = path.stat().st_size > MAX_REBUILT_BYTES
    db.execute(f"PRAGMA temp_store = {'FILE' if large else 'MEMORY'}")
    db.execute("VACUUM")
    return ForgetReport(physical="wiped") if _fold(db, path) else pending("another connection reads an older state")


def _room(path: Path) -> int:
    """Return the free bytes of the disk, the reserve included."""
    return shutil.disk_usage(path.parent).free + Reserve(path).size


def _fold(db: sqlite3.Connection, path: Path) -> bool:
    busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    return not busy and not wal_bytes(path)


def pending(reason: str) -> ForgetReport:
    return ForgetReport(physical="pending", reason=f"{reason}; run 'memscope compact'")
