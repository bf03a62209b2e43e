"""Memory for AgentScope 2.x: ``Agent(..., middlewares=[MemoryScopeMiddleware(user=...)])``.

    before the model is called ──▶ record new messages ──▶ recall ──▶ add a note to the request
    the reply ends, is interrupted or fails ──▶ record the answer

The note is added to the request, not to the agent's state, so it never has to be removed. The first hook inside a reply
(``on_compress_context``) records and recalls because only there AgentScope handles an interrupt.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args
from weakref import WeakKeyDictionary

from agentscope.agent import Agent
from agentscope.message import AssistantMsg, HintBlock, Msg
from agentscope.middleware import MiddlewareBase
from agentscope.state import AgentState
from agentscope.tool import ToolBase
from pydantic import BaseModel, Field

from memscope.adapters.instances import MemoryLike
from memscope.adapters.memory_tools import ToolSet, forget, remember, search_memory, tool_set
from memscope.adapters.session import (
    MemorySession,
    RecallFrom,
    RecordWho,
    SessionPool,
    to_turn,
)
from memscope.errors import ConfigError
from memscope.prompts.memory_block import TurnInput, choose_query
from memscope.records import Kind
from memscope.validation import Zone
from memscope_agentscope.messages import key, message_to_turn

Mode = Literal["static_control", "agent_control", "both"]
MEMORY_MESSAGE_NAME = "memory"  # the name of the message with recalled memories
CONTROL_INSTRUCTIONS = (
    "## Long-term memory\n\n"
    f"What is said is recorded by itself. `{search_memory.__name__}` looks up earlier conversations with this user, "
    f"`{remember.__name__}` keeps a statement as it is, `{forget.__name__}` removes what the user wants forgotten."
)


@dataclass(frozen=True, slots=True)
class Note:
    """The recalled memories of one reply, shown ``behind`` the message of this id in all model calls of the reply."""

    reply: str
    message: Msg
    behind: str | None


@dataclass(eq=False)
class ReplyState:
    """State of one agent: keys of recorded turns and the latest note; for the current reply, its note, the id of the
    message behind which it goes, and whether memories were recalled.
    """

    recorded: set[str] = field(default_factory=set)
    latest: Note | None = None
    recalled: bool = True
    behind: str | None = None
    note: Note | None = None


class MemoryScopeMiddleware(MiddlewareBase):
    """Long-term memory of one user for AgentScope agents.

    ``user`` is required. ``agent`` is stored with every turn and limits recall; the session is the agent's
    ``state.session_id``. ``mode``: "static_control" shows recalled memories, "agent_control" gives the agent tools
    (``list_tools``), "both" does both; the conversation is recorded in all modes. At most ``k`` memories and ``tokens``
    tokens are shown. ``tools``: "core" for tools that edit core memory, "archival" for archival memory and the
    conversation, "all" for both. ``recall="session"`` limits recall to the session, ``kinds`` to some of "turn",
    "observation" and "insight". ``zone``: the user's time zone, by default that of the agent's ``injection_config``,
    else that of the settings. ``record``: "both", "user", "assistant" or "none". If memory fails, the agent answers
    without it and one warning is logged; ``strict=True`` raises.
    ``memory``: settings, the path or URL of a store, an ``AsyncMemoryScope`` or ``MemoryScope``; by default the
    settings of the environment, else one SQLite file. ``parameters``: values from the agent service's form, which
    override the arguments of the same names.

    The middleware holds no conversation and opens the memory lazily. Create one per chat turn, or share it.
    """

    class Parameters(BaseModel):
        """Settings a user may tune; the agent service renders its schema as a form."""

        mode: Mode = Field(
            default="both",
            title="Mode",
            description="static_control: show what is remembered before each reply. agent_control: give the agent "
            "tools for its memory. both: both. What is said is recorded in every mode.",
        )
        k: int = Field(default=10, ge=1, title="Memories", description="At most so many memories are shown.")
        tokens: int = Field(default=1000, ge=1, title="Tokens", description="At most so many tokens of memories.")
        recall: RecallFrom = Field(
            default="user", title="Recall", description="user: from all of the user's sessions. session: from this one."
        )
        record: RecordWho = Field(default="both", title="Record", description="Whose side of the conversation is kept.")
        strict: bool = Field(default=False, title="Strict", description="Fail the reply when the memory fails.")

    def __init__(
        self,
        *,
        user: str,
        agent: str | None = None,
        mode: Mode = "both",
        k: int = 10,
        tokens: int = 1000,
        recall: RecallFrom = "user",
        record: RecordWho = "both",
        strict: bool = False,
        tools: ToolSet | None = None,
        memory: MemoryLike = None,
        parameters: Parameters | Mapping[str, Any] | None = None,
        kinds: Sequence[Kind] | None = None,
        zone: Zone = None,
    ) -> None:
        if parameters is not None:
            parameters = self.Parameters.model_validate(parameters)  # a form may have stored them as a mapping
            mode, k, tokens = parameters.mode, parameters.k, parameters.tokens
            recall, record, strict = parameters.recall, parameters.record, parameters.strict
        if mode not in get_args(Mode):
            raise ConfigError(f"mode must be one of {', '.join(get_args(Mode))}, got {mode!r}")
        self.user, self.agent, self.mode = user, agent, mode
        self._more_tools = tuple(tool_set(tools)) if tools is not None else ()
        self._sessions = SessionPool(
            memory, agent=agent, k=k, tokens=tokens, recall_from=recall, record_who=record, strict=strict,
            kinds=kinds,
        )  # fmt: skip
        self._zone = zone
        self._sessions.to(user, "any", zone=zone)  # raise for an invalid user or zone now
        self._replies: WeakKeyDictionary[Agent, ReplyState] = WeakKeyDictionary()

    # ---- called by the agent

    async def on_reply(
        self, agent: Agent, input_kwargs: dict[str, Any], next_handler: Callable[..., AsyncGenerator[Any, None]]
    ) -> AsyncGenerator[Any, None]:
        """Record the reply, even if it fails or is interrupted."""
        answer: list[Msg] = []
        self._state_of(agent).recalled = False
        try:
            async for item in next_handler(**input_kwargs):
                if isinstance(item, Msg):  # the last item: record now, as the consumer may never resume this generator
                    answer = [item] if getattr(item, "structured_output", None) else []
                    await self._record_whole(agent, [*answer, *agent.state.context])
                yield item
        finally:
            self._state_of(agent).note = None
            await self._record(agent, [*answer, *agent.state.context])

    async def on_compress_context(
        self, agent: Agent, input_kwargs: dict[str, Any], next_handler: Callable[..., Awaitable[None]]
    ) -> None:
        """Record new messages before the context is compressed and recall afterwards, once per reply."""
        state = self._state_of(agent)
        begins, state.recalled = not state.recalled, True
        query = await self._begin(agent) if begins else ""
        await next_handler(**input_kwargs)
        if begins:
            await self._recall(agent, query)

    async def on_model_call(
        self, agent: Agent, input_kwargs: dict[str, Any], next_handler: Callable[..., Awaitable[Any]]
    ) -> Any:
        """Insert the note into the request, after the message that was newest when the reply began."""
        note = self._state_of(agent).note
        if note is None:
            return await next_handler(**input_kwargs)
        messages = list(input_kwargs["messages"])
        messages.insert(_note_index(messages, agent.state.context, note.behind), note.message)
        return await next_handler(**{**input_kwargs, "messages": messages})

    async def on_system_prompt(self, agent: Agent, current_prompt: str) -> str:
        """Add instructions for the memory tools, if the agent has them."""
        if self.mode == "static_control" or await agent.toolkit.get_tool(search_memory.__name__) is None:
            return current_prompt
        return f"{current_prompt}\n\n{CONTROL_INSTRUCTIONS}"

    async def list_tools(self) -> list[ToolBase]:
        """Return ``search_memory``, ``remember`` and ``forget`` for ``Toolkit(tools=...)``; [] in "static_control".

        If ``tools`` names a set, return that set instead, in every mode.
        """
        from memscope_agentscope.tools import CoreMemoryTool, ForgetTool, RememberTool, SearchMemoryTool

        if self._more_tools:
            return [CoreMemoryTool(self, name) for name in self._more_tools]
        classes = () if self.mode == "static_control" else (SearchMemoryTool, RememberTool, ForgetTool)
        return [tool(self) for tool in classes]

    # ---- called by the program

    def memory_session(self, state: AgentState | None = None) -> MemorySession:
        """Return the user's memory, in the session of ``state`` if one is passed."""
        return self._sessions.to(self.user, None if state is None else state.session_id, zone=self._zone)

    async def record(self, agent: Agent) -> None:
        """Record all messages in the agent's context that are not recorded yet. Every reply does this by itself."""
        await self._record(agent, agent.state.context)

    async def close(self) -> None:
        """Release the memory; the last release closes it. The next use reopens it."""
        await self._sessions.close()

    def seen(self, state: AgentState | None) -> list[str]:
        """Return the keys of the turns in the model's context."""
        return [] if state is None else [key(message, self.agent) for message in state.context]

    # ---- private

    def _state_of(self, agent: Agent) -> ReplyState:
        self._zone = self._zone or _zone_of(agent)
        return self._replies.setdefault(agent, ReplyState())

    async def _begin(self, agent: Agent) -> str:
        """Record what has arrived, and return the query for its recall."""
        context, state = agent.state.context, self._state_of(agent)
        arrived = [message for message in context if message.id != agent.state.reply_id]
        state.behind = arrived[-1].id if arrived else None
        await self._record(agent, arrived)
        return _query(self._turns(_new_messages(context, agent.name))) or choose_query(self._turns(context))

    async def _recall(self, agent: Agent, query: str) -> None:
        reply, state = agent.state.reply_id, self._state_of(agent)
        if self.mode == "agent_control":
            return
        if state.latest is not None and state.latest.reply == reply:  # resumed after a confirmation
            state.note = state.latest
            return
        texts = {turn["content"] for turn in self._turns(agent.state.context)}
        recalled = await self.memory_session(agent.state).recall(query, exclude=self.seen(agent.state), shown=texts)
        if recalled.text:
            state.note = state.latest = Note(reply, _note(recalled.text), state.behind)

    async def _record_whole(self, agent: Agent, messages: Sequence[Msg]) -> None:
        """Record a complete reply. Swallow an interrupt, which comes too late, unless the agent wants it raised."""
        try:
            await self._record(agent, messages)
        except asyncio.CancelledError:
            if getattr(agent.react_config, "interruption_raise_cancelled_error", True):
                raise

    async def _record(self, agent: Agent, messages: Sequence[Msg]) -> None:
        recorded = self._state_of(agent).recorded
        fresh: dict[str, TurnInput] = {}
        for turn in self._turns(messages):
            if turn["id"] not in recorded:
                fresh.setdefault(turn["id"], turn)
        recorded.update(await self.memory_session(agent.state).record(list(fresh.values())))

    def _turns(self, messages: Sequence[Msg]) -> list[TurnInput]:
        worded = ((message, _words(message)) for message in messages if message.role != "system" and _is_done(message))
        return [
            message_to_turn(message, words, message.created_at, self.agent)
            for message, words in worded
            if words.strip()
        ]


def _zone_of(agent: Agent) -> str | None:
    """Return the time zone that the program set for the agent, None if it set none."""
    config = getattr(agent, "injection_config", None)
    return config.timezone if config is not None and "timezone" in config.model_fields_set else None


def _words(message: Msg) -> str:
    """Return a message's text, or the JSON of a structured answer, whose text is AgentScope's own."""
    structured = getattr(message, "structured_output", None)
    return json.dumps(structured, ensure_ascii=False) if structured else message.get_text_content() or ""


def _is_done(message: Msg) -> bool:
    """Check that all tool calls have results. Otherwise the reply will continue under the same id."""
    answered = {result.id for result in message.get_content_blocks("tool_result")}
    return all(call.id in answered for call in message.get_content_blocks("tool_call"))


def _new_messages(context: Sequence[Msg], name: str) -> Sequence[Msg]:
    """Return the messages after the last one by the agent ``name``."""
    places = [place for place, message in enumerate(context, 1) if message.role == "assistant" and message.name == name]
    return context[places[-1] if places else 0 :]


def _query(arrived: Sequence[TurnInput]) -> str:
    """Return the text of the user's new messages, else of other new messages; "" if nothing is new."""
    users = [turn["content"] for turn in arrived if turn["role"] == "user"]
    return choose_query([to_turn("user", "\n".join(users))] if users else arrived)


def _note_index(messages: Sequence[Msg], context: Sequence[Msg], behind: str | None) -> int:
    """Return the index after the message ``behind``; if it was compressed away, the start of the context."""
    ids = {message.id for message in context}
    first = next((at for at, message in enumerate(messages) if message.id in ids), len(messages))
    return next((at for at, message in enumerate(messages, 1) if message.id == behind), first)


def _note(text: str) -> Msg:
    """Wrap the note in a hint block, which formatters convert to a user message."""
    return AssistantMsg(name=MEMORY_MESSAGE_NAME, content=[HintBlock(hint=text)])
