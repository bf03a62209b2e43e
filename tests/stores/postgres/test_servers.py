"""Servers of their own: a standby that takes over, a disk that is full, TLS; a pooler before one."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from memscope.errors import ConfigError, StoreFull, StoreReadOnly, StoreUnavailable
from memscope.records import Select, TurnInsert
from memscope_postgres import PostgresOptions, PostgresStore, engine, parse_location
from memscope_testing.records import ids, inserts, turn
from stores.postgres.processes import texts

from servers.postgres import Missing, PostgresServer, free_port


@contextmanager
def started(**settings: str) -> Iterator[PostgresServer]:
    try:
        server = PostgresServer(**settings).__enter__()
    except Missing as missing:
        pytest.skip(f"no PostgreSQL: {missing}")
    with server:
        yield server


@contextmanager
def standby(primary: PostgresServer) -> Iterator[PostgresServer]:
    """A copy that follows the primary; a commit is acknowledged when both have it."""
    follower = PostgresServer()
    try:
        follower.follow(primary)
        primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
        yield follower
    finally:
        follower.__exit__(None, None, None)


def catch_up(follower: PostgresServer, primary: PostgresServer) -> None:
    """Wait until the standby shows what it has: it acknowledges a commit before it reads it into its tables."""
    last, deadline = primary.sql("SELECT pg_current_wal_lsn()").strip(), time.monotonic() + 60
    while follower.sql(f"SELECT pg_last_wal_replay_lsn() >= '{last}'").strip() != "t":
        assert time.monotonic() < deadline, "the standby does not follow"
        time.sleep(0.02)


async def test_a_crash_begins_another_history() -> None:
    """After it, ids of transactions that did not reach the disk are given again: they tell nothing of a commit."""
    with started() as server:
        store = PostgresStore(f"{server.url()}?deadline_s=30")

        async def history() -> str:
            return await store._engine.run(engine._timeline)

        first = await history()
        assert await history() == first
        server.stop(signal.SIGQUIT)
        server.start()
        second = await history()
        assert second != first
        pid = await store._engine.run(lambda db: db.execute("SELECT pg_backend_pid()").fetchall()[0][0])
        os.kill(pid, signal.SIGKILL)  # the server ends all others, and recovers without a new start
        assert await history() not in (first, second)
        await store.close()


async def test_a_standby_refuses_writes_and_takes_over_without_loss() -> None:
    with started() as primary, standby(primary) as follower:
        ports = f"127.0.0.1:{primary.port},127.0.0.1:{follower.port}"
        both = f"postgresql://memscope@{ports}/memscope?target_session_attrs=read-write&deadline_s=60"
        store, stored = PostgresStore(both), list[str]()
        await store.append("alice", inserts("a"))
        await asyncio.to_thread(catch_up, follower, primary)
        reader = PostgresStore(follower.url())
        with pytest.raises(StoreReadOnly, match="standby"):
            await reader.append("alice", inserts("b"))
        await reader.close()

        async def say(n: int) -> None:
            for key in (f"{n}-{i}" for i in range(30)):
                while key not in stored:
                    with suppress(StoreUnavailable):  # nobody can say whether it was done: an id is stored once
                        await store.append(f"user-{n}", inserts(key, user=f"user-{n}"))
                        stored.append(key)

        talk = asyncio.gather(*(say(n) for n in range(4)))
        while len(stored) < 40:
            await asyncio.sleep(0.005)
        await asyncio.to_thread(primary.stop, signal.SIGQUIT)
        follower.sql("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_promote()")
        await talk
        kept = [await ids(store, f"user-{n}") for n in range(4)]
        assert kept == [[f"{n}-{i}" for i in range(30)] for n in range(4)]
        assert await ids(store) == ["a"]
        await store.close()


@contextmanager
def disk(server: PostgresServer) -> Iterator[Path]:
    """A file system of 24 MB that the server's user owns."""
    folder = server.folder / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a file system")
    try:
        server.own(folder)
        yield folder
    finally:
        server.stop(signal.SIGQUIT)
        subprocess.run(["umount", str(folder)], check=True)


async def test_a_full_disk_is_told_and_what_was_acknowledged_stays() -> None:
    with started() as server, disk(server) as folder:
        place, filler = folder / "small", folder / "filler"
        filler.write_bytes(bytes(6 << 20))
        place.mkdir()
        server.own(place)
        server.sql(f"CREATE TABLESPACE small LOCATION '{place}'")
        server.sql("CREATE DATABASE small OWNER memscope TABLESPACE small TEMPLATE template0")
        store, keys = PostgresStore(server.url(database="small")), list[str]()
        with pytest.raises(StoreFull):
            for n in range(1000):
                given = [TurnInsert(turn(f"{n}-{i}", f"word{n * i} and more " * 400)) for i in range(20)]
                await store.append("alice", given)
                keys += [one.turn.key for one in given]
        assert await ids(store) == keys != []
        filler.unlink()
        await store.append("alice", inserts("more"))
        assert await ids(store) == [*keys, "more"]
        await store.close()


@pytest.fixture
def certificates(tmp_path: Path) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl")
    for name in ("server", "other"):
        key, certificate = tmp_path / f"{name}.key", tmp_path / f"{name}.crt"
        made = ["-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
        command = ["openssl", "req", "-x509", "-days", "2", *made, "-keyout", str(key), "-out", str(certificate)]
        subprocess.run(command, check=True, capture_output=True)
    return tmp_path


async def test_tls_is_used_and_a_foreign_certificate_refused(certificates: Path) -> None:
    with started() as server:
        for name in ("server.key", "server.crt"):
            copied = shutil.copy(certificates / name, server.data / name)
            Path(copied).chmod(0o600)
            server.own(Path(copied))
        server.sql("ALTER SYSTEM SET ssl = 'on'", "SELECT pg_reload_conf()")
        verified = f"{server.url()}?sslmode=verify-full&sslrootcert={certificates}"
        store = PostgresStore(f"{verified}/server.crt")
        await store.append("alice", inserts("a"))
        ours = "FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'memscope'"
        assert server.sql(f"SELECT bool_and(ssl) {ours}").strip() == "t"
        await store.close()
        with pytest.raises(ConfigError):
            await PostgresStore(f"{verified}/other.crt").open()


# ---- a pooler


@pytest.fixture
def pooler(server: PostgresServer) -> Iterator[int]:
    """PgBouncer in transaction mode, with fewer connections than the store."""
    program = shutil.which("pgbouncer")
    if program is None:
        pytest.skip("no PgBouncer (Debian: apt-get install pgbouncer)")
    port = free_port()
    config = server.folder / "pgbouncer.ini"
    config.write_text(
        f"[databases]\nmemscope = host=127.0.0.1 port={server.port} user=memscope\n"
        "[pgbouncer]\nlisten_addr = 127.0.0.1\n"
        f"listen_port = {port}\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 3\nunix_socket_dir =\n"
        "ignore_startup_parameters = extra_float_digits\n"
    )
    log = (server.folder / "pgbouncer.log").open("wb")
    started = subprocess.Popen([program, str(config)], stdout=log, stderr=log, **server.as_user())
    try:
        limit = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(server.url(port=port)).close()
                break
            except psycopg.OperationalError:
                assert time.monotonic() < limit, (server.folder / "pgbouncer.log").read_text()
                time.sleep(0.05)
        yield port
    finally:
        started.terminate()
        started.wait(60)
        log.close()


async def test_a_pooler_of_transactions_serves(server: PostgresServer, place: PostgresOptions, pooler: int) -> None:
    options = replace(parse_location(server.url(port=pooler)), schema_name=place.schema_name)
    store = PostgresStore(options)
    users = [f"user-{n}" for n in range(20)]
    for n in range(4):
        await asyncio.gather(*(store.append(user, inserts(f"k{n}", user=user)) for user in users))
        assert [len(await texts(store, "Berlin", user)) for user in users] == [1] * 20
    for user in users:
        assert await ids(store, user) == ["k0", "k1", "k2", "k3"]
        await store.forget(Select(user, ids=frozenset({"k0"})))
    assert (await store.stats()).turns == 60
    assert (await store.stats()).details["prepared_statements"] is False
    await store.compact()
    await store.close()
