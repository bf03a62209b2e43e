"""One scope of a memory for an adapter: ``MemorySession`` between a memory and a framework.

    messages ──▶ said() ──▶ MemorySession.record ──▶ add_turns
    query    ──▶ MemorySession.recall ──▶ retrieve ──▶ the block that is shown to the model

The agent's own path (``record``, ``recall``) fails open: one warning, and the agent answers without memory;
``strict=True`` raises, and so does a mistake in the settings. What a person or a model asks for (``search``,
``remember``, ``forget``, ``clear``) always raises what went wrong.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Coroutine, Sequence
from dataclasses import InitVar, dataclass, field
from itertools import accumulate, repeat, takewhile
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from memscope import validation
from memscope.adapters.instances import Memory, Operation, SharedMemory, acquire, checked, release, to_config
from memscope.errors import ConfigError, InputError, MemscopeError, NotFound
from memscope.records import ROLES, Json, Role, Turn
from memscope.text.tokens import estimate_tokens

if TYPE_CHECKING:
    from memscope.records import ForgetReport, Hit, Observation, Retrieval

from memscope.prompts.memory_block import Said, block, spoken

log = logging.getLogger("memscope")


R = TypeVar("R")


Record = Literal["both", "user", "assistant", "none"]


Recall = Literal["user", "session"]


DEADLINE_S = 20.0


def said(role: Role, text: str, *, speaker: str | None = None, **more: Json) -> dict[str, Any]:
    """A turn for ``record``. ``more``: id, time, metadata, where the framework has them."""
    name = " ".join((speaker or "").split())
    return {"role": role, "content": spoken(text), "speaker": name or role, **more}


@dataclass(frozen=True, slots=True)
class ToolText:
    """A tool's name and description, the same words in every framework."""

    name: str
    description: str


SEARCH_MEMORY = ToolText(
    "search_memory",
    "Search what is remembered about this user from earlier conversations: facts, preferences, plans, what was said "
    "and when. Use it when the conversation does not hold the answer.",
)


REMEMBER = ToolText(
    "remember",
    "Remember a statement about this user for later conversations, as one self-contained sentence. Use it when the "
    "user asks for it, or states something lasting.",
)


FORGET = ToolText(
    "forget",
    "Forget memories for good, by the ids that search_memory gave. Use it only when the user asks to have something "
    "forgotten.",
)


NOTHING_FOUND = "Nothing is remembered about this."


def listing(hits: Sequence[Hit]) -> str:
    """Hits for a tool's answer, each with the id that ``forget`` takes; marked as what memory told."""
    from memscope.retrieval.context import line

    return block("\n".join(f"[id {hit.id}] {line(hit)}" for hit in hits)) if hits else NOTHING_FOUND


@dataclass(frozen=True, slots=True)
class Recalled:
    """``text`` is the block to show, "" when there is nothing; ``hits`` are what it was made of."""

    text: str = ""
    hits: tuple[Hit, ...] = ()


@dataclass(eq=False)
class MemoryHandle:
    """The memory behind bridges: opened on first use, off the event loop. ``failing``: what did not work lately."""

    memory: Memory = None
    failing: set[str] = field(default_factory=set)
    _checked: Memory = None
    _core: SharedMemory | None = None

    def __post_init__(self) -> None:
        """Raise ``ConfigError`` for a mistake in the settings; on first use where the event loop forbids reading."""
        try:
            self._checked = checked(self.memory)
        except MemscopeError:
            raise
        except Exception as error:
            log.debug("settings are checked on first use (%s)", type(error).__name__)

    def __getstate__(self) -> dict[str, Any]:
        """Settings only; ``ConfigError`` where the memory was given as an object."""
        return {"memory": to_config(self.memory), "failing": set(), "_checked": None, "_core": None}

    async def core(self) -> SharedMemory:
        if self._core is None:
            given = self.memory if self._checked is None else self._checked
            core = await asyncio.to_thread(acquire, given)  # reads settings, imports plugins
            if self._core is not None:  # somebody was quicker meanwhile
                await release(core)  # type: ignore[unreachable]
            else:
                self._core = core
        return self._core

    async def close(self) -> None:
        """Let go of the memory. One that was given as an object stays open; the next use opens this one again."""
        core, self._core = self._core, None
        if core is not None:
            await release(core)


@dataclass(eq=False)
class MemorySession:
    """One scope of one memory, for an adapter. Holds settings and no conversation: share it between tasks freely.

    Writes user, agent and session; reads user and agent, with ``recall="session"`` the session too. ``k`` hits and
    ``tokens`` are the most that a block holds.
    """

    user: str
    agent: str | None = None
    session: str | None = None
    memory: Memory = None
    recall_from: Recall = "user"
    k: int = 10
    tokens: int = 1000
    record_who: Record = "both"
    strict: bool = False
    deadline_s: float = DEADLINE_S
    shared: InitVar[MemoryHandle | None] = None  # one of its own by default
    door: MemoryHandle = field(init=False)

    def __post_init__(self, shared: MemoryHandle | None) -> None:
        self.door = shared or MemoryHandle(self.memory)
        validation.scope(self.user, self.agent, self.session)
        validation.count("k", self.k, validation.Limits().k)
        validation.count("tokens", self.tokens, 1_000_000)
        _one_of("recall", self.recall_from, ("user", "session"))
        _one_of("record", self.record_who, ("both", "user", "assistant", "none"))
        if self.recall_from == "session" and self.session is None:
            raise InputError('recall="session" needs a session', hint="give session=")

    def __deepcopy__(self, memo: dict[int, Any]) -> MemorySession:
        return self  # a memory is not copied by copying an agent

    def __getstate__(self) -> dict[str, Any]:
        """Settings only; ``ConfigError`` where the memory was given as an object."""
        return {**self.__dict__, "memory": to_config(self.memory)}

    # ---- the agent's path: fails open

    async def record(self, turns: Sequence[Said], *, replay: bool = False) -> tuple[str, ...]:
        """Keep turns; the key of each, "" for one that is not kept. ``replay``: they are history shown again."""
        kept = [turn for turn in turns if self._keeps(turn)]
        if not kept:
            return ("",) * len(turns)
        keys = iter(await self._open("add_turns", self._add(kept, replay), ("",) * len(kept)))
        return tuple(next(keys) if self._keeps(turn) else "" for turn in turns)

    async def _add(self, turns: Sequence[Said], replay: bool) -> tuple[str, ...]:
        scope = {"user": self.user, "agent": self.agent, "session": self.session}
        report = await self.do(lambda memory: memory.add_turns(turns, **scope, replay=replay))  # type: ignore[arg-type]
        return report.keys

    def _keeps(self, turn: Said) -> bool:
        side = "assistant" if turn["role"] == "assistant" else "user"
        return self.record_who in ("both", side) and bool(turn["content"].strip())

    async def recall(
        self, query: str, *, exclude: Collection[str] = (), shown: Collection[str] = (), tokens: int | None = None
    ) -> Recalled:
        """What to show for ``query``. ``exclude``: keys of turns, ``shown``: texts, that the model sees anyway."""
        if not query.strip():
            return Recalled()
        work = self._recall(query, exclude, frozenset(shown), tokens or self.tokens)
        return await self._open("retrieve", work, Recalled())

    async def _recall(self, query: str, exclude: Collection[str], shown: frozenset[str], tokens: int) -> Recalled:
        from memscope.retrieval.context import context, line

        found = await self.search(query, exclude=exclude)
        hits = [hit for hit in found if hit.turn is None or hit.turn.text not in shown]
        lines = context(hits, tokens=tokens)
        fitted = tuple(hit for hit in hits if line(hit) in lines) or tuple(hits[:1])  # of one too long the beginning
        return Recalled(block(lines), fitted) if lines else Recalled()

    async def recent(
        self, *, tokens: int | None = None, limit: int | None = None, exclude: Collection[str] = ()
    ) -> tuple[Turn, ...]:
        """What was said last in this session, oldest first: as many as fit into ``tokens``, at most ``limit``."""
        turns = [turn for turn in await self._open("list", self.said(), ()) if turn.key not in exclude]
        costs = (estimate_tokens(f"{turn.speaker}: {turn.text}\n") for turn in reversed(turns))
        spent = accumulate(costs) if tokens is not None else repeat(0, len(turns))
        fitting = sum(1 for _ in takewhile(lambda cost: cost <= (tokens or 0), spent))
        return tuple(turns[len(turns) - min(fitting, limit if limit is not None else fitting) :])

    async def _open(self, what: str, work: Coroutine[Any, Any, R], otherwise: R) -> R:
        try:
            async with asyncio.timeout(self.deadline_s):
                result = await work
        except Exception as error:
            if self.strict or isinstance(error, ConfigError):
                raise
            self._warn(what, error)
            return otherwise
        self.door.failing.discard(what)
        return result

    def _warn(self, what: str, error: Exception) -> None:
        """Once until it works again: an agent without memory must be noticed, a log must not be flooded."""
        if not self.door.failing:
            reason = f"{error.code}: {error}" if isinstance(error, MemscopeError) else type(error).__name__
            log.warning("%s failed, and the agent goes on without memory (%s)", what, reason)
        self.door.failing.add(what)

    # ---- what was asked for: raises

    async def search(
        self, query: str, *, k: int | None = None, exclude: Collection[str] = (), **more: Any
    ) -> Retrieval:
        session = self.session if self.recall_from == "session" else None
        scope = {"user": self.user, "agent": self.agent, "session": session}
        asked = {"k": k or self.k, "exclude": tuple(exclude), **more}
        return await self.do(lambda memory: memory.retrieve(query, **scope, **asked))  # type: ignore[arg-type]

    async def said(self) -> tuple[Turn, ...]:
        """The turns of this session as they were said, without statements."""
        scope = {"user": self.user, "agent": self.agent, "session": self.session}
        listed = await self.do(lambda memory: memory.list(**scope, kinds=["turn"]))  # type: ignore[arg-type]
        return tuple(turn for turn in listed if isinstance(turn, Turn) and not turn.statement)

    async def remember(self, text: str, **more: Any) -> Observation:
        """``more``: name, data, time and the like of ``add_memory``."""
        scope = {"user": self.user, "agent": self.agent, "session": self.session}
        return await self.do(lambda memory: memory.add_memory(text, **scope, **more))  # type: ignore[arg-type]

    async def forget(self, ids: Sequence[str]) -> tuple[ForgetReport | None, list[str]]:
        """Forget what has these ids; the receipt (None if there was nothing), and the ids that nothing has here."""
        known = {id: await self._knows(id) for id in dict.fromkeys(ids)}
        there, missing = [id for id in known if known[id]], [id for id in known if not known[id]]
        if not there:
            return None, missing
        user, agent = self.user, self.agent
        return await self.do(lambda memory: memory.forget(user=user, agent=agent, ids=there)), missing

    async def _knows(self, id: str) -> bool:
        try:
            await self.do(lambda memory: memory.get(id, user=self.user, agent=self.agent))
        except NotFound:
            return False
        return True

    async def clear(self) -> ForgetReport:
        """Forget all that this scope holds, and nothing else."""
        scope = {"user": self.user, "agent": self.agent, "session": self.session}
        return await self.do(lambda memory: memory.forget(**scope, everything=True))  # type: ignore[arg-type]

    # ---- the same as a tool's answer to the model

    async def search_told(self, query: str, *, exclude: Collection[str] = ()) -> str:
        return listing(await self.search(query, exclude=exclude))

    async def remember_told(self, statement: str) -> str:
        return f"Remembered, id {(await self.remember(spoken(statement))).id}."

    async def forget_told(self, ids: Sequence[str]) -> str:
        report, missing = await self.forget(ids)
        told = [f"Forgotten: {report.turns} turns, {report.observations} memories."] if report else []
        told += [f"Nothing has the id {id!r}." for id in missing]
        return " ".join(told) or "No ids were given."

    # ---- the memory behind it

    async def do(self, operation: Operation[R]) -> R:
        """Any other operation of the memory; opens it on first use, off the event loop."""
        return await (await self.door.core()).do(operation)

    async def close(self) -> None:
        await self.door.close()


class SessionPool:
    """One memory for many scopes: ``to(user, session)`` is the session of one. ``settings``: of ``MemorySession``."""

    def __init__(self, memory: Memory = None, **settings: Any) -> None:
        self._settings, self._door = settings, MemoryHandle(memory)
        self.to("anybody", "any")  # a wrong setting is told now

    def __deepcopy__(self, memo: dict[int, Any]) -> SessionPool:
        return self

    def to(self, user: str, session: str | None = None) -> MemorySession:
        return MemorySession(user=user, session=session, memory=self._door.memory, shared=self._door, **self._settings)

    async def close(self) -> None:
        await self._door.close()


def _one_of(what: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ConfigError(f"{what} must be one of {', '.join(allowed)}, got {value!r}")


def role_of(value: str) -> Role:
    """A framework's role or speaker as one of ours; anyone else is a person."""
    return next((role for role in ROLES if role == value), "person")
