"""A memory moves: between stores, through an export, into a newer schema, to other terms."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memscope.errors import StoreBusy, StoreTooNew
from memscope.records import ChangeSet, Revision, Select
from memscope.stores import Store, local
from memscope.stores.local import index_changes, records
from memscope.stores.memory import InMemoryStore
from memscope.stores.sqlite import SQLiteStore
from memscope.transfer import copy, jsonl
from memscope_elasticsearch import ElasticsearchStore
from memscope_elasticsearch import parse_location as elasticsearch_at
from memscope_postgres import PostgresOptions, PostgresStore, schema, transaction
from memscope_postgres import store as store_module
from memscope_testing.records import at, block, get, ids, inserts, insight, observation, remember
from stores.elasticsearch.node import location, needs_node, opened, remove
from stores.postgres.processes import texts

from servers.postgres import PostgresServer

sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))

from duckdb_store import DuckDBStore


async def filled(store: Store) -> None:
    for user in ("alice", "bob"):
        await store.append(user, inserts("a", "b", "c", user=user, metadata={"n": 1}))
        await remember(store, *(observation(f"o{n}", "a", user=user, name="city", recorded=at(n)) for n in range(3)))
        changed = replace(await get(store, "o2", user), text="Alice lives in Köln.")
        await store.apply(user, ChangeSet(new=(insight("i", "o2", user=user),), revised=(Revision(changed, 1),)))
        await store.put_blocks(user, [block("human", "Name: Alice", user=user)])
        await store.put_blocks(user, [block("human", "Name: Alice B.", version=2, user=user)])
        await store.forget(Select(user, ids=frozenset({"c"})))


async def everything(store: Store, user: str) -> tuple[Any, ...]:
    versions = await store.blocks(user, versions=True)
    history = [one.text for one in await store.history(user, "o2")]
    return await ids(store, user), history, versions, await store.receipts(user), await store.tombstones(user)


@pytest.fixture
async def chain(place: PostgresOptions, tmp_path: Path) -> AsyncIterator[list[Store]]:
    """Stores of all local kinds; the first is filled."""
    other = replace(place, schema_name=f"{place.schema_name}_b")
    stores: list[Store] = [
        SQLiteStore(tmp_path / "first.db"), PostgresStore(place), InMemoryStore(), PostgresStore(other),
        DuckDBStore(tmp_path / "memory.duckdb"), SQLiteStore(tmp_path / "last.db"),
    ]  # fmt: skip
    for store in stores:
        await store.open()
    await filled(stores[0])
    yield stores
    for store in stores:
        await store.close()


async def test_a_memory_is_copied_from_store_to_store(chain: list[Store]) -> None:
    for source, target in pairwise(chain):
        copied = await copy.copy(source, target)
        assert (copied.unequal, copied.secret_adopted) == ((), True)
        assert (await copy.copy(source, target)).counts == {}
    for user in ("alice", "bob"):
        expected, equal = await everything(chain[0], user), await copy.digest(chain[0], user)
        for store in chain[1:]:
            assert await everything(store, user) == expected
            assert await copy.digest(store, user) == equal
            assert await texts(store, "Berlin", user) == await texts(chain[0], "Berlin", user) != set()


@needs_node
async def test_a_memory_is_copied_from_elasticsearch_and_back(place: PostgresOptions) -> None:
    names = [elasticsearch_at(location(f"{place.schema_name}-{n}".replace("_", "-"))) for n in (1, 2)]
    try:
        async with opened(names[0]) as first, opened(names[1]) as last:
            postgres = PostgresStore(place)
            await filled(first)
            for source, target in ((first, postgres), (postgres, last)):
                copied = await copy.copy(source, target)
                assert (copied.unequal, copied.secret_adopted) == ((), True)
                assert (await copy.copy(source, target)).counts == {}
            for user in ("alice", "bob"):
                expected, equal = await everything(first, user), await copy.digest(first, user)
                for store in (postgres, last):
                    assert await everything(store, user) == expected
                    assert await copy.digest(store, user) == equal
                    assert await texts(store, "Berlin", user) == await texts(first, "Berlin", user) != set()
            await postgres.close()
    finally:
        for name in names:
            await remove(ElasticsearchStore(name))


async def test_an_export_of_one_store_is_the_import_of_another(chain: list[Store], tmp_path: Path) -> None:
    for n, (source, target) in enumerate(pairwise(chain)):
        path = tmp_path / f"{n}.jsonl"
        await jsonl.export(source, path, user=None, progress=None)
        await jsonl.import_(target, path, user=None, strict=True, progress=None, limits=jsonl.UNLIMITED)
    for user in ("alice", "bob"):
        expected = await everything(chain[0], user)
        assert [await everything(store, user) for store in chain[1:]] == [expected] * (len(chain) - 1)


async def test_units_of_other_terms_are_built_anew(place: PostgresOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as older:
        for module in (local, records, index_changes, transaction, store_module):
            older.setattr(module, "units_version", "older")
        store = PostgresStore(place)
        await store.append("alice", inserts("a", "b"))
        await store.close()
    store = PostgresStore(place)
    assert await texts(store, "Berlin") == {"I moved to Berlin."}
    assert (await store.stats("alice")).units == 2
    await store.close()


async def test_an_older_schema_is_upgraded_step_by_step_and_by_one_of_many(
    place: PostgresOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second step fails at first: the schema stays at the first, and the next opening goes on from there."""
    store = PostgresStore(place)
    await store.append("alice", inserts("a"))
    await store.close()
    now = schema.SCHEMA
    steps = {now: "ALTER TABLE users ADD COLUMN colour text", now + 1: "ALTER TABLE nowhere ADD COLUMN colour text"}
    monkeypatch.setattr(schema, "SCHEMA", now + 2)
    monkeypatch.setattr(schema, "STEPS_BY_VERSION", steps)
    with pytest.raises(Exception, match="tables"):
        await PostgresStore(place).open()
    steps[now + 1] = "ALTER TABLE users ADD COLUMN size bigint"
    stores = [PostgresStore(place) for _ in range(6)]
    await asyncio.gather(*(store.append("alice", inserts(f"k{n}")) for n, store in enumerate(stores)))
    assert len(await ids(stores[0])) == 7
    with psycopg.connect(**place.client) as db:
        db.execute("SET memscope.all_users = 'on'")
        query = f"SELECT colour, size FROM {place.schema_name}.users"
        assert db.execute(query).fetchall() == [(None, None)]  # type: ignore[arg-type]
    for store in stores:
        await store.close()
    monkeypatch.setattr(schema, "SCHEMA", now + 1)
    with pytest.raises(StoreTooNew, match=f"version {now + 2}"):
        await PostgresStore(place).open()


async def test_a_schema_whose_policy_shows_one_user_serves_many_after_its_upgrade(place: PostgresOptions) -> None:
    store = PostgresStore(place)
    await store.append("alice", inserts("a"))
    await store.close()
    with psycopg.connect(**place.client) as db:
        db.execute(f"SET search_path = {place.schema_name}, pg_catalog")  # type: ignore[arg-type]
        for table in schema.USER_TABLES:
            db.execute(f"DROP POLICY one_user ON {table}")  # type: ignore[arg-type]
            db.execute(f"CREATE POLICY one_user ON {table} USING ({ONE_USER} OR (SELECT sees_all_users()))")  # type: ignore[arg-type]
        db.execute("UPDATE meta SET value = '1' WHERE key = 'schema'")
    store = PostgresStore(place)
    assert await ids(store) == ["a"]
    await store.close()
    with psycopg.connect(**place.client) as db:
        query = "SELECT tablename FROM pg_policies WHERE schemaname = %s AND qual LIKE '%%string_to_array%%'"
        assert {row[0] for row in db.execute(query, (place.schema_name,))} == {*schema.USER_TABLES}


# the policy of version 1
ONE_USER = "user_id = (SELECT nullif(current_setting('memscope.user_id', true), '')::uuid)"


# ---- what takes longer than a statement may


async def timeout_of(store: PostgresStore) -> str:
    rows = await store._engine.run(lambda db: db.execute("SHOW statement_timeout").fetchall())
    return str(rows[0][0])


async def test_a_migration_may_take_longer_than_a_statement(
    place: PostgresOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = PostgresStore(place)
    await store.append("alice", inserts("a"))
    await store.close()
    monkeypatch.setattr(schema, "STEPS_BY_VERSION", {schema.SCHEMA: "SELECT pg_sleep(3)"})
    monkeypatch.setattr(schema, "SCHEMA", schema.SCHEMA + 1)
    store = PostgresStore(replace(place, statement_timeout_s=2.0, connections=1))
    assert await ids(store) == ["a"]
    assert await timeout_of(store) == "2s"
    with pytest.raises(StoreBusy):
        await store._engine.run(lambda db: db.execute("SELECT pg_sleep(60)"))
    await store.close()


async def test_a_rewrite_may_take_longer_than_a_statement(server: PostgresServer, place: PostgresOptions) -> None:
    """A reader of another program holds a table for longer than a statement may take; compact waits for it."""
    store = PostgresStore(place)
    await store.append("alice", inserts("a"))
    await store.close()
    store = PostgresStore(replace(place, statement_timeout_s=2.0, connections=1))
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'VACUUM%' AND now() - query_start > '3 s'"
    with psycopg.connect(server.url(role="admin")) as other:
        other.execute(f"LOCK TABLE {place.schema_name}.unit IN ACCESS SHARE MODE")  # type: ignore[arg-type]
        compacted = asyncio.create_task(store.compact())
        while server.sql(waiting).split() != ["1"] and not compacted.done():
            await asyncio.sleep(0.05)
        other.rollback()
    assert (await compacted).physical == "pending"
    assert (await ids(store), await timeout_of(store)) == (["a"], "2s")
    await store.close()
