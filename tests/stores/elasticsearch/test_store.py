"""ElasticsearchStore is a store on a real node, and what it promises beyond that."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest

from memscope import AsyncMemoryScope
from memscope.errors import StoreCorrupt, StoreGone, StoreReadOnly, StoreTooNew, StoreUnavailable
from memscope.records import ChangeSet, FetchResult, Scope, Search, Select, Stage, TurnInsert, VectorSpace
from memscope.stores import Store
from memscope.text.terms import terms
from memscope.text.vectors import sentence_vector
from memscope_elasticsearch import ElasticsearchStore, Options, mapping, parse_location, session
from memscope_elasticsearch.session import UnrefreshedIds
from memscope_testing.records import get, ids, inserts, observation, remember, turn
from memscope_testing.stores import StoreSuite
from stores.elasticsearch.node import URL, location, needs_node, opened, remove, texts


@needs_node
class TestElasticsearchStore(StoreSuite):
    @pytest.fixture
    async def store(self) -> AsyncIterator[Store]:
        chosen = parse_location(location(f"test-{secrets.token_hex(4)}"))
        self.opened = [ElasticsearchStore(replace(chosen, lease_s=5.0, deadline_s=60.0))]
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


@needs_node
async def test_a_turn_is_found_at_once_without_a_refresh(place: Options) -> None:
    async with opened(place) as store, opened(place) as other:
        for n in range(10):
            await store.append("alice", [TurnInsert(turn(f"k{n}", f"zebra number {n}"))])
            assert f"zebra number {n}" in await texts(store, "zebras")
        await store.searchable("alice")
        assert len(await texts(other, "zebras")) == 10
        assert store.cluster.refreshes == 0
        assert other.cluster.refreshes == 0


@needs_node
async def test_what_was_written_is_found_however_long_a_refresh_takes(place: Options) -> None:
    """And once there was one, in each shard, nothing is read twice."""
    async with opened(replace(place, shards=3)) as store:
        users = [f"user-{n}" for n in range(9)]
        await store.append("alice", inserts("before"))
        await store.searchable("alice")
        await refresh_every(store, "-1")
        for user in users:
            await store.append(user, [TurnInsert(turn("k", "zebras", user=user))])
            await remember(store, observation("o", "k", user=user, text="Berlin"))
        for user in users:
            assert await texts(store, "zebras", user) == {"zebras"}
            assert await texts(store, "Berlin", user) == {"zebras"}  # which the observation was made from
        assert set(users) <= set(store._session.unrefreshed.users())
        await refresh_every(store, "1s")
        await until_found(store)
        assert store.cluster.refreshes == 0


@needs_node
@pytest.mark.parametrize("settings", [{"refresh_interval": "-1"}, {"blocks.write": True, "refresh_interval": "-1"}])
async def test_where_no_refresh_comes_one_is_made(
    place: Options, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refresh for whoever reads more than can be read directly, for whoever waits, and for the process itself."""
    monkeypatch.setattr(session, "CALLER_REFRESH_WAIT_S", 0.1)
    async with opened(place) as store:
        await refresh_every(store, "-1")
        await store.append("alice", inserts(*(f"k{n}" for n in range(session.MAX_UNREFRESHED_IDS))))
        await texts(store, "Berlin")
        assert store.cluster.refreshes == 0
        await store.append("alice", [TurnInsert(turn("last", "zebras"))])
        await store.cluster.request("PUT", f"/{store._session.names.memory}/_settings", body=settings)
        assert "zebras" in await texts(store, "zebras")
        before = store.cluster.refreshes
        assert before
        await store.searchable("alice")
        assert store.cluster.refreshes > before
        monkeypatch.setattr(session, "REFRESH_WAIT_S", 0.1)
        await refresh_every(store, "-1", write=False)
        await store.append("bob", inserts("k", user="bob"))
        await until_found(store)


async def until_found(store: ElasticsearchStore) -> None:
    async with asyncio.timeout(60):
        while store._session.unrefreshed.users():
            await asyncio.sleep(0.05)


async def refresh_every(store: ElasticsearchStore, interval: str, *, write: bool | None = None) -> None:
    settings = {"refresh_interval": interval, "blocks.write": write}
    await store.cluster.request("PUT", f"/{store._session.names.memory}/_settings", body=settings)


@needs_node
async def test_a_retrieve_is_two_requests(place: Options) -> None:
    async with opened(place) as store:
        async with AsyncMemoryScope(store) as memory:
            said = [{"role": "user", "content": f"The zebra number {n} likes place {n % 7}."} for n in range(300)]
            await memory.add_turns(said, user="alice", wait="searchable")
            before = store.cluster.requests
            for times, k in enumerate((1, 20, 100), 1):
                assert len(await memory.retrieve("zebra place 3", user="alice", k=k)) == k
                assert store.cluster.requests - before == 2 * times


@needs_node
async def test_what_was_just_written_is_as_near_by_built_in_vector_as_later(place: Options) -> None:
    async with opened(place) as store:
        await refresh_every(store, "-1")
        await store.append("alice", inserts("veg", text="I'm vegetarian."))
        asked = Search(Scope("alice"), (1,), meaning=sentence_vector("What should I cook for dinner?"))
        fresh = (await store.search(asked)).meaning
        await store.searchable("alice")
        assert fresh[0] > 0.1
        assert (await store.search(asked)).meaning == pytest.approx(fresh, abs=1e-3)


@needs_node
async def test_a_second_hop_is_one_request_more(place: Options) -> None:
    said = ["My friend Liam started at Globex.", "Got a postcard from Liam, he has settled down in Oslo."]
    rain = [f"It rained on day {n} of the month." for n in range(400)]
    async with opened(place) as store, AsyncMemoryScope(store) as memory:
        turns = [{"role": "user", "content": text} for text in (*said, *rain)]
        keys = (await memory.add_turns(turns, user="alice", wait="searchable")).keys
        for memories in ((), (observation("o", keys[1], text="Liam is fond of Norway"),)):
            if memories:
                await remember(store, *memories)
                await store.searchable("alice")
            before = store.cluster.requests
            hits = await memory.retrieve("Which city does my friend at Globex live in?", user="alice")
            assert store.cluster.requests - before == 3
            assert said == [hit.turn.text for hit in hits[:2] if hit.turn]
            assert [one.id for one in hits[1].observations] == [one.id for one in memories]


@needs_node
async def test_records_too_long_to_come_along_are_chosen_all_the_same(place: Options) -> None:
    async with opened(place) as store, AsyncMemoryScope(store) as memory:
        said = [
            {"role": "user", "content": f"Zebra {n} likes place {n % 7}. " + "It ran and ran. " * 500}
            for n in range(90)
        ]
        await memory.add_turns(said, user="alice", wait="searchable")
        before = store.cluster.requests
        assert len(await memory.retrieve("Which zebra likes place 3?", user="alice", k=50)) == 50
        assert store.cluster.requests - before in (3, 4)  # one for each page of records; parts of a turn are one hit


@needs_node
@pytest.mark.parametrize("stage", ["embed", "consolidate"])
async def test_a_batch_is_found_behind_those_a_search_does_not_know_as_done(place: Options, stage: Stage) -> None:
    """A second worker comes right after the first: the index still names what that one did, and refreshes no more."""
    async with opened(place) as store, opened(place) as other:
        for each in (store, other):
            await each.set_vector_space(VectorSpace("m", 2))
        await store.append("alice", inserts(*(f"k{n}" for n in range(300))))
        await store.searchable("alice")
        await other._session.settle()
        await refresh_every(store, "-1")
        done: set[str] = set()
        for each in (store, other, store):
            (claim,) = await each.claim(stage, 100, 60)
            assert not done.intersection(claim.items)
            await each.complete(claim, ChangeSet(done=claim.items, vectors=dict.fromkeys(claim.items, (1.0, 0.0))))
            done.update(claim.items)
        assert len(done) == 300


@needs_node
async def test_fifty_scopes_never_meet_under_load(place: Options) -> None:
    """Forty operations at once in each of fifty scopes; whatever comes back carries the canary of who asked."""
    async with opened(replace(place, deadline_s=600.0, request_s=120.0)) as store:  # the node may be busy
        users = [f"{secrets.token_hex(3)}-{n}" for n in range(50)]
        await asyncio.gather(*(canaries(store, user) for user in users))
        for user in users:
            found = {identity: await get(store, identity, user) for identity in await ids(store, user)}
            assert len(found) >= 10
            assert all(record.text.startswith(f"canary {user}") for record in found.values())
            assert await store.fetch(user, ["of " + other for other in users if other != user]) == FetchResult({}, {})


async def canaries(store: Store, user: str) -> None:
    async def add(n: int) -> None:
        key = "of " + user if n == 0 else f"k{n}"
        await store.append(user, [TurnInsert(turn(key, f"canary {user} zebra {n}", user=user, metadata={"n": n}))])

    async def ask(n: int) -> None:
        for found in await texts(store, "canary zebra", user, filter={"n": {"$gte": 0}} if n % 2 else None):
            assert found.startswith(f"canary {user}")

    async def change(n: int) -> None:
        memory = observation(f"o{n}", "k1", user=user, text=f"canary {user} fact {n}")
        await store.apply(user, ChangeSet(new=(memory,)))
        if n % 3 == 0:
            await store.forget(Select(user, ids=frozenset({f"o{n}"})))

    await add(1)
    await asyncio.gather(*(step(n) for n in range(10) for step in (add, ask, ask, change)))


@needs_node
async def test_a_server_that_goes_away_in_the_middle_refuses_turns_and_takes_them_later(place: Options) -> None:
    async with forwarded() as (port, cut):
        between = replace(place, client={"hosts": [f"http://127.0.0.1:{port}"]})
        async with opened(between) as store:
            await store.append("alice", inserts("a"))
            with cut(), pytest.MonkeyPatch.context() as patched:
                patched.setattr(store.cluster, "options", replace(between, deadline_s=1.0))
                with pytest.raises(StoreUnavailable) as raised:
                    await store.append("alice", inserts("b", "c"))
                assert raised.value.retryable
                with pytest.raises(StoreUnavailable):
                    await texts(store, "Berlin")
            assert await ids(store) == ["a"]
            assert (await store.append("alice", inserts("a", "b", "c"))).outcomes == ("duplicate", "stored", "stored")


@asynccontextmanager
async def forwarded() -> AsyncIterator[tuple[int, Callable[[], AbstractContextManager[None]]]]:
    """A port that leads to the node, and what breaks its connections for a while."""
    node = urlsplit(URL)
    open_now: set[asyncio.StreamWriter] = set()
    away = False

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if away:
            return writer.close()
        there = await asyncio.open_connection(node.hostname, node.port)
        open_now.update((writer, there[1]))
        await asyncio.gather(pump(reader, there[1]), pump(there[0], writer))
        open_now.difference_update((writer, there[1]))

    @contextmanager
    def cut() -> Iterator[None]:
        nonlocal away
        away = True
        for writer in open_now:
            writer.transport.abort()
        yield
        away = False

    async with await asyncio.start_server(forward, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1], cut


@needs_node
async def test_an_index_of_somebody_else_is_refused(place: Options) -> None:
    async with opened(place) as store:
        names = store._session.names
    newer = {mapping.META: {"version": mapping.MAPPING_VERSION + 1}}
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
        await store.append("alice", inserts("a"))
        await store.cluster.request("DELETE", f"/{place.prefix}-mem-{mapping.MAPPING_VERSION:06d}")
        with pytest.raises(StoreGone):
            await store.append("alice", inserts("b"))
        with pytest.raises(StoreGone):
            await texts(store, "Berlin")


@needs_node
async def test_a_read_only_index_refuses_writes_and_is_read(place: Options) -> None:
    async with opened(place) as store:
        await store.append("alice", inserts("a"))
        block = {"index.blocks.write": True}
        await store.cluster.request("PUT", f"/{place.prefix}-mem/_settings", body=block)
        with pytest.raises(StoreReadOnly):
            await store.append("alice", inserts("b"))
        assert await texts(store, "Berlin") == {"I moved to Berlin."}
        await store.cluster.request("PUT", f"/{place.prefix}-mem/_settings", body={"index.blocks.write": False})
        assert (await store.append("alice", inserts("b"))).outcomes == ("stored",)


async def leave(store: ElasticsearchStore) -> None:
    """End an event loop without its complaints."""
    await store.cluster.disconnect()


@needs_node
def test_what_was_written_in_a_loop_that_ended_is_waited_for_in_another() -> None:
    store = ElasticsearchStore(parse_location(location(f"test-{secrets.token_hex(4)}")))

    async def add() -> None:
        await store.append("alice", [TurnInsert(turn("a", "zebras"))])
        await leave(store)

    async def look() -> None:
        assert await texts(store, "zebras") == {"zebras"}
        await until_found(store)
        await store.close()

    asyncio.run(add())
    assert store._session.unrefreshed.users() == ["alice"]
    asyncio.run(look())
    asyncio.run(remove(store))


def test_ids_that_nobody_waits_for_go_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    unrefreshed = UnrefreshedIds()
    unrefreshed.note("alice", ["a"])
    later = time.monotonic() + session.MAX_ID_AGE_S + 1
    monkeypatch.setattr(session.time, "monotonic", lambda: later)
    unrefreshed.note("bob", ["b"])
    assert unrefreshed.users() == ["bob"]


@needs_node
def test_each_event_loop_has_its_own_client() -> None:
    store = ElasticsearchStore(parse_location(location(f"test-{secrets.token_hex(4)}")))

    async def add(key: str) -> list[str]:
        await store.append("alice", inserts(key))
        found = await ids(store)
        await leave(store)
        return found

    assert asyncio.run(add("a")) == ["a"]
    assert asyncio.run(add("b")) == ["a", "b"]
    asyncio.run(remove(store))


@needs_node
async def test_an_observation_brings_its_turn_along_wherever_both_stand(place: Options) -> None:
    """The words of the question are in the observation alone, which is refreshed or not, as its turn is."""
    async with opened(place) as store, opened(place) as other:
        await store.append("alice", inserts("t", text="zebras"))
        await store.searchable("alice")
        await refresh_every(store, "-1")
        await remember(store, observation("o", "t", text="Berlin"))
        assert await texts(store, "Berlin", required=(tuple(terms("Berlin")),)) == {"zebras"}
        assert await texts(store, "Berlin") == {"zebras"}
        await store.searchable("alice")
        assert await texts(store, "Berlin") == {"zebras"}
        assert await texts(other, "Berlin") == {"zebras"}


@needs_node
async def test_counters_of_processes_add_up(place):
    stores = [ElasticsearchStore(place) for _ in range(4)]

    def add(counts):
        counts["calls"] = counts.get("calls", 0) + 1

    await stores[0].open()
    await asyncio.gather(*(store.change_counters("whole", add) for store in stores for _ in range(5)))
    assert await stores[0].counters("whole") == {"calls": 20}
    assert await stores[0].counters("user") == {}
    assert await stores[0].users() == []
    for store in stores:
        await store.close()
