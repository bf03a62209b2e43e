"""Everything that an adapter needs from memscope, in one import. docs/adapters.md explains how to write one."""

from __future__ import annotations

from memscope.adapters.instances import MemoryLike, wait_for
from memscope.adapters.memory_tools import (
    Tool,
    ToolSet,
    arguments,
    choose_tools,
    described,
    schema,
    tool_answer,
    tool_set,
)
from memscope.adapters.runs import (
    RecordedRun,
    RunMemory,
    begin_run,
    begin_tool_call,
    end_tool_call,
    first_unanswered,
    recall_run,
    record_run,
)
from memscope.adapters.session import MemorySession, RecallFrom, RecordWho, SessionPool, to_turn
from memscope.errors import ConfigError, InputError, ScopeError
from memscope.prompts.memory_block import TurnInput, choose_query
from memscope.records import Kind, Role, Turn
from memscope.validation import Zone

__all__ = [
    "ConfigError",
    "InputError",
    "Kind",
    "MemoryLike",
    "MemorySession",
    "RecallFrom",
    "RecordWho",
    "RecordedRun",
    "Role",
    "RunMemory",
    "ScopeError",
    "SessionPool",
    "Tool",
    "ToolSet",
    "Turn",
    "TurnInput",
    "Zone",
    "arguments",
    "begin_run",
    "begin_tool_call",
    "choose_query",
    "choose_tools",
    "described",
    "end_tool_call",
    "first_unanswered",
    "recall_run",
    "record_run",
    "schema",
    "to_turn",
    "tool_answer",
    "tool_set",
    "wait_for",
]
