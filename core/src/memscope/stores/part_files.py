"""Temporary files ("parts") of a backup, an export or a recovery.

They contain conversations, so parts of dead processes must not stay. Opening a store removes parts beside it that are
a day old; ``forget`` and ``compact`` also remove parts without a living writer.
"""

from __future__ import annotations

import os
import time
from itertools import count
from pathlib import Path

PART_SUFFIX = ".memscope-part"
STALE_AFTER_S = 24 * 3600.0
_numbers = count()  # two copies of one process to one path must not share a part
_started = time.time() - 2  # 2 s: the coarsest resolution of file times


def part_of(path: Path) -> Path:
    """Return a new temporary path for the content of ``path``, with the id of this process."""
    return path.with_name(f"{path.name}.{next(_numbers)}.{os.getpid()}{PART_SUFFIX}")


def old(folder: Path) -> list[Path]:
    """List the parts in a folder that were last written at least ``STALE_AFTER_S`` ago."""
    return [part for part in folder.glob(f"*{PART_SUFFIX}*") if _is_old(part)]


def abandoned(folder: Path) -> list[Path]:
    """List the parts in a folder that are old or have no running writer on this machine."""
    return [part for part in folder.glob(f"*{PART_SUFFIX}*") if _is_old(part) or not _has_writer(part)]


def sweep(parts: list[Path]) -> bool:
    """Remove the parts; False if one could not be removed."""
    done = True
    for part in parts:
        try:
            part.unlink(missing_ok=True)
        except OSError:
            done = False
    return done


def _is_old(part: Path) -> bool:
    return _written(part) < time.time() - STALE_AFTER_S


def _written(part: Path) -> float:
    try:
        return part.stat().st_mtime
    except FileNotFoundError:
        return time.time()


def _has_writer(part: Path) -> bool:
    name = part.name.partition(PART_SUFFIX)[0].rpartition(".")[2]
    process = int(name) if name.isdecimal() else -1
    if process == os.getpid():  # ids repeat in containers, where 1 is usual
        return _written(part) >= _started
    return process > 0 and _is_running(process)


def _is_running(process: int) -> bool:
    if os.name == "nt":  # there, probing by a signal would kill, and open files cannot be removed
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
