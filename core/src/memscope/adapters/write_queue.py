"""Turns that the store did not take in time wait in the process, and are written once it answers.

    record ──▶ WriteQueue.write ──▶ store                  the caller waits until its deadline
                     └──▶ late ──▶ store, in the background, in the order of the calls; once more when the memory closes

A write that its caller gave up on is not cancelled: the store may carry it out all the same. One that failed is
repeated as of the time of its first attempt, so that a turn is stored once, and with the time at which it was said.
Everything here runs on the memory's event loop.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakKeyDictionary

from memscope import validation
from memscope.errors import DeadlineExceeded, LimitError, MemscopeError, StoreError, StoreTooNew
from memscope.records import Interval, Scope
from memscope.stores.rules import selected

if TYPE_CHECKING:
    from memscope.memory import AsyncMemoryScope
    from memscope.prompts.memory_block import TurnInput
    from memscope.records import Select, Turn

log = logging.getLogger("memscope")
Keys: TypeAlias = tuple[str, ...]
MAX_LATE_TURNS = 10_000
MAX_LATE_CHARS = 20_000_000
LATE_WRITE_PAUSE_S = 0.5  # doubles with each failure; a new write ends it
MAX_LATE_WRITE_PAUSE_S = 30.0
LATE_WRITE_DEADLINE_S = 60.0  # longer than our stores wait for their servers
CLOSING_DEADLINE_S = 2.0  # per write


@dataclass(eq=False)
class Write:
    """The turns of one call. ``began``: when they were said; ``ended``: when the last attempt failed.

    Both are by the memory's clock, ``arrived`` by the system's, as the times of receipts are.
    """

    turns: Sequence[TurnInput]
    where: Scope
    replay: bool = False
    zone: tzinfo | None = None
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    ended: datetime | None = None
    arrived: datetime = field(default_factory=lambda: datetime.now(UTC))
    attempt: asyncio.Task[Keys] | None = None
    answers: list[asyncio.Future[Keys]] = field(default_factory=list)  # of callers that wait

    @property
    def chars(self) -> int:
        return sum(len(turn["content"]) for turn in self.turns)

    @property
    def is_done(self) -> bool:
        """Tell whether the attempt succeeded, and mark its error as seen."""
        attempt = self.attempt
        return attempt is not None and attempt.done() and not attempt.cancelled() and attempt.exception() is None

    @property
    def is_awaited(self) -> bool:
        return any(not answer.done() for answer in self.answers)

    def settle(self, keys: Keys) -> None:
        for answer in self.answers:
            if not answer.done():
                answer.set_result(keys)

    def refuse(self, error: BaseException) -> None:
        """Let the callers go on; the turns wait further."""
        for answer in self.answers:
            if not answer.done():
                answer.set_exception(error)


@dataclass(eq=False)
class WriteQueue:
    """The late writes of one memory, oldest first."""

    late: deque[Write] = field(default_factory=deque)
    _awaited: dict[Write, None] = field(default_factory=dict)  # those with ``answers``, in order
    _dropped: int = 0  # turns for which there was no room
    _wake: asyncio.Event | None = None
    _retrying: asyncio.Task[None] | None = None

    async def write(self, memory: AsyncMemoryScope, write: Write) -> Keys:
        """Store turns and return their keys. If that fails or is cancelled, the turns stay here.

        Writes of one scope are carried out in order: one behind a late one waits for it.
        """
        write.began = memory.admin.runtime.services.now(write.zone)
        if self._of(write.where):
            return await self._write_behind(memory, write)
        write.attempt = asyncio.create_task(add(memory, write), name="memscope-write")
        try:
            return await asyncio.shield(write.attempt)
        finally:
            if not write.attempt.done():
                self._put(memory, write)
            elif _may_succeed(write.attempt):
                write.attempt, write.ended = None, memory.admin.runtime.services.now(write.zone)
                self._put(memory, write)

    async def _write_behind(self, memory: AsyncMemoryScope, write: Write) -> Keys:
        chosen = self._not_waiting(write)
        if any(chosen):
            self._put(memory, replace(write, turns=[*compress(write.turns, chosen)], ended=write.began, answers=[]))
        last = self._of(write.where)[-1]
        answer: asyncio.Future[Keys] = asyncio.Future()
        last.answers.append(answer)
        self._awaited[last] = None
        self._retry(memory)
        try:
            keys = await answer
        finally:
            last.answers.remove(answer)
            if not last.answers:
                del self._awaited[last]
        waited = (turn.get("id") or "" for turn in write.turns)
        new = spread(keys if any(chosen) else (), chosen)
        return tuple(key if is_new else id for key, id, is_new in zip(new, waited, chosen, strict=True))

    def _not_waiting(self, write: Write) -> list[bool]:
        """Find the turns that do not wait yet: agents send a message again with its id, or as a replayed history."""
        same = self._of(write.where)
        ids = {turn.get("id") for late in same for turn in late.turns} - {None}
        waiting: Counter[tuple[str, str]] = Counter()
        for replayed in (False, True):
            for late in same:
                if late.replay is replayed:
                    waiting = waiting | _words(late) if replayed else waiting + _words(late)
        is_known = write.replay and _words(write) <= waiting
        return [turn["id"] not in ids if turn.get("id") else not is_known for turn in write.turns]

    def _of(self, where: Scope) -> list[Write]:
        return [late for late in self.late if late.where == where]

    def _put(self, memory: AsyncMemoryScope, write: Write) -> None:
        self.late.append(write)
        while len(self.late) > 1 and self._is_full():
            if not self._dropped:
                log.warning("the store does not answer, and too many turns wait for it: the oldest are lost")
            idle = [late for late in self.late if late.attempt is None] or [*self.late]
            oldest = min(idle, key=lambda late: late.began)
            self._dropped += len(oldest.turns)
            self._drop(oldest)
        self._retry(memory)

    def _is_full(self) -> bool:
        return sum(len(write.turns) for write in self.late) > MAX_LATE_TURNS or (
            sum(write.chars for write in self.late) > MAX_LATE_CHARS
        )

    # ---- in the background

    def _retry(self, memory: AsyncMemoryScope) -> None:
        if self._wake is not None:
            self._wake.set()
        if self._retrying is None or self._retrying.done():
            self._retrying = asyncio.create_task(self._write_late(memory), name="memscope-late-writes")

    async def _write_late(self, memory: AsyncMemoryScope) -> None:
        pause = LATE_WRITE_PAUSE_S
        while self.late:
            awaited = self._first_awaited()
            if await self._finish(memory, self._of(awaited.where)[0] if awaited else self.late[0]):
                pause = LATE_WRITE_PAUSE_S
                continue
            if self._first_awaited():
                continue  # callers of other scopes learn at once whether theirs fails
            self._wake = asyncio.Event()
            try:
                async with asyncio.timeout(pause):
                    await self._wake.wait()
            except TimeoutError:
                pause = min(2 * pause, MAX_LATE_WRITE_PAUSE_S)
        if self._dropped:
            log.warning("the store answers again; %d of the turns that waited for it are lost", self._dropped)
        self._dropped = 0

    def _first_awaited(self) -> Write | None:
        return next((write for write in self._awaited if write.is_awaited), None)

    async def _finish(self, memory: AsyncMemoryScope, write: Write) -> bool:
        """Wait for the attempt under way, or make one. Return False if the write is to be repeated later."""
        attempt = write.attempt or asyncio.create_task(add(memory, write), name="memscope-write")
        write.attempt = attempt
        done, _ = await asyncio.wait([attempt], timeout=LATE_WRITE_DEADLINE_S)
        if not done or _may_succeed(attempt):
            attempt.cancel()
            write.attempt, write.ended = None, memory.admin.runtime.services.now(write.zone)
            error = attempt.exception() if done and not attempt.cancelled() else None
            same = self._of(write.where)
            for late in same:  # let others go first: the store may refuse this scope only
                late.refuse(error or TimeoutError())
                self.late.remove(late)
            self.late.extend(same)
            return False
        if write in self.late:
            self.late.remove(write)
        if error := attempt.exception():
            log.warning("%d turns are not recorded (%s)", len(write.turns), described(error))
        write.settle(("",) * len(write.turns) if error else attempt.result())
        return True

    # ---- before something that must not come before the late writes

    async def flush(self, memory: AsyncMemoryScope, user: str | None = None) -> None:
        """Write what is late, of every user by default, until a write fails or takes over ``CLOSING_DEADLINE_S``."""
        await self._stop()
        try:
            while late := [write for write in self.late if user in (None, write.where.user)]:
                async with asyncio.timeout(CLOSING_DEADLINE_S):
                    if not await self._finish(memory, late[0]):
                        return
        except TimeoutError:
            return
        finally:
            if self.late:
                self._retry(memory)

    async def forget(self, memory: AsyncMemoryScope, select: Select) -> None:
        """Write what is late before it is forgotten, so that a tombstone keeps a repeated history from adding it again.

        Of what cannot be written, drop the turns that the selection covers; ids have to be those of stored records.
        """
        if any(write.where.user == select.user for write in self.late):
            await self.flush(memory, select.user)
        services = memory.admin.runtime.services
        for write in [*self.late] if select.ids is None else ():
            zone = write.zone or services.zone
            turns = validation.turns(write.turns, write.where, write.began, zone, services.limits).turns
            stays = [not _is_selected(select, turn) for turn in turns]
            if not all(stays):
                self._drop(write)
            if any(stays) and not all(stays):
                rest = [*compress(write.turns, stays)]
                self._put(
                    memory, replace(write, turns=rest, attempt=None, ended=write.ended or write.began, answers=[])
                )

    async def close(self, memory: AsyncMemoryScope) -> None:
        """Try once more, and give up the rest."""
        try:
            if self.late:
                await self.flush(memory)
        finally:
            await self._stop()
            if lost := self._dropped + self.count_unwritten():
                log.warning("%d turns are lost: the store did not take them until the memory was closed", lost)
            for write in [*self.late]:
                self._drop(write)
            self._dropped = 0

    def count_unwritten(self) -> int:
        return sum(len(write.turns) for write in self.late if not write.is_done)

    def _drop(self, write: Write) -> None:
        self.late.remove(write)
        if write.attempt is not None and not write.is_done:
            write.attempt.cancel()
        write.settle(("",) * len(write.turns))

    async def _stop(self) -> None:
        task, self._retrying = self._retrying, None
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait([task])


_queues: WeakKeyDictionary[AsyncMemoryScope, WriteQueue] = WeakKeyDictionary()


def queue_of(memory: AsyncMemoryScope) -> WriteQueue:
    """Return the queue that all adapters of a memory share."""
    queue = _queues.get(memory)
    if queue is None:
        queue = _queues[memory] = WriteQueue()
        memory.admin.runtime.before_close.append(partial(queue.close, memory))
        memory.admin.runtime.before_forget.append(partial(queue.forget, memory))
    return queue


@atexit.register
def _count_lost() -> None:
    """Say what a process loses that ends without closing its memory."""
    if lost := sum(queue.count_unwritten() for queue in _queues.values()):
        log.warning("%d turns are lost: the store did not take them until the program ended", lost)


async def add(memory: AsyncMemoryScope, write: Write, *, strict: bool = False) -> Keys:
    """Store the turns and return their keys. Keep the others if one is too long, such as the page of a tool."""
    try:
        return await _store(memory, write)
    except LimitError as error:
        fits = [len(turn["content"].encode(errors="replace")) <= error.limit for turn in write.turns]
        if strict or all(fits) or not any(fits):
            raise
        log.warning("a turn is not recorded (%s: %s)", error.code, error)
    return spread(await add(memory, replace(write, turns=[*compress(write.turns, fits)])), fits)


async def _store(memory: AsyncMemoryScope, write: Write) -> Keys:
    where, replay, zone = write.where, write.replay, write.zone
    if write.ended is None:
        report = await memory.add_turns(
            write.turns, user=where.user, agent=where.agent, session=where.session, replay=replay, zone=zone
        )
        return report.keys
    runtime = memory.admin.runtime
    tried = Interval(write.began, max(write.began, write.ended) + timedelta(microseconds=1))
    async with runtime.operation("add_turns"):
        receipts = await runtime.services.store.receipts(where.user)
        if any(one.whole and one.at >= write.arrived and _covers(one.scope, where) for one in receipts):
            return ("",) * len(write.turns)  # another process forgot the scope meanwhile
        report = await runtime.store_turns(write.turns, where, replay=replay, zone=zone, tried=tried)
        runtime.work.wake(where.user, report.stored)
    return report.keys


def _is_selected(select: Select, turn: Turn) -> bool:
    of_user = turn.scope.user == select.user
    return of_user and selected(
        select, turn, sessions=lambda: (turn.scope.session,), waiting=lambda stage: True, derived=tuple
    )


def _covers(scope: Scope, part: Scope) -> bool:
    """Tell whether ``part`` is in ``scope``, an unset field of which covers all."""
    return scope.user == part.user and scope.agent in (None, part.agent) and scope.session in (None, part.session)


def _may_succeed(attempt: asyncio.Task[Keys]) -> bool:
    """Tell whether a finished attempt failed in a way that another may not."""
    if attempt.cancelled():
        return True
    error = attempt.exception()
    return isinstance(error, StoreError | DeadlineExceeded | TimeoutError) and not isinstance(error, StoreTooNew)


def _words(write: Write) -> Counter[tuple[str, str]]:
    return Counter((turn["speaker"], turn["content"]) for turn in write.turns if not turn.get("id"))


def spread(keys: Iterable[str], chosen: Sequence[bool]) -> Keys:
    """Put the keys in the places of the chosen turns, and "" in the others."""
    rest = iter(keys)
    return tuple(next(rest) if is_chosen else "" for is_chosen in chosen)


def described(error: BaseException) -> str:
    """Describe an error without its message if that may quote a conversation."""
    return f"{error.code}: {error}" if isinstance(error, MemscopeError) else type(error).__name__
