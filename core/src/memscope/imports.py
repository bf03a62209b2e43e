"""Cheap imports: a lock for late imports in threads, and patterns that are compiled on first use.

A fork waits for the lock; otherwise a child forked during an import would wait forever for that module's import lock.
"""

from __future__ import annotations

import os
import re
import threading
from typing import Any, cast


def hold_across_forks(lock: threading.Lock | threading.RLock) -> None:
    """Hold a module's lock while the process forks, so that no child copies it locked by a thread that it lacks."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)


importing = threading.RLock()
hold_across_forks(importing)


class _Pattern:
    """Lazy proxy of a compiled pattern; caches the methods that were used."""

    def __init__(self, source: str, flags: int) -> None:
        self.pattern, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        method = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, method)
        return method


def pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression that is compiled on first use: large ones take milliseconds, and few are needed.

    An invalid one raises ``re.error`` only then; the tests use every pattern.
    """
    return cast("re.Pattern[str]", _Pattern(source, flags))
