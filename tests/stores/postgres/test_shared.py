"""Many processes, threads, loops and users on one database."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import psycopg
import pytest

from memscope import AsyncMemoryScope
from memscope.records import ChangeSet, Scope, Search, Select, VectorSpace
from memscope.stores.local import forget
from memscope.text.terms import terms
from memscope_postgres import PostgresOptions, PostgresStore, parse_location, user
from memscope_postgres.queries import KNOWN, fetch, quoted, quoted_all
from memscope_postgres.statements import Database
from memscope_postgres.tables import user_id
from memscope_testing.records import ids, inserts
from stores.postgres.between import Forwarder
from stores.postgres.processes import serve, texts

from servers.postgres import PostgresServer

PROCESSES = 8


class Fleet:
    """``PROCESSES`` processes; ``ask`` makes one of them do something."""

    def __init__(self, place: PostgresOptions) -> None:
        context = multiprocessing.get_context("spawn")
        pairs = [context.Pipe() for _ in range(PROCESSES)]
        self.pipes = [here for here, _ in pairs]
        self.processes = [context.Process(target=serve, args=(place, there)) for _, there in pairs]
        for process in self.processes:
            process.start()

    def ask(self, n: int, *command: Any) -> Any:
        self.pipes[n % PROCESSES].send(command)
        return self.pipes[n % PROCESSES].recv()

    def ask_all(self, *command: Any) -> list[Any]:
        for pipe in self.pipes:
            pipe.send(command)
        return [pipe.recv() for pipe in self.pipes]

    def end(self) -> None:
        for pipe in self.pipes:
            pipe.send(None)
        for process in self.processes:
            process.join(60)


@pytest.fixture
def fleet(place: PostgresOptions) -> Iterator[Fleet]:
    fleet = Fleet(replace(place, connections=2))
    yield fleet
    fleet.end()


def test_eight_processes_open_an_empty_database_and_see_at_once_what_each_of_them_did(fleet: Fleet) -> None:
    assert fleet.ask_all("texts", "zebra") == [set()] * PROCESSES
    for n in range(24):
        fleet.ask(n, "add", f"k{n}", f"zebra number {n}")
        assert f"zebra number {n}" in fleet.ask(n + 1, "texts", "zebra"), n
    assert {len(found) for found in fleet.ask_all("texts", "zebra")} == {24}
    for n in range(8):
        fleet.ask(n, "supersede", f"o{n}", f"k{n}", f"Alice lives in place {n}")
        assert fleet.ask(n + 3, "current") == [f"Alice lives in place {n}"]
    for n in range(8, 16):
        fleet.ask(n, "forget", f"k{n}")
        assert f"zebra number {n}" not in fleet.ask(n + 5, "texts", "zebra")
    assert {len(found) for found in fleet.ask_all("texts", "zebra")} == {16}


def test_a_batch_is_claimed_by_one_of_eight_processes(fleet: Fleet, place: PostgresOptions) -> None:
    async def fill() -> None:
        store = PostgresStore(place)
        for n in range(40):
            await store.append(f"user-{n}", inserts("a", user=f"user-{n}"))
        await store.close()

    asyncio.run(fill())
    claims = [item for _ in range(2) for items in fleet.ask_all("claim") for item in items]
    assert len(claims) == 40


async def test_work_can_be_claimed_at_once_by_a_process_whose_idea_of_the_servers_time_is_behind(
    place: PostgresOptions,
) -> None:
    """Each process measures it when it connects, on a busy machine with an error of many milliseconds."""
    now = datetime.now(UTC)
    ahead, behind = (
        PostgresStore(place, clock=lambda: now + timedelta(seconds=0.5)),
        PostgresStore(place, clock=lambda: now),
    )
    await ahead.append("alice", inserts("a"))
    (claim,) = await behind.claim("consolidate", 10, 60.0)
    assert claim.items == ("a",)
    await ahead.append("alice", inserts("b"))
    assert await behind.claim("consolidate", 10, 60.0) == []  # a lease is held for as long as its holder was told
    await ahead.close()
    await behind.close()


async def test_writes_of_one_user_that_come_together_share_transactions(place: PostgresOptions) -> None:
    store, calls, all_wait = PostgresStore(place), list[int](), threading.Event()
    together, take = store._engine._run_group, store._engine._take
    store._engine._run_group = lambda group: (calls.append(len(group)), together(group))[1]  # type: ignore[method-assign]
    store._engine._take = lambda: (all_wait.wait(60), take())[1]  # type: ignore[method-assign]
    adding = asyncio.gather(*(store.append("alice", inserts(f"k{n}")) for n in range(100)))
    while len(store._engine._waiting) < 100:
        await asyncio.sleep(0)
    all_wait.set()
    assert {result.outcomes for result in await adding} == {("stored",)}
    assert sum(calls) == 100
    assert len(calls) < 50
    assert len(await ids(store)) == 100
    await store.close()


async def test_adds_of_many_users_share_transactions(server: PostgresServer, place: PostgresOptions) -> None:
    """Known ones in two waits for the server, new ones in three; what one of them had forgotten stays forgotten."""
    between = Forwarder(server.port)
    options = replace(parse_location(server.url(port=between.port)), schema_name=place.schema_name)
    store = PostgresStore(options)
    names = [f"user {n}" for n in range(60)]
    for waits, key in ((3, "a"), (2, "b"), (2, "a")):
        await store.forget(Select("user 7", ids=frozenset({"a"})))
        all_wait, take = threading.Event(), store._engine._take
        store._engine._take = lambda take=take, event=all_wait: (event.wait(60), take())[1]  # type: ignore[method-assign]
        calls = [asyncio.create_task(store.append(name, inserts(key, user=name))) for name in names]
        while len(store._engine._waiting) < len(calls):
            await asyncio.sleep(0)
        before = between.round_trips
        all_wait.set()
        results = [await call for call in calls]
        assert between.round_trips - before == waits
        store._engine._take = take  # type: ignore[method-assign]
    assert [result.outcomes[0] for result in results[6:9]] == ["duplicate", "forgotten", "duplicate"]
    assert {tuple(await ids(store, name)) for name in names} == {("a", "b"), ("b",)}
    await store.close()
    between.close()


async def test_an_add_does_not_wait_for_a_user_whom_another_process_holds(place: PostgresOptions) -> None:
    store, other = PostgresStore(place), PostgresStore(place)
    for name in ("alice", "bob"):
        await store.append(name, inserts("a", user=name))
    holds, goes_on = threading.Event(), threading.Event()

    def hold(tx: Any) -> None:
        tx.user("alice").number += 1
        holds.set()
        goes_on.wait(120)

    holder = asyncio.create_task(other._write(hold, user="alice"))
    await asyncio.to_thread(holds.wait, 60)
    held = [asyncio.create_task(store.append("alice", inserts(f"b{n}"))) for n in range(5)]
    for n in range(20):
        await asyncio.wait_for(store.append("bob", inserts(f"b{n}", user="bob")), 60)
    assert not any(one.done() for one in held)
    goes_on.set()
    assert {(await one).outcomes for one in held} == {("stored",)}
    await holder
    assert len(await ids(store)) == 6
    await store.close()
    await other.close()


async def test_one_of_a_group_that_fails_fails_alone(place: PostgresOptions) -> None:
    store = PostgresStore(place)

    def refuse(tx: Any) -> None:
        tx.user("alice").number += 1
        raise ValueError("refused")

    calls: list[Any] = [store.append("alice", inserts(f"k{n}")) for n in range(20)]
    calls.insert(10, store._write(refuse, user="alice"))
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(result) for result in results if isinstance(result, BaseException)] == [ValueError]
    assert len(await ids(store)) == 20
    await store.close()


async def test_a_turn_added_beside_a_change_of_the_embedder_is_embedded(place: PostgresOptions) -> None:
    """Else it has no vector, and no item of the stage embed: it would never be found by meaning."""
    for n in range(8):
        store, other = PostgresStore(place), PostgresStore(place)
        space = VectorSpace(f"m{n}", 2)
        keys = [f"k{n}-{i}" for i in range(6)]
        await asyncio.gather(
            *(store.append("alice", inserts(key)) for key in keys), other.set_vector_space(space, replace=True)
        )
        await store.set_vector_space(space)
        deadline = time.monotonic() + 60  # the two measure the server's clock apart: what one adds is due later for one
        while (stats := await store.stats()).space != space or stats.vectors < stats.units:
            assert time.monotonic() < deadline, (n, stats)
            for claim in await store.claim("embed", 1000, 60):
                vectors = dict.fromkeys(claim.items, (1.0, 0.0))
                await store.complete(claim, ChangeSet(done=claim.items, vectors=vectors))
        await store.close()
        await other.close()


async def test_a_retrieve_whose_index_is_up_to_date_waits_for_the_server_twice(
    server: PostgresServer, place: PostgresOptions
) -> None:
    between = Forwarder(server.port)
    options = replace(parse_location(server.url(port=between.port)), schema_name=place.schema_name)
    async with AsyncMemoryScope(PostgresStore(options)) as memory:
        turns = [{"role": "user", "content": f"The zebra number {n} likes place {n % 7}."} for n in range(300)]
        await memory.add_turns(turns, user="alice")
        await memory.retrieve("zebra place 3", user="alice")
        for k in (1, 20, 100):
            before = between.answers
            assert len(await memory.retrieve("zebra place 3", user="alice", k=k)) == k
            assert between.answers - before == 2
    between.close()


async def test_an_add_waits_for_the_server_twice_and_so_does_a_group(
    server: PostgresServer, place: PostgresOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ids that repeat within the group, or were forgotten in it, are known all the same."""
    between = Forwarder(server.port)
    options = replace(parse_location(server.url(port=between.port)), schema_name=place.schema_name)
    store = PostgresStore(options)
    for n in range(3):
        await store.append("alice", inserts(f"a{n}"))
    before = between.round_trips
    await store.append("alice", inserts("b"))
    assert between.round_trips - before == 2
    all_wait, take = threading.Event(), store._engine._take
    monkeypatch.setattr(store._engine, "_take", lambda: (all_wait.wait(60), take())[1])
    calls = [store.append("alice", inserts(f"c{n % 20}", f'it\'s \\ "{n}"')) for n in range(40)]
    tasks = [asyncio.create_task(call) for call in calls]
    while len(store._engine._waiting) < len(tasks):
        await asyncio.sleep(0)
    before = between.round_trips
    all_wait.set()
    outcomes = [(await task).outcomes for task in tasks]
    assert between.round_trips - before == 2
    assert outcomes == [("stored", "stored")] * 20 + [("duplicate", "stored")] * 20
    forgetting = store._write(lambda tx: forget(tx, Select("alice", ids=frozenset({"b"}))), user="alice")
    results = await asyncio.gather(forgetting, store.append("alice", inserts("b")), store.append("alice", inserts("d")))
    assert [result.outcomes for result in results[1:]] == [("forgotten",), ("stored",)]
    await store.close()
    between.close()


async def test_a_look_up_reads_only_the_rows_it_asks_for_though_it_was_planned_for_empty_tables(
    place: PostgresOptions,
) -> None:
    """Planned for an empty table, ``number = ANY(...)`` reads all the user's rows."""
    store, id = PostgresStore(replace(place, connections=1)), user_id("alice")
    for size in (1, 2000):
        await store.append("alice", inserts(*(f"k{n}" for n in range(size))))
        for _ in range(2):
            await store.fetch("alice", [1, 2])

    def plans(db: Database) -> str:
        with db.transaction():
            db.execute(f"SET LOCAL memscope.user_id = {quoted(id)}")
            calls = [KNOWN.call(quoted_all([id] * 2), "'{k7,k8}'"), *fetch(id, [7, 8])]
            explained = [f"EXPLAIN ANALYZE {call.statement(is_prepared=True)}" for call in calls]
            return "\n".join(line for statement in explained for (line,) in db.execute(statement))

    plan = await store._engine.run(plans)
    assert "rows=2 loops=1" in plan
    assert "Removed" not in plan
    await store.close()


async def test_so_does_one_with_vectors_and_the_first_after_a_write_waits_four_times(
    server: PostgresServer, place: PostgresOptions
) -> None:
    between = Forwarder(server.port)
    options = replace(parse_location(server.url(port=between.port)), schema_name=place.schema_name)
    store, space = PostgresStore(options), VectorSpace("m", 2)
    await store.set_vector_space(space)
    search = Search(Scope("alice"), tuple(terms("Berlin")), vector=np.array([1.0, 0.0], np.float32), space=space)

    async def waits() -> int:
        before = between.answers
        pool = await store.search(search)
        assert len(pool.handle) == len((await store.fetch("alice", list(pool.handle))).records) > 0
        return between.answers - before

    for n in range(3):
        await store.append("alice", inserts(f"k{n}"))
        (claim,) = await store.claim("embed", 10, 60)
        await store.complete(claim, ChangeSet(done=claim.items, vectors=dict.fromkeys(claim.items, (1.0, 0.0))))
        await store.search(search)
        assert await waits() == 2
        await store.append("alice", inserts(f"more{n}"))
        assert await waits() <= 4
        (claim,) = await store.claim("embed", 10, 60)
        await store.complete(claim, ChangeSet(done=claim.items, vectors=dict.fromkeys(claim.items, (0.0, 1.0))))
    await store.close()
    between.close()


async def test_a_cold_index_is_read_in_pages(place: PostgresOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    store, read = PostgresStore(place), list[int]()
    space = VectorSpace("m", 2)
    await store.set_vector_space(space)
    await store.append("alice", inserts(*(f"k{n}" for n in range(50))))
    (claim,) = await store.claim("embed", 100, 60)
    await store.complete(claim, ChangeSet(done=claim.items, vectors=dict.fromkeys(claim.items, (1.0, 0.0))))
    await store.close()
    monkeypatch.setattr(user, "ROWS_PER_INDEX_PAGE", 7)
    fetchall = psycopg.Cursor.fetchall
    monkeypatch.setattr(
        psycopg.Cursor, "fetchall", lambda cursor: (rows := fetchall(cursor), read.append(len(rows)))[0]
    )
    cold = PostgresStore(place)
    search = Search(Scope("alice"), tuple(terms("Berlin")), vector=np.array([1.0, 0.0], np.float32), space=space)
    assert len((await cold.search(search)).handle) == 50
    assert max(read) == 7
    assert read.count(7) == 14  # seven full pages of units, seven of vectors
    await cold.close()


def test_a_store_serves_several_event_loops(place: PostgresOptions) -> None:
    store = PostgresStore(place)
    for n in range(3):
        asyncio.run(store.append("alice", inserts(f"k{n}")))
        assert len(asyncio.run(texts(store, "Berlin"))) == 1
    asyncio.run(store.close())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_child_of_a_fork_has_connections_of_its_own(place: PostgresOptions) -> None:
    store = PostgresStore(place)
    asyncio.run(store.append("alice", inserts("a")))
    child = os.fork()
    if not child:
        asyncio.run(store.append("alice", inserts("b")))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert asyncio.run(ids(store)) == ["a", "b"]
    asyncio.run(store.close())
