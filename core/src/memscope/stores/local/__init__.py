"""Base of local stores: ``Store`` implemented over two small protocols (``transaction.py``) and ``rules.py``.

    transaction.py   the primitives a store implements: ``Transaction``, and ``UserTransaction`` for one user
    records.py       turns, change sets, reading, forgetting
    index_changes.py units and vectors for an index
    jobs.py          batches under a lease, vector spaces

Subclasses of ``LocalStore`` implement ``_read`` and ``_write``, which run a function of a ``Transaction``, and
``open``, ``close``, ``capabilities``. ``search`` comes from ``search/local.py``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from memscope.errors import StoreError
from memscope.records import (
    AppendResult,
    Block,
    ChangeSet,
    Claim,
    FetchResult,
    ForgetReport,
    Handle,
    Insight,
    Observation,
    Receipt,
    Record,
    Select,
    Stage,
    Stats,
    Turn,
    TurnInsert,
    VectorSpace,
)
from memscope.search.changes import Changes
from memscope.search.local import LocalSearch
from memscope.search.unit_processes import Made, Makers, make
from memscope.search.units import microseconds, units_version
from memscope.stores import RecordKey, block_rules, removal
from memscope.stores.local import jobs, records
from memscope.stores.local.index_changes import changes_since, is_unchanged
from memscope.stores.local.transaction import Row, Transaction, UserTransaction
from memscope.stores.rules import STAGES, check_user
from memscope.stores.spaces import check_space

T = TypeVar("T")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MAX_INLINE_READS = 32  # larger reads run in a thread
MIN_CHARS_MADE_BEFOREHAND = 1_000  # longer calls compute their units outside the write lock
MIN_BYTES_PREPARED = 20_000  # UTF-8 at 2 to 2.5 us per byte; starting a process takes 0.5 s of CPU
MAX_SEQUENCES_PREPARED = 16  # sequences of turns being prepared
TURNS_PER_PART = 50  # turns per task of a worker process


def utc_now() -> datetime:
    return datetime.now(UTC)


def utc(microseconds: int) -> datetime:
    return EPOCH + timedelta(microseconds=microseconds)


class LocalStore(LocalSearch):
    """Base class of local stores. ``clock`` gives the time of leases."""

    def __init__(self, *, clock: Callable[[], datetime] = utc_now, index_cache_mb: int = 256) -> None:
        super().__init__(index_cache_mb=index_cache_mb)
        self._clock = clock
        self._declared: VectorSpace | None = None
        self._makers = Makers()
        self._prepared: dict[int, tuple[Sequence[TurnInsert], list[Future[Made]]]] = {}

    async def _read(self, task: Callable[[Transaction], T], *, brief: bool = False) -> T:
        """Run the task on one snapshot of the store; a ``brief`` task reads a few rows."""
        raise NotImplementedError

    async def _write(self, task: Callable[[Transaction], T], *, user: str | None = None) -> T:
        """Run the task; its writes are durable on return, or undone if it raises.

        The task has exclusive access to its users, and to spaces and secret if it writes them. It may be rerun from
        the start. ``user``: the only user it opens.
        """
        raise NotImplementedError

    @property
    def _now(self) -> int:
        return microseconds(self._clock())

    async def _read_user(
        self, name: str, task: Callable[[UserTransaction], T], otherwise: T, *, brief: bool = False
    ) -> T:
        def reading(tx: Transaction) -> T:
            user = tx.find_user(name)
            return otherwise if user is None else task(user)

        return await self._read(reading, brief=brief)

    async def _write_user(self, name: str, task: Callable[[UserTransaction], T], *, embedded: bool = False) -> T:
        """``embedded``: the task ends work of stage embed, so switch vector spaces if the new one is complete."""

        def writing(tx: Transaction) -> T:
            result = task(_current(tx.user(name)))
            if embedded:
                jobs.switch_when_filled(tx)
            return result

        return await self._write(writing, user=name)

    async def secret(self) -> bytes:
        return await self._read(lambda tx: tx.secret())

    async def adopt_secret(self, secret: bytes) -> bool:
        def task(tx: Transaction) -> bool:
            if tx.is_used():
                return tx.secret() == secret
            tx.set_secret(secret)
            return True

        return await self._write(task)

    # ---- turns and memories

    async def append(
        self, user: str, inserts: Sequence[TurnInsert], change_set: ChangeSet | None = None
    ) -> AppendResult:
        check_user(user, inserts, change_set)
        _, prepared = self._prepared.pop(id(inserts), (inserts, ()))
        units = [one for part in prepared for one in await asyncio.wrap_future(part)]
        if not units and sum(len(insert.turn.text) for insert in inserts) > MIN_CHARS_MADE_BEFOREHAND:
            units = await asyncio.to_thread(make, await self._new(user, inserts))
        return await self._write_user(user, lambda tx: records.append(tx, inserts, change_set, units))

    async def prepare(self, user: str, inserts: Sequence[TurnInsert]) -> None:
        """Start computing the units of these turns in worker processes, for an ``append`` of the same sequence."""
        turns = await self._new(user, inserts)
        if sum(len(turn.text.encode("utf-8", "surrogatepass")) for turn in turns if turn) > MIN_BYTES_PREPARED:
            parts = (turns[start : start + TURNS_PER_PART] for start in range(0, len(turns), TURNS_PER_PART))
            if len(self._prepared) == MAX_SEQUENCES_PREPARED:  # left over from a failed import
                del self._prepared[next(iter(self._prepared))]
            self._prepared[id(inserts)] = inserts, [self._makers.submit(part) for part in parts]

    async def _new(self, user: str, inserts: Sequence[TurnInsert]) -> list[Turn | None]:
        """Return the turns that may be new; None in place of stored ones."""
        keys = [insert.turn.key for insert in inserts if insert.base is None]
        known: dict[str, int] = await self._read_user(user, lambda tx: tx.known(keys), {})
        return [None if insert.base is None and insert.turn.key in known else insert.turn for insert in inserts]

    async def apply(self, user: str, change_set: ChangeSet) -> int:
        check_user(user, (), change_set)
        return await self._write_user(user, lambda tx: records.apply(tx, change_set))

    async def fetch(self, user: str, ids: Sequence[Handle]) -> FetchResult:
        brief = len(ids) <= MAX_INLINE_READS
        return await self._read_user(user, lambda tx: records.fetch(tx, ids), FetchResult({}, {}), brief=brief)

    async def history(self, user: str, id: str) -> list[Observation | Insight]:
        return await self._read_user(user, lambda tx: records.history(tx, id), [])

    async def scan(self, select: Select) -> AsyncIterator[list[Record]]:
        after: int | None = 0
        while after is not None:
            page, after = await self._page(select, after)
            if page:
                yield [row.record for row in page]

    async def _page(self, select: Select, after: int) -> tuple[list[Row], int | None]:
        return await self._read_user(select.user, lambda tx: tx.select(select, after), ([], None))

    async def keys(self, select: Select) -> list[RecordKey]:
        return await self._read_user(select.user, lambda tx: tx.keys(select), [])

    async def users(self, *, forgotten: bool = False) -> list[str]:
        return await self._read(lambda tx: tx.users(forgotten=forgotten))

    async def tombstones(self, user: str) -> list[str]:
        return await self._read_user(user, lambda tx: tx.tombstones(), [])

    async def receipts(self, user: str) -> list[Receipt]:
        receipts: list[Receipt] = await self._read_user(user, lambda tx: tx.receipts(), [])
        return sorted(receipts, key=lambda receipt: (receipt.at, receipt.id))

    async def add_tombstones(self, user: str, ids: Sequence[str], receipts: Sequence[Receipt] = ()) -> None:
        await self._write_user(user, lambda tx: _add_tombstones(tx, ids, receipts))

    async def forget(self, select: Select, *, dry_run: bool = False) -> ForgetReport:
        def plan(tx: Transaction) -> records.LocalRemoval | None:
            user = tx.find_user(select.user)
            return records.plan_removal(user, select, tx.spaces().serving, utc(tx.now)) if user is not None else None

        removal = await self._read(plan)
        if removal is None or dry_run or not removal.changes:
            return removal.report(dry_run=dry_run) if removal else ForgetReport(dry_run=dry_run)
        return await self._remove(select)

    async def _remove(self, select: Select) -> ForgetReport:
        """Remove the records, then their bytes; a failure to wipe is a reason in the report, not an error."""
        report = await self._write(lambda tx: forget(tx, select), user=select.user)
        try:
            wiped = await self._wipe()
        except StoreError as error:
            wiped = pending(error.code)
        return replace(report, physical=wiped.physical, reason=wiped.reason)

    async def _wipe(self) -> ForgetReport:
        """Wipe the bytes of removed records, in the log too. Override where the store can guarantee it."""
        return pending("the files of this store may still hold what was removed")

    async def searchable(self, user: str) -> None:
        await self._read(lambda tx: None, brief=True)

    # ---- blocks

    async def blocks(self, user: str, *, versions: bool = False) -> list[Block]:
        return await self._read_user(user, lambda tx: tx.blocks(versions=versions), [], brief=not versions)

    async def put_blocks(self, user: str, versions: Sequence[Block]) -> None:
        await self._write_user(user, lambda tx: _put_blocks(tx, user, versions))

    # ---- work

    async def claim(self, stage: Stage, limit: int, lease_s: float, *, user: str | None = None) -> list[Claim]:
        now = self._clock()
        if user is None and not await self._read(lambda tx: tx.due_users(stage)):
            return []

        def task(tx: Transaction) -> list[Claim]:
            if stage == "embed" and tx.spaces().target != self._declared:
                return []
            names = [user] if user is not None else tx.due_users(stage)
            claims = jobs.claim(tx, names, stage, limit, now, lease_s)
            if stage == "embed" and not claims:
                jobs.switch_when_filled(tx)
            return claims

        return await self._write(task)

    async def extend(self, claim: Claim, lease_s: float) -> Claim:
        now, until = self._now, self._clock() + timedelta(seconds=lease_s)
        return await self._write_user(claim.user, lambda tx: jobs.extend(tx, claim, until, now))

    async def save_reply(self, claim: Claim, change_set: ChangeSet) -> None:
        await self._write_user(claim.user, lambda tx: jobs.save_reply(tx, claim, change_set))

    async def complete(self, claim: Claim, change_set: ChangeSet | None = None) -> int:
        now, declared = self._now, self._declared
        return await self._write_user(
            claim.user, lambda tx: jobs.complete(tx, claim, change_set, declared, now), embedded=True
        )

    async def fail(self, claim: Claim, code: str, not_before: datetime, *, counted: bool = True) -> None:
        now = self._now
        await self._write_user(
            claim.user, lambda tx: jobs.fail(tx, claim, code, not_before, counted, now), embedded=claim.stage == "embed"
        )

    async def give_back(self, claim: Claim) -> None:
        now = self._now
        await self._write_user(claim.user, lambda tx: jobs.give_back(tx, claim, now))

    async def unpark(self, stage: Stage | None = None, user: str | None = None) -> int:
        now = self._now
        names = await self._read(lambda tx: tx.parked_users()) if user is None else [user]
        return sum([await self._write_user(name, lambda tx: jobs.unpark(tx, stage, now)) for name in names])

    # ---- vectors and the index

    async def set_vector_space(self, space: VectorSpace, *, replace: bool = False) -> None:
        check_space(space)
        spaces = await self._read(lambda tx: tx.spaces())
        if replace or space not in (spaces.serving, spaces.filling):
            await self._write(lambda tx: jobs.declare(tx, space, replace=replace))
        self._declared = space

    async def is_unchanged(self, user: str, revision: int, space: VectorSpace | None) -> bool:
        return await self._read(lambda tx: is_unchanged(tx, user, revision, space), brief=True)

    async def changes(self, user: str, since: int) -> Changes:
        changes = await self._read(lambda tx: changes_since(tx, user, since, current_only=True))
        if changes is None:
            await self._renew(user)
            changes = await self._read(lambda tx: changes_since(tx, user, since))
        assert changes is not None
        return changes

    async def _renew(self, user: str) -> None:
        """Rebuild units of another ``units_version`` by an empty write; every write does so first."""
        await self._write_user(user, lambda tx: None)

    # ---- the store

    async def stats(self, user: str | None = None) -> Stats:
        return await self._read(lambda tx: tx.stats(user))

    async def backup(self, path: Path) -> None:
        raise StoreError("this store has no backup", hint="use export")

    async def compact(self) -> ForgetReport:
        return await self._wipe()


def pending(reason: str) -> ForgetReport:
    return ForgetReport(physical="pending", reason=reason)


def _current(user: UserTransaction) -> UserTransaction:
    if user.terms != units_version:
        records.derive_units(user)
    return user


def _put_blocks(user: UserTransaction, name: str, versions: Sequence[Block]) -> None:
    known = user.known({source for block in versions for source in block.sources})
    stored = {block.key: block.version for block in user.blocks()}
    block_rules.check_next(name, versions, stored, {id for id, number in known.items() if not number})
    for block in versions:
        user.put_block(block)


def _add_tombstones(user: UserTransaction, ids: Sequence[str], receipts: Sequence[Receipt]) -> None:
    user.add_tombstones(set(ids) - user.known(ids).keys())
    for receipt in receipts:
        user.put_receipt(receipt)


def keep_receipt(user: UserTransaction, select: Select, report: ForgetReport, ids: Iterable[str], now: int) -> None:
    if removal.is_whole(select):
        user.drop_receipts()
    user.put_receipt(removal.receipt(select, report, ids, utc(now)))


def forget(
    tx: Transaction, select: Select, *, before: Callable[[UserTransaction, records.LocalRemoval], None] | None = None,
    receipt: bool = True,
) -> ForgetReport:  # fmt: skip
    """Remove the selected records; call ``before`` with the planned removal."""
    user = _current(tx.user(select.user))
    planned = records.plan_removal(user, select, tx.spaces().serving, utc(tx.now))
    if before is not None:
        before(user, planned)
    records.remove(user, planned)
    jobs.refresh(user, STAGES, tx.now)
    jobs.switch_when_filled(tx)
    report = planned.report(dry_run=False)
    if receipt and planned.changes:
        keep_receipt(user, select, report, planned.rows, tx.now)
    return report


__all__ = ["LocalStore", "Row", "Transaction", "UserTransaction", "forget", "keep_receipt", "pending", "utc_now"]
