"""ElasticsearchStore is a store on a real node, and what it promises beyond that."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memscope import AsyncMemoryScope, copying, text
from memscope.errors import StoreCorrupt, StoreError, StoreGone, StoreReadOnly, StoreTooNew
from memscope.records import Closing, Draft, Fetched, Plan, Revision, Scope, Search, Select, Space
from memscope.stores import Store
from memscope.stores.elasticsearch import (
    ElasticsearchStore,
    Options,
    forget,
    lanes,
    mapping,
    migrate,
    options,
    plans,
    work,
)
from memscope.stores.elasticsearch import documents as made_of
from memscope.stores.elasticsearch.client import Cluster
from memscope.stores.elasticsearch.documents import documents, scope_hash
from memscope.stores.sqlite import SQLiteStore
from memscope.testing.records import at, drafts, get, ids, insight, observation, remember, turn
from memscope.testing.stores import StoreSuite
from memscope.text import terms

URL = os.environ.get("MEMSCOPE_TEST_ES_URL", "")
needs_node = pytest.mark.skipif(not URL, reason="MEMSCOPE_TEST_ES_URL is not set; see tests/servers/elasticsearch")


def location(prefix: str) -> str:
    return URL.replace("http://", "elasticsearch://") + f"/{prefix}"


async def remove(store: ElasticsearchStore) -> None:
    """The indices of a test."""
    last = ElasticsearchStore(store.options)
    for alias in (last._shop.names.memory, last._shop.names.work):
        await last.cluster.request("DELETE", f"/{alias}-*", ignore_unavailable="true")
    await last.close()


@needs_node
class TestElasticsearchStore(StoreSuite):
    @pytest.fixture
    async def store(self) -> AsyncIterator[Store]:
        chosen = options(location(f"test-{secrets.token_hex(4)}"))
        self.opened = [ElasticsearchStore(replace(chosen, lease_s=5.0))]
        await self.opened[0].open()
        yield self.opened[0]
        for store in self.opened:
            await store.close()
        await remove(self.opened[0])

    async def reopen(self, store: Store) -> Store:
        await store.close()
        again = ElasticsearchStore(self.opened[0].options)
        await again.open()
        self.opened.append(again)
        return again


# ----------------------------------------------------------------------------------------- what it promises beyond that


@pytest.fixture
async def place() -> AsyncIterator[Options]:
    """Options of a store of its own, with short leases of writers."""
    chosen = replace(options(location(f"test-{secrets.token_hex(4)}")), lease_s=0.5, deadline_s=10.0)
    yield chosen
    await remove(ElasticsearchStore(chosen))


@asynccontextmanager
async def opened(place: Options) -> AsyncIterator[ElasticsearchStore]:
    """The store as another process would open it."""
    store = ElasticsearchStore(place)
    try:
        await store.open()
        yield store
    finally:
        await store.close()


async def texts(store: Store, query: str, user: str = "alice", **conditions: Any) -> set[str]:
    pool = await store.search(Search(Scope(user), tuple(dict.fromkeys(terms(query))), **conditions))
    return {record.text for record in (await store.fetch(user, list(pool.handle))).records.values()}


@needs_node
async def test_a_turn_is_found_at_once_without_a_refresh(place: Options) -> None:
    async with opened(place) as store, opened(place) as other:
        for n in range(10):
            await store.append("alice", [Draft(turn(f"k{n}", f"zebra number {n}"))])
            assert f"zebra number {n}" in await texts(store, "zebras")
        await store.searchable("alice")
        assert len(await texts(other, "zebras")) == 10
        assert store.cluster.refreshes == 0
        assert other.cluster.refreshes == 0


@needs_node
async def test_a_retrieve_is_two_requests(place: Options) -> None:
    async with opened(place) as store:
        async with AsyncMemoryScope(store) as memory:
            said = [{"role": "user", "content": f"The zebra number {n} likes place {n % 7}."} for n in range(300)]
            await memory.add_turns(said, user="alice", wait="searchable")
            before = store.cluster.requests
            hits = await memory.retrieve("zebra place 3", user="alice", k=20)
            assert len(hits) == 20
            assert store.cluster.requests - before == 2


@needs_node
async def test_concurrent_adds_are_written_together(place: Options) -> None:
    async with opened(place) as store:
        await store.append("u", drafts("first", user="u"))
        before = store.cluster.requests
        users = [f"user-{n}" for n in range(200)]
        await asyncio.gather(*(store.append(user, drafts("k", user=user)) for user in users))
        assert store.cluster.requests - before <= 6
        assert len(await store.users()) == 201


@needs_node
async def test_one_bad_turn_does_not_fail_those_it_is_written_with(place: Options) -> None:
    async with opened(place) as store:
        too_long = "k" * 40_000  # longer than a keyword may be
        results = await asyncio.gather(
            store.append("alice", drafts("a")),
            store.append("bob", drafts(too_long, user="bob")),
            store.append("carol", drafts("c", user="carol")),
            return_exceptions=True,
        )
        assert isinstance(results[1], StoreError)
        assert await ids(store) == ["a"]
        assert await ids(store, "carol") == ["c"]


@needs_node
async def test_what_a_dead_writer_began_is_done_by_the_next(place: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    """At each step of a plan the writer dies; another process finishes it, once."""
    for died_in in ("read", "flush", "settle", "clear"):
        user = f"user-{died_in}"
        async with opened(place) as store:
            await store.append(user, drafts("a", "b", user=user))
            await remember(store, observation("old", "a", user=user, name="city"))
            (claim,) = await store.claim("consolidate", 9, 60, user=user)
            new = observation("new", "b", user=user, name="city")
            plan = Plan(new=(new,), closed=(Closing("old", "new", at(5), at(4)),), done=("a", "b"))
            with monkeypatch.context() as patched:
                die(patched, died_in)
                with pytest.raises(Killed):
                    await store.complete(claim, plan)
        async with opened(place) as next_one:
            await remember(next_one, observation("later", "a", user=user))
            assert await ids(next_one, user) == ["a", "b", "old", "new", "later"]
            assert (await get(next_one, "old", user)).superseded_by == "new"
            assert await ids(next_one, user, name="city", current=True) == ["new"]
            assert await ids(next_one, user, pending="consolidate") == []
            assert await next_one.complete(claim, plan) == 0


class Killed(BaseException):
    """The process ends here: nothing after it is done."""


def die(patched: pytest.MonkeyPatch, step: str) -> None:
    async def end(*_: object, **__: object) -> None:
        raise Killed

    where: dict[str, tuple[object, str]] = {
        "read": (plans.Board, "read"),
        "flush": (plans.Board, "flush"),
        "settle": (work, "settle"),
        "clear": (lanes, "clear"),
    }
    patched.setattr(*where[step], end)


@needs_node
async def test_an_abandoned_forget_is_finished(place: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(place) as store:
        await store.append("alice", drafts("a", "b"))
        await remember(store, observation("o", "a"), observation("p", "a", "b"))
        with monkeypatch.context() as patched:
            patched.setattr(forget, "_reopen", raising(Killed()))
            with pytest.raises(Killed):
                await store.forget(Select("alice", ids=frozenset({"a"})))
    async with opened(place) as other:
        await until(place.lease_s)
        assert [claim.items for claim in await other.claim("consolidate", 9, 60)] == [("b",)]
        assert await ids(other) == ["b"]
        assert await other.tombstones("alice") == ["a", "o", "p"]


def raising(error: BaseException) -> Any:
    async def call(*_: object) -> None:
        raise error

    return call


async def until(seconds: float) -> None:
    """A lease that nobody can end early has to run out."""
    await asyncio.sleep(seconds)


@needs_node
async def test_a_late_write_cannot_bring_back_what_was_forgotten(place: Options) -> None:
    """The request was on its way while the record was forgotten."""
    async with opened(place) as store:
        await store.append("alice", [Draft(turn("long", "So many zebras. " * 300)), Draft(turn("b", "other"))])
        shop = store._shop
        (made,) = (await shop.load("alice", ["long"])).values()
        late = shop.creates(scope_hash("alice"), documents(made.record, made.number))
        await store.forget(Select("alice", ids=frozenset({"long"})))
        outcomes = await shop.cluster.bulk(late)
        assert not any(outcome.ok for outcome in outcomes)
        await shop.refresh()
        assert await texts(store, "zebras") == set()


@needs_node
async def test_fifty_scopes_never_meet_under_load(place: Options) -> None:
    """Forty operations at once in each of fifty scopes; whatever comes back carries the canary of who asked."""
    async with opened(place) as store:
        users = [f"{secrets.token_hex(3)}-{n}" for n in range(50)]
        await asyncio.gather(*(canaries(store, user) for user in users))
        for user in users:
            found = {identity: await get(store, identity, user) for identity in await ids(store, user)}
            assert len(found) >= 10
            assert all(record.text.startswith(f"canary {user}") for record in found.values())
            assert await store.fetch(user, ["of " + other for other in users if other != user]) == Fetched({}, {})


async def canaries(store: Store, user: str) -> None:
    async def add(n: int) -> None:
        key = "of " + user if n == 0 else f"k{n}"
        await store.append(user, [Draft(turn(key, f"canary {user} zebra {n}", user=user, metadata={"n": n}))])

    async def ask(n: int) -> None:
        for found in await texts(store, "canary zebra", user, filter={"n": {"$gte": 0}} if n % 2 else None):
            assert found.startswith(f"canary {user}")

    async def change(n: int) -> None:
        memory = observation(f"o{n}", "k1", user=user, text=f"canary {user} fact {n}")
        await store.apply(user, Plan(new=(memory,)))
        if n % 3 == 0:
            await store.forget(Select(user, ids=frozenset({f"o{n}"})))

    await add(1)
    await asyncio.gather(*(step(n) for n in range(10) for step in (add, ask, ask, change)))


@needs_node
async def test_an_index_of_somebody_else_is_refused(place: Options) -> None:
    async with opened(place) as store:
        names = store._shop.names
    newer = {mapping.META: {"version": mapping.VERSION + 1}}
    for changed, expected in (({"_meta": newer}, StoreTooNew), ({"_meta": {}}, StoreCorrupt)):
        last = ElasticsearchStore(place)
        await last.cluster.request("PUT", f"/{names.work}/_mapping", body=changed)
        await last.close()
        with pytest.raises(expected):
            async with opened(place):
                pass


@needs_node
async def test_an_index_that_goes_is_gone_and_none_is_made_of_what_was_said(place: Options) -> None:
    async with opened(place) as store:
        await store.append("alice", drafts("a"))
        await store.cluster.request("DELETE", f"/{place.prefix}-mem-000001")
        with pytest.raises(StoreGone):
            await store.append("alice", drafts("b"))
        with pytest.raises(StoreGone):
            await texts(store, "Berlin")


@needs_node
async def test_a_read_only_index_refuses_writes_and_is_read(place: Options) -> None:
    async with opened(place) as store:
        await store.append("alice", drafts("a"))
        block = {"index.blocks.write": True}
        await store.cluster.request("PUT", f"/{place.prefix}-mem/_settings", body=block)
        with pytest.raises(StoreReadOnly):
            await store.append("alice", drafts("b"))
        assert await texts(store, "Berlin") == {"I moved to Berlin."}
        await store.cluster.request("PUT", f"/{place.prefix}-mem/_settings", body={"index.blocks.write": False})
        assert (await store.append("alice", drafts("b"))).outcomes == ("stored",)


@needs_node
def test_each_event_loop_has_its_own_client() -> None:
    store = ElasticsearchStore(options(location(f"test-{secrets.token_hex(4)}")))

    async def add(key: str) -> list[str]:
        await store.append("alice", drafts(key))
        found = await ids(store)
        await store.cluster.disconnect()
        return found

    assert asyncio.run(add("a")) == ["a"]
    assert asyncio.run(add("b")) == ["a", "b"]
    asyncio.run(remove(store))


@needs_node
async def test_a_memory_moves_between_stores_and_back(place: Options, tmp_path: Path) -> None:
    first, last = SQLiteStore(tmp_path / "first.db"), SQLiteStore(tmp_path / "last.db")
    async with opened(place) as middle:
        for store in (first, last):
            await store.open()
        for user in ("alice", "bob"):
            await first.append(user, drafts("a", "b", "c", user=user, metadata={"n": 1}))
            await remember(
                first, *(observation(f"o{n}", "a", user=user, name="city", recorded=at(n)) for n in range(3))
            )
            changed = replace(await get(first, "o2", user), text="Alice lives in Köln.")
            await first.apply(user, Plan(new=(insight("i", "o2", user=user),), revised=(Revision(changed, 1),)))
            await first.forget(Select(user, ids=frozenset({"c"})))
        for source, target in ((first, middle), (middle, last)):
            copied = await copying.copy(source, target)
            assert (copied.unequal, copied.secret_adopted) == ((), True)
        again = await copying.copy(middle, last)
        assert (again.skipped, again.counts) == (2, {})
        for user in ("alice", "bob"):
            assert await copying.digest(first, user) == await copying.digest(last, user)
            assert [one.text for one in await last.history(user, "o2")] == [
                one.text for one in await first.history(user, "o2")
            ]
        await first.close()
        await last.close()


# -------------------------------------------------------------------------------------------------------- older formats


async def filled(store: ElasticsearchStore) -> None:
    said = [*drafts("a", "b", text="zebras in Köln"), Draft(turn("long", "So many words. " * 300))]
    await store.append("alice", said)
    await remember(store, observation("o", "a", text="Zebras are loved."), insight("i", "o", text="wanderlust"))
    space = Space("small", 4)
    await store.use_space(space)
    (claim,) = await store.claim("embed", 1000, 60)
    vectors = {item: np.eye(4, dtype=np.float32)[int(item) % 4] + 0.1 for item in claim.items}
    await store.complete(claim, Plan(vectors=vectors, done=claim.items))


async def everything(store: Store) -> tuple[object, ...]:
    stats = await store.stats("alice")
    pool = await store.search(
        Search(Scope("alice"), tuple(terms("zebras")), vector=np.ones(4, np.float32), space=Space("small", 4))
    )
    cosines = sorted(np.round(pool.cosine, 4).tolist())
    return await ids(store), stats.units, stats.vectors, dict(stats.pending), await store.secret(), cosines


@needs_node
@pytest.mark.parametrize("dies", [False, True])
async def test_an_older_format_moves_into_a_new_index(
    place: Options, monkeypatch: pytest.MonkeyPatch, dies: bool
) -> None:
    """Broken off before the alias changes its place, it goes on; turns and vectors are as they were."""
    async with opened(place) as store:
        await filled(store)
        await store.searchable("alice")
        before = await everything(store)
    monkeypatch.setattr(mapping, "VERSION", mapping.VERSION + 1)
    if dies:
        with monkeypatch.context() as patched:
            patched.setattr(migrate, "PAGE", 2)
            sent = Cluster.bulk

            async def bulk(self: Cluster, operations: Any, **more: Any) -> Any:
                await sent(self, operations, **more)
                raise Killed

            patched.setattr(Cluster, "bulk", bulk)
            with pytest.raises(Killed):
                async with opened(place):
                    pass
    async with opened(place) as store:
        assert await everything(store) == before
        ((index, _),) = (await store.cluster.request("GET", f"/{place.prefix}-mem")).items()
        assert index.endswith(f"{mapping.VERSION:06d}")
        assert (await store.append("alice", drafts("a", "new"))).outcomes == ("duplicate", "stored")


@needs_node
async def test_units_of_other_terms_are_made_again(place: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(place) as store:
        await filled(store)
        await store.searchable("alice")
        before = await everything(store)
        assert await texts(store, "zebras")
    for module in (mapping, migrate, made_of):
        monkeypatch.setattr(module, "terms_version", "other")
    monkeypatch.setattr(text, "stem", lambda word: word[::-1])
    text._content_terms.cache_clear()
    async with opened(place) as store:
        assert {"zebras in Köln"} <= await texts(store, "zebras")
        assert await everything(store) == before
        assert await migrate.renew(store._shop) == 0
    text._content_terms.cache_clear()
