"""Memory as tools: the model decides when to look something up, keep it or forget it.

The user and the thread come from the run (``ToolRuntime``, else the config), never from the model.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolArg, ToolException
from pydantic import BaseModel, Field, PrivateAttr, create_model

from memscope.adapters.instances import wait_for
from memscope.adapters.memory_tools import Tool, ToolSet, arguments, described, tool_set
from memscope.adapters.session import FORGET, KINDS, REMEMBER, SEARCH_MEMORY, MemorySession, SessionPool
from memscope.errors import MemscopeError
from memscope.records import Kind
from memscope_langchain.run import thread_of, user_of, zone_of

FromRun = Annotated[Any, InjectedToolArg]  # agents give a ToolRuntime to an argument of the name "runtime"


class SearchArguments(BaseModel):
    query: str = Field(description="What to look for, in the user's own language.")
    kinds: list[Kind] | None = Field(default=None, description=KINDS)
    runtime: FromRun = None


class RememberArguments(BaseModel):
    statement: str = Field(description="One self-contained sentence, in the user's own language.")
    runtime: FromRun = None


class ForgetArguments(BaseModel):
    ids: list[str] = Field(description="The ids of what to forget, as search_memory printed them.")
    runtime: FromRun = None


class MemoryTool(BaseTool):
    """``user``: for a tool that serves one user only; else each run says whose memory it is.

    ``agent``, ``memory``, ``kinds`` and ``zone`` as for the middleware. A memory that fails is told to the model, which
    may go on; with ``handle_tool_error=False`` it raises ``ToolException``.
    """

    handle_tool_error: bool | str | Callable[[ToolException], str] | None = True

    user: str | None = None
    agent: str | None = None
    memory: Any = Field(default=None, exclude=True, repr=False)
    kinds: list[Kind] | None = None
    zone: str | None = None
    _sessions: SessionPool = PrivateAttr()

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)  # what follows raises memscope's own errors, which a validator would hide
        self._sessions = SessionPool(self.memory, agent=self.agent, kinds=self.kinds, zone=self.zone)
        if self.user is not None:
            self._sessions.to(self.user)  # checked now

    def _session(self, runtime: Any, config: RunnableConfig) -> MemorySession:
        user = self.user if self.user is not None else user_of(runtime, config)
        return self._sessions.to(user, thread_of(runtime, config), zone=zone_of(runtime, config))


class SearchMemoryTool(MemoryTool):
    """Looks up what is remembered; leaves out what the agent has before its eyes."""

    name: str = SEARCH_MEMORY.name
    description: str = SEARCH_MEMORY.description
    args_schema: type[BaseModel] = SearchArguments

    def _run(
        self, query: str, kinds: Sequence[Kind] | None = None, *, config: RunnableConfig, runtime: Any = None
    ) -> str:
        return wait_for(self._arun(query, kinds, config=config, runtime=runtime))

    async def _arun(
        self, query: str, kinds: Sequence[Kind] | None = None, *, config: RunnableConfig, runtime: Any = None
    ) -> str:
        session = self._session(runtime, config)
        return await answer_or_error(session.answer_search(query, exclude=_seen(runtime), kinds=kinds))


class RememberTool(MemoryTool):
    """Keeps a statement."""

    name: str = REMEMBER.name
    description: str = REMEMBER.description
    args_schema: type[BaseModel] = RememberArguments

    def _run(self, statement: str, *, config: RunnableConfig, runtime: Any = None) -> str:
        return wait_for(answer_or_error(self._session(runtime, config).answer_remember(statement)))

    async def _arun(self, statement: str, *, config: RunnableConfig, runtime: Any = None) -> str:
        return await answer_or_error(self._session(runtime, config).answer_remember(statement))


class ForgetTool(MemoryTool):
    """Forgets by id, with all that was derived from it."""

    name: str = FORGET.name
    description: str = FORGET.description
    args_schema: type[BaseModel] = ForgetArguments

    def _run(self, ids: list[str], *, config: RunnableConfig, runtime: Any = None) -> str:
        return wait_for(answer_or_error(self._session(runtime, config).answer_forget(ids)))

    async def _arun(self, ids: list[str], *, config: RunnableConfig, runtime: Any = None) -> str:
        return await answer_or_error(self._session(runtime, config).answer_forget(ids))


class CoreMemoryTool(MemoryTool):
    """A tool of ``memscope.adapters.memory_tools``, by its name: memory_append, archival_search, and so on."""

    _tool: Tool = PrivateAttr()

    def __init__(self, name: str, **given: Any) -> None:
        tool = tool_set("all")[name]
        fields: dict[str, Any] = {**arguments(tool), "runtime": (FromRun, None)}
        super().__init__(name=name, description=described(tool), args_schema=create_model(name, **fields), **given)
        self._tool = tool

    def _run(self, *, config: RunnableConfig, runtime: Any = None, **given: Any) -> str:
        return wait_for(answer_or_error(self._tool(self._session(runtime, config), **given)))

    async def _arun(self, *, config: RunnableConfig, runtime: Any = None, **given: Any) -> str:
        return await answer_or_error(self._tool(self._session(runtime, config), **given))


async def answer_or_error(answer: Awaitable[str]) -> str:
    """Returns the answer; raises failures as the one kind of error that a tool may report to the model."""
    try:
        return await answer
    except MemscopeError as error:
        raise ToolException(f"Memory failed: {error}") from error


def tools_over(sessions: SessionPool, which: ToolSet | bool, *, strict: bool) -> list[BaseTool]:
    """Returns tools over the memory of a middleware: search_memory, remember and forget, or a set by its name."""
    if not which:
        return []
    made: list[MemoryTool] = (
        [kind(handle_tool_error=not strict) for kind in (SearchMemoryTool, RememberTool, ForgetTool)]
        if which is True
        else [CoreMemoryTool(name, handle_tool_error=not strict) for name in tool_set(which)]
    )
    for tool in made:
        tool._sessions = sessions
    return list(made)


def _seen(runtime: Any) -> list[str]:
    """Returns keys of the turns that the middleware found in the conversation."""
    state = getattr(runtime, "state", None)
    shown = state.get("memscope_shown") if isinstance(state, dict) else None
    return shown["keys"] if shown else []
