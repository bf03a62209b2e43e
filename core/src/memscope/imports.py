"""Imports that cost little: a lock around what is imported late, in threads, and patterns compiled on first use.

A fork waits for the lock: a child whose parent was importing would wait for that module's own lock for ever.
"""

from __future__ import annotations

import os
import re
import threading
from typing import Any, cast

importing = threading.RLock()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=importing.acquire, after_in_parent=importing.release, after_in_child=importing.release)


class _Pattern:
    """Stands for a compiled pattern; keeps the methods that were asked for."""

    def __init__(self, source: str, flags: int) -> None:
        self.pattern, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        method = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, method)
        return method


def pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression that is compiled on first use: large ones take milliseconds, and few texts need all.

    One that is wrong raises ``re.error`` only then; the tests use each.
    """
    return cast("re.Pattern[str]", _Pattern(source, flags))
