"""Group commit of turns on a real node: what is written together, in which order, and beside what."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from memscope.errors import StoreError
from memscope.records import Turn, TurnInsert
from memscope_elasticsearch import Options, append
from memscope_testing.records import get, ids, inserts, turn
from stores.elasticsearch.node import needs_node, opened


@needs_node
async def test_concurrent_adds_are_written_together(place: Options) -> None:
    async with opened(place) as store:
        await store.append("u", inserts("first", user="u"))
        before = store.cluster.requests
        users = [f"user-{n}" for n in range(200)]
        await asyncio.gather(*(store.append(user, inserts("k", user=user)) for user in users))
        assert store.cluster.requests - before <= 6
        assert len(await store.users()) == 201


@needs_node
async def test_groups_written_at_once_keep_the_order_of_each_user(
    place: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, writing, most, all_write = append.GroupCommitter._write, list[set[str]](), 0, asyncio.Event()

    async def watched(self: append.GroupCommitter, group: list[append.AppendRequest]) -> None:
        nonlocal most
        users = {request.user for request in group}
        assert all(users.isdisjoint(others) for others in writing)
        writing.append(users)
        most = max(most, len(writing))
        if most == append.CONCURRENT_GROUPS:
            all_write.set()
        async with asyncio.timeout(60):
            await all_write.wait()
        await write(self, group)
        writing.remove(users)

    monkeypatch.setattr(append.GroupCommitter, "_write", watched)
    monkeypatch.setattr(append, "MAX_TURNS_PER_BULK", 7)
    async with opened(place) as store:
        said = [(f"user-{user}", f"k{n}") for n in range(5) for user in range(9)]
        tasks = []
        for user, key in said:
            tasks.append(asyncio.create_task(store.append(user, inserts(key, user=user))))
            await asyncio.sleep(0)
        await asyncio.gather(*tasks)
        assert most == append.CONCURRENT_GROUPS
        for user in {user for user, _ in said}:
            turns = [await get(store, key, user) for key in await ids(store, user)]
            order = sorted((one for one in turns if isinstance(one, Turn)), key=lambda one: one.seq)
            assert [one.key for one in order] == [f"k{n}" for n in range(5)]


@needs_node
async def test_documents_of_much_text_are_made_beside_the_event_loop(
    place: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, threads = append.documents, set[int]()

    def watched(*given: Any, **more: Any) -> Any:
        threads.add(threading.get_ident())
        return made(*given, **more)

    monkeypatch.setattr(append, "documents", watched)
    async with opened(place) as store:
        turns = [TurnInsert(turn(f"k{n}", "zebras " * 100)) for n in range(20)]
        reports = await asyncio.gather(*(store.append("alice", [one]) for one in turns))
        assert all(one.outcomes == ("stored",) for one in reports)
    assert threads and threading.get_ident() not in threads


@needs_node
async def test_one_bad_turn_does_not_fail_those_it_is_written_with(place: Options) -> None:
    async with opened(place) as store:
        too_long = "k" * 40_000  # longer than a keyword may be
        results = await asyncio.gather(
            store.append("alice", inserts("a")),
            store.append("bob", inserts(too_long, user="bob")),
            store.append("carol", inserts("c", user="carol")),
            return_exceptions=True,
        )
        assert isinstance(results[1], StoreError)
        assert await ids(store) == ["a"]
        assert await ids(store, "carol") == ["c"]
