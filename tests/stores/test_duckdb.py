"""The store of examples/duckdb_store is a store."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import pytest

from memscope.errors import ClosedError
from memscope.records import ForgetReport, Scope, Search, Select, TurnInsert
from memscope.stores import Store
from memscope.text.terms import terms
from memscope_testing.contract.forgetting import Forgetting
from memscope_testing.contract.leases import claim_one
from memscope_testing.records import ids, inserts, turn
from memscope_testing.stores import StoreSuite

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from duckdb_store import DuckDBStore

pytestmark = pytest.mark.slow


class TestDuckDBStore(StoreSuite):
    """In memory, where a commit waits for no disk."""

    machine_examples = 8

    @pytest.fixture
    async def store(self) -> AsyncIterator[Store]:
        store = DuckDBStore(":memory:")
        await store.open()
        yield store
        await store.close()


class OnDisk(Forgetting):
    def __init__(self, path: Path) -> None:
        self.path = path

    async def reopen(self, store: Store) -> Store:
        await store.close()
        again = DuckDBStore(self.path)
        await again.open()
        return again

    def files(self, store: Store) -> Iterable[Path]:
        return self.path.parent.iterdir()


async def test_a_receipt_says_wiped_only_of_bytes_that_are_gone_from_the_file(tmp_path: Path) -> None:
    suite = OnDisk(tmp_path / "memory.duckdb")
    store = DuckDBStore(suite.path)
    await store.open()
    await suite.test_a_receipt_says_wiped_only_of_bytes_that_are_gone(store)


async def test_a_file_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "memory.duckdb"
    for keys in (["a", "b"], ["b", "c"]):
        store = DuckDBStore(path)
        await store.open()
        await store.append("alice", inserts(*keys))
        await store.close()
    store = DuckDBStore(path)
    assert await ids(store) == ["a", "b", "c"]
    await store.close()


async def test_compact_builds_the_file_anew_without_what_was_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "it's memory.duckdb"
    store = DuckDBStore(path)
    await store.open()
    await store.append("alice", [TurnInsert(turn("a", "the password is walnut")), *inserts("b", "c")])
    claim = await claim_one(store, limit=1)
    report = await store.forget(Select("alice", ids=frozenset({"a"})))
    assert report.physical == "pending"
    assert "compact" in report.reason
    (tmp_path / f"{path.name}-rebuilt").write_text("half a copy: walnut")  # of a process that died
    await store.close()
    assert b"walnut" in b"".join(one.read_bytes() for one in tmp_path.iterdir())
    store = DuckDBStore(path)
    assert await store.compact() == ForgetReport(physical="wiped")
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    assert b"walnut" not in path.read_bytes()
    assert await ids(store) == ["b", "c"]
    assert int((await claim_one(store)).id) > int(claim.id)  # the sequence went on
    assert (await store.search(Search(Scope("alice"), tuple(terms("Berlin"))))).units == 2
    await store.close()
    with pytest.raises(ClosedError):
        await store.compact()
