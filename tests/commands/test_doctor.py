"""``memscope doctor``: findings, remedies, exit codes."""

from __future__ import annotations

import asyncio
import json
import os
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from memscope import AsyncMemoryScope, MemoryScope
from memscope.config import sections
from memscope.errors import ModelTimeout
from memscope.stores.part_files import PART_SUFFIX
from memscope.stores.sqlite import SQLiteStore
from memscope_cli.app import cli
from memscope_cli.commands import doctor as ward


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with MemoryScope(tmp_path / "memory.db", settings={}) as memory:
        memory.admin.status()
    return tmp_path / "memory.db"


@pytest.fixture
def examined(store):
    """Run doctor and return its exit code and its findings by check."""

    def examined(*args):
        done = CliRunner().invoke(cli, ["--store", str(store), "doctor", "--json", *args])
        found: dict[str, list[dict[str, str]]] = {}
        for finding in json.loads(done.stdout)["findings"]:
            found.setdefault(finding["check"], []).append(finding)
        return done.exit_code, found

    return examined


def add(store, *names, **more):
    with MemoryScope(store, settings={}) as memory:
        for name in names:
            memory.add_turns([{"role": "user", "content": "hello"}], user=name, **more)


def test_all_is_well(examined, store):
    add(store, "alice")
    code, found = examined()
    assert code == 0
    assert {finding["state"] for findings in found.values() for finding in findings} == {"ok"}
    assert {"versions", "sqlite", "settings", "plugins", "permissions", "disk", "store", "models", "work",
            "round trip"} <= found.keys()  # fmt: skip
    assert "forgotten and wiped" in found["round trip"][0]["said"]
    assert "waiting: 1 to consolidate" in found["work"][0]["said"]


def test_findings_are_one_per_line(store):
    done = CliRunner().invoke(cli, ["--store", str(store), "doctor"])
    assert all(line.startswith(("ok  ", "warn", "fail")) for line in done.stdout.splitlines())
    assert done.stderr == ""


def test_doctor_leaves_no_records(examined, store):
    add(store, "alice")
    examined()
    with MemoryScope(store, settings={}) as memory:
        assert memory.admin.status()["turns"] == 1
        assert memory.list(user=ward.DOCTOR_USER) == []


def test_an_unfinished_backup_is_named(examined, store):
    add(store, "alice")
    part = store.with_name(f"backup.db.0{PART_SUFFIX}")
    part.touch()
    _, found = examined()
    assert part.name in found["permissions"][-1]["said"]


@pytest.mark.skipif(os.name == "nt", reason="permissions")
def test_a_store_that_others_can_read(examined, store):
    add(store, "alice")
    store.chmod(0o644)
    code, found = examined()
    (finding,) = found["permissions"]
    assert (code, finding["state"], finding["mend"]) == (6, "warn", f"chmod 600 {store}")


@pytest.mark.parametrize(
    ("free", "state", "code"), [(600_000_000, "ok", 0), (200_000_000, "warn", 6), (1_000, "fail", 4)]
)
def test_a_full_disk(examined, monkeypatch, free, state, code):
    monkeypatch.setattr(ward.shutil, "disk_usage", lambda path: SimpleNamespace(free=free))
    found_code, found = examined()
    assert (found_code, found["disk"][0]["state"]) == (code, state)


def test_a_damaged_store(examined, store):
    store.write_bytes(b"no store " * 100)
    code, found = examined()
    (finding,) = found["store"]
    assert (code, finding["state"]) == (4, "fail")
    assert "nothing was changed" in finding["mend"]
    assert "round trip" not in found


def test_wrong_settings(examined, monkeypatch):
    monkeypatch.setenv("MEMSCOPE_STOER", "x")
    code, found = examined()
    assert (code, found["settings"][0]["mend"]) == (3, "did you mean 'MEMSCOPE_STORE'?")
    assert "versions" in found and "store" not in found


def test_keys_are_never_shown(examined, monkeypatch):
    monkeypatch.setenv("MEMSCOPE_CHAT__KEY", "sk-secret")
    monkeypatch.setenv("MEMSCOPE_CHAT__MODEL", "some-model")
    _, found = examined()
    assert "some-model" in found["settings"][0]["said"]
    assert "sk-secret" not in json.dumps(found)


def test_a_section_that_no_plugin_reads_is_named(examined, monkeypatch):
    monkeypatch.setattr(sections, "entry_points", lambda **_: ())
    monkeypatch.setenv("MEMSCOPE_ELASTICSEARCH__PASSWORD", "sk-secret")
    code, found = examined()
    assert (code, [finding["state"] for finding in found["plugins"]]) == (6, ["ok", "warn"])
    assert "'elasticsearch'" in found["plugins"][1]["said"] and "sk-secret" not in json.dumps(found)


def test_a_stores_own_findings_are_shown(examined, monkeypatch):
    async def examine(store):
        return [("warn", "the shelf is nearly full", "buy another")]

    monkeypatch.setattr(SQLiteStore, "examine", examine, raising=False)
    code, found = examined()
    assert code == 6 and found["store"][1]["mend"] == "buy another"


def test_users_whose_names_look_alike(examined, store):
    add(store, "Jos\u00e9", "Jose\u0301", "bob")
    code, found = examined()
    assert code == 6
    assert "\\xe9" in found["users"][0]["said"] and "bob" not in found["users"][0]["said"]


def test_parked_work(examined, store):
    async def fail():
        async with AsyncMemoryScope(store, settings={}) as memory:
            place = memory.admin.runtime.services.store
            for _ in range(5):
                for claim in await place.claim("consolidate", 10, 60):
                    await place.fail(claim, ModelTimeout.code, datetime(2000, 1, 1, tzinfo=UTC))

    add(store, "alice")
    asyncio.run(fail())
    code, found = examined()
    told = [finding for finding in found["work"] if finding["state"] == "warn"]
    assert code == 6
    assert "parked: 1 to consolidate" in told[-1]["said"] and "model_timeout" in told[-1]["said"]


def test_an_exception_in_a_check_is_a_finding(examined, monkeypatch):
    async def broken(exam):
        raise RuntimeError("with words")
        yield

    monkeypatch.setattr(ward, "CHECKS", (broken, *ward.CHECKS))
    code, found = examined()
    assert code == 1
    assert "RuntimeError" in found["broken"][0]["said"] and "with words" not in json.dumps(found)
    assert "round trip" in found


def test_a_store_that_does_not_find_fails_the_round_trip(examined, monkeypatch):
    async def nothing(self, *_, **__):
        return ()

    monkeypatch.setattr(AsyncMemoryScope, "retrieve", nothing)
    code, found = examined()
    assert (code, found["round trip"][0]["state"]) == (4, "fail")


def test_messenger_ids_are_not_card_numbers(examined, store):
    add(store, "4111111111111111", session="5500000000000004")
    assert examined()[1]["secrets"][0]["state"] == "ok"


def test_turns_that_may_hold_secrets_are_named_by_their_ids(examined, store):
    with MemoryScope(store, settings={}) as memory:
        turns = [{"role": "user", "content": "my card is 4111 1111 1111 1111", "id": "one"}]
        memory.add_turns([*turns, {"role": "user", "content": "I like tea.", "id": "two"}], user="alice b")
    code, found = examined()
    (finding,) = found["secrets"]
    assert (code, finding["state"]) == (6, "warn") and "4111" not in str(finding)
    assert "1 record" in finding["said"] and "card number" in finding["said"]
    assert f"memscope --store {store} forget --user 'alice b' --id one" in finding["mend"]
