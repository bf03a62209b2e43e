"""``Agent(..., context_providers=[MemoryScopeContextProvider(user="alice")])``.

    before_run   add tools, and a chat middleware for this run
    middleware   first call: record history and the user's turn; recall. Every call: insert the block before the text
                 of the user's newest message
    after_run    record the reply

Memory is inserted into the request, not the session, so history providers never store it. Recording and recall happen
in the middleware because only it sees the whole conversation, whichever provider loads the history.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any

from agent_framework import (
    AgentSession,
    ChatContext,
    ChatMiddleware,
    ContextProvider,
    FunctionInvocationContext,
    FunctionMiddleware,
    FunctionTool,
    HistoryProvider,
    Message,
    SessionContext,
    SupportsAgentRun,
)

from memscope.adapters import kit
from memscope_agent_framework.messages import turns_of, users_newest, with_memory

SHOWN_KEY = "shown"  # in the provider's state: ids of memories already in a conversation that the service stores
MAX_SHOWN_IDS = 1000
USER_KEY = "user_id"  # in the session's state, for a provider that serves many users


class MemoryScopeContextProvider(ContextProvider):
    """Long-term memory for an agent.

    One provider can serve many sessions concurrently.

    Args:
        user: The owner of the memory; by default ``session.state["user_id"]`` of each run.
        session: The session of the turns; by default the id of the run's ``AgentSession``.
        agent: Stored with every turn; recall is limited to this agent's turns.
        memory: Settings, the path or URL of a store, an ``AsyncMemoryScope`` or ``MemoryScope``; by default the
            settings of the environment, else one SQLite file.
        recall: "user" for all of the user's sessions, "session" for this one.
        k: Maximum number of memories to show.
        tokens: Maximum number of tokens to show.
        record: "both", "user", "assistant" or "none".
        tools: True for search_memory, remember and forget; "core", "archival" or "all" for a set; False for none.
        strict: Raise if memory fails, instead of logging one warning and answering without it.
        kinds: Kinds of records to show: "turn", "observation", "insight"; by default all.
        zone: The user's time zone; by default that of the settings.
        source_id: Agent Framework's id for this provider's state, messages and tools.
    """

    def __init__(
        self,
        *,
        user: str | None = None,
        session: str | None = None,
        agent: str | None = None,
        memory: kit.MemoryLike = None,
        recall: kit.RecallFrom = "user",
        k: int = 10,
        tokens: int = 1000,
        record: kit.RecordWho = "both",
        tools: bool | kit.ToolSet = True,
        strict: bool = False,
        kinds: Sequence[kit.Kind] | None = None,
        zone: kit.Zone = None,
        source_id: str = "memscope",
    ) -> None:
        super().__init__(source_id)
        self._sessions = kit.SessionPool(
            memory, agent=agent, recall_from=recall, k=k, tokens=tokens, record_who=record, strict=strict,
            kinds=kinds, zone=zone,
        )  # fmt: skip
        self._tools = kit.choose_tools(tools)
        self._strict = strict
        self.user, self.session = user, session
        if user is not None:
            self._sessions.to(user, session)  # raise for invalid ids now

    def memory_session(self, session: AgentSession) -> kit.MemorySession:
        """Return the memory for a run in ``session``. Raise ``ScopeError`` if no user is known."""
        user = self.user if self.user is not None else session.state.get(USER_KEY)
        if user is None:
            raise kit.ScopeError(
                "nobody said whose memory this is", hint=f'give user=, or set session.state["{USER_KEY}"]'
            )
        return self._sessions.to(user, self.session or session.session_id)

    async def before_run(
        self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        run = _RunMiddleware(
            self.memory_session(session),
            state.get(SHOWN_KEY, []) if session.service_session_id else None,
            _non_history_sources(agent),
        )
        context.metadata[self.source_id] = run
        context.extend_middleware(self.source_id, [run, _ToolCalls(run.session.agent)])
        context.extend_tools(self.source_id, [_function_tool(tool, run, self._strict) for tool in self._tools])

    async def after_run(
        self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        run: _RunMiddleware = context.metadata[self.source_id]
        memory = await run.begin(context.get_messages(include_input=True))  # for clients that run no middleware
        if session.service_session_id:
            state[SHOWN_KEY] = [*state.get(SHOWN_KEY, []), *memory.shown][-MAX_SHOWN_IDS:]
        if context.response is not None:
            await run.session.record(turns_of(context.response.messages))

    async def close(self) -> None:
        """Release the memory; the last release closes it. The next use reopens it."""
        await self._sessions.close()

    async def __aenter__(self) -> MemoryScopeContextProvider:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class _RunMiddleware(ChatMiddleware):
    """Memory of one run: recalled at the first model call and shown at the same place in every call."""

    def __init__(self, session: kit.MemorySession, shown: Sequence[str] | None, excluded: Collection[str] = ()) -> None:
        self.session = session
        self._excluded = excluded
        self.memory: kit.RunMemory | None = None
        self._shown = shown  # ids of memories in a conversation that the service stores; None if it stores none
        self._beside: Message | None = None

    async def begin(self, messages: Sequence[Message]) -> kit.RunMemory:
        if self.memory is None:
            self._beside = users_newest(messages)
            turns, stored = turns_of(messages, self._excluded), self._shown is not None
            earlier = [turn.key for turn in await self.session.recent()] if stored else []
            self.memory = await kit.begin_run(
                self.session, turns, exclude=[*earlier, *(self._shown or ())], permanent=stored
            )
        return self.memory

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        memory = await self.begin(context.messages)
        if memory.text:
            context.messages = with_memory(context.messages, memory.text, self._beside)
        await call_next()


class _ToolCalls(FunctionMiddleware):
    """Lets an agent that is a tool of this one know whose words its task is."""

    def __init__(self, agent: str | None) -> None:
        self._agent = agent

    async def process(self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
        kit.begin_tool_call(self._agent, dict(context.arguments))
        try:
            await call_next()
        finally:
            kit.end_tool_call()


def _non_history_sources(agent: Any) -> frozenset[str]:
    """Return the ids of an agent's context providers other than history providers. They add no conversation."""
    providers = getattr(agent, "context_providers", None) or ()
    return frozenset(one.source_id for one in providers if not isinstance(one, HistoryProvider))


def _function_tool(tool: Any, run: _RunMiddleware, strict: bool) -> FunctionTool:
    async def call(**arguments: Any) -> str:
        seen = run.memory.keys if run.memory else ()
        return await kit.tool_answer(tool, run.session, arguments, seen=seen, strict=strict)

    return FunctionTool(name=tool.__name__, description=kit.described(tool), func=call, input_model=kit.schema(tool))
