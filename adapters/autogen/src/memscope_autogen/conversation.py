"""Record a conversation from the model contexts of its agents.

AutoGen passes a memory only the model context. On first use, the methods ``add_message``, ``clear``, ``save_state`` and
``load_state`` of that instance are wrapped. From then on both sides are recorded as soon as they are added, even if the
agent fails later.

    context of writer  ──ContextRecorder──┐
    context of critic  ──ContextRecorder──┴──▶ Transcript (each message once, in order) ──▶ MemorySession.record

Messages have no ids. Agents of a team that share a memory see the same messages, so each recorder keeps its position in
the transcript: a message that another recorder entered is not recorded again, but a later repetition is.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import AssistantMessage, LLMMessage, UserMessage

from memscope.adapters.session import MemorySession, to_turn
from memscope.prompts.memory_block import TurnInput, is_injected, strip_memory
from memscope.records import Role

MAX_TRANSCRIPT_ENTRIES = 4096
USER_SOURCES = frozenset({"user", "user_proxy"})


def role_of(source: str, session: MemorySession, people: Collection[str], *, other: Role) -> Role:
    """Return the role of a message source: "user", "person" for one of ``people``, else ``other``."""
    if source in USER_SOURCES or source == session.user:
        return "user"
    return "person" if source in people else other


@dataclass(eq=False, slots=True)
class TranscriptEntry:
    """A message of the conversation. ``key`` is set once it is recorded."""

    turn: TurnInput
    key: str = ""

    @property
    def words(self) -> tuple[str, str]:
        return self.turn["speaker"], self.turn["content"]


@dataclass(eq=False)
class Transcript:
    """The latest ``MAX_TRANSCRIPT_ENTRIES`` messages of a conversation. Positions count from its first message."""

    entries: list[TranscriptEntry] = field(default_factory=list)
    dropped: int = 0
    recorders: WeakSet[ContextRecorder] = field(default_factory=WeakSet)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "recorders": None}  # unpickled recorders register themselves

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, recorders=WeakSet())

    @property
    def end(self) -> int:
        return self.dropped + len(self.entries)

    def enter(self, turn: TurnInput) -> TranscriptEntry:
        entry = TranscriptEntry(turn)
        self.entries.append(entry)
        if len(self.entries) > MAX_TRANSCRIPT_ENTRIES:
            cut = MAX_TRANSCRIPT_ENTRIES // 4
            del self.entries[:cut]
            self.dropped += cut
        return entry

    def find(self, turn: TurnInput, start: int) -> int | None:
        """Return the first position of this message from ``start`` on."""
        words = TranscriptEntry(turn).words
        for position in range(max(start, self.dropped), self.end):
            if self.entries[position - self.dropped].words == words:
                return position
        return None

    def overlap(self, turns: Sequence[TurnInput]) -> tuple[int, int]:
        """Return ``(i, j)`` so that ``turns[i:j]`` are the latest entries, which an agent that joins late is shown."""
        shown, known = [TranscriptEntry(turn).words for turn in turns], [entry.words for entry in self.entries]
        for start in range(len(shown)):
            for length in range(min(len(shown) - start, len(known)), 0, -1):
                if shown[start : start + length] == known[-length:]:
                    return start, start + length
        return 0, 0


@dataclass(eq=False)
class ContextRecorder:
    """Records one model context. ``at`` is its position in the transcript, ``messages`` the content of the context."""

    context: ChatCompletionContext
    session: MemorySession
    transcript: Transcript
    people: Collection[str] = ()  # message sources that are people other than the user; the rest are agents
    at: int = 0
    messages: list[TranscriptEntry] = field(default_factory=list)
    injected: LLMMessage | None = None

    def __post_init__(self) -> None:
        self._add, self._clear = self.context.add_message, self.context.clear
        self._save, self._load = self.context.save_state, self.context.load_state
        self.transcript.recorders.add(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.transcript.recorders.add(self)

    @classmethod
    async def on(
        cls,
        context: ChatCompletionContext,
        session: MemorySession,
        transcript: Transcript,
        people: Collection[str] = (),
    ) -> ContextRecorder:
        """Return the session's recorder on the context, or attach a new one that reads the context."""
        for recorder in recorders(context):
            if recorder.session is session:
                return recorder
        recorder = cls(context, session, transcript, people)
        await recorder.catch_up(stored(context) or await context.get_messages())
        for name in ("add_message", "clear", "save_state", "load_state"):
            setattr(context, name, getattr(recorder, name))
        return recorder

    # ---- replace the context's methods

    async def add_message(self, message: LLMMessage) -> None:
        await self._add(message)
        await self.observe(self.turns([message]))

    async def clear(self) -> None:
        await self._clear()
        self.messages, self.at, self.injected = [], self.transcript.end, None

    async def save_state(self) -> Mapping[str, Any]:
        """Save the state without injected memories, which would survive a ``forget``."""
        state = await self._save()
        if not isinstance(state.get("messages"), list):
            return state  # a custom context with its own format
        return {**state, "messages": [saved for saved in state["messages"] if not _is_memory(saved)]}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        await self._load(state)
        self.messages, self.injected = [], None
        await self.recognise(self.turns(stored(self.context)))

    # ---- recording

    def turns(self, messages: Iterable[LLMMessage]) -> list[TurnInput]:
        return [turn for message in messages if (turn := self._turn(message)) is not None]

    def _turn(self, message: LLMMessage) -> TurnInput | None:
        text = words_of(message)
        source = getattr(message, "source", "")
        if not strip_memory(text).strip():
            return None
        if isinstance(message, AssistantMessage):
            return to_turn("assistant", text, speaker=source)
        role = role_of(source, self.session, self.people, other="assistant")
        return to_turn(role, text, speaker=None if role == "user" else source)

    async def observe(self, turns: Sequence[TurnInput]) -> None:
        """Record new messages, unless another context recorded them already."""
        fresh = []
        for turn in turns:
            position = self.transcript.find(turn, self.at)
            if position is None:
                entry = self.transcript.enter(turn)
                fresh.append(entry)
                self.at = self.transcript.end
            else:
                entry = self.transcript.entries[position - self.transcript.dropped]
                self.at = position + 1
            self.messages.append(entry)
        await self._record(fresh)

    async def recognise(self, turns: Sequence[TurnInput]) -> None:
        """Replay resent messages: recorded ones stay unchanged, forgotten ones stay forgotten."""
        entries = [TranscriptEntry(turn) for turn in turns]
        self.messages.extend(entries)
        self.at = self.transcript.end
        await self._record(entries, replay=True)

    async def catch_up(self, messages: Sequence[LLMMessage]) -> None:
        """Read a context for the first time: history up to the agent's last reply, then the messages after it.

        If there is history, only the last of the later messages is certainly new: an earlier reply may have failed.
        """
        others = [index for index, message in enumerate(messages, 1) if not isinstance(message, UserMessage)]
        replied = others[-1] if others else 0
        history, arrived = self.turns(messages[:replied]), self.turns(messages[replied:])
        start, end = self.transcript.overlap(arrived)
        sure = len(arrived) - 1 if history and not end else end
        await self.recognise([*history, *arrived[:start], *arrived[end:sure]])
        self.at = self.transcript.end - (end - start)
        await self.observe([*arrived[start:end], *arrived[max(sure, end) :]])

    async def _record(self, entries: Sequence[TranscriptEntry], *, replay: bool = False) -> None:
        keys = await self.session.record([self._as_said(entry.turn) for entry in entries], replay=replay)
        for entry, key in zip(entries, keys, strict=True):
            entry.key = key

    def _as_said(self, turn: TurnInput) -> TurnInput:
        """Return the turn by the agent that said it. ``AgentTool`` and ``TeamTool`` pass its words on as the user's."""
        callers = {text: agent for agent, texts in map(_calling, [*self.transcript.recorders]) for text in texts}
        agent = callers.get(turn["content"]) if turn["role"] == "user" else None
        return to_turn("assistant", turn["content"], speaker=agent) if agent else turn

    # ---- messages shown to the model

    def keys(self, view: Sequence[LLMMessage]) -> set[str]:
        """Return the keys of the turns in ``view``, the part of the context that the model is shown."""
        left = Counter(TranscriptEntry(turn).words for turn in self.turns(view))
        keys = set()
        for entry in reversed(self.messages):
            if left[entry.words] > 0:
                left[entry.words] -= 1
                keys.add(entry.key)
        return keys - {""}

    async def show(self, message: LLMMessage | None) -> None:
        """Insert ``message`` before the newest one and remove the previous injection. None only removes."""
        messages = stored(self.context)
        others = {id(recorder.injected) for recorder in recorders(self.context) if recorder is not self}
        messages[:] = [old for old in messages if id(old) in others or not is_injected(words_of(old))]
        self.injected = message
        if message is None:
            return
        if messages and isinstance(messages[-1], UserMessage):
            messages.insert(-1, message)
        else:
            await self._add(message)


def recorders(context: ChatCompletionContext) -> list[ContextRecorder]:
    """List the recorders on a context, latest first."""
    recorders, method = [], context.add_message
    while isinstance(recorder := getattr(method, "__self__", None), ContextRecorder):
        recorders.append(recorder)
        method = recorder._add
    return recorders


def stored(context: ChatCompletionContext) -> list[LLMMessage]:
    """Return the context's full list of messages; ``get_messages`` only gives those that fit into its buffer."""
    return getattr(context, "_messages", [])  # a custom context may keep them elsewhere


def _is_memory(saved: Any) -> bool:
    content = saved.get("content") if isinstance(saved, Mapping) else None
    return isinstance(content, str) and is_injected(content)


def _calling(recorder: ContextRecorder) -> tuple[str, list[str]]:
    """Return the agent of a context and the texts in the arguments of its tool calls that have no results yet."""
    messages = stored(recorder.context)
    newest = messages[-1] if messages else None
    if not isinstance(newest, AssistantMessage) or isinstance(newest.content, str):
        return "", []
    return newest.source, [text for call in newest.content for text in _texts(call.arguments)]


def _texts(arguments: str) -> list[str]:
    try:
        values = json.loads(arguments).values()
    except (ValueError, AttributeError):
        return []
    return [value for value in values if isinstance(value, str)]


def words_of(message: LLMMessage) -> str:
    """Return the text of a message; "" for tool calls, tool results and the system message."""
    if not isinstance(message, UserMessage | AssistantMessage):
        return ""
    if isinstance(message.content, str):
        return message.content
    return "\n".join(part for part in message.content if isinstance(part, str))
