"""The work of the in-memory store: batches under a lease, and the vectors that one stage of it makes."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

from memscope.errors import Conflict, LeaseLost
from memscope.records import ChangeSet, Claim, Stage, VectorSpace
from memscope.stores import PARK_AFTER
from memscope.stores.rules import check_declared, check_replaceable, check_space, check_user, checked_vectors
from memscope.stores.shelf import Job, Shelf, release, unsourced

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

USERS_AT_ONCE = 8


class Work:
    """pending -> leased(token, until) -> extracted(plan) -> done; failed(code, not_before) -> ... -> parked."""

    _clock: Callable[[], datetime]
    _shelves: dict[str, Shelf]
    _active: VectorSpace | None = None
    _filling: VectorSpace | None = None
    _declared: VectorSpace | None = None

    def _shelf(self, user: str) -> Shelf:
        raise NotImplementedError

    def _write(self, shelf: Shelf, plan: ChangeSet) -> int:
        raise NotImplementedError

    async def claim(self, stage: Stage, limit: int, lease_s: float, *, user: str | None = None) -> list[Claim]:
        names = sorted(self._shelves) if user is None else [user]
        claims = (self._claim(name, stage, limit, lease_s) for name in names)
        return list(islice((claim for claim in claims if claim is not None), USERS_AT_ONCE))

    def _claim(self, user: str, stage: Stage, limit: int, lease_s: float) -> Claim | None:
        shelf, now = self._shelf(user), self._clock()
        lane = {"embed"} if stage == "embed" else {"consolidate", "reflect"}
        if stage == "embed" and self._target != self._declared:
            return None
        if any(job.stage in lane and job.leased(now) for job in shelf.jobs):
            return None
        unfinished = [job for job in shelf.jobs if job.stage == stage and not job.parked]
        job = unfinished[0] if unfinished else self._new_job(shelf, stage, limit)
        if job is None or job.paused(now):
            return None
        for late in (other for other in shelf.jobs if other.stage in lane):
            late.token = ""  # whoever held a lease of this lane has lost it
        job.token, job.until, job.attempt = secrets.token_hex(8), now + timedelta(seconds=lease_s), job.attempt + 1
        texts = self._texts(shelf, job.items) if stage == "embed" else ()
        return Claim(job.id, stage, user, job.token, job.until, job.attempt, job.items, texts, job.plan)

    def _new_job(self, shelf: Shelf, stage: Stage, limit: int) -> Job | None:
        items = self._waiting(shelf, stage)[:limit]
        if not items:
            return None
        job = Job(secrets.token_hex(16), stage, tuple(items))
        shelf.jobs.append(job)
        if stage != "embed":
            shelf.pending[stage] -= set(items)
        return job

    def _waiting(self, shelf: Shelf, stage: Stage) -> list[str]:
        if stage != "embed":
            return sorted(shelf.pending[stage], key=lambda id: shelf.numbers[id])
        target = self._target
        if target is None:
            return []
        taken = {item for job in shelf.jobs if job.stage == "embed" for item in job.items}
        have = shelf.vectors.get(target, {})
        return [str(seq) for seq in sorted(shelf.written) if seq not in have and str(seq) not in taken]

    def _texts(self, shelf: Shelf, items: Sequence[str]) -> tuple[str, ...]:
        texts = {str(unit.seq): unit.text for made in shelf.units.values() for unit in made}
        return tuple(texts.get(item, "") for item in items)

    async def extend(self, claim: Claim, lease_s: float) -> Claim:
        job = self._job(claim)
        job.until = self._clock() + timedelta(seconds=lease_s)
        return replace(claim, until=job.until)

    async def save_reply(self, claim: Claim, plan: ChangeSet) -> None:
        self._job(claim).plan = plan

    async def complete(self, claim: Claim, plan: ChangeSet | None = None) -> int:
        shelf = self._shelf(claim.user)
        if claim.token in shelf.completed:
            return 0
        job = self._job(claim)
        plan = plan or job.plan or ChangeSet()
        check_user(claim.user, (), plan)
        if claim.stage == "embed":
            check_declared(self._target, self._declared)
        vectors = checked_vectors(plan.vectors, self._target) if claim.stage == "embed" else {}
        before = len(shelf.records)
        self._write(shelf, plan)
        if claim.stage == "embed":
            self._take_vectors(shelf, vectors)
        dropped = {source for memory in plan.new if unsourced(shelf, memory) for source in memory.sources}
        release(shelf, job, set(plan.done) - dropped)
        shelf.completed.add(claim.token)
        return len(shelf.records) - before

    async def fail(self, claim: Claim, code: str, not_before: datetime, *, counted: bool = True) -> None:
        job = self._job(claim)
        job.token, job.until, job.code, job.not_before = "", None, code, not_before
        job.parked = counted and job.attempt >= PARK_AFTER
        job.plan = None if code == Conflict.code else job.plan  # it would conflict for ever
        job.attempt -= not counted

    async def give_back(self, claim: Claim) -> None:
        job = self._job(claim)
        job.token, job.until, job.attempt = "", None, job.attempt - 1

    async def unpark(self, stage: Stage | None = None, user: str | None = None) -> int:
        shelves = self._shelves.values() if user is None else [self._shelf(user)]
        parked = [job for shelf in shelves for job in shelf.jobs if job.parked and stage in (None, job.stage)]
        for job in parked:
            job.parked, job.attempt, job.not_before = False, 0, None
        return len(parked)

    def _job(self, claim: Claim) -> Job:
        for job in self._shelf(claim.user).jobs:
            if job.id == claim.id and job.token == claim.token:
                return job
        raise LeaseLost(f"batch {claim.id!r} is another worker's now", hint="discard the result")

    # ---- vectors

    @property
    def _target(self) -> VectorSpace | None:
        """Where new vectors belong: the space that is being filled, else the one that serves."""
        return self._filling or self._active

    async def use_space(self, space: VectorSpace, *, replace: bool = False) -> None:
        check_space(space)
        if space not in (self._active, self._filling) or (replace and self._filling and space == self._active):
            self._declare(space, replace)
        self._declared = space

    def _declare(self, space: VectorSpace, replace: bool) -> None:
        shelves = self._shelves.values()
        kept = self._active if any(any(shelf.vectors.values()) for shelf in shelves) else None
        if not replace:
            check_replaceable(kept, space)
        self._active, self._filling = (space, None) if kept in (None, space) else (kept, space)
        for shelf in shelves:
            shelf.vectors = {one: rows for one, rows in shelf.vectors.items() if one == self._active}
            shelf.jobs = [job for job in shelf.jobs if job.stage != "embed"]
        self._switch_when_full()

    def _take_vectors(self, shelf: Shelf, vectors: dict[str, NDArray[np.float32]]) -> None:
        target = self._target
        for item, vector in vectors.items():
            if target is not None and int(item) in shelf.written:
                shelf.vectors.setdefault(target, {})[int(item)] = vector.astype("<f2")
                shelf.vectored[int(item)] = shelf.revision
        self._switch_when_full()

    def _switch_when_full(self) -> None:
        shelves = self._shelves.values()
        if self._filling and not any(shelf.written.keys() - shelf.vectors.get(self._filling, {}) for shelf in shelves):
            self._active, self._filling = self._filling, None
            for shelf in shelves:
                shelf.vectors = {self._active: shelf.vectors.get(self._active, {})}
                shelf.revision += 1
                shelf.vectored = dict.fromkeys(shelf.vectors[self._active], shelf.revision)
