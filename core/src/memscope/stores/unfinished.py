"""Temporary files of a backup, an export or a recovery, until they are complete.

They hold conversation, so one whose process died must not stay: opening a store removes those beside it that are a day
old, ``forget`` and ``compact`` remove all.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

SUFFIX = ".memscope-part"
OLD_S = 24 * 3600.0
_started = time.time() - 2  # the resolution of a file's time, at worst


def part_of(path: Path) -> Path:
    """Returns the temporary path for the content of ``path``. Its name has the id of this process."""
    return path.with_name(f"{path.name}.{os.getpid()}{SUFFIX}")


def old(folder: Path) -> list[Path]:
    """Returns the parts in a folder that were last written a day ago or earlier."""
    return [part for part in folder.glob(f"*{SUFFIX}*") if _is_old(part)]


def abandoned(folder: Path) -> list[Path]:
    """Returns the parts in a folder that no process of this machine is writing, and the old ones."""
    return [part for part in folder.glob(f"*{SUFFIX}*") if _is_old(part) or not _has_writer(part)]


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
    return _written(part) < time.time() - OLD_S


def _written(part: Path) -> float:
    try:
        return part.stat().st_mtime
    except FileNotFoundError:
        return time.time()


def _has_writer(part: Path) -> bool:
    name = part.name.partition(SUFFIX)[0].rpartition(".")[2]
    process = int(name) if name.isdecimal() else -1
    if process == os.getpid():  # or that of an earlier process with the same id: in a container it is often 1
        return _written(part) >= _started
    return process > 0 and _is_running(process)


def _is_running(process: int) -> bool:
    if os.name == "nt":  # no signal is harmless there, and a file that is open cannot be removed
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
