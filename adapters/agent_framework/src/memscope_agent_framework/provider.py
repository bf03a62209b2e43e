"""``Agent(..., context_providers=[MemoryScopeContextProvider(user="alice")])``.

    before_run   tools, and a chat middleware for this run
    middleware   first call: history and the user's turn ──▶ record; recall. Every call: the block before the user's
                 newest words
    after_run    the reply ──▶ record

Memory is put into the request, not into the session: history providers never store it. The middleware records and
recalls because only there the whole conversation is known, whichever provider loads the history.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any

from agent_framework import (
    AgentSession,
    ChatContext,
    ChatMiddleware,
    ContextProvider,
    FunctionTool,
    HistoryProvider,
    Message,
    SessionContext,
    SupportsAgentRun,
)

from memscope.adapters import kit
from memscope_agent_framework.messages import turns_of, users_newest, with_memory

SHOWN_KEY = "shown"  # in the provider's state: ids of memories in a conversation that the service keeps
MAX_SHOWN_IDS = 1000
USER_KEY = "user_id"  # in the state of a session, for a provider that serves many users


class MemoryScopeContextProvider(ContextProvider):
    """Long-term memory for an agent.

    One provider serves any number of sessions, at once too.

    Args:
        user: The user whose memory it is; by default ``session.state["user_id"]`` of each run.
        session: The session that turns belong to; by default the id of the run's ``AgentSession``.
        agent: Written with every turn; on reading it narrows to this agent's turns.
        memory: Settings, the path or URL of a store, an ``AsyncMemoryScope`` or ``MemoryScope``; by default what the
            environment says, else one SQLite file.
        recall: "user" for all of the user's sessions, "session" for this one.
        k: The most memories that are shown.
        tokens: The most tokens that are shown.
        record: "both", "user", "assistant" or "none".
        tools: True for search_memory, remember and forget, "core", "archival" or "all" for those sets, False for none.
        strict: Raise when memory fails, instead of one warning and an answer without it.
        kinds: Only these are shown: "turn", "observation", "insight".
        zone: The user's time zone; by default that of the settings.
        source_id: The name under which Agent Framework keeps what belongs to this provider.
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
            self._sessions.to(user, session)  # checked now

    def memory_session(self, session: AgentSession) -> kit.MemorySession:
        """The memory of a run in ``session``. ``ScopeError`` where nobody said whose it is."""
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
            _bringing(agent),
        )
        context.metadata[self.source_id] = run
        context.extend_middleware(self.source_id, run)
        context.extend_tools(self.source_id, [_function_tool(tool, run, self._strict) for tool in self._tools])

    async def after_run(
        self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        run: _RunMiddleware = context.metadata[self.source_id]
        memory = await run.begin(context.get_messages(include_input=True))  # a client without middleware never did
        if session.service_session_id:
            state[SHOWN_KEY] = [*state.get(SHOWN_KEY, []), *memory.shown][-MAX_SHOWN_IDS:]
        if context.response is not None:
            await run.session.record(turns_of(context.response.messages))

    async def close(self) -> None:
        """Release the memory; the last release closes it. Using this one again opens it again."""
        await self._sessions.close()

    async def __aenter__(self) -> MemoryScopeContextProvider:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class _RunMiddleware(ChatMiddleware):
    """Memory of one run: recalled at the first call of the model, shown at the same place in all of them."""

    def __init__(self, session: kit.MemorySession, shown: Sequence[str] | None, brought: Collection[str] = ()) -> None:
        self.session = session
        self._brought = brought
        self.memory: kit.RunMemory | None = None
        self._shown = shown  # ids of memories in a conversation that the service keeps; None where nobody does
        self._beside: Message | None = None

    async def begin(self, messages: Sequence[Message]) -> kit.RunMemory:
        if self.memory is None:
            self._beside = users_newest(messages)
            turns, stored = turns_of(messages, self._brought), self._shown is not None
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


def _bringing(agent: Any) -> frozenset[str]:
    """Return the ids of an agent's context providers that keep no history: what they add was said by nobody."""
    providers = getattr(agent, "context_providers", None) or ()
    return frozenset(one.source_id for one in providers if not isinstance(one, HistoryProvider))


def _function_tool(tool: Any, run: _RunMiddleware, strict: bool) -> FunctionTool:
    async def call(**arguments: Any) -> str:
        seen = run.memory.keys if run.memory else ()
        return await kit.tool_answer(tool, run.session, arguments, seen=seen, strict=strict)

    return FunctionTool(name=tool.__name__, description=kit.described(tool), func=call, input_model=kit.schema(tool))
