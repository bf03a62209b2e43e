"""Update a small file shared by processes: read, change and replace it under a lock, so that no change is lost."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memscope.errors import StoreBusy

LOCK_TIMEOUT_S = 30.0


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lock a file against other processes and threads; raise ``StoreBusy`` after ``LOCK_TIMEOUT_S``.

    The lock is a separate file that is never removed: two processes could then lock two different files.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = open_lock(path.with_name(path.name + "-lock"))
    try:
        with held(file, path):
            yield
    finally:
        os.close(file)


def open_lock(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)


@contextmanager
def held(file: int, path: Path) -> Iterator[None]:
    """Lock an open file; after ``LOCK_TIMEOUT_S`` raise ``StoreBusy``, which names ``path``."""
    deadline, pause = time.monotonic() + LOCK_TIMEOUT_S, 0.0005
    while not try_lock(file):
        if time.monotonic() > deadline:
            raise StoreBusy(f"{str(path)!r} is held by another process", hint="try again", retry_after=1.0)
        time.sleep(pause)
        pause = min(pause * 1.5, 0.01)
    try:
        yield
    finally:
        unlock(file)


def replace(path: Path, content: bytes) -> None:
    """Replace the content of a file, mode 0600. Readers see the old or the new one, even after a power cut."""
    part = path.with_name(path.name + "-new")
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
    sync(path.parent)


def sync(path: Path) -> None:
    """Sync a file or, if the system can, a folder to disk."""
    if path.is_dir() and os.name == "nt":
        return
    file = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(file)
    finally:
        os.close(file)


if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def try_lock(file: int) -> bool:
        """Lock an open file against other processes, without waiting; False where another has it."""
        try:
            os.lseek(file, 0, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def unlock(file: int) -> None:
        os.lseek(file, 0, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def try_lock(file: int) -> bool:
        """Lock an open file against other processes, without waiting; False where another has it."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)
