"""Agents talk while the cluster refuses writes or its aliases are moved: nothing is lost, doubled or out of order."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from memscope import AsyncMemoryScope
from memscope.adapters import write_queue
from memscope.adapters.session import SessionPool, to_turn
from memscope.adapters.write_queue import queue_of
from memscope_elasticsearch import ElasticsearchStore, Options
from memscope_elasticsearch.client import Cluster
from stores.elasticsearch.node import needs_node

USERS = ("alice", "bob")


class Talk:
    """Two users who say something by turns."""

    def __init__(self, memory: AsyncMemoryScope) -> None:
        self.memory, self.sessions, self.remarks = memory, SessionPool(memory), 0

    async def say(self) -> list[bool]:
        """Tell for each user whether the remark was recorded at once."""
        turns = [to_turn("user", f"remark {self.remarks}"), to_turn("assistant", "ok")]
        self.remarks += 1
        async with asyncio.timeout(20):  # less than the pauses between attempts
            return [all(await self.sessions.to(user).record(turns)) for user in USERS]

    async def check(self) -> None:
        async with asyncio.timeout(60):
            while queue_of(self.memory).late:
                await asyncio.sleep(0.05)
        for user in USERS:
            texts = [turn.text for turn in await self.memory.list(user=user, kinds=["turn"])]
            assert texts == [text for number in range(self.remarks) for text in (f"remark {number}", "ok")]


@pytest.fixture(autouse=True)
def long_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_queue, "LATE_WRITE_PAUSE_S", 1000)


async def request(place: Options, method: str, path: str, body: Any = None) -> Any:
    cluster = Cluster(place)
    try:
        return await cluster.request(method, path, body=body)
    finally:
        await cluster.close()


@needs_node
@pytest.mark.slow
async def test_a_full_disk(place: Options) -> None:
    block = "index.blocks.read_only_allow_delete"
    async with AsyncMemoryScope(ElasticsearchStore(place), settings={}) as memory:
        talk = Talk(memory)
        assert await talk.say() == [True, True]
        await request(place, "PUT", f"/{place.prefix}-*/_settings", {block: True})
        for _ in range(3):
            assert await talk.say() == [False, False]
        await request(place, "PUT", f"/{place.prefix}-*/_settings", {block: None})
        await talk.say()
        await talk.check()


@needs_node
@pytest.mark.slow
async def test_aliases_that_move_to_a_copy(place: Options) -> None:
    async with AsyncMemoryScope(ElasticsearchStore(place), settings={}) as memory:
        talk = Talk(memory)
        assert await talk.say() == [True, True]
        listed = await request(place, "GET", f"/{place.prefix}-*/_alias")
        aliases = {index: next(iter(about["aliases"])) for index, about in listed.items()}
        await request(place, "PUT", f"/{place.prefix}-*/_settings", {"index.blocks.write": True})
        assert await talk.say() == [False, False]
        for index, alias in aliases.items():
            copied = {"settings": {"index.blocks.write": None}}
            await request(place, "PUT", f"/{index}/_clone/{index}-copy", copied)
            await request(place, "POST", "/_aliases", {"actions": [{"remove": {"index": index, "alias": alias}}]})
        assert await talk.say() == [False, False]
        moved = [{"add": {"index": f"{index}-copy", "alias": alias}} for index, alias in aliases.items()]
        await request(place, "POST", "/_aliases", {"actions": moved})
        await talk.say()
        await talk.check()
