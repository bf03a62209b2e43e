"""``create_agent(..., middleware=[MemoryScopeMiddleware()])``: recall once a run, both sides recorded as they are said.

    before_agent     history shown again, then the user's turn ──▶ record; recall ──▶ private state
    wrap_model_call  the request, with what was recalled before the user's newest words ──▶ model
    after_model      the reply ──▶ record

The messages of the state are never written to, and what was recalled is in no checkpoint. All calls of a run send the
same memory at the same place; the next run sends the earlier messages without it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Annotated, Any, NotRequired, TypedDict

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.channels.untracked_value import UntrackedValue
from langgraph.runtime import Runtime

from memscope.adapters.kit import (
    Kind,
    MemoryLike,
    MemorySession,
    RecallFrom,
    RecordWho,
    SessionPool,
    ToolSet,
    Zone,
    begin_run,
    choose_query,
    wait_for,
)
from memscope_langchain.injection import users_newest, with_memory
from memscope_langchain.messages import agents_in, turns_of
from memscope_langchain.run import thread_of, user_of, zone_of
from memscope_langchain.tools import tools_over

Update = dict[str, Any]


class ShownMemory(TypedDict):
    """Memory shown to a run's model, the message beside which it stands, and the keys of the turns that it sees."""

    text: str
    keys: list[str]
    beside: str | None


class MiddlewareState(AgentState[Any]):
    """``memscope_heard``: id of the latest processed message."""

    memscope_heard: NotRequired[Annotated[str | None, PrivateStateAttr]]
    memscope_shown: NotRequired[Annotated[ShownMemory, UntrackedValue, PrivateStateAttr]]


class MemoryScopeMiddleware(AgentMiddleware[MiddlewareState, Any]):
    """Long-term memory for an agent that serves any number of users.

    Each run says whose memory it is: ``user_id`` of its context, else of its config, else the server's identity;
    without any it raises ``ScopeError``. The session is the run's thread. ``agent`` says where turns come from, and
    narrows what is recalled. ``memory``: settings, the path or URL of a store, an ``AsyncMemoryScope`` or
    ``MemoryScope``; by default what the environment says, else one SQLite file. ``recall="session"`` narrows to the
    thread. ``k`` hits and ``tokens`` are the most that is shown, ``kinds`` ("turn", "observation", "insight") all that
    is. ``zone``: the time zone of a run whose context or config has no ``timezone``, by default that of the settings.
    ``record``: "both", "user", "assistant" or "none". ``agents``: names of messages of a human that are another agent's
    words, beside those of agents that have replied; any other name is a person's.
    ``tools``: True for search_memory, remember and forget, "core" for those that edit core memory, "archival" for
    archival memory and the conversation, "all" for both, False for none. A memory that fails leaves the agent
    answering, with one warning in the log; ``strict=True`` raises.
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
        self.agents = {agents} if isinstance(agents, str) else set(agents)
        self._sessions = SessionPool(
            memory, agent=agent, recall_from=recall, k=k, tokens=tokens, record_who=record, strict=strict,
            kinds=kinds, zone=zone,
        )  # fmt: skip
        self.tools = tools_over(self._sessions, tools, strict=strict)

    # ---- hooks

    def before_agent(self, state: MiddlewareState, runtime: Runtime[Any]) -> Update:
        return wait_for(begin(self._session(runtime), state, self.agents))

    async def abefore_agent(self, state: MiddlewareState, runtime: Runtime[Any]) -> Update:
        return await begin(self._session(runtime), state, self.agents)

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
        return wait_for(go_on(self._session(runtime), state, self.agents))

    async def aafter_model(self, state: MiddlewareState, runtime: Runtime[Any]) -> Update:
        return await go_on(self._session(runtime), state, self.agents)

    def _session(self, runtime: Any) -> MemorySession:
        return self._sessions.to(user_of(runtime), thread_of(runtime), zone=zone_of(runtime))

    # ---- closing

    async def aclose(self) -> None:
        """Release the memory; the last release closes it. Using this one again opens it again."""
        await self._sessions.close()

    def close(self) -> None:
        wait_for(self._sessions.close())


# ----------------------------------------------------------------------------------------------------------- a run


async def begin(session: MemorySession, state: MiddlewareState, agents: Collection[str]) -> Update:
    """Record new messages, and recall memories related to them."""
    messages = state["messages"]
    arrived, agents = after(messages, state.get("memscope_heard")), agents_in(messages, agents)
    new = None if arrived is None else len(turns_of(messages[:arrived], agents))
    memory = await begin_run(session, turns_of(messages, agents), new=new)
    shown = ShownMemory(text=memory.text, keys=[*memory.keys], beside=users_newest(messages))
    return {"memscope_heard": latest(messages), "memscope_shown": shown}


async def go_on(session: MemorySession, state: MiddlewareState, agents: Collection[str]) -> Update:
    """Record messages since the last call, above all the model's reply."""
    messages = state["messages"]
    update: Update = {"memscope_heard": latest(messages)}
    if shown_in(state) is None:  # what the call has shown, for the further ones
        update["memscope_shown"] = await recall(session, messages[: last_of(messages, AIMessage)], agents)
    start = after(messages, state.get("memscope_heard"))
    messages_since = messages[last_of(messages, AIMessage) if start is None else start :]
    await session.record(turns_of(messages_since, agents_in(messages, agents)))
    return update


def shown_in(state: Mapping[str, Any]) -> ShownMemory | None:
    return state.get("memscope_shown")


async def recall(session: MemorySession, messages: Sequence[BaseMessage], agents: Collection[str]) -> ShownMemory:
    """Recall again in an interrupted run that goes on, whose state has lost what was recalled."""
    turns = turns_of(messages, agents_in(messages, agents))
    recalled = await session.recall(choose_query(turns), shown={turn["content"] for turn in turns})
    return ShownMemory(text=recalled.text, keys=[], beside=users_newest(messages))


# -------------------------------------------------------------------------------------------------------- messages


def after(messages: Sequence[BaseMessage], heard: str | None) -> int | None:
    """Return the index after the message with this id; None if there is none."""
    if heard is None:
        return None
    return next((at for at in range(len(messages), 0, -1) if messages[at - 1].id == heard), None)


def last_of(messages: Sequence[BaseMessage], kind: type[BaseMessage]) -> int:
    """Return the index of the last message of this kind; the end if there is none."""
    places = range(len(messages) - 1, -1, -1)
    return next((at for at in places if isinstance(messages[at], kind)), len(messages))


def latest(messages: Sequence[BaseMessage]) -> str | None:
    return messages[-1].id if messages else None
