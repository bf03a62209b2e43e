"""``create_agent(..., middleware=[MemoryScopeMiddleware()])``: recall once per run, record both sides immediately.

    before_model     first call of a run: record new messages; recall memories into private state
    wrap_model_call  insert the memories before the text of the user's newest message
    after_model      record the reply
    wrap_tool_call   an agent that the tool runs is told its task as a user's message: it is this agent's

The messages in the state stay unchanged, and recalled memories are not checkpointed. All calls of a run send the same
memories at the same place; the next run sends the earlier messages without them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, TypeAlias, TypedDict

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.channels.untracked_value import UntrackedValue
from langgraph.runtime import Runtime
from langgraph.types import Command

from memscope.adapters.kit import (
    Kind,
    MemoryLike,
    MemorySession,
    RecallFrom,
    RecordedRun,
    RecordWho,
    SessionPool,
    ToolSet,
    Zone,
    begin_tool_call,
    choose_query,
    end_tool_call,
    first_unanswered,
    recall_run,
    record_run,
    wait_for,
)
from memscope_langchain.claims import claimed
from memscope_langchain.injection import users_newest, with_memory
from memscope_langchain.messages import agents_in, turns_of, with_turns
from memscope_langchain.run import thread_of, user_of, zone_of
from memscope_langchain.tools import tools_over

if TYPE_CHECKING:
    from langgraph.prebuilt.tool_node import ToolCallRequest

Update = dict[str, Any]
ToolResult: TypeAlias = ToolMessage | Command[Any]


class ShownMemory(TypedDict):
    """Memories shown in a run, the id of the message they are prefixed to, and the keys of the conversation's turns."""

    text: str
    keys: list[str]
    beside: str | None


class MiddlewareState(AgentState[Any]):
    """The agent's state, extended by ids of processed messages and the memories shown in the run.

    The ids are those of the user's newest message and of the last one, which a program removes to have it made again.
    """

    memscope_heard: NotRequired[Annotated[list[str], PrivateStateAttr]]
    memscope_shown: NotRequired[Annotated[ShownMemory, UntrackedValue, PrivateStateAttr]]


class MemoryScopeMiddleware(AgentMiddleware[MiddlewareState, Any]):
    """Long-term memory for an agent that serves any number of users.

    The user of a run is ``user_id`` of its context, else of its config, else the server's identity; without any of them
    it raises ``ScopeError``. The session is the run's thread. ``agent`` is stored with every turn and limits recall.
    ``memory``: settings, the path or URL of a store, an ``AsyncMemoryScope`` or
    ``MemoryScope``; by default the settings of the environment, else one SQLite file. ``recall="session"`` limits
    recall to the thread. At most ``k`` hits and ``tokens`` tokens are shown, of all ``kinds`` ("turn", "observation",
    "insight") by default. ``zone``: the time zone if the run's context and config have no ``timezone``, by default that
    of the settings. ``record``: "both", "user", "assistant" or "none". ``agents``: names of human messages that come
    from other agents (agents that have replied are known); other names are people.
    ``tools``: True for search_memory, remember and forget, "core" for tools that edit core memory, "archival" for
    archival memory and the conversation, "all" for both, False for none. If memory fails, the agent answers without it
    and one warning is logged; ``strict=True`` raises.
    """

    state_schema = MiddlewareState

    def __init__(
        self,
        *,
        agent: str | None = None,
        memory: MemoryLike = None,
        recall: RecallFrom = "user",
        k: int = 10,
        tokens: int = 1000,
        record: RecordWho = "both",
        tools: bool | ToolSet = True,
        strict: bool = False,
        kinds: Sequence[Kind] | None = None,
        zone: Zone = None,
        agents: Collection[str] = (),
    ) -> None:
        super().__init__()
        self._agent = agent
        self.agents = {agents} if isinstance(agents, str) else set(agents)
        self._sessions = SessionPool(
            memory, agent=agent, recall_from=recall, k=k, tokens=tokens, record_who=record, strict=strict,
            kinds=kinds, zone=zone,
        )  # fmt: skip
        self.tools = tools_over(self._sessions, tools, strict=strict)

    # ---- hooks

    def before_model(self, state: MiddlewareState, runtime: Runtime[Any]) -> Update | None:
        return wait_for(begin(self._session(runtime), state, self.agents)) if shown_in(state) is None else None

    async def abefore_model(self, state: MiddlewareState, runtime: Runtime[Any]) -> Update | None:
        return await begin(self._session(runtime), state, self.agents) if shown_in(state) is None else None

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        shown = shown_in(request.state)
        if shown is None:
            shown = wait_for(recall(self._session(request.runtime), request.messages, self.agents))
        return handler(with_memory(request, shown["text"], shown["beside"]))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        shown = shown_in(request.state)
        if shown is None:
            shown = await recall(self._session(request.runtime), request.messages, self.agents)
        return await handler(with_memory(request, shown["text"], shown["beside"]))

    def after_model(self, state: MiddlewareState, runtime: Runtime[Any]) -> Update:
        return wait_for(record_since(self._session(runtime), state, self.agents))

    async def aafter_model(self, state: MiddlewareState, runtime: Runtime[Any]) -> Update:
        return await record_since(self._session(runtime), state, self.agents)

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]) -> ToolResult:
        begin_tool_call(self._agent, request.tool_call["args"])
        try:
            return handler(request)
        finally:
            end_tool_call()

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        begin_tool_call(self._agent, request.tool_call["args"])
        try:
            return await handler(request)
        finally:
            end_tool_call()

    def _session(self, runtime: Any) -> MemorySession:
        return self._sessions.to(user_of(runtime), thread_of(runtime), zone=zone_of(runtime))

    # ---- closing

    async def aclose(self) -> None:
        """Release the memory; the last release closes it. The next use reopens it."""
        await self._sessions.close()

    def close(self) -> None:
        wait_for(self._sessions.close())


# ----------------------------------------------------------------------------------------------------------- a run


async def begin(session: MemorySession, state: MiddlewareState, agents: Collection[str]) -> Update:
    """Record new messages, and recall memories related to them."""
    messages = state["messages"]
    arrived, agents = index_after(messages, state.get("memscope_heard")), agents_in(messages, agents)
    spoken = with_turns(messages, agents)
    turns = [turn for _, turn in spoken]
    new = first_unanswered(turns) if arrived is None else len(turns_of(messages[:arrived], agents))
    async with claimed(session, spoken) as (known, note):
        is_new = [key is None for key in known]
        run = await record_run(session, [*compress(turns, is_new)], new=sum(is_new[:new]))
        note(run.keys)
    if others := [(turn, key) for turn, key in zip(turns, known, strict=True) if key is not None]:
        turns_known, keys_known = zip(*others, strict=True)
        query = choose_query(turns[new:] or turns)
        run = RecordedRun((*run.turns, *turns_known), (*run.keys, *keys_known), query)
    memory = await recall_run(session, run)
    shown = ShownMemory(text=memory.text, keys=[*memory.keys], beside=users_newest(messages))
    return {"memscope_heard": heard_ids(messages), "memscope_shown": shown}


async def record_since(session: MemorySession, state: MiddlewareState, agents: Collection[str]) -> Update:
    """Record the messages since the last call, including the model's reply."""
    messages = state["messages"]
    update: Update = {"memscope_heard": heard_ids(messages)}
    if shown_in(state) is None:  # save the memories that this call showed for the run's next calls
        update["memscope_shown"] = await recall(session, messages[: last_of(messages, AIMessage)], agents)
    start = index_after(messages, state.get("memscope_heard"))
    messages_since = messages[last_of(messages, AIMessage) if start is None else start :]
    spoken = with_turns(messages_since, agents_in(messages, agents))
    async with claimed(session, spoken) as (known, note):
        note(await session.record([turn for (_, turn), key in zip(spoken, known, strict=True) if key is None]))
    return update


def shown_in(state: Mapping[str, Any]) -> ShownMemory | None:
    return state.get("memscope_shown")


async def recall(session: MemorySession, messages: Sequence[BaseMessage], agents: Collection[str]) -> ShownMemory:
    """Recall again after an interrupted run was resumed, whose state has lost the recalled memories."""
    turns = turns_of(messages, agents_in(messages, agents))
    recalled = await session.recall(choose_query(turns), shown={turn["content"] for turn in turns})
    return ShownMemory(text=recalled.text, keys=[], beside=users_newest(messages))


# -------------------------------------------------------------------------------------------------------- messages


def index_after(messages: Sequence[BaseMessage], heard: Collection[str] | None) -> int | None:
    """Return the index after the last of the messages with these ids, None if there are none."""
    return next((at for at in range(len(messages), 0, -1) if messages[at - 1].id in (heard or ())), None)


def last_of(messages: Sequence[BaseMessage], kind: type[BaseMessage]) -> int:
    """Return the index of the last message of this kind, the number of messages if there is none."""
    places = range(len(messages) - 1, -1, -1)
    return next((at for at in places if isinstance(messages[at], kind)), len(messages))


def heard_ids(messages: Sequence[BaseMessage]) -> list[str]:
    """Return the ids of the user's newest message and of the last message."""
    return [id for id in (users_newest(messages), messages[-1].id if messages else None) if id is not None]
