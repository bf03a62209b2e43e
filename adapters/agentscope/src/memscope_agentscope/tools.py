"""Memory as tools for AgentScope 2.x, with which the model decides when to search, remember or forget."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from agentscope.message import TextBlock, ToolResultState
from agentscope.permission import PermissionBehavior, PermissionDecision
from agentscope.state import AgentState
from agentscope.tool import ToolBase, ToolChunk

from memscope.adapters import memory_tools
from memscope.adapters.memory_tools import READING, Tool, described, schema, tool_answer, tool_named
from memscope.adapters.session import MemorySession
from memscope.errors import MemscopeError


class AgentMemory(Protocol):
    """The part of the middleware that its tools need."""

    def memory_session(self, state: AgentState | None = None) -> MemorySession: ...
    def seen(self, state: AgentState | None) -> Collection[str]: ...


PERMISSION_QUESTIONS: Mapping[PermissionBehavior, str] = {
    PermissionBehavior.ALLOW: "It only reads.",
    PermissionBehavior.PASSTHROUGH: "It writes a memory; the agent's rules decide.",
    PermissionBehavior.ASK: "It removes memories for good.",
}


class _MemoryTool(ToolBase):
    """A tool for one middleware's memory, in the session of the calling agent."""

    is_concurrency_safe = True
    is_read_only = False
    is_external_tool = False
    is_state_injected = True
    is_mcp = False
    mcp_name = None

    def __init__(self, memory: AgentMemory, tool: Tool) -> None:
        super().__init__()
        self.memory, self.tool = memory, tool
        self.name, self.description, self.input_schema = tool.__name__, described(tool), schema(tool)
        self.is_read_only = tool.__name__ in READING

    async def check_permissions(self, *_: Any, **__: Any) -> PermissionDecision:
        writing = PermissionBehavior.ASK if self.tool is memory_tools.forget else PermissionBehavior.PASSTHROUGH
        behavior = PermissionBehavior.ALLOW if self.is_read_only else writing
        return PermissionDecision(behavior=behavior, message=PERMISSION_QUESTIONS[behavior])

    async def __call__(self, *_: Any, _agent_state: AgentState | None = None, **arguments: Any) -> ToolChunk:
        try:
            session, seen = self.memory.memory_session(_agent_state), self.memory.seen(_agent_state)
            answer = await tool_answer(self.tool, session, arguments, seen=seen, strict=True)
            return ToolChunk(content=[TextBlock(text=answer)])
        except MemscopeError as error:
            return ToolChunk(content=[TextBlock(text=f"Error: {error}")], state=ToolResultState.ERROR)


class SearchMemoryTool(_MemoryTool):
    """Searches memory, leaving out turns in the agent's context."""

    def __init__(self, memory: AgentMemory) -> None:
        super().__init__(memory, memory_tools.search_memory)


class RememberTool(_MemoryTool):
    """Stores a statement as a memory. The agent's permission rules decide whether the user is asked first."""

    def __init__(self, memory: AgentMemory) -> None:
        super().__init__(memory, memory_tools.remember)


class ForgetTool(_MemoryTool):
    """Forgets records by id, and everything derived from them. The user is asked first."""

    def __init__(self, memory: AgentMemory) -> None:
        super().__init__(memory, memory_tools.forget)


class CoreMemoryTool(_MemoryTool):
    """One tool of ``memscope.adapters.memory_tools`` by name, such as memory_append or archival_search."""

    def __init__(self, memory: AgentMemory, name: str) -> None:
        super().__init__(memory, tool_named(name))
