"""The server goes, comes back, waits too long or refuses: nothing is lost or doubled, and every error is typed."""

from __future__ import annotations

import asyncio
import random
import secrets
import signal
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import count

import psycopg
import pytest

from memscope.errors import (
    ConfigError,
    InputError,
    LeaseLost,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreGone,
    StoreReadOnly,
    StoreTooNew,
    StoreUnavailable,
)
from memscope.records import ChangeSet, Select
from memscope.stores.local import Transaction
from memscope_postgres import PostgresOptions, PostgresStore, engine, parse_location
from memscope_postgres.failures import OutcomeUnknown
from memscope_testing.records import ids, inserts, observation
from stores.postgres.between import Forwarder
from stores.postgres.processes import texts

from servers.postgres import PostgresServer, free_port


@pytest.fixture
def between(server: PostgresServer) -> Iterator[Forwarder]:
    forwarder = Forwarder(server.port)
    yield forwarder
    forwarder.close()


@pytest.fixture
async def store(server: PostgresServer, place: PostgresOptions, between: Forwarder) -> AsyncIterator[PostgresStore]:
    """A store behind the forwarder."""
    options = parse_location(server.url(port=between.port))
    store = PostgresStore(replace(options, schema_name=place.schema_name, deadline_s=60.0))
    await store.append("alice", inserts("a"))
    yield store
    await store.close()


# ---- lost connections

COMMIT = b"COMMIT\0"  # the end of a message's text, which "READ COMMITTED" is not


@pytest.mark.parametrize("forwards_it", [True, False], ids=["answer", "message"])
@pytest.mark.parametrize("phase", [b"BEGIN ", b"known", b"INSERT INTO record", COMMIT])
async def test_a_connection_lost_in_any_phase_of_a_write_loses_and_doubles_nothing(
    store: PostgresStore, between: Forwarder, phase: bytes, forwards_it: bool
) -> None:
    """COMMIT is the one of which nobody knows at first whether the server did it; it is asked."""
    between.forwards_it = forwards_it
    for n in range(3):
        between.cut_on = phase if phase != b"known" else b"UNION ALL SELECT id, 0"
        result = await store.append("alice", inserts(f"k{n}"))
        assert result.outcomes == ("stored",)
    assert await ids(store) == ["a", "k0", "k1", "k2"]
    assert len(await texts(store, "Berlin")) == 1


@pytest.mark.parametrize("forwards_it", [True, False], ids=["answer", "message"])
@pytest.mark.parametrize("phase", [b"BEGIN ", b"INSERT INTO record", COMMIT])
async def test_a_connection_that_carries_nothing_any_more_is_given_up(
    server: PostgresServer, place: PostgresOptions, between: Forwarder, phase: bytes, forwards_it: bool
) -> None:
    """No end of the connection is told: the client stops waiting, the server ends the transaction and its locks."""
    client = parse_location(server.url(port=between.port)).client
    store = PostgresStore(replace(place, client=client, statement_timeout_s=1.0, deadline_s=60.0))
    patient = PostgresStore(place)
    await patient.append("alice", inserts("a"))

    async def add(key: str) -> tuple[str, ...]:
        while True:
            try:
                return (await store.append("alice", inserts(key))).outcomes
            except StoreBusy:
                await asyncio.sleep(0.1)

    assert await add("a") == ("duplicate",)
    between.swallows, between.forwards_it, between.cut_on = True, forwards_it, phase
    assert await add("b") == ("stored",)
    assert not between.cut_on
    assert await ids(patient) == ["a", "b"]
    await store.close()
    await patient.close()


async def test_a_group_that_was_committing_when_another_server_took_over_is_unknown(
    store: PostgresStore, between: Forwarder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other server may have given the transaction's id to another one; none of the group runs again."""
    connections, all_wait, take = count(), threading.Event(), store._engine._take
    monkeypatch.setattr(engine, "_timeline", lambda db: f"history {next(connections)}")
    monkeypatch.setattr(store._engine, "_take", lambda: (all_wait.wait(60), take())[1])
    between.cut_on = COMMIT
    keys = [f"k{n}" for n in range(6)]
    writes = [asyncio.create_task(store.append("alice", inserts(key))) for key in keys]
    while len(store._engine._waiting) < len(keys):
        await asyncio.sleep(0)
    all_wait.set()
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert [type(one) for one in results] == [OutcomeUnknown] * len(keys)
    assert await ids(store) == ["a", *keys]  # it was done, and the same ids may be given again
    assert {(await store.append("alice", inserts(key))).outcomes for key in keys} == {("duplicate",)}


@pytest.mark.parametrize("seed", range(2))
async def test_connections_lost_at_random_lose_and_double_nothing(
    store: PostgresStore, between: Forwarder, place: PostgresOptions, seed: int
) -> None:
    between.cut_rate, between.chance = 0.01, random.Random(seed)
    stored, unknown, forgotten = set[str](), set[str](), set[str]()

    async def say(n: int) -> None:
        for key in (f"{n}-{i}" for i in range(10)):
            try:
                await store.append("alice", inserts(key))
                stored.add(key)
                await texts(store, "Berlin")
                if key.endswith("5"):
                    await store.forget(Select("alice", ids=frozenset({key})))
                    forgotten.add(key)
            except StoreUnavailable:
                unknown.add(key)

    async def consolidate(lease_s: float) -> None:
        with suppress(StoreUnavailable, LeaseLost):
            for claim in await store.claim("consolidate", 5, lease_s):
                facts = [observation(secrets.token_hex(8), key, text=f"fact of {key}") for key in claim.items]
                await store.complete(claim, ChangeSet(new=tuple(facts), done=claim.items))
        await asyncio.sleep(0.05)

    async def consolidate_meanwhile() -> None:
        for _ in range(15):
            await consolidate(0.3)

    await asyncio.gather(*(say(n) for n in range(3)), consolidate_meanwhile())
    between.cut_rate = 0.0
    while await ids(store, pending="consolidate"):  # what a lost claim still holds for a moment
        await consolidate(60)
    straight = PostgresStore(place)
    kept = set(await ids(straight, kinds=frozenset({"turn"}))) - {"a"}
    facts = [
        one.text async for page in straight.scan(Select("alice", kinds=frozenset({"observation"}))) for one in page
    ]
    assert stored - forgotten <= kept | unknown
    assert kept <= (stored | unknown) - forgotten
    assert len(stored) > 15
    assert len(facts) == len(set(facts)) > 5
    await straight.close()


async def test_a_turn_without_a_key_of_its_own_is_not_doubled_by_a_lost_answer(
    store: PostgresStore, between: Forwarder
) -> None:
    from memscope import AsyncMemoryScope

    memory = AsyncMemoryScope(store)
    between.cut_on = COMMIT
    await memory.add_turns([{"role": "user", "content": "I like zebras."}], user="bob")
    assert len(await ids(store, "bob")) == 1
    await memory.close()


async def test_a_server_that_stays_away_is_unavailable_and_a_patient_call_waits_for_it(
    server: PostgresServer, place: PostgresOptions
) -> None:
    impatient, patient = PostgresStore(replace(place, deadline_s=0.5)), PostgresStore(replace(place, deadline_s=60.0))
    await impatient.append("alice", inserts("a"))
    await patient.open()
    server.stop(signal.SIGQUIT)
    try:
        with pytest.raises(StoreUnavailable) as raised:
            await impatient.append("alice", inserts("b"))
        assert raised.value.retryable
        waiting = asyncio.create_task(patient.append("alice", inserts("c")))
        await asyncio.sleep(0.2)
    finally:
        server.start()
    assert (await waiting).outcomes == ("stored",)
    stored, shown = list[str](), set[str]()
    while not shown:  # half a second may pass before a busy server takes a connection again
        with suppress(StoreUnavailable):
            stored = await ids(impatient)
            shown = await texts(impatient, "Berlin")
    assert (stored, len(shown)) == (["a", "c"], 1)
    await impatient.close()
    await patient.close()


async def test_all_connections_ended_by_the_server_cost_no_error(server: PostgresServer, store: PostgresStore) -> None:
    for n in range(3):
        await asyncio.gather(*(texts(store, "Berlin", user) for user in ("alice", "bob", "carol")))
        server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'memscope'")
        assert (await store.append("alice", inserts(f"k{n}"))).outcomes == ("stored",)


# ---- waits and refusals


async def test_a_lock_that_is_held_ends_in_busy(server: PostgresServer, place: PostgresOptions) -> None:
    store = PostgresStore(replace(place, statement_timeout_s=3.0))
    await store.append("alice", inserts("a"))
    with psycopg.connect(server.url(role="admin")) as other:
        other.execute(f"SELECT 1 FROM {place.schema_name}.users FOR UPDATE")  # type: ignore[arg-type]
        with pytest.raises(StoreBusy) as raised:
            await store.append("alice", inserts("b"))
        assert raised.value.retryable
        assert await ids(store) == ["a"]  # a reader waits for nobody
        assert await store.claim("consolidate", 1, 60.0) == []  # a claim over all users passes over the user
        other.rollback()
    assert len(await store.claim("consolidate", 1, 60.0)) == 1
    await store.append("alice", inserts("b"))
    await store.close()


async def test_a_deadlock_is_tried_again(server: PostgresServer, place: PostgresOptions) -> None:
    """Another client locks bob and then alice, the store alice and then bob."""
    store, tries, lock = PostgresStore(place), list[int](), f"SELECT 1 FROM {place.schema_name}.users WHERE name = %s"
    waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND pid = {}"
    for user in ("alice", "bob"):
        await store.append(user, inserts("a", user=user))
    with psycopg.connect(server.url(role="admin"), options="-c deadlock_timeout=1min") as other:
        other.execute(f"{lock} FOR UPDATE", ("bob",))  # type: ignore[arg-type]
        blocked = threading.Thread(target=lambda: (other.execute(f"{lock} FOR UPDATE", ("alice",)), other.rollback()))  # type: ignore[arg-type]

        def task(tx: Transaction) -> int:
            if tries:
                blocked.join()  # a second try could take alice before the client that waits for her wakes
            tries.append(tx.user("alice").number)
            if len(tries) == 1:
                blocked.start()
                while blocked.is_alive() and server.sql(waits.format(other.info.backend_pid)).strip() == "0":
                    time.sleep(0.05)
            return tx.user("bob").number

        assert await store._write(task) == 1
    assert tries == [1, 1]
    await store.close()


@pytest.mark.parametrize(
    ("code", "times", "kind"),
    [
        ("40001", 3, None),
        ("40P01", 3, None),
        ("40001", 1000, StoreBusy),
        ("53100", 1, StoreFull),
        ("57014", 1, StoreBusy),
        ("XX000", 1, StoreError),
        ("XX001", 1, StoreCorrupt),
        ("58030", 1, StoreError),
    ],
)
async def test_a_statement_that_the_server_gives_up_is_tried_again_or_refused_with_its_kind(
    server: PostgresServer, place: PostgresOptions, code: str, times: int, kind: type[Exception] | None
) -> None:
    store, name = PostgresStore(place), place.schema_name
    await store.append("alice", inserts("a"))
    fails = f"IF nextval('{name}.tries') <= {times} THEN RAISE EXCEPTION 'no' USING ERRCODE = '{code}'; END IF"
    server.sql(
        f"CREATE SEQUENCE {name}.tries",  # which a rollback does not turn back
        f"GRANT ALL ON SEQUENCE {name}.tries TO memscope",
        f"CREATE FUNCTION {name}.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {fails}; RETURN NULL; END $$",
        f"CREATE TRIGGER fail AFTER INSERT ON {name}.record EXECUTE FUNCTION {name}.fail()",
        database="memscope",
    )
    if kind is not None:
        with pytest.raises(kind) as raised:
            await store.append("alice", inserts("b"))
        assert type(raised.value) is kind
        server.sql(f"DROP TRIGGER fail ON {name}.record", database="memscope")
    assert (await store.append("alice", inserts("b"))).outcomes == ("stored",)
    assert await ids(store) == ["a", "b"]
    await store.close()


@pytest.mark.parametrize(
    ("address", "kind", "part"),
    [
        ("postgresql://nobody@127.0.0.1:{port}/memscope?deadline_s=60", ConfigError, "refuses the login"),
        ("postgresql://memscope@127.0.0.1:{port}/missing?deadline_s=60", ConfigError, "no database"),
        (
            "postgresql://memscope:hush@127.0.0.1:{closed}/memscope?deadline_s=0.3",
            StoreUnavailable,
            "cannot be reached",
        ),
        (
            "postgresql://memscope:hush@127.0.0.1:{port}/memscope?sslmode=require&deadline_s=60",
            ConfigError,
            "refuses the login",
        ),
    ],
)
async def test_no_address_that_leads_nowhere_shows_a_password(
    server: PostgresServer, address: str, kind: type[Exception], part: str
) -> None:
    store = PostgresStore(address.format(port=server.port, closed=free_port()))
    began = time.monotonic()
    with pytest.raises(kind, match=part) as raised:
        await store.open()
    assert "hush" not in f"{raised.value!r} {raised.value} {store.options!r}"
    assert time.monotonic() - began < 30
    await store.close()


async def test_too_many_connections_are_busy(server: PostgresServer, place: PostgresOptions) -> None:
    left = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'memscope'"  # an ended connection stays for a moment
    while server.sql(left).strip() != "0":
        await asyncio.sleep(0.05)
    server.sql("ALTER ROLE memscope CONNECTION LIMIT 1")
    store = PostgresStore(replace(place, deadline_s=0.3))
    try:
        with psycopg.connect(server.url()), pytest.raises(StoreBusy):
            await store.open()
    finally:
        server.sql("ALTER ROLE memscope CONNECTION LIMIT -1")
        await store.close()


async def test_a_schema_of_a_newer_version_or_of_another_program_is_refused(
    server: PostgresServer, place: PostgresOptions
) -> None:
    store = PostgresStore(place)
    await store.append("alice", inserts("a"))
    for statement, kind in (
        ("UPDATE {}.meta SET value = '99' WHERE key = 'schema'", StoreTooNew),
        ("DELETE FROM {}.meta WHERE key = 'schema'", Exception),
        ("DROP TABLE {}.record", StoreGone),
    ):
        server.sql(statement.format(place.schema_name), database="memscope")
        other = store if kind is StoreGone else PostgresStore(place)
        with pytest.raises(kind):
            await other.append("alice", inserts("b"))
        if other is not store:
            await other.close()
    await store.close()


async def test_a_login_without_rights_is_refused(server: PostgresServer, place: PostgresOptions) -> None:
    store = PostgresStore(place)
    await store.append("alice", inserts("a"))
    await store.close()
    server.sql("REVOKE ALL ON ALL TABLES IN SCHEMA " + place.schema_name + " FROM memscope", database="memscope")
    store = PostgresStore(place)
    with pytest.raises(StoreReadOnly):
        await store.append("alice", inserts("b"))
    await store.close()


async def test_a_condition_with_a_nul_finds_nothing_or_is_refused_as_input(place: PostgresOptions) -> None:
    store = PostgresStore(place)
    await store.append("alice", inserts("a"))
    assert await ids(store, ids=frozenset({"a\0"})) == []
    assert (await store.fetch("alice", ["a\0", "a"])).records.keys() == {"a"}
    with pytest.raises(InputError):
        await ids(store, name="a\0")
    await store.close()
