"""memscope: long-term memory for LLM agents, native in the framework you already use.

Only the names that ``docs/public.md`` lists are kept from version to version. Every other module and name is internal,
with or without an underscore.
"""

from memscope.errors import VERSION, MemscopeError
from memscope.memory import AsyncMemoryScope
from memscope.records import Hit, Insight, Interval, Observation, Retrieval, Scope, Turn
from memscope.sync import MemoryScope

__version__ = VERSION

__all__ = [
    "AsyncMemoryScope",
    "Hit",
    "Insight",
    "Interval",
    "MemoryScope",
    "MemscopeError",
    "Observation",
    "Retrieval",
    "Scope",
    "Turn",
    "__version__",
]
