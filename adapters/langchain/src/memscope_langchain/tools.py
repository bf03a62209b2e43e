"""Memory as tools, with which the model decides when to search, remember or forget.

The user and the thread come from the run (``ToolRuntime``, else the config), never from the model.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolArg, ToolException
from pydantic import ConfigDict, Field, PrivateAttr, create_model

from memscope.adapters import memory_tools
from memscope.adapters.instances import wait_for
from memscope.adapters.memory_tools import Tool, ToolSet, arguments, described, tool_named, tool_set
from memscope.adapters.session import MemorySession, SessionPool
from memscope.errors import MemscopeError
from memscope.records import Kind
from memscope_langchain.run import thread_of, user_of, zone_of

FromRun = Annotated[Any, InjectedToolArg]  # agents pass a ToolRuntime as the argument "runtime"


class MemoryTool(BaseTool):
    """Base of the memory tools. Set ``user`` for a tool of one user only; by default each run names its user.

    ``agent``, ``memory``, ``kinds`` and ``zone`` work as in the middleware. If memory fails, the model gets the error
    as its answer; with ``handle_tool_error=False`` the tool raises ``ToolException``.
    """

    model_config = ConfigDict(extra="forbid")  # a misspelt argument would be ignored

    handle_tool_error: bool | str | Callable[[ToolException], str] | None = True

    user: str | None = None
    agent: str | None = None
    memory: Any = Field(default=None, exclude=True, repr=False)
    kinds: list[Kind] | None = None
    zone: str | None = None
    _sessions: SessionPool = PrivateAttr()
    _tool: Tool = PrivateAttr()

    def __init__(self, tool: Tool, **more: Any) -> None:
        fields: dict[str, Any] = {**arguments(tool), "runtime": (FromRun, None)}
        args_schema = create_model(tool.__name__, **fields)
        super().__init__(**{"name": tool.__name__, "description": described(tool), "args_schema": args_schema, **more})
        self._tool = tool  # the rest raises memscope's errors, which a validator would hide
        self._sessions = SessionPool(self.memory, agent=self.agent, kinds=self.kinds, zone=self.zone)
        if self.user is not None:
            self._sessions.to(self.user)  # raise for invalid ids now

    def _session(self, runtime: Any, config: RunnableConfig) -> MemorySession:
        user = self.user if self.user is not None else user_of(runtime, config)
        return self._sessions.to(user, thread_of(runtime, config), zone=zone_of(runtime, config))

    def _run(self, *args: Any, config: RunnableConfig, runtime: Any = None, **arguments: Any) -> str:
        return wait_for(self._answer(self._session(runtime, config), runtime, *args, **arguments))

    async def _arun(self, *args: Any, config: RunnableConfig, runtime: Any = None, **arguments: Any) -> str:
        return await self._answer(self._session(runtime, config), runtime, *args, **arguments)

    async def _answer(self, session: MemorySession, runtime: Any, *args: Any, **arguments: Any) -> str:
        if self._tool is memory_tools.search_memory:
            arguments["seen"] = _seen(runtime)
        return await answer_or_error(self._tool(session, *args, **arguments))


class SearchMemoryTool(MemoryTool):
    """Searches memory, leaving out turns in the agent's context."""

    def __init__(self, **more: Any) -> None:
        super().__init__(memory_tools.search_memory, **more)


class RememberTool(MemoryTool):
    """Stores a statement as a memory."""

    def __init__(self, **more: Any) -> None:
        super().__init__(memory_tools.remember, **more)


class ForgetTool(MemoryTool):
    """Forgets records by id, and everything derived from them."""

    def __init__(self, **more: Any) -> None:
        super().__init__(memory_tools.forget, **more)


class CoreMemoryTool(MemoryTool):
    """One tool of ``memscope.adapters.memory_tools`` by name, such as memory_append or archival_search."""

    def __init__(self, name: str, **more: Any) -> None:
        super().__init__(tool_named(name), **more)


async def answer_or_error(answer: Awaitable[str]) -> str:
    """Await the answer. Convert failures to ``ToolException``, which LangChain can report to the model."""
    try:
        return await answer
    except MemscopeError as error:
        raise ToolException(f"Memory failed: {error}") from error


def tools_over(sessions: SessionPool, which: ToolSet | bool, *, strict: bool) -> list[BaseTool]:
    """Create tools for a middleware's memory: search_memory, remember and forget, or a set by name."""
    if not which:
        return []
    tools: list[MemoryTool] = (
        [kind(handle_tool_error=not strict) for kind in (SearchMemoryTool, RememberTool, ForgetTool)]
        if which is True
        else [CoreMemoryTool(name, handle_tool_error=not strict) for name in tool_set(which)]
    )
    for tool in tools:
        tool._sessions = sessions
    return list(tools)


def _seen(runtime: Any) -> list[str]:
    """Return the keys of the conversation's turns, which the middleware put into the state."""
    state = getattr(runtime, "state", None)
    shown = state.get("memscope_shown") if isinstance(state, dict) else None
    return shown["keys"] if shown else []
