"""Memory as tools of AgentScope 2.x: the model decides when to look something up, keep it or forget it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Protocol, get_args

from agentscope.message import TextBlock, ToolResultState
from agentscope.permission import PermissionBehavior, PermissionDecision
from agentscope.state import AgentState
from agentscope.tool import ToolBase, ToolChunk

from memscope.adapters.memory_tools import READING, described, schema, tool_set
from memscope.adapters.session import FORGET, KINDS, REMEMBER, SEARCH_MEMORY, MemorySession
from memscope.errors import MemscopeError
from memscope.records import Kind


class AgentMemory(Protocol):
    """The part of the middleware that its tools need."""

    def memory_session(self, state: AgentState | None = None) -> MemorySession: ...
    def seen(self, state: AgentState | None) -> Collection[str]: ...


def _schema(name: str, optional: Mapping[str, Any] | None = None, **about: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {name: about, **(optional or {})}, "required": [name]}


_ONE_KIND = {"type": "string", "enum": list(get_args(Kind))}
_KINDS = {"kinds": {"type": "array", "items": _ONE_KIND, "description": KINDS}}


class _MemoryTool(ToolBase):
    """A tool over one middleware's memory, in the session of the agent that calls it."""

    is_concurrency_safe = True
    is_read_only = False
    is_external_tool = False
    is_state_injected = True
    is_mcp = False
    mcp_name = None
    permission: ClassVar[PermissionBehavior]
    reason: ClassVar[str]

    def __init__(self, memory: AgentMemory) -> None:
        super().__init__()
        self.memory = memory

    async def check_permissions(self, *_: Any, **__: Any) -> PermissionDecision:
        return PermissionDecision(behavior=self.permission, message=self.reason)

    async def __call__(self, *_: Any, _agent_state: AgentState | None = None, **arguments: Any) -> ToolChunk:
        try:
            return ToolChunk(content=[TextBlock(text=await self.run(_agent_state, **arguments))])
        except MemscopeError as error:
            return ToolChunk(content=[TextBlock(text=f"Error: {error}")], state=ToolResultState.ERROR)

    async def run(self, state: AgentState | None, **arguments: Any) -> str:
        raise NotImplementedError


class SearchMemoryTool(_MemoryTool):
    """Looks up what is remembered; leaves out what the agent has before its eyes."""

    name, description = SEARCH_MEMORY.name, SEARCH_MEMORY.description
    input_schema = _schema("query", _KINDS, type="string", description="What to look for, in the user's own language.")
    is_read_only = True
    permission, reason = PermissionBehavior.ALLOW, "It only reads."

    async def run(self, state: AgentState | None, *, query: str = "", kinds: list[Kind] | None = None, **_: Any) -> str:
        return await self.memory.memory_session(state).answer_search(
            query, exclude=self.memory.seen(state), kinds=kinds
        )


class RememberTool(_MemoryTool):
    """Keeps a statement. Whether the user is asked before is up to the agent's own permission rules."""

    name, description = REMEMBER.name, REMEMBER.description
    input_schema = _schema(
        "statement", type="string", description="One self-contained sentence, in the user's own language."
    )
    permission, reason = PermissionBehavior.PASSTHROUGH, "It writes a memory; the agent's rules decide."

    async def run(self, state: AgentState | None, *, statement: str = "", **_: Any) -> str:
        return await self.memory.memory_session(state).answer_remember(statement)


class ForgetTool(_MemoryTool):
    """Forgets by id, with all that was derived from it. The user is asked first."""

    name, description = FORGET.name, FORGET.description
    input_schema = _schema(
        "ids",
        type="array",
        items={"type": "string"},
        description="The ids of what to forget, as search_memory printed them.",
    )
    permission, reason = PermissionBehavior.ASK, "It removes memories for good."

    async def run(self, state: AgentState | None, *, ids: list[str] | None = None, **_: Any) -> str:
        return await self.memory.memory_session(state).answer_forget(ids or [])


class CoreMemoryTool(_MemoryTool):
    """A tool of ``memscope.adapters.memory_tools``, by its name: memory_append, archival_search, and so on."""

    def __init__(self, memory: AgentMemory, name: str) -> None:
        self.tool = tool_set("all")[name]
        self.name, self.description, self.input_schema = name, described(self.tool), schema(self.tool)
        self.is_read_only = name in READING
        example = SearchMemoryTool if self.is_read_only else RememberTool
        self.permission, self.reason = example.permission, example.reason  # type: ignore[misc]
        super().__init__(memory)

    async def run(self, state: AgentState | None, **given: Any) -> str:
        return await self.tool(self.memory.memory_session(state), **given)
