"""``MemoryScope``: the operations without ``await``.

loop.py      one private event loop in a thread of its own
memory.py    MemoryScope, method by method
views.py     answers, core memory, entities, operators' work
"""

from memscope.sync.loop import loop_thread
from memscope.sync.memory import MemoryScope

__all__ = ["MemoryScope", "loop_thread"]
