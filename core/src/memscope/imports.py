"""A lock around what is imported late, in threads.

A fork waits for it: a child whose parent was importing would wait for that module's own lock for ever.
"""

from __future__ import annotations

import os
import threading

importing = threading.RLock()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=importing.acquire, after_in_parent=importing.release, after_in_child=importing.release)
