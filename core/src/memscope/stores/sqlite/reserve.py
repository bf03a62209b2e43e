"""Room that a full disk leaves to ``forget``: a file beside the store, given up when there is no other.

A WAL has to grow before a row can be deleted, and a store that is opened needs room for its index of the WAL.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

LARGEST = 1 << 20  # a removed turn takes some 80 kB of WAL, a long one two to three times its length


class Reserve:
    """Its content is random, since a file system that compresses keeps no room for zeros."""

    def __init__(self, store: Path) -> None:
        self._store, self.path = store, store.with_name(f"{store.name}-reserve")

    def keep(self) -> None:
        """Make it as large as the store, at most ``LARGEST``, as far as the disk has room."""
        with suppress(OSError):
            file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                missing = min(LARGEST, self._store.stat().st_size) - os.fstat(file).st_size
                while missing > 0 and (written := os.write(file, os.urandom(missing))):
                    missing -= written
            finally:
                os.close(file)

    def release(self) -> None:
        self.path.unlink(missing_ok=True)
