"""``MemoryScopeBlock(user="alice").memory_for("one")`` is a ``Memory`` for ``agent.run(..., memory=...)``.

    aget  record new messages; recall if one is the user's; prefix the block to the user's newest message, at every call
          of the run
    aput  record messages that leave the short-term memory, unless they were seen before

Memory is only inserted into requests, never into a chat store.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
from llama_index.core.memory import BaseMemoryBlock, Memory
from llama_index.core.memory.memory import InsertMethod
from llama_index.core.prompts import RichPromptTemplate
from llama_index.core.tools import FunctionTool
from pydantic import ConfigDict, PrivateAttr, create_model

from memscope.adapters import kit

SESSION_KEY = "session_id"  # LlamaIndex's option with the session of the messages
MAX_SESSIONS = 1000  # latest sessions whose recorded messages are remembered; others replay their history
TURN_ROLES: Mapping[MessageRole, kit.Role] = {
    MessageRole.USER: "user",
    MessageRole.ASSISTANT: "assistant",
    MessageRole.CHATBOT: "assistant",
}
# A ReActAgent keeps its thoughts, tool calls and their results in one message with its answer, which comes last.
REASONING = re.compile(r"(?:.*\n)?Thought: .*?\nAnswer: (?P<answer>.*)", re.DOTALL)


class _PlainTemplate(RichPromptTemplate):  # type: ignore[no-redef]  # a field and an __init__ of one name
    """Render memory blocks without the extra tag that LlamaIndex's default template adds around each."""

    def format_messages(self, llm: Any = None, **values: Any) -> list[ChatMessage]:
        blocks = [one for _, content in values["memory_blocks"] for one in content]
        parted = [TextBlock(text=f"{block.text}\n\n") if isinstance(block, TextBlock) else block for block in blocks]
        return [ChatMessage(role=MessageRole.USER, blocks=parted)]


@dataclass
class _Seen:
    """A session's messages at the last call, and the memory recalled for the user's newest."""

    turns: list[kit.TurnInput] = field(default_factory=list)
    memory: kit.RunMemory = field(default_factory=kit.RunMemory)


class MemoryScopeBlock(BaseMemoryBlock[str]):
    """Long-term memory of one user.

    One block can serve many sessions concurrently.

    Args:
        user: The owner of the memory.
        session: The session of the turns; by default the ``session_id`` of LlamaIndex's ``Memory``.
        agent: Stored with every turn; recall is limited to this agent's turns.
        memory: Settings, the path or URL of a store, an ``AsyncMemoryScope`` or ``MemoryScope``; by default the
            settings of the environment, else one SQLite file.
        recall: "user" for all of the user's sessions, "session" for this one.
        k: Maximum number of memories to show.
        tokens: Maximum number of tokens to show.
        record: "both", "user", "assistant" or "none".
        strict: Raise if memory fails, instead of logging one warning and answering without it.
        kinds: Kinds of records to show: "turn", "observation", "insight"; by default all.
        zone: The user's time zone; by default that of the settings.
        block: Fields of ``BaseMemoryBlock``: name, description, priority.
    """

    model_config = ConfigDict(extra="forbid")  # a misspelt argument would be ignored

    name: str = "memscope"
    _sessions: kit.SessionPool = PrivateAttr()
    _user: str = PrivateAttr()
    _session: str | None = PrivateAttr()
    _strict: bool = PrivateAttr()
    _seen: dict[str | None, _Seen] = PrivateAttr(default_factory=dict)

    def __init__(
        self,
        *,
        user: str,
        session: str | None = None,
        agent: str | None = None,
        memory: kit.MemoryLike = None,
        recall: kit.RecallFrom = "user",
        k: int = 10,
        tokens: int = 1000,
        record: kit.RecordWho = "both",
        strict: bool = False,
        kinds: Sequence[kit.Kind] | None = None,
        zone: kit.Zone = None,
        **block: Any,
    ) -> None:
        super().__init__(**block)
        self._sessions = kit.SessionPool(
            memory, agent=agent, recall_from=recall, k=k, tokens=tokens, record_who=record, strict=strict,
            kinds=kinds, zone=zone,
        )  # fmt: skip
        self._user, self._session, self._strict = user, session, strict
        self._sessions.to(user, session or "any")  # raise for invalid ids now

    def memory_for(self, session_id: str, **options: Any) -> Memory:
        """Create LlamaIndex's ``Memory`` for a conversation, with this block before the user's newest message.

        Args:
            session_id: The conversation.
            options: Further arguments of ``Memory.from_defaults``, such as token_limit and table_name.
        """
        template: type[Any] = _PlainTemplate
        place = {"insert_method": InsertMethod.USER, "memory_blocks_template": template("{{ memory_blocks }}")}
        return Memory.from_defaults(session_id=session_id, memory_blocks=[self], **{**place, **options})

    def memory_session(self, session_id: str | None = None) -> kit.MemorySession:
        """Return the memory of a conversation."""
        return self._sessions.to(self._user, self._session or session_id)

    def tools(self, which: bool | kit.ToolSet = True, *, session_id: str | None = None) -> list[FunctionTool]:
        """Create tools for this memory, for an agent's ``tools``.

        Args:
            which: True for search_memory, remember and forget; "core", "archival" or "all" for a set.
            session_id: The conversation, whose turns a search excludes.
        """
        return [self._function_tool(tool, session_id) for tool in kit.choose_tools(which)]

    async def _aget(self, messages: list[ChatMessage] | None = None, **options: Any) -> str:
        session_id = options.get(SESSION_KEY)
        session, seen = self.memory_session(session_id), self._seen.pop(session_id, None)
        turns = _turns_of(messages or ())
        new = _first_new(seen.turns, turns) if seen else None
        self._seen[session_id] = known = seen or _Seen()  # the newest last
        known.turns = turns
        while len(self._seen) > MAX_SESSIONS:
            del self._seen[next(iter(self._seen))]
        if new is None or any(turn["role"] == "user" for turn in turns[new:]):
            known.memory = await kit.begin_run(session, turns, new=new)
        else:
            await session.record(turns[new:])
        return known.memory.text

    async def _aput(self, messages: list[ChatMessage]) -> None:
        await self.aput(messages)

    async def aput(
        self, messages: list[ChatMessage], from_short_term_memory: bool = False, session_id: str | None = None
    ) -> None:
        """Record messages. Those that leave the short-term memory are replayed, so that none is recorded twice."""
        if not from_short_term_memory or self.accept_short_term_memory:
            await self.memory_session(session_id).record(_turns_of(messages), replay=from_short_term_memory)

    async def close(self) -> None:
        """Release the memory; the last release closes it. The next use reopens it."""
        await self._sessions.close()

    def _function_tool(self, tool: kit.Tool, session_id: str | None) -> FunctionTool:
        async def call(**chosen: Any) -> str:
            seen = self._seen.get(session_id)
            keys = seen.memory.keys if seen else ()
            return await kit.tool_answer(tool, self.memory_session(session_id), chosen, seen=keys, strict=self._strict)

        fields: dict[str, Any] = kit.arguments(tool)
        return FunctionTool.from_defaults(
            async_fn=call,
            name=tool.__name__,
            description=kit.described(tool),
            fn_schema=create_model(tool.__name__, **fields),
        )


def _turns_of(messages: Sequence[ChatMessage]) -> list[kit.TurnInput]:
    """Convert messages of people and the model, the user's newest one only once.

    Between tool calls ``Memory.aget(input=...)`` adds it a second time.
    """
    turns: list[kit.TurnInput] = [
        kit.to_turn(role, _words_of(role, one)) for one in messages if (role := TURN_ROLES.get(one.role))
    ]
    turns = [turn for turn in turns if turn["content"].strip()]
    return turns[:-1] if len(turns) > 1 and turns[-1] == turns[-2] and turns[-1]["role"] == "user" else turns


def _words_of(role: kit.Role, message: ChatMessage) -> str:
    text = message.content or ""
    is_reasoned = role == "assistant" and text.startswith("Thought: ")
    return answered["answer"] if is_reasoned and (answered := REASONING.fullmatch(text)) else text


def _first_new(before: list[kit.TurnInput], turns: list[kit.TurnInput]) -> int | None:
    """Return the index of the first new turn, given the turns ``before``, of which the oldest may be gone.

    None: the turns do not continue those, as when a program passes an earlier history again.
    """
    lengths = range(min(len(before), len(turns)), 0, -1)
    continued = (length for length in lengths if before[len(before) - length :] == turns[:length])
    return next(continued, None) if turns else 0
