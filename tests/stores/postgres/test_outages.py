"""Agents talk while the server is down: what was said is in memory once it is back."""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import Iterator
from dataclasses import replace

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from adapters.autogen.talking import agent_with as assistant
from adapters.langchain.talking import agent_with
from memscope import AsyncMemoryScope
from memscope.adapters import session as adapter_session
from memscope.adapters.session import MemorySession, to_turn
from memscope.adapters.write_queue import queue_of
from memscope_autogen import MemoryScopeMemory
from memscope_langchain import MemoryScopeMiddleware
from memscope_postgres import PostgresOptions, PostgresStore, parse_location
from memscope_testing.scripted import ScriptedModel
from stores.postgres.between import Forwarder

from servers.postgres import PostgresServer

REMARKS = ["I keep bees.", "ok", "My boat is called Aurora.", "ok", "Thanks!"]


async def said(memory: AsyncMemoryScope, user: str) -> list[str]:
    async with asyncio.timeout(60):
        while queue_of(memory).late:
            await asyncio.sleep(0.05)
    texts = [str(turn.text) for turn in await memory.list(user=user, kinds=["turn"])]
    assert len(texts) == 2 * len(REMARKS)
    return [text for text in texts if not text.startswith("Understood")]


@pytest.mark.slow
async def test_agents_of_two_frameworks_while_the_server_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter_session, "OUTAGE_DEADLINE_S", 0.2)
    with PostgresServer() as server:
        options = replace(parse_location(server.url()), deadline_s=0.5)
        async with AsyncMemoryScope(PostgresStore(options), settings={}) as memory:
            chain = agent_with(MemoryScopeMiddleware(memory=memory), ScriptedModel(), checkpointer=InMemorySaver())
            team = assistant(MemoryScopeMemory(user="bob", memory=memory), ScriptedModel())
            configurable = {"configurable": {"user_id": "alice", "thread_id": "one"}}
            for number, remark in enumerate(REMARKS):
                if number == 1:
                    await asyncio.to_thread(server.stop, signal.SIGQUIT)
                elif number == 4:
                    await asyncio.to_thread(server.start)
                await chain.ainvoke({"messages": [("user", remark)]}, configurable)
                await team.run(task=remark)
            assert await said(memory, "alice") == REMARKS
            assert await said(memory, "bob") == REMARKS


@pytest.fixture
def between(server: PostgresServer) -> Iterator[Forwarder]:
    forwarder = Forwarder(server.port)
    yield forwarder
    forwarder.close()


@pytest.mark.slow
async def test_messages_that_a_bad_network_swallows_are_neither_lost_nor_doubled(
    server: PostgresServer, place: PostgresOptions, between: Forwarder
) -> None:
    options = parse_location(server.url(port=between.port))
    options = replace(options, schema_name=place.schema_name, deadline_s=0.3, statement_timeout_s=0.5)
    async with AsyncMemoryScope(PostgresStore(options), settings={}) as memory:
        chance = random.Random(30)
        await MemorySession("alice", memory=memory).record([to_turn("user", "number -1")])
        for number in range(20):
            between.cut_rate = chance.choice([0.0, 0.0, 0.5, 0.9])
            session = MemorySession("alice", memory=memory, deadline_s=chance.choice([0.05, 5.0]))
            await session.record([to_turn("user", "ok"), to_turn("user", f"number {number}")])
        between.cut_rate = 0.0
        async with asyncio.timeout(60):
            while queue_of(memory).late:
                await asyncio.sleep(0.05)
        texts = [turn.text for turn in await memory.list(user="alice", kinds=["turn"])]
        assert [text for text in texts if text != "ok"] == [f"number {number}" for number in range(-1, 20)]
        assert texts.count("ok") == 20
