"""``MemoryScopeMemory``, a replacement for ``ConversationBufferMemory`` in classic chains."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_classic.base_memory import BaseMemory
from langchain_core.messages import BaseMessage, HumanMessage
from pydantic import ConfigDict, Field, PrivateAttr

from memscope.adapters.instances import wait_for
from memscope.adapters.session import MemorySession, Recalled, RecallFrom, RecordWho, SessionPool, to_turn
from memscope.errors import ConfigError, InputError, ScopeError
from memscope.records import Kind, Turn
from memscope.text.tokens import estimate_tokens
from memscope_langchain.messages import message_of, words

STOP_INPUT = "stop"  # an input of chains that is not part of the conversation
MAX_PENDING = 1000


class PendingQuestions:
    """Ids of questions that have no answer yet, so that loading and saving refer to the same turn."""

    def __init__(self) -> None:
        self._ids: OrderedDict[tuple[str | None, ...], str] = OrderedDict()
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[PendingQuestions], tuple[()]]:
        return PendingQuestions, ()

    def id_of(self, *what: str | None) -> str:
        """Return the id of this question, which stays the same until it is answered."""
        with self._lock:
            id = self._ids.setdefault(what, secrets.token_hex(16))
            if len(self._ids) > MAX_PENDING:
                self._ids.popitem(last=False)
            return id

    def take_id(self, *what: str | None) -> str:
        with self._lock:
            return self._ids.pop(what, None) or secrets.token_hex(16)


class MemoryScopeMemory(BaseMemory):
    """Long-term memory for classic chains and ``AgentExecutor``: a ``BaseMemory``.

    The owner of the memory is ``user``, or the input named by ``user_key``; there is no default. Each object has a
    session of its own, unless ``session`` sets one or ``session_key`` names an input. Under ``memory_key`` the chain
    gets the latest turns of the session (up to half of ``tokens``), then related memories that are not among these
    turns: as text, or as messages with ``return_messages=True``. The user's turn is recorded on loading, the reply on
    saving.

    ``agent``, ``memory``, ``recall``, ``k``, ``record``, ``strict``, ``kinds`` and ``zone`` work as in
    ``MemoryScopeMiddleware``; ``input_key``, ``output_key`` and the prefixes as in ``ConversationBufferMemory``. Use
    ``record="none"`` for a chain that is a tool of another one.
    """

    model_config = ConfigDict(extra="forbid")  # a misspelt argument would be ignored

    user: str | None = None
    user_key: str | None = None
    agent: str | None = None
    session: str | None = None
    session_key: str | None = None
    memory: Any = Field(default=None, exclude=True, repr=False)
    memory_key: str = "history"
    input_key: str | None = None
    output_key: str | None = None
    return_messages: bool = False
    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    recall: RecallFrom = "user"
    k: int = 10
    tokens: int = 2000
    record: RecordWho = "both"
    strict: bool = False
    kinds: list[Kind] | None = None
    zone: str | None = None
    _sessions: SessionPool = PrivateAttr()
    _own_session: str = PrivateAttr(default_factory=lambda: secrets.token_hex(8))
    _pending: PendingQuestions = PrivateAttr(default_factory=PendingQuestions)

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)  # the rest raises memscope's errors, which a validator would hide
        if (self.user is None) == (self.user_key is None):
            raise ScopeError("give user, or user_key for the input that names the user; there is no default user")
        self._sessions = SessionPool(
            self.memory, agent=self.agent, recall_from=self.recall, k=self.k, tokens=self.tokens,
            record_who=self.record, strict=self.strict, kinds=self.kinds, zone=self.zone,
        )  # fmt: skip
        if self.user is not None:
            self._sessions.to(self.user, self.session)  # raise for invalid ids now

    # ---- called by the chain

    @property
    def memory_variables(self) -> list[str]:
        return [self.memory_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        return wait_for(self.aload_memory_variables(inputs))

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the latest turns, and memories related to the input if there is one."""
        memory_session, text = self._session(inputs), self._input(inputs)
        keys = await self._ask(memory_session, text)
        recent = await memory_session.recent(tokens=self.tokens // 2, exclude=keys)
        left = self.tokens - sum(estimate_tokens(line) for line in self._lines(recent))
        seen = [*keys, *(turn.key for turn in recent)]
        recalled = await memory_session.recall(text, exclude=seen, shown={turn.text for turn in recent}, tokens=left)
        return {
            self.memory_key: self._messages(recalled, recent) if self.return_messages else self._text(recalled, recent)
        }

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, str]) -> None:
        wait_for(self.asave_context(inputs, outputs))

    async def asave_context(self, inputs: dict[str, Any], outputs: dict[str, str]) -> None:
        memory_session, text = self._session(inputs), self._input(inputs)
        id = self._pending.take_id(memory_session.user, memory_session.session, text)
        await memory_session.record([to_turn("user", text, id=id), to_turn("assistant", self._output(outputs))])

    def clear(self) -> None:
        wait_for(self.aclear())

    async def aclear(self) -> None:
        """Permanently forget this session only."""
        if self.user is None or self.session_key is not None:
            raise ConfigError("whose session to clear is said by inputs", hint="use forget of the memory itself")
        await self._session({}).clear()

    # ---- closing

    async def aclose(self) -> None:
        """Release the memory; the last release closes it. The next use reopens it."""
        await self._sessions.close()

    def close(self) -> None:
        wait_for(self.aclose())

    # ---- scope

    def _session(self, inputs: Mapping[str, Any]) -> MemorySession:
        user = self.user if self.user_key is None else _named(inputs, self.user_key, "user")
        session = self.session if self.session_key is None else _named(inputs, self.session_key, "session")
        return self._sessions.to(user, session or self._own_session)  # type: ignore[arg-type]  # checked there

    async def _ask(self, memory_session: MemorySession, text: str) -> tuple[str, ...]:
        if not text.strip():
            return ()
        id = self._pending.id_of(memory_session.user, memory_session.session, text)
        return await memory_session.record([to_turn("user", text, id=id)])

    def _input(self, inputs: Mapping[str, Any]) -> str:
        excluded = {self.memory_key, self.user_key, self.session_key, STOP_INPUT}
        names = [self.input_key] if self.input_key else [name for name in inputs if name not in excluded]
        if len(names) > 1:
            raise InputError(f"which of the inputs {names} did the user say?", hint="set input_key")
        return words(inputs.get(names[0])) if names else ""

    def _output(self, outputs: Mapping[str, Any]) -> str:
        names = [self.output_key] if self.output_key else list(outputs)
        name = names[0] if len(names) == 1 else "output"
        if name not in outputs:
            raise InputError(f"which of the outputs {list(outputs)} is the reply?", hint="set output_key")
        return words(outputs[name])

    # ---- rendering

    def _lines(self, turns: Iterable[Turn]) -> list[str]:
        prefixes = {"user": self.human_prefix, "assistant": self.ai_prefix}
        return [f"{prefixes.get(turn.role, turn.speaker)}: {turn.text}" for turn in turns]

    def _text(self, recalled: Recalled, recent: Sequence[Turn]) -> str:
        return "\n".join(filter(None, (*self._lines(recent), recalled.text)))

    def _messages(self, recalled: Recalled, recent: Sequence[Turn]) -> list[BaseMessage]:
        remembered = [HumanMessage(recalled.text, name="memory")] if recalled.text else []
        return [*map(message_of, recent), *remembered]


def _named(inputs: Mapping[str, Any], name: str, what: str) -> str:
    if name not in inputs:
        raise ScopeError(f"the input {name!r}, which names the {what}, is missing")
    value: str = inputs[name]
    return value
