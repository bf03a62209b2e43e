"""Memory for AgentScope 1.x: ``ReActAgent(..., long_term_memory=MemoryScopeLongTermMemory(user=...))``.

    a message arrives ──▶ retrieve ──▶ record it; the agent adds the recalled memories to its short-term memory
    the reply is done ──▶ record(the whole short-term memory) ──▶ record the new messages in it

The agent never removes recalled memories from its short-term memory, so these are not shown again.
"""
# mypy: disable-error-code="import-not-found,misc,unused-ignore"
# mypy also runs where 2.x is installed, which has no such base class.

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, cast

from agentscope.memory import LongTermMemoryBase
from agentscope.message import Msg, TextBlock
from agentscope.tool import ToolResponse

from memscope.adapters.instances import MemoryLike
from memscope.adapters.memory_tools import Tool, ToolSet, as_type, bound, tool_set
from memscope.adapters.session import MemorySession, RecallFrom, RecordWho, format_hits
from memscope.errors import MemscopeError
from memscope.prompts.memory_block import TurnInput, choose_query, is_injected
from memscope.records import Hit, Kind
from memscope.validation import Zone
from memscope_agentscope.messages import message_to_turn

LONG_TERM_MESSAGE_NAME = "long_term_memory"  # ReActAgent's name for the message with retrieved memories
FRAMEWORK = ("<system-hint>", "<system-info>")  # prefixes of ReActAgent's own messages to the model


class MemoryScopeLongTermMemory(LongTermMemoryBase):
    """Long-term memory of one user for one ``ReActAgent``.

    ``user`` is required. Turns are stored under ``agent`` and ``session``. Recall is limited to ``agent``, and with
    ``recall="session"`` to the session. ``memory``: settings, the path or URL of a store, an ``AsyncMemoryScope`` or
    ``MemoryScope``; by default the settings of the environment, else one SQLite file. At most ``k`` memories and
    ``tokens`` tokens are shown, of all ``kinds`` ("turn", "observation", "insight") by default. ``zone``: the user's
    time zone, by default that of the settings. ``record``: "both", "user", "assistant" or "none". If memory fails, the
    agent answers without it and one warning is logged; ``strict=True`` raises.
    """

    def __init__(
        self,
        *,
        user: str,
        agent: str | None = None,
        session: str | None = None,
        memory: MemoryLike = None,
        recall: RecallFrom = "user",
        k: int = 10,
        tokens: int = 1000,
        record: RecordWho = "both",
        strict: bool = False,
        kinds: Sequence[Kind] | None = None,
        zone: Zone = None,
    ) -> None:
        super().__init__()
        self._session = MemorySession(
            user=user, agent=agent, session=session, memory=memory, recall_from=recall, k=k, tokens=tokens,
            record_who=record, strict=strict, kinds=kinds, zone=zone,
        )  # fmt: skip
        self.seen: list[str] = []  # keys of the turns in the agent's short-term memory
        self.shown: list[str] = []  # ids of the retrieved hits in it
        self._core = ""  # core memory as last shown in it; not saved, since showing it twice is harmless
        self.register_state("seen")
        self.register_state("shown")

    # ---- called by the agent in the modes "static_control" and "both"

    async def retrieve(self, msg: Msg | list[Msg] | None, limit: int | None = None, **kwargs: Any) -> str:
        """Record new messages and return related memories that were not shown yet, possibly "".

        ``limit``: maximum number of memories, by default ``k``.
        """
        turns = self._turns(msg if isinstance(msg, list) else [msg])
        await self._session.record(turns)
        self.seen += [turn["id"] for turn in turns]
        session = self._session if limit is None else replace(self._session, k=limit, shared=self._session.handle)
        texts = {turn["content"] for turn in turns}
        recalled = await session.recall(
            choose_query(turns), exclude=self._visible(), shown={*texts, self._core}, permanent=True
        )
        self._core = recalled.core
        self.shown += [hit.id for hit in recalled.hits]
        return recalled.text

    async def record(self, msgs: Sequence[Msg | None], **kwargs: Any) -> None:
        """Record the new messages in ``msgs``, the whole short-term memory. Ids prevent duplicates."""
        turns = self._turns(msgs)
        await self._session.record(turns, replay=True)
        self.seen = [turn["id"] for turn in turns]
        if not any(message is not None and message.name == LONG_TERM_MESSAGE_NAME for message in msgs):
            self.shown, self._core = [], ""

    # ---- tools, in the modes "agent_control" and "both"

    async def record_to_memory(self, thinking: str, content: list[str], **kwargs: Any) -> ToolResponse:
        """Remember statements about this user for later conversations. Use it when the user asks for it, or states
        something lasting.

        Args:
            thinking (`str`):
                Why this is worth remembering. It is not kept.
            content (`list[str]`):
                What to remember, each a self-contained sentence in the user's own language.
        """
        try:
            statements = as_type("content", list[str], content)
            answers = [await self._session.answer_remember(statement) for statement in statements]
        except MemscopeError as error:
            answers = [f"Error: {error}"]
        return _response(" ".join(answers) or "Nothing was given to remember.")

    async def retrieve_from_memory(
        self, keywords: list[str], limit: int | None = None, kinds: list[str] | None = None, **kwargs: Any
    ) -> ToolResponse:
        """Search what is remembered about this user from earlier conversations: facts, preferences, plans, what was
        said and when. Use it when the conversation does not hold the answer.

        Args:
            keywords (`list[str]`):
                What to look for, each a short question or phrase in the user's own language.
            limit (`int`, optional):
                How many memories to give for each.
            kinds (`list[str]`, optional):
                Only these: turn (what was said), observation (facts made of it), insight (summaries).
        """
        try:
            options: dict[str, Any] = {"k": as_type("limit", int | None, limit), "exclude": self._visible()}
            options["kinds"] = as_type("kinds", list[Kind] | None, kinds)
            searches = [
                await self._session.search(word, **options) for word in as_type("keywords", list[str], keywords)
            ]
        except MemscopeError as error:
            return _response(f"Error: {error}")
        return _response(format_hits(_merged(searches)))

    async def forget_from_memory(self, ids: list[str], **kwargs: Any) -> ToolResponse:
        """Forget memories for good. Use it only when the user asks to have something forgotten.

        Args:
            ids (`list[str]`):
                The ids of what to forget, as retrieve_from_memory printed them.
        """
        try:
            return _response(await self._session.answer_forget(as_type("ids", list[str], ids)))
        except MemscopeError as error:
            return _response(f"Error: {error}")

    # ---- called by the program

    def tools(self, which: ToolSet = "core") -> list[Callable[..., Awaitable[ToolResponse]]]:
        """Return functions for ``Toolkit.register_tool_function``. ``which``: "core" for tools that edit core memory,
        "archival" for archival memory and the conversation, "all" for both.
        """
        return [_as_tool_function(bound(tool, self._session)) for tool in tool_set(which).values()]

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> None:
        """Load a saved state; a state saved without this memory is empty."""
        super().load_state_dict({"seen": [], "shown": [], **state_dict}, strict)

    @property
    def memory_session(self) -> MemorySession:
        """The ``MemorySession`` of this scope."""
        return self._session

    async def close(self) -> None:
        """Release the memory; the last release closes it. The next use reopens it."""
        await self._session.close()

    # ---- private

    def _visible(self) -> list[str]:
        return [*self.seen, *self.shown]

    def _turns(self, messages: Iterable[Msg | None]) -> list[TurnInput]:
        worded = ((message, message.get_text_content() or "") for message in messages if message is not None)
        agent = self._session.agent
        return [
            message_to_turn(message, words, getattr(message, "timestamp", None), agent)
            for message, words in worded
            if words.strip() and _is_spoken(message, words)
        ]


def _as_tool_function(tool: Tool) -> Callable[..., Awaitable[ToolResponse]]:
    @wraps(tool)
    async def call(**arguments: Any) -> ToolResponse:
        try:
            return _response(await tool(**arguments))
        except MemscopeError as error:
            return _response(f"Error: {error}")

    return call


def _is_spoken(message: Msg, words: str) -> bool:
    """Check that a message comes from a person or the model, not from the framework or this memory."""
    if message.role == "assistant":
        return not (message.metadata or {}).get("_is_interrupted")
    framework = message.role == "system" or message.name == LONG_TERM_MESSAGE_NAME or words.startswith(FRAMEWORK)
    return not framework and not is_injected(words)


def _merged(searches: Iterable[Iterable[Hit]]) -> list[Hit]:
    """Join the results of several searches without duplicates."""
    return list({hit.id: hit for hits in searches for hit in hits}.values())


def _response(text: str) -> ToolResponse:
    return ToolResponse(content=cast("Any", [TextBlock(type="text", text=text)]))
