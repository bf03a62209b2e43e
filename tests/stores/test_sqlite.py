"""SQLiteStore is a store, and what it promises beyond that."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from datetime import timedelta
from pathlib import Path

import pytest

from memscope.records import ChangeSet
from memscope.stores import Store
from memscope.stores.sqlite import SQLiteStore, utc_now
from memscope_testing.records import inserts, insight, observation
from memscope_testing.stores import StoreSuite
from stores.sqlite_file import opened


class TestSQLiteStore(StoreSuite):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
        self.opened: list[SQLiteStore] = [SQLiteStore(tmp_path / "memory.db")]
        await self.opened[0].open()
        yield self.opened[0]
        for store in self.opened:
            await store.close()

    async def reopen(self, store: Store) -> Store:
        await store.close()
        again = SQLiteStore(self.opened[0].path)
        await again.open()
        self.opened.append(again)
        return again

    def files(self, store: Store) -> Iterable[Path]:
        return self.opened[0].path.parent.iterdir()


async def test_work_stored_while_the_clock_ran_ahead_is_found(tmp_path: Path) -> None:
    """A turn that only waits, and one whose batch failed, of users nobody names."""
    path = tmp_path / "memory.db"
    async with opened(path, clock=lambda: utc_now() + timedelta(days=2)) as store:
        await store.append("alice", inserts("a"))
        await store.append("bob", inserts("b", user="bob"))
        (claim,) = await store.claim("consolidate", 9, 60, user="bob")
        await store.fail(claim, "model_timeout", claim.until)
    async with opened(path) as store:
        claims = await store.claim("consolidate", 9, 60)
        assert {claim.items for claim in claims} == {("a",), ("b",)}


async def test_a_memory_that_rests_on_many_is_read_once(tmp_path: Path) -> None:
    """An insight on 300 facts was decoded 300 times, with its 300 sources each: reflect took 145 MB for 700 facts."""
    async with opened(tmp_path / "memory.db") as store:
        keys, ids = ["a", "b", "c"], ["f1", "f2", "f3"]
        await store.append("alice", inserts(*keys))
        facts = tuple(observation(id, key) for id, key in zip(ids, keys, strict=True))
        await store.apply("alice", ChangeSet(new=(*facts, insight("i1", *ids), insight("i2", *ids))))
        derived = (await store.fetch("alice", ids)).derived
        assert [one.id for one in derived["f1"]] == ["i1", "i2"]
        assert all(derived[id][at] is derived["f1"][at] for id in ids for at in (0, 1))


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="Linux tells the peak of memory")
async def test_memories_that_rest_on_many_are_read_without_a_copy_for_each(tmp_path: Path) -> None:
    """SQLite sorted the body of each insight once for every fact beneath it: reflect took 2.6 GB for 1,200 facts."""
    async with opened(tmp_path / "memory.db") as store:
        ids = [f"f{n}" for n in range(400)]
        await store.append("alice", inserts("a"))
        await store.apply("alice", ChangeSet(new=tuple(observation(id, "a") for id in ids)))
        await store.apply("alice", ChangeSet(new=tuple(insight(f"i{n}", *ids) for n in range(40))))
        Path("/proc/self/clear_refs").write_text("5")
        before = _peak_mb()
        derived = (await store.fetch("alice", ids)).derived
        assert {len(found) for found in derived.values()} == {40}
        assert _peak_mb() - before < 30


def _peak_mb() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) >> 10 for line in lines if line.startswith("VmHWM"))
