"""Checks of doctor on models and memories: each fault has its finding and its remedy."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner

from memscope import MemoryScope
from memscope.records import ChangeSet, Insight, Observation, Scope, Supersession
from memscope.sync import loop_thread
from memscope_cli.app import cli

from servers.faults import FaultServer
from servers.faults import Plan as Faults

NOW = datetime.now(UTC)


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with MemoryScope(tmp_path / "memory.db", settings={}) as memory:
        memory.admin.status()
    return tmp_path / "memory.db"


@pytest.fixture
def examined(store):
    """Run doctor and return its exit code and the findings of a check: all, or those that are not ok."""

    def examined(check, *states):
        done = CliRunner().invoke(cli, ["--store", str(store), "doctor", "--json"])
        told = [one for one in json.loads(done.stdout)["findings"] if one["check"] == check]
        return done.exit_code, [one for one in told if not states or one["state"] in states]

    return examined


@pytest.fixture
def models(monkeypatch):
    """Configure all three models at a fault server; ``models(**settings)`` changes more settings."""

    with FaultServer(require_key="sk-cnry") as server:
        for section in ("CHAT", "EMBEDDING", "RERANK"):
            for name, value in {"BASE_URL": server.base_url, "MODEL": "test-chat", "KEY": "sk-cnry",
                                "FIRST_PAUSE_S": "0.01"}.items():  # fmt: skip
                monkeypatch.setenv(f"MEMSCOPE_{section}__{name}", value)
        yield server


def test_models_that_answer(examined, models):
    code, found = examined("models")
    assert code == 0, found
    said = [one["said"] for one in found]
    assert [line.split()[0] for line in said] == ["chat", "embedding", "rerank"]
    assert all(" answers in " in line for line in said) and "vectors of 256" in said[1]


def test_missing_models_are_no_problem(examined):
    code, found = examined("models")
    assert code == 0 and "chat none" in found[0]["said"]


def test_a_wrong_key(examined, models, monkeypatch):
    monkeypatch.setenv("MEMSCOPE_CHAT__KEY", "sk-wrong")
    code, (found,) = examined("models", "fail")
    assert code == 5 and "401" in found["said"] and "MEMSCOPE_CHAT__KEY" in found["mend"]
    assert "sk-" not in json.dumps(found)


def test_a_key_that_is_not_set_is_named(examined, monkeypatch):
    monkeypatch.delenv("DASHSCOPE_API_KEY", raising=False)
    monkeypatch.setenv("MEMSCOPE_CHAT__PRESET", "dashscope")
    monkeypatch.setenv("MEMSCOPE_CHAT__MODEL", "qwen-plus")
    code, (found,) = examined("models", "fail")
    assert code == 5 and "no key is set for https://dashscope.aliyuncs.com" in found["said"]
    assert re.findall(r"\w+_KEY", found["mend"]) == ["MEMSCOPE_CHAT__KEY", "DASHSCOPE_API_KEY"]


def test_a_wrong_name(examined, models, monkeypatch):
    monkeypatch.setenv("MEMSCOPE_CHAT__MODEL", "test-chatt")
    models.plan = Faults([{"fault": "server_error", "status": 404, "endpoint": "chat"}])
    code, (found,) = examined("models", "fail")
    assert code == 5 and "no model of that name (did you mean 'test-chat'?)" in found["said"]
    assert found["mend"] == "check chat.model and chat.base_url"


def test_a_server_that_is_down(examined, monkeypatch):
    monkeypatch.setenv("MEMSCOPE_EMBEDDING__BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("MEMSCOPE_EMBEDDING__MODEL", "m")
    monkeypatch.setenv("MEMSCOPE_EMBEDDING__FIRST_PAUSE_S", "0.01")
    code, (found,) = examined("models", "fail")
    assert code == 5 and "embedding.base_url" in found["mend"]


def test_an_html_page_instead_of_a_reply(examined, models):
    models.plan = Faults([{"fault": "html", "endpoint": "rerank"}])
    code, (found,) = examined("models", "fail")
    assert code == 5 and found["said"].startswith("rerank test-chat does not answer")


def test_an_embedder_that_was_changed(examined, models, store, monkeypatch):
    with MemoryScope(store) as memory:
        memory.add_turns([{"role": "user", "content": "hello"}], user="alice")
        memory.flush()
    assert examined("models")[0] == 0
    monkeypatch.setenv("MEMSCOPE_EMBEDDING__MODEL", "test-embed")
    code, (found,) = examined("models", "fail")
    assert (code, found["mend"]) == (5, f"memscope --store {store} reembed")
    for name in [name for name in os.environ if name.startswith("MEMSCOPE_EMBEDDING")]:
        monkeypatch.delenv(name)
    code, (found,) = examined("models", "warn")
    assert code == 6 and "no embedder is set" in found["said"]


def test_turns_from_the_future(examined, store):
    with MemoryScope(store, settings={}) as memory:
        later = NOW + timedelta(days=3)
        memory.add_turns([{"role": "user", "content": "hello", "time": later}], user="alice")
    code, (found,) = examined("clock", "warn")
    assert code == 6 and "turns dated in the future, of 'alice'" in found["said"]


def test_a_file_from_the_future(examined, store):
    with MemoryScope(store, settings={}) as memory:
        memory.add_turns([{"role": "user", "content": "hello"}], user="alice")
    later = (NOW + timedelta(days=1)).timestamp()
    os.utime(store, (later, later))
    _, (found,) = examined("clock", "warn")
    assert found["mend"].startswith("set the clock")


def applied(store, *plans):
    with MemoryScope(store, settings={}) as memory:
        (key,) = memory.add_turns([{"role": "user", "content": "I moved to Berlin."}], user="alice").keys
        for plan in plans:
            loop_thread.run(memory.admin.runtime.services.store.apply("alice", plan(key)))


def fact(id, text, key, **more):
    return Observation(id=id, scope=Scope("alice"), text=text, sources=(key,), said=NOW, recorded=NOW, **more)


def test_duplicate_memories(examined, store):
    texts = {"a": "The user moved to Berlin.", "b": "the user moved to BERLIN", "c": "The user moved to Bern."}
    applied(store, lambda key: ChangeSet(new=tuple(fact(id, text, key) for id, text in texts.items())))
    code, (found,) = examined("memories", "warn")
    assert code == 6 and "1 memory duplicated" in found["said"] and found["mend"].endswith("--user alice --id b")


def test_expired_memories(examined, store):
    applied(store, lambda key: ChangeSet(new=(fact("a", "A thing.", key, expires=NOW - timedelta(days=1)),)))
    _, (found,) = examined("memories", "warn")
    assert found["mend"] == f"memscope --store {store} sweep --user alice"
    done = CliRunner().invoke(cli, ["--store", str(store), "sweep", "--user", "alice"])
    assert (done.exit_code, done.stdout) == (0, "1 memory removed\n")
    assert examined("memories")[0] == 0


def test_insights_on_superseded_facts(examined, store):
    insight = Insight(id="i", scope=Scope("alice"), text="Lives in Berlin.", sources=("a",), said=NOW, recorded=NOW,
                      subject="home")  # fmt: skip
    applied(
        store,
        lambda key: ChangeSet(new=(fact("a", "Moved to Berlin.", key), fact("b", "Moved to Bern.", key))),
        lambda key: ChangeSet(new=(insight,)),
        lambda key: ChangeSet(closed=(Supersession("a", "b", NOW, NOW),)),
    )
    code, (found,) = examined("memories", "warn")
    assert code == 6 and found["mend"].endswith(f"memscope --store {store} reflect --user alice")


def test_the_remedy_for_parked_work_depends_on_its_error(examined, store):
    with MemoryScope(store, settings={}) as memory:
        memory.add_turns([{"role": "user", "content": "hello"}], user="alice")
        place = memory.admin.runtime.services.store

        async def park():
            for _ in range(5):
                for claim in await place.claim("consolidate", 10, 60):
                    await place.fail(claim, "model_reply", datetime(2000, 1, 1, tzinfo=UTC))

        loop_thread.run(park())
    _, (found,) = examined("work", "warn")
    mend = f"try chat.structured: json_object, or another model, then: memscope --store {store} unpark"
    assert found["mend"] == mend
    done = CliRunner().invoke(cli, ["--store", str(store), "unpark"])
    assert (done.exit_code, done.stdout) == (0, "1 batch pending again\n")
