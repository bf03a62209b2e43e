"""Group commit of turns: concurrent calls of any users are written in three requests.

1. read which of the keys exist, and the users' counters
2. write the counters, each by compare-and-swap
3. create the turns under ids derived from user and key; leave existing ones unchanged
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from memscope.errors import MemscopeError, StoreBusy, StoreUnavailable
from memscope.records import AppendOutcome, AppendResult, TurnInsert
from memscope.stores.rules import free_key, next_stage
from memscope_elasticsearch import counters
from memscope_elasticsearch.client import BulkOperation
from memscope_elasticsearch.counters import UserCounters
from memscope_elasticsearch.documents import GONE, Place, documents, scope_hash, unit_id
from memscope_elasticsearch.session import Session

MAX_TURNS_PER_CALL = 1000  # turns per deadline; larger calls are split
MAX_TURNS_PER_BULK = 250
CONCURRENT_GROUPS = 2  # computes the units of one while the server writes the other
MIN_THREADED_CHARS = 8_000  # units of longer texts are computed in a thread, not in the event loop
MAX_APPEND_ROUNDS = 100
MAX_CACHED_COUNTERS = 10_000  # users whose counters are remembered
Id: TypeAlias = tuple[str, str]  # user, key


class _Unknown(Exception):
    """A key must be looked up first."""


@dataclass(eq=False)
class AppendRequest:
    """An ``append`` in progress; keys and outcomes are filled in per insert."""

    user: str
    inserts: Sequence[TurnInsert]
    done: frozenset[str]
    answer: asyncio.Future[AppendResult]
    until: float
    keys: list[str] = field(default_factory=list)
    outcomes: list[AppendOutcome | None] = field(default_factory=list)

    def open(self) -> Iterator[tuple[int, TurnInsert]]:
        return ((i, draft) for i, draft in enumerate(self.inserts) if self.outcomes[i] is None)


class GroupCommitter:
    """Group commit per event loop: requests that arrive during a write form the next group.

    Concurrent groups share no user, so each user's turns are written in the order of the calls.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._waiting: deque[AppendRequest] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._writing: set[str] = set()  # users of the running groups
        self._heads: dict[str, UserCounters] = {}

    async def append(self, user: str, inserts: Sequence[TurnInsert], done: Iterable[str]) -> AppendResult:
        if not inserts:
            return AppendResult((), ())
        answer: asyncio.Future[AppendResult] = asyncio.get_running_loop().create_future()
        cluster = self._session.cluster
        until = cluster.until() + len(inserts) // MAX_TURNS_PER_CALL * cluster.options.deadline_s
        request = AppendRequest(
            user, inserts, frozenset(done), answer, until, [""] * len(inserts), [None] * len(inserts)
        )
        self._waiting.append(request)
        if len(self._tasks) < CONCURRENT_GROUPS:  # a new context, without this call's deadline
            task = asyncio.create_task(self._run(), name="memscope-commit", context=Context())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        try:
            async with asyncio.timeout_at(until):
                return await answer
        except TimeoutError:
            raise StoreUnavailable("Elasticsearch did not acknowledge in time", hint="try again") from None

    async def drain(self) -> None:
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self) -> None:
        await asyncio.sleep(0)  # concurrent calls join this group
        while group := self._next():
            users = {request.user for request in group}
            self._writing |= users
            try:
                await self._write(group)
            finally:
                self._writing -= users

    def _next(self) -> list[AppendRequest]:
        """Take the requests of the next group; drop those whose caller has given up."""
        group, later, count = list[AppendRequest](), list[AppendRequest](), 0
        while self._waiting and (not group or count + len(self._waiting[0].inserts) <= MAX_TURNS_PER_BULK):
            request = self._waiting.popleft()
            if request.user in self._writing:
                later.append(request)
            elif not request.answer.done():
                group.append(request)
                count += len(request.inserts)
        self._waiting.extendleft(reversed(later))
        return group

    async def _write(self, group: list[AppendRequest]) -> None:
        try:
            with self._session.cluster.one_deadline(max(request.until for request in group)):
                await _Group(self._session, group, self._heads).write()
        except BaseException as error:
            for request in group:
                if not request.answer.done():
                    request.answer.set_exception(error)
            if not isinstance(error, Exception):
                raise
            return
        for request in group:
            if not request.answer.done():
                outcomes = tuple(outcome for outcome in request.outcomes if outcome is not None)
                request.answer.set_result(AppendResult(tuple(request.keys), outcomes))


@dataclass
class _TurnWrite:
    """A turn to write. The first of its ``operations`` decides whether it is stored."""

    request: AppendRequest
    index: int
    key: str
    number: int = 0
    operations: list[BulkOperation] = field(default_factory=list)


class _Group:
    """Requests written together. ``_known``: the kind of the document at each key, None if missing."""

    def __init__(self, session: Session, requests: list[AppendRequest], cache: dict[str, UserCounters]) -> None:
        self._session, self._requests, self._cache = session, requests, cache
        self._known: dict[Id, str | None] = {}

    async def write(self) -> None:
        for _ in range(MAX_APPEND_ROUNDS):
            entries = await self._resolve()
            if not entries:
                return
            await self._number(entries)
            await self._create(entries)
        raise StoreBusy("too many processes write the same turns at once", hint="try again")

    # ---- which keys are free

    async def _resolve(self) -> list[_TurnWrite]:
        """Assign keys, set the outcomes of stored turns, and return the new ones."""
        while True:
            missing: set[Id] = set()
            entries = self._attempt(missing)
            if not missing:
                return entries
            await self._look_up(missing)

    def _attempt(self, missing: set[Id]) -> list[_TurnWrite]:
        entries: list[_TurnWrite] = []
        ours: set[Id] = set()
        settled: list[tuple[AppendRequest, int, str, AppendOutcome]] = []
        for request in self._requests:
            for index, draft in request.open():
                try:
                    key, outcome = self._place(request.user, draft, ours, missing)
                except _Unknown:
                    continue
                if outcome == "stored":
                    ours.add((request.user, key))
                    entries.append(_TurnWrite(request, index, key))
                else:
                    settled.append((request, index, key, outcome))
        for request, index, key, outcome in settled if not missing else ():
            request.keys[index], request.outcomes[index] = key, outcome
        return entries

    def _place(self, user: str, draft: TurnInsert, ours: set[Id], missing: set[Id]) -> tuple[str, AppendOutcome]:
        if draft.base is not None:
            return free_key(draft.base, lambda key: self._taken((user, key), ours, missing) is not None), "stored"
        taken = self._taken((user, draft.turn.key), ours, missing)
        return draft.turn.key, "stored" if taken is None else "forgotten" if taken == GONE else "duplicate"

    def _taken(self, id: Id, ours: set[Id], missing: set[Id]) -> str | None:
        if id in ours:
            return "turn"
        if id not in self._known:
            missing.add(id)
            raise _Unknown
        return self._known[id]

    async def _look_up(self, missing: set[Id]) -> None:
        users = list(dict.fromkeys(user for user, _ in missing if user not in self._cache))
        ids = sorted(missing)
        session = self._session
        wanted = [{**session.at(scope_hash(user), key), "_source": ["kind", "parts", "number"]} for user, key in ids]
        documents = await session.cluster.documents(wanted + [counters.wanted(session.names, user) for user in users])
        sources = {id: document.get("_source", {}) for id, document in zip(ids, documents[: len(ids)], strict=True)}
        for user, document in zip(users, documents[len(ids) :], strict=True):
            self._cache[user] = counters.read(document)
        for (user, key), source in sources.items():
            if source.get("kind") == "turn" and source.get("parts", 1) > 1:
                await self._complete(user, key, source["number"], source["parts"])
            self._known[user, key] = source.get("kind")

    async def _complete(self, user: str, key: str, number: int, parts: int) -> None:
        """Create the units that a stored turn lacks, if its writer ended between the requests of a long turn."""
        session, scope = self._session, scope_hash(user)
        further = [unit_id(scope, key, part, number) for part in range(1, parts)]
        present = await session.documents(scope, further, includes="kind")
        lacking = [document["_id"] for document in present if "_source" not in document]
        entry = (await session.load(user, [key])).get(key) if lacking else None
        if entry is None:
            return
        place = Place.at(entry.source["places"][0])
        bodies = await asyncio.to_thread(documents, entry.record, number, place=place)
        creates = session.creates(scope, {id: bodies[id] for id in lacking if id in bodies})
        await session.cluster.bulk(creates)
        session.wrote(user, lacking)

    # ---- numbers

    async def _number(self, entries: list[_TurnWrite]) -> None:
        """Assign each entry a number and its documents; retry where another process changed the counter."""
        by_user: dict[str, list[_TurnWrite]] = {}
        for entry in entries:
            by_user.setdefault(entry.request.user, []).append(entry)
        left = list(by_user)
        for _ in range(counters.MAX_COUNTER_ATTEMPTS):
            moved = await self._advance_all({user: by_user[user] for user in left})
            outcomes = await self._session.cluster.bulk(
                [counters.save(self._session.names, *item) for item in moved.items()]
            )
            for (user, counter), outcome in zip(moved.items(), outcomes, strict=True):
                self._cache.pop(user, None)
                if outcome.ok:
                    counter.version = outcome.version
                    self._cache[user] = counter
            left = [user for user in left if user not in self._cache]
            if not left:
                while len(self._cache) > MAX_CACHED_COUNTERS:
                    del self._cache[next(iter(self._cache))]
                return
            self._cache |= await counters.load(self._session.cluster, self._session.names, left)
        raise StoreBusy("too many processes write for the same user at once", hint="try again")

    async def _advance_all(self, by_user: Mapping[str, list[_TurnWrite]]) -> dict[str, UserCounters]:
        def advance() -> dict[str, UserCounters]:
            return {user: self._advance(user, entries) for user, entries in by_user.items()}

        texts = (entry.request.inserts[entry.index].turn.text for entries in by_user.values() for entry in entries)
        return await asyncio.to_thread(advance) if sum(map(len, texts)) > MIN_THREADED_CHARS else advance()

    def _advance(self, user: str, entries: list[_TurnWrite]) -> UserCounters:
        known = self._cache.get(user, UserCounters())
        counter = replace(known, open=dict(known.open))
        for entry in entries:
            draft = entry.request.inserts[entry.index]
            entry.number = counter.take(1)
            turn = replace(draft.turn, key=entry.key, seq=entry.number)
            wait = None if entry.key in entry.request.done else next_stage(turn)
            bodies = documents(turn, entry.number, place=counter.place(turn), wait=wait)
            entry.operations = self._session.creates(scope_hash(user), bodies)
        return counter

    # ---- writing

    async def _create(self, entries: list[_TurnWrite]) -> None:
        session = self._session
        outcomes = iter(await session.cluster.attempt(operation for entry in entries for operation in entry.operations))
        lost: list[_TurnWrite] = []
        for entry in entries:
            results = [next(outcomes) for _ in entry.operations]
            if refused := next((outcome.error for outcome in results if outcome.error), None):
                self._refuse(entry.request, refused)
            elif results[0].ok:
                self._settle(entry)
            else:
                lost.append(entry)
        if lost:
            await self._look_again(lost)

    def _refuse(self, request: AppendRequest, error: MemscopeError) -> None:
        """Fail a request that the server rejected; the other requests of the group go on."""
        if not request.answer.done():
            request.answer.set_exception(error)
        request.outcomes = ["duplicate"] * len(request.inserts)  # so that the group skips it

    def _settle(self, entry: _TurnWrite) -> None:
        entry.request.keys[entry.index], entry.request.outcomes[entry.index] = entry.key, "stored"
        self._session.wrote(entry.request.user, (operation.id for operation in entry.operations))

    async def _look_again(self, lost: list[_TurnWrite]) -> None:
        """Resolve conflicts on create: an equal number means that our write succeeded but its answer was lost."""
        session = self._session
        wanted = [session.at(scope_hash(entry.request.user), entry.key) for entry in lost]
        documents = await session.cluster.documents(wanted, includes="kind,number")
        strays: list[BulkOperation] = []
        for entry, document in zip(lost, documents, strict=True):
            source: Mapping[str, object] = document.get("_source", {})
            self._known[entry.request.user, entry.key] = str(source["kind"]) if "kind" in source else None
            if source.get("number") == entry.number:
                self._settle(entry)
            else:
                strays += [replace(operation, action="delete", body=None) for operation in entry.operations[1:]]
        await session.cluster.bulk(strays)
