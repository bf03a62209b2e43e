"""Keeping an index up to date reads every change once, however many ask."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memscope.records import ChangeSet, Scope, Search, Select, Turn, TurnInsert, VectorSpace
from memscope.stores.memory import InMemoryStore, UserData
from memscope.text.terms import terms

START = datetime(2024, 3, 1, 9, tzinfo=UTC)
OLD, NEW = VectorSpace("old", 4), VectorSpace("new", 2)
USERS = ("alice", "bob")


def turns(user: str, first: int, count: int) -> list[TurnInsert]:
    times = (START + timedelta(minutes=n) for n in range(first, first + count))
    said = (Turn(f"{user}{first + n}", Scope(user), "user", "A", "Berlin", at, at) for n, at in enumerate(times))
    return [TurnInsert(one) for one in said]


def asked(user: str, space: VectorSpace | None = None) -> Search:
    plain = Search(Scope(user), tuple(terms("Berlin")))
    return replace(plain, vector=[1.0] * space.dims, space=space) if space else plain


class Reads:
    """Units and vectors that the store handed out, by the user's name."""

    def __init__(self, store: InMemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self._store = store
        self.units: dict[str, list[int]] = {user: [] for user in USERS}
        self.vectors: dict[str, list[int]] = {user: [] for user in USERS}
        of_units, of_vectors = UserData.units_since, UserData.vectors_since

        def units_since(user: UserData, revision: int) -> list[tuple[bytes, bytes]]:
            read = of_units(user, revision)
            self.units[self._name(user)].append(len(read))
            return read

        def vectors_since(user: UserData, space: VectorSpace, revision: int) -> list[tuple[int, bytes]]:
            read = of_vectors(user, space, revision)
            self.vectors[self._name(user)].append(len(read))
            return read

        monkeypatch.setattr(UserData, "units_since", units_since)
        monkeypatch.setattr(UserData, "vectors_since", vectors_since)

    def _name(self, user: UserData) -> str:
        return next(name for name, data in self._store._all_users.data.items() if data is user)

    def taken(self) -> dict[str, list[int]]:
        """Return the units read since this was last asked."""
        read, self.units = self.units, {user: [] for user in USERS}
        self.vectors = {user: [] for user in USERS}
        return read


class Slow(InMemoryStore):
    """Yield to the loop in every read, as a store with I/O does."""

    async def _read(self, task, *, brief=False):  # type: ignore[no-untyped-def]
        await asyncio.sleep(0)
        return await super()._read(task, brief=brief)


async def embed(store: InMemoryStore, space: VectorSpace) -> None:
    while claims := await store.claim("embed", 1000, 60):
        for claim in claims:
            vectors = dict.fromkeys(claim.items, [1.0] * space.dims)
            await store.complete(claim, ChangeSet(vectors=vectors, done=claim.items))


async def filled(store: InMemoryStore) -> InMemoryStore:
    await store.set_vector_space(OLD)
    for user in USERS:
        await store.append(user, turns(user, 0, 10))
    await embed(store, OLD)
    return store


async def search_all(store: InMemoryStore, space: VectorSpace | None = None) -> list[int]:
    return [len((await store.search(asked(user, space))).handle) for user in USERS]


async def test_what_was_written_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    store = await filled(InMemoryStore())
    reads = Reads(store, monkeypatch)
    assert await search_all(store) == [10, 10]
    assert reads.taken() == {"alice": [10], "bob": [10]}
    await store.append("alice", turns("alice", 10, 3))
    assert await search_all(store) == [13, 10]
    assert reads.taken() == {"alice": [3], "bob": []}
    assert await search_all(store) == [13, 10]
    assert reads.taken() == {"alice": [], "bob": []}


async def test_after_a_switch_of_the_space_each_user_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    store = await filled(InMemoryStore())
    reads = Reads(store, monkeypatch)
    await search_all(store, OLD)
    await store.set_vector_space(NEW, replace=True)
    await embed(store, NEW)
    reads.taken()
    assert await search_all(store, NEW) == [10, 10]
    assert reads.vectors == {"alice": [10], "bob": [10]}
    assert reads.taken() == {"alice": [10], "bob": [10]}


async def test_a_first_space_is_taken_over_without_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    store = InMemoryStore()
    await store.append("alice", turns("alice", 0, 10))
    await store.search(asked("alice"))
    reads = Reads(store, monkeypatch)
    await store.set_vector_space(OLD)
    await store.search(asked("alice", OLD))
    assert reads.taken()["alice"] == [10]
    await embed(store, OLD)
    found = await store.search(asked("alice", OLD))
    assert reads.vectors["alice"] == [10]
    assert found.cosine is not None and len(found.cosine) == 10


async def test_many_questions_after_a_write_read_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    store = await filled(Slow())
    reads = Reads(store, monkeypatch)
    await search_all(store)
    await store.append("alice", turns("alice", 10, 3))
    reads.taken()
    found = await asyncio.gather(*(store.search(asked("alice")) for _ in range(20)))
    assert {len(one.handle) for one in found} == {13}
    assert reads.taken()["alice"] == [3]


async def test_an_index_with_many_removed_rows_is_built_anew_by_one_read(monkeypatch: pytest.MonkeyPatch) -> None:
    store = InMemoryStore()
    await store.append("alice", turns("alice", 0, 3000))
    await store.search(asked("alice"))
    await store.forget(Select("alice", ids=frozenset(f"alice{n}" for n in range(2000))))
    reads = Reads(store, monkeypatch)
    await store.search(asked("alice"))  # learns what is gone
    await store.append("alice", turns("alice", 3000, 1))
    await store.search(asked("alice"))
    assert reads.taken()["alice"] == [0, 1001]
