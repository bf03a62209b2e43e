"""Processes of their own, each with a store of its own, for tests of what they see of one another."""

from __future__ import annotations

import asyncio
from multiprocessing.connection import Connection
from typing import Any

from memscope.records import ChangeSet, Scope, Search, Select, TurnInsert
from memscope.stores import Store
from memscope.text.terms import terms
from memscope_postgres import PostgresOptions, PostgresStore
from memscope_testing.records import observation, turn


async def texts(store: Store, query: str, user: str = "alice") -> set[str]:
    pool = await store.search(Search(Scope(user), tuple(dict.fromkeys(terms(query)))))
    return {record.text for record in (await store.fetch(user, list(pool.handle))).records.values()}


async def act(store: Store, command: str, *arguments: Any) -> Any:
    if command == "add":
        key, text = arguments
        return (await store.append("alice", [TurnInsert(turn(key, text))])).outcomes
    if command == "supersede":
        id, key, text = arguments
        return await store.apply("alice", ChangeSet(new=(observation(id, key, text=text, name="home"),)))
    if command == "forget":
        return (await store.forget(Select("alice", ids=frozenset(arguments)))).turns
    if command == "claim":
        return [item for claim in await store.claim("consolidate", 1, 600.0) for item in claim.items]
    if command == "current":
        return [one.text async for page in store.scan(Select("alice", current=True, name="home")) for one in page]
    return await texts(store, *arguments)


def serve(options: PostgresOptions, pipe: Connection) -> None:
    """Run in a process: answer commands until there is none."""

    async def answer() -> None:
        store = PostgresStore(options)
        await store.open()
        while (command := await asyncio.to_thread(pipe.recv)) is not None:
            pipe.send(await act(store, *command))
        await store.close()

    asyncio.run(answer())
