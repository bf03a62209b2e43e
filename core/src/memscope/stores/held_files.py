"""Descriptors of the files of open SQLite stores, so that none is closed while SQLite holds locks.

When a process closes any descriptor of a file, POSIX drops all its locks on that file, those of SQLite too. Another
process then takes itself for the only one and removes the WAL under the open store, whose writes are lost
(sqlite.org/howtocorrupt.html, 2.2). So a store holds a descriptor, and all that read bytes of its file use that one.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from memscope.errors import StoreUnavailable

IS_POSIX = sys.platform != "win32"
# Length and offset of the locks that SQLite keeps while a file is open (SHARED_SIZE, SHARED_FIRST and UNIX_SHM_DMS)
SHARED_LOCK, SHM_LOCK = (510, 0x40000002), (1, 128)


@dataclass(slots=True)
class HeldFile:
    path: Path
    place: tuple[int, int]  # device and inode
    descriptors: list[int]
    stores: int = 0


_by_place: dict[tuple[int, int], HeldFile] = {}
_lock = threading.Lock()


def held_file(path: Path) -> HeldFile | None:
    """Return the file if a store of this process has it open. Nothing else may open and close it."""
    return _by_place.get(_place(path.stat()))


def hold(path: Path) -> HeldFile:
    """Keep a descriptor of the file open until as many calls of ``release``. Call it before SQLite opens the file."""
    with _lock:
        file = _by_place.get(_place(path.stat()))
        if file is None:
            descriptor = open_bytes(path)
            place = _place(os.fstat(descriptor))  # of a file that was put here in between
            file = _by_place.setdefault(place, HeldFile(path, place, []))
            file.descriptors.append(descriptor)
        file.stores += 1
        return file


def release(file: HeldFile) -> None:
    """Undo ``hold``, after all connections are closed."""
    with _lock:
        file.stores -= 1
        if file.stores == 0:
            del _by_place[file.place]
            for descriptor in file.descriptors:
                os.close(descriptor)


def open_bytes(path: Path) -> int:
    try:
        return os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
    except PermissionError:
        raise StoreUnavailable(f"{str(path)!r} cannot be read", hint="give read permission") from None


def _place(stat: os.stat_result) -> tuple[int, int]:
    return stat.st_dev, stat.st_ino


if sys.platform != "win32":
    import fcntl

    def _lock_again() -> None:
        """Take SQLite's locks in a forked child, which inherits SQLite's belief that it has them, but not the locks."""
        for file in _by_place.values():
            with suppress(OSError):
                fcntl.lockf(file.descriptors[0], fcntl.LOCK_SH | fcntl.LOCK_NB, *SHARED_LOCK)
                file.descriptors.append(os.open(f"{file.path}-shm", os.O_RDONLY | os.O_CLOEXEC))
                fcntl.lockf(file.descriptors[-1], fcntl.LOCK_SH | fcntl.LOCK_NB, *SHM_LOCK)
        _lock.release()

    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock_again)
