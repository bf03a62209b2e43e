"""Forgotten rows are gone, what is left of their bytes is told, and no query sees a user who was not asked for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from memscope.errors import StoreReadOnly
from memscope.records import ChangeSet, Select, TurnInsert, VectorSpace
from memscope_postgres import PostgresOptions, PostgresStore, parse_location
from memscope_postgres.schema import USER_TABLES
from memscope_postgres.tables import user_id
from memscope_testing.records import ids, inserts, observation, turn
from stores.postgres.processes import texts

from servers.postgres import PostgresServer

WORD = "xylophonequartz"


def holding(folder: Path) -> set[str]:
    """The parts of the data folder in which a file has the word."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).parts[0] for path in files if WORD.encode() in path.read_bytes()}


async def test_forget_removes_the_rows_and_the_receipt_names_what_is_left(place: PostgresOptions) -> None:
    with PostgresServer(autovacuum="off", full_page_writes="off") as server:
        store = PostgresStore(server.url())
        await store.append("alice", [TurnInsert(turn("a", f"The password is {WORD}.")), *inserts("b")])
        await store.apply("alice", ChangeSet(new=(observation("o", "a", text=f"Alice's password: {WORD}"),)))
        server.sql("CHECKPOINT")
        assert holding(server.data) == {"base", "pg_wal"}
        report = await store.forget(Select("alice", ids=frozenset({"a"})))
        assert (report.turns, report.observations, report.physical) == (1, 1, "pending")
        assert "dead rows" in report.reason
        assert await ids(store) == ["b"]
        dump = "SELECT string_agg(r::text, '') FROM memscope.{} r"
        rows = "".join(server.sql(dump.format(table), database="memscope") for table in USER_TABLES)
        assert WORD not in rows
        assert WORD.encode().hex() not in rows
        report = await store.compact()
        assert (report.physical, "write-ahead log" in report.reason) == ("pending", True)
        server.sql("CHECKPOINT")
        assert holding(server.data) == {"pg_wal"}  # just where the receipt says
        assert await ids(store) == ["b"]
        await store.close()


@pytest.fixture
async def two_users(place: PostgresOptions) -> PostgresOptions:
    store = PostgresStore(place)
    for user in ("alice", "bob"):
        await store.append(user, inserts("a", user=user))
    await store.close()
    return place


@pytest.fixture
def db(server: PostgresServer, two_users: PostgresOptions) -> Iterator[psycopg.Connection[tuple[int]]]:
    """A connection as the role that owns the tables, which the store uses."""
    with psycopg.connect(server.url()) as db:
        db.execute(f"SET search_path = {two_users.schema_name}")  # type: ignore[arg-type]
        yield db


@pytest.mark.parametrize("table", USER_TABLES)
def test_a_query_that_names_no_user_sees_nothing(db: psycopg.Connection[tuple[int]], table: str) -> None:
    count = f"SELECT count(*) FROM {table}"
    assert db.execute(count).fetchall() == [(0,)]  # type: ignore[arg-type]
    db.execute("SET LOCAL memscope.all_users = 'on'")
    everyone = db.execute(count).fetchall()[0][0]  # type: ignore[arg-type]
    db.execute("SET LOCAL memscope.all_users = 'off'")
    db.execute(f"SET LOCAL memscope.user_id = '{user_id('bob')}'")  # type: ignore[arg-type]
    assert db.execute(count).fetchall()[0][0] * 2 == everyone  # type: ignore[arg-type]


def test_a_query_of_one_user_writes_nothing_of_another(db: psycopg.Connection[tuple[int]]) -> None:
    db.execute(f"SET LOCAL memscope.user_id = '{user_id('bob')}'")  # type: ignore[arg-type]
    assert db.execute("DELETE FROM record").rowcount == 1
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        db.execute("INSERT INTO tombstone VALUES (%s, 'a')", (user_id("alice"),))


async def test_the_receipts_of_compact_are_true_of_a_store_in_use(place: PostgresOptions) -> None:
    store = PostgresStore(place)
    for n in range(5):
        await store.append("alice", inserts(f"k{n}"))
        await store.forget(Select("alice", ids=frozenset({f"k{n}"})))
    assert (await store.compact()).physical == "pending"
    assert await ids(store) == []
    assert len(await store.tombstones("alice")) == 5
    await store.close()


@pytest.fixture
def logins(server: PostgresServer, two_users: PostgresOptions) -> Iterator[tuple[PostgresOptions, PostgresOptions]]:
    """An agent's login and a worker's: both may change rows, the worker belongs to the role for all users."""
    schema = two_users.schema_name
    server.sql(f"CREATE ROLE {schema}_all_users", "CREATE ROLE agent LOGIN",
               f"CREATE ROLE worker LOGIN IN ROLE {schema}_all_users")  # fmt: skip
    server.sql(f"GRANT USAGE ON SCHEMA {schema} TO agent, worker", database="memscope")
    rights = f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO agent, worker"
    server.sql(rights, database="memscope")
    yield tuple(replace(two_users, client=parse_location(server.url(role=role)).client) for role in ("agent", "worker"))  # type: ignore[misc]
    server.sql("DROP OWNED BY agent, worker", database="memscope")
    server.sql("DROP ROLE agent, worker", f"DROP ROLE {schema}_all_users")


async def test_a_login_outside_the_role_for_all_users_serves_one_user_at_a_time(
    logins: tuple[PostgresOptions, PostgresOptions],
) -> None:
    """docs/postgres.md lists the calls that are refused here."""
    agent, worker = map(PostgresStore, logins)
    await agent.append("alice", inserts("more"))
    assert await ids(agent) == ["a", "more"]
    assert len(await texts(agent, "Berlin")) == 1
    assert len(await agent.claim("consolidate", 1, 60.0, user="alice")) == 1
    assert (await agent.forget(Select("alice", ids=frozenset({"more"})))).turns == 1
    assert (await agent.stats("alice")).turns == 1
    over_all_users: list[Callable[[PostgresStore], Awaitable[object]]] = [
        lambda store: store.users(),
        lambda store: store.stats(),
        lambda store: store.claim("consolidate", 1, 60.0),
        lambda store: store.set_vector_space(VectorSpace("m", 2), replace=True),
        lambda store: store.adopt_secret(b"s" * 32),
    ]
    for call in over_all_users:
        with pytest.raises(StoreReadOnly):
            await call(agent)
        await call(worker)
    assert await worker.users() == ["alice", "bob"]
    await agent.close()
    await worker.close()
