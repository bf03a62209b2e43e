"""Keep imports cheap: a lock for late imports in threads, and regular expressions compiled on first use.

A fork waits for the lock: a child forked in the middle of an import would wait for that module's import lock forever.
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
    """Lazy proxy of a compiled pattern; caches each method once it is used."""

    def __init__(self, source: str, flags: int) -> None:
        self.pattern, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        method = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, method)
        return method


def pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """Make a regular expression that is compiled on first use: large ones take milliseconds, and few texts need all.

    A syntax error is raised only then; the tests use each pattern.
    """
    return cast("re.Pattern[str]", _Pattern(source, flags))
