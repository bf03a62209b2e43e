"""``MemorySession``: one scope of a memory, as adapters to frameworks use it.

    messages ──▶ to_turn() ──▶ MemorySession.record ──▶ add_turns
    query    ──▶ MemorySession.recall ──▶ retrieve ──▶ the block that is shown to the model

The automatic path (``record``, ``recall``) fails open: it logs one warning, and the agent answers without memory.
Turns that could not be recorded wait in the process until the store answers (``write_queue``).
Errors in the settings raise, and with ``strict=True`` all errors do. Explicit requests of a person or a model
(``search``, ``remember``, ``forget``, ``clear``) always raise their errors.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Coroutine, Sequence
from dataclasses import InitVar, dataclass, field
from datetime import datetime
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from unicodedata import category

from memscope import validation
from memscope.adapters.instances import MemoryHandle, MemoryLike, Operation, check_early, to_config
from memscope.adapters.write_queue import Write, add, described, queue_of
from memscope.chat.assembly import assemble
from memscope.chat.prompt import fit_hits
from memscope.errors import ConfigError, InputError, NotFound, StoreUnavailable
from memscope.prompts.memory_block import TurnInput, block, strip_memory
from memscope.records import Json, Role, Scope, Speak, Turn
from memscope.retrieval.window import first_shown
from memscope.text.tokens import estimate_tokens
from memscope.validation import Zone

if TYPE_CHECKING:
    from datetime import tzinfo

    from memscope.memory import AsyncMemoryScope
    from memscope.records import Block, ForgetReport, Hit, Insight, Kind, Observation, Retrieval

log = logging.getLogger("memscope")
R = TypeVar("R")
RecordWho = Literal["both", "user", "assistant", "none"]
RecallFrom = Literal["user", "session"]
MEMORY_DEADLINE_S = 20.0
OUTAGE_DEADLINE_S = 2.0  # of each operation during an outage, so that every turn of the agent need not wait for long,
FULL_DEADLINE_PAUSE_S = 60.0  # but of one in so many seconds, since a slow memory needs more to end the outage
NOTHING_FOUND = "Nothing is remembered about this."


def to_turn(role: Role, text: str, *, speaker: str | None = None, **more: Json) -> dict[str, Any]:
    """Build a turn for ``record``. ``more``: id, time and metadata, if the framework has them."""
    return {"role": role, "content": strip_memory(text), "speaker": _as_name(speaker or "") or role, **more}


def _as_name(name: str) -> str:
    """Make a valid identifier of a display name: without invisible characters (as in joined emoji), and shortened."""
    name = " ".join(name.split())
    if not name.isprintable():
        name = "".join(char for char in name if category(char) not in validation.HIDDEN_CATEGORIES)
    return name.encode()[: validation.MAX_IDENTIFIER_BYTES].decode(errors="ignore").strip()


def format_hits(hits: Sequence[Hit]) -> str:
    """Format hits as a block for a tool's answer, each with its id for ``forget``."""
    from memscope.retrieval.context import line

    shown = [*getattr(hits, "profile", ()), *hits]
    return block("\n".join(f"[id {hit.id}] {line(hit)}" for hit in shown)) if shown else NOTHING_FOUND


@dataclass(frozen=True, slots=True)
class Recalled:
    """The result of a recall: ``text`` is the block to show, possibly ""; ``core`` is the part before the ``hits``."""

    text: str = ""
    hits: tuple[Hit, ...] = ()
    core: str = ""


@dataclass(eq=False)
class MemorySession:
    """One scope of one memory, for an adapter. Holds settings but no conversation, so tasks may share it.

    Turns are written under user, agent and session. Recall covers the user and agent, with ``recall="session"`` only
    this session. A block holds at most ``k`` hits (2.5 × ``k`` for list questions) and ``tokens`` tokens; ``kinds``
    limits it to some kinds of records. ``zone`` is the user's time zone, by default that of the settings.
    """

    user: str
    agent: str | None = None
    session: str | None = None
    memory: MemoryLike = None
    recall_from: RecallFrom = "user"
    k: int = 10
    tokens: int = 1000
    record_who: RecordWho = "both"
    strict: bool = False
    kinds: Sequence[Kind] | None = None
    zone: Zone = None
    speak: Speak | None = None  # show a block always, or only when the message needs it; None: from the settings
    deadline_s: float = MEMORY_DEADLINE_S
    shared: InitVar[MemoryHandle | None] = None  # None: a handle of its own
    handle: MemoryHandle = field(init=False)

    def __post_init__(self, shared: MemoryHandle | None) -> None:
        self.handle = shared or MemoryHandle(self.memory)
        validation.scope(self.user, self.agent, self.session)
        validation.count("k", self.k, validation.Limits().k)
        validation.count("tokens", self.tokens, 1_000_000)
        _check_choice("recall", self.recall_from, ("user", "session"))
        _check_choice("speak", self.speak or "always", ("when_needed", "always"))
        _check_choice("record", self.record_who, ("both", "user", "assistant", "none"))
        validation.kinds(self.kinds)
        check_early(validation.zone, self.zone)
        if self.recall_from == "session" and self.session is None:
            raise InputError('recall="session" needs a session', hint="give session=")

    def __deepcopy__(self, memo: dict[int, Any]) -> MemorySession:
        return self  # copies of an agent share its memory

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the settings only. Raise ``ConfigError`` if the memory was passed as an object."""
        return {**self.__dict__, "memory": to_config(self.memory)}

    # ---- the automatic path: fails open

    async def record(self, turns: Sequence[TurnInput], *, replay: bool = False) -> tuple[str, ...]:
        """Add turns and return their keys, "" for those not recorded yet. ``replay``: the turns are resent history."""
        recorded = [turn for turn in turns if self._is_recorded(turn)]
        if not recorded:
            return ("",) * len(turns)
        keys = iter(await self._fail_open("add_turns", self._add(recorded, replay), ("",) * len(recorded)))
        return tuple(next(keys) if self._is_recorded(turn) else "" for turn in turns)

    async def _add(self, turns: Sequence[TurnInput], replay: bool) -> tuple[str, ...]:
        is_begun = False

        async def write(memory: AsyncMemoryScope) -> tuple[str, ...]:
            nonlocal is_begun
            zone = await self._zone()
            placed = [_in_zone(turn, zone) for turn in turns]
            if is_begun:
                return ("",) * len(turns)
            is_begun = True
            new = Write(placed, Scope(self.user, self.agent, self.session), replay, zone)
            if self.strict:
                return await add(memory, new, strict=True)
            return await queue_of(memory).write(memory, new)

        try:
            return await self.do(write)
        except asyncio.CancelledError:
            if not is_begun and not self.strict:  # stopped while the memory was opened: the turns are said all the same
                task = asyncio.create_task(self._write_later(write), name="memscope-write")
                _begun_late.add(task)
                task.add_done_callback(_begun_late.discard)
            raise

    async def _write_later(self, write: Operation[tuple[str, ...]]) -> None:
        try:
            await self.do(write)
        except Exception as error:
            self._warn("add_turns", error)

    def _is_recorded(self, turn: TurnInput) -> bool:
        side = "assistant" if turn["role"] == "assistant" else "user"
        return self.record_who in ("both", side) and bool(turn["content"].strip())

    async def recall(
        self, query: str, *, exclude: Collection[str] = (), shown: Collection[str] = (), tokens: int | None = None,
        permanent: bool = False,
    ) -> Recalled:  # fmt: skip
        """Return the block for ``query``. An empty query gives the part before the hits only.

        ``exclude`` has keys of turns and ``shown`` texts (core memory too) that the model sees anyway. ``permanent``:
        the block stays in the conversation, so it leaves out parts that change with every turn.
        """
        work = self._recall(query, exclude, frozenset(shown), tokens, permanent)
        return await self._fail_open("retrieve", work, Recalled())

    async def _recall(
        self, query: str, exclude: Collection[str], shown: frozenset[str], tokens: int | None, permanent: bool
    ) -> Recalled:
        core, room = await self.do(lambda memory: self._preface(memory, exclude, tokens, permanent))
        fresh = "" if core in shown else core
        if not query.strip():
            return Recalled(block("", fresh) if fresh else "", core=core)
        retrieved = await self.search(query, exclude=exclude, expand_lists=True, speak=self.speak)
        hits = [hit for hit in retrieved if hit.turn is None or hit.turn.text not in shown]
        profile = [hit for hit in retrieved.profile if hit.turn is None or hit.turn.text not in shown]
        fitted, lines = fit_hits(hits, room, profile)
        return Recalled(block(lines, fresh) if lines or fresh else "", fitted, core)

    async def core(self) -> str:
        """Return the blocks of core memory as text, "" if all are empty."""
        return await self.do(lambda memory: memory.blocks(self.user, agent=self.agent).text())

    async def _preface(
        self, memory: AsyncMemoryScope, exclude: Collection[str], tokens: int | None, permanent: bool
    ) -> tuple[str, int]:
        """Return the text that precedes the hits, and the number of tokens left for the hits.

        The text is core memory. With ``context.budget`` in the settings it also has entities and a summary of turns
        that left the agent's window, all within that budget.
        """
        runtime, budget = memory.admin.runtime, memory.admin.runtime.services.settings.context.budget
        if budget is None or permanent:
            return await memory.blocks(self.user, agent=self.agent).text(), tokens or self.tokens
        where = Scope(self.user, self.agent, self.session)
        async with runtime.operation("retrieve"):
            parts = await assemble(runtime, where, min(budget, tokens or budget), shown=exclude)
        return parts.lead, parts.left

    async def recent(
        self, *, tokens: int | None = None, limit: int | None = None, exclude: Collection[str] = ()
    ) -> tuple[Turn, ...]:
        """Return the last turns of this session, oldest first: at most ``limit``, within ``tokens``."""
        turns = [turn for turn in await self._fail_open("list", self.list_turns(), ()) if turn.key not in exclude]
        first = 0 if limit is None else max(0, len(turns) - limit)
        if tokens is not None:
            costs = [estimate_tokens(f"{turn.speaker}: {turn.text}\n") for turn in turns]
            first = max(first, first_shown(costs, tokens))
        return tuple(turns[first:])

    async def _fail_open(self, what: str, work: Coroutine[Any, Any, R], otherwise: R) -> R:
        deadline = self._deadline()
        try:
            async with asyncio.timeout(deadline):
                result = await work
        except Exception as error:
            if self.strict or isinstance(error, ConfigError):
                raise
            if isinstance(error, TimeoutError | StoreUnavailable) and deadline == self.deadline_s:
                self.handle.full_deadline_at = monotonic() + FULL_DEADLINE_PAUSE_S
            self._warn(what, error)
            return otherwise
        self.handle.failing.discard(what)
        self.handle.full_deadline_at = 0.0
        return result

    def _deadline(self) -> float:
        is_outage = monotonic() < self.handle.full_deadline_at and not self.strict
        return min(self.deadline_s, OUTAGE_DEADLINE_S) if is_outage else self.deadline_s

    def _warn(self, what: str, error: Exception) -> None:
        """Log the first failure only, until memory works again, so that an outage does not flood the log."""
        if not self.handle.failing:
            reason = described(error)
            reason += f": no answer within {self.deadline_s:g} s" if isinstance(error, TimeoutError) else ""
            log.warning("%s failed, and the agent goes on without memory (%s)", what, reason)
        self.handle.failing.add(what)

    # ---- explicit requests of a person or a model: raise

    async def search(
        self, query: str, *, k: int | None = None, exclude: Collection[str] = (), kinds: Sequence[Kind] | None = None,
        **more: Any,
    ) -> Retrieval:  # fmt: skip
        """Retrieve in this scope. ``kinds`` overrides the session's; ``more``: as_of, filter, zone."""
        limits = {"k": self.k if k is None else k, "kinds": self.kinds if kinds is None else kinds}
        args = {**limits, "zone": await self._zone(), **more}
        session = self.session if self.recall_from == "session" else None
        where = {**self._scope, "session": session, "exclude": tuple(exclude)}
        return await self.do(lambda memory: memory.retrieve(query, **where, **args))

    async def list_turns(self) -> tuple[Turn, ...]:
        """List the turns of this session, without statements."""
        listed = await self.do(lambda memory: memory.list(**self._scope, kinds=["turn"]))
        return tuple(turn for turn in listed if isinstance(turn, Turn) and not turn.statement)

    async def remember(self, text: str, **more: Any) -> Observation | Insight:
        """Store a statement as a memory. ``more``: further arguments of ``add_memory`` (name, data, time, role ...)."""
        options = {"zone": await self._zone(), **more}
        return await self.do(lambda memory: memory.add_memory(text, **self._scope, **options))

    async def forget(self, ids: Sequence[str]) -> tuple[ForgetReport | None, list[str]]:
        """Forget these ids. Return the receipt (None if no id is known) and the unknown ids."""
        known = {id: await self._exists(id) for id in dict.fromkeys([ids] if isinstance(ids, str) else ids)}
        known_ids, missing = [id for id in known if known[id]], [id for id in known if not known[id]]
        if not known_ids:
            return None, missing
        return await self.do(lambda memory: memory.forget(user=self.user, agent=self.agent, ids=known_ids)), missing

    async def _exists(self, id: str) -> bool:
        try:
            await self.do(lambda memory: memory.get(id, user=self.user, agent=self.agent))
        except NotFound:
            return False
        return True

    async def edit(self, operation: str, label: str, *texts: Any, reason: str = "", **more: Any) -> Block:
        """Edit a block of core memory as the model. ``operation``: append, replace, remove, insert or rethink."""
        if not reason.strip():
            raise InputError("an edit of core memory needs a reason")

        async def edit(memory: AsyncMemoryScope) -> Block:
            method = getattr(memory.blocks(self.user, agent=self.agent), operation)
            return await method(label, *texts, author="model", reason=reason, **more)  # type: ignore[no-any-return]

        return await self.do(edit)

    async def local_zone(self) -> tzinfo | None:
        """Return the user's time zone, else the one in the settings; None means the system's."""

        async def read(memory: AsyncMemoryScope) -> tzinfo | None:
            return memory.admin.runtime.services.zone

        return await self._zone() or await self.do(read)

    async def _zone(self) -> tzinfo | None:
        """Return this session's ``zone``. Zone names are looked up in files, hence in a thread."""
        return await asyncio.to_thread(validation.zone, self.zone) if isinstance(self.zone, str) else self.zone

    async def clear(self) -> ForgetReport:
        """Forget all records of this scope."""

        async def clear(memory: AsyncMemoryScope) -> ForgetReport:
            return await memory.forget(**self._scope, everything=True)

        return await self.do(clear)

    # ---- the same operations, answered in words for the model

    async def answer_search(
        self, query: str, *, exclude: Collection[str] = (), kinds: Sequence[Kind] | None = None
    ) -> str:
        return format_hits(await self.search(query, exclude=exclude, kinds=kinds))

    async def answer_remember(self, statement: str) -> str:
        """Store a note of the model. It counts as the assistant's words until the user says the same."""
        note = await self.remember(strip_memory(statement), role="assistant", speaker=self.agent)
        return f"Remembered, id {note.id}."

    async def answer_forget(self, ids: Sequence[str]) -> str:
        report, missing = await self.forget(ids)
        sentences = [f"Forgotten: {report.turns} turns, {report.observations} memories."] if report else []
        sentences += [f"Nothing has the id {id!r}." for id in missing]
        return " ".join(sentences) or "No ids were given."

    # ---- the memory behind it

    @property
    def _scope(self) -> dict[str, Any]:
        """Return the scope under which turns are written, as keyword arguments."""
        return {"user": self.user, "agent": self.agent, "session": self.session}

    async def do(self, operation: Operation[R]) -> R:
        """Run any operation of the memory, which is opened off the event loop on first use."""
        return await (await self.handle.shared()).do(operation)

    async def close(self) -> None:
        await self.handle.close()


_begun_late: set[asyncio.Task[None]] = set()


class SessionPool:
    """One memory for many scopes: ``to(user, session)`` gives the ``MemorySession`` of one scope.

    ``settings`` are arguments of every ``MemorySession``. ``to(..., agent=, zone=)`` overrides them per call.
    """

    def __init__(self, memory: MemoryLike = None, **settings: Any) -> None:
        self._settings, self._handle = settings, MemoryHandle(memory)
        self.to("anybody", "any")  # raise for wrong settings now, not on first use

    def __deepcopy__(self, memo: dict[int, Any]) -> SessionPool:
        return self

    def to(
        self, user: str, session: str | None = None, *, agent: str | None = None, zone: Zone = None
    ) -> MemorySession:
        known = {"agent": agent, "zone": zone}
        settings = {**self._settings, **{name: value for name, value in known.items() if value is not None}}
        return MemorySession(user=user, session=session, memory=self._handle.memory, shared=self._handle, **settings)

    async def close(self) -> None:
        await self._handle.close()


def _in_zone(turn: TurnInput, zone: tzinfo | None) -> TurnInput:
    """Convert the turn's time, if it has one, to the user's zone."""
    time = turn.get("time")
    if zone is None or not isinstance(time, (str, datetime)):
        return turn
    return {**turn, "time": validation.when("time", time, zone).astimezone(zone)}


def _check_choice(what: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ConfigError(f"{what} must be one of {', '.join(allowed)}, got {value!r}")
