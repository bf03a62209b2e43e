"""Disk space reserved for ``forget`` on a full disk: a file beside the store, removed when the space is needed.

The WAL has to grow before a row can be deleted, and opening a store needs room for the WAL's index.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from memscope.stores.sqlite.files import wal_bytes

MAX_RESERVE_BYTES = 1 << 20  # removing a turn takes about 80 kB of WAL, a long turn 2 to 3 times its length
MIN_STEP_BYTES = 64 << 10


class Reserve:
    """A file of random bytes, since a compressing file system reserves no room for zeros."""

    def __init__(self, store: Path) -> None:
        self._store, self.path = store, store.with_name(f"{store.name}-reserve")
        self._size = 0  # last size set by this process
        self._before = 0  # size at the last release

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def keep(self) -> None:
        """Grow to the size of the store with its WAL, at most ``MAX_RESERVE_BYTES``, as far as the disk has room."""
        with suppress(OSError):
            wanted = self._wanted()
            file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                self._size = os.fstat(file).st_size
                while self._size < wanted and (written := os.write(file, os.urandom(wanted - self._size))):
                    self._size += written
            finally:
                os.close(file)

    def grow(self) -> None:
        """Grow once the store has grown by ``MIN_STEP_BYTES``."""
        with suppress(OSError):
            if self._size < MAX_RESERVE_BYTES and self._wanted() - self._size >= MIN_STEP_BYTES:
                self.keep()

    def release(self) -> None:
        self._before = self.size
        self.path.unlink(missing_ok=True)
        self._size = 0

    def _wanted(self) -> int:
        return max(self._before, min(MAX_RESERVE_BYTES, self._store.stat().st_size + wal_bytes(self._store)))
