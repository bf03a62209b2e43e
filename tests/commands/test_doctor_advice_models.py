"""The advice of doctor about models and their work: after following it, the finding is gone."""

from __future__ import annotations

import asyncio
import os
import re
from datetime import UTC, datetime

import pytest

from examining import carry_out, examined, isolate, make_store, setenv
from memscope import AsyncMemoryScope, MemoryScope
from memscope.jobs import costs
from memscope_cli.commands.doctor import checks as ward

from servers.faults import FaultServer
from servers.faults import Plan as Faults


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    return isolate(tmp_path, monkeypatch)


@pytest.fixture
def store(folder):
    return make_store(folder)


@pytest.fixture
def server(monkeypatch):
    nothing_new = {"in": "user", "match": '"by":', "reply": {"turns": [{"turn": 1, "level": 0}], "facts": []}}
    with FaultServer(script=[nothing_new], require_key="sk-cnry") as server:
        setenv(monkeypatch, {"MEMSCOPE_CHAT__BASE_URL": server.base_url, "MEMSCOPE_CHAT__MODEL": "test-chat",
                             "MEMSCOPE_CHAT__FIRST_PAUSE_S": "0.01", "MEMSCOPE_CHAT__KEY": "sk-cnry"})  # fmt: skip
        yield server


def test_the_key_variable_of_a_preset_is_named_if_it_is_used(monkeypatch):
    setenv(monkeypatch, {"MEMSCOPE_CHAT__PRESET": "openai", "MEMSCOPE_CHAT__MODEL": "test-chat"})
    with FaultServer(require_key="sk-cnry") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        (one,) = examined(check="models")
        assert re.findall(r"\w+_KEY", one["mend"]) == ["MEMSCOPE_CHAT__KEY"]
        monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong")
        (one,) = examined(check="models")
        assert re.findall(r"\w+_KEY", one["mend"]) == ["MEMSCOPE_CHAT__KEY", "OPENAI_API_KEY"]
        monkeypatch.setenv("OPENAI_API_KEY", "sk-cnry")
        assert examined(check="models") == []


def test_a_key_is_set_by_the_variable_that_is_named(server, monkeypatch):
    monkeypatch.setenv("MEMSCOPE_CHAT__KEY", "sk-wrong")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-cnry")  # must not be sent to this address
    (one,) = examined(check="models")
    assert one["mend"] == "set chat.key, or MEMSCOPE_CHAT__KEY"
    monkeypatch.setenv("MEMSCOPE_CHAT__KEY", "sk-cnry")
    assert examined() == []


@pytest.mark.parametrize("section", ["chat", "embedding", "rerank"])
def test_the_deadline_that_was_exceeded_is_the_one_to_raise(server, monkeypatch, section):
    route = {"embedding": "embeddings"}.get(section, section)
    interval = 0.01 if section == "rerank" else 0.001  # its response is short but must take longer than the deadline
    server.plan = Faults([{"fault": "drip", "interval": interval, "endpoint": route}])
    monkeypatch.setattr("memscope_cli.commands.doctor.checks.SLOW_MS", dict.fromkeys(ward.SLOW_MS, 60_000))
    monkeypatch.setattr("memscope_cli.commands.doctor.checks.ANSWER_DEADLINE_S", 60.0)
    setting = {"chat": "deadline_s"}.get(section, "query_deadline_s")
    for name in ("BASE_URL", "MODEL", "KEY"):
        monkeypatch.setenv(f"MEMSCOPE_{section.upper()}__{name}", os.environ[f"MEMSCOPE_CHAT__{name}"])
    variable = f"MEMSCOPE_{section}__{setting}".upper()
    monkeypatch.setenv(variable, "0.2")
    (one,) = examined(check="models")
    assert f"raise {section}.{setting}" in one["mend"]
    monkeypatch.setenv(variable, "50")
    assert examined() == []


def test_a_model_that_answers_late_is_not_helped_by_a_longer_deadline(server, monkeypatch):
    monkeypatch.setattr("memscope_cli.commands.doctor.checks.SLOW_MS", {"chat": -1})
    (one,) = examined(check="models")
    assert (one["state"], one["mend"]) == ("warn", "take a faster model")


def test_an_exhausted_quota_is_not_worth_waiting_for(server):
    server.plan = Faults([{"fault": "server_error", "status": 429, "code": "insufficient_quota"}])
    (one,) = examined(check="models")
    assert "quota" in one["mend"]


def test_vectors_of_another_model_are_recomputed(server, store, monkeypatch):
    for name in ("BASE_URL", "KEY"):
        monkeypatch.setenv(f"MEMSCOPE_EMBEDDING__{name}", os.environ[f"MEMSCOPE_CHAT__{name}"])
    monkeypatch.setenv("MEMSCOPE_EMBEDDING__MODEL", "test-chat")
    with MemoryScope(store) as memory:
        memory.add_turns([{"role": "user", "content": "hello"}], user="alice b")
        memory.flush()
    assert examined() == []
    monkeypatch.setenv("MEMSCOPE_EMBEDDING__MODEL", "test-embed")
    (one,) = examined(check="models")
    carry_out(one["mend"])
    assert examined() == []


def test_an_embedder_is_set_again_where_the_store_has_vectors(server, store, monkeypatch):
    embedder = {f"MEMSCOPE_EMBEDDING__{name}": os.environ[f"MEMSCOPE_CHAT__{name}"] for name in ("BASE_URL", "KEY")}
    setenv(monkeypatch, {**embedder, "MEMSCOPE_EMBEDDING__MODEL": "test-embed"})
    with MemoryScope(store) as memory:
        memory.add_turns([{"role": "user", "content": "hello"}], user="alice b")
        memory.flush()
    setenv(monkeypatch, dict.fromkeys([*embedder, "MEMSCOPE_EMBEDDING__MODEL"]))
    (one,) = examined(check="models")
    assert "set embedding" in one["mend"]
    setenv(monkeypatch, {**embedder, "MEMSCOPE_EMBEDDING__MODEL": "test-embed"})
    assert examined() == []


#: A fault of the server, the advice, and the settings after following it.
FAULTS = [
    ({"fault": "server_error", "status": 404}, "check chat.model and chat.base_url",
     {"MEMSCOPE_CHAT__MODEL": "test-embed"}),
    ({"fault": "rate_limit", "retry_after": 0}, "wait, or lower chat.concurrency", {"MEMSCOPE_CHAT__CONCURRENCY": "1"}),
    ({"fault": "no_choices"}, "is this a chat model?",
     {"MEMSCOPE_CHAT__MODEL": "test-embed"}),
]  # fmt: skip


@pytest.mark.parametrize(("fault", "advice", "right"), FAULTS, ids=[fault["fault"] for fault, *_ in FAULTS])
def test_following_the_advice_fixes_what_the_server_refused(server, monkeypatch, fault, advice, right):
    server.plan = Faults([{**fault, "endpoint": "chat"}])
    (one,) = examined(check="models")
    assert one["mend"] == advice
    setenv(monkeypatch, right)
    server.plan = Faults([])
    assert examined() == []


def test_a_server_that_is_down_is_reached_at_another_address(server, monkeypatch):
    monkeypatch.setenv("MEMSCOPE_CHAT__BASE_URL", "http://127.0.0.1:9/v1")
    (one,) = examined(check="models")
    assert "chat.base_url" in one["mend"]
    monkeypatch.setenv("MEMSCOPE_CHAT__BASE_URL", server.base_url)
    assert examined() == []


@pytest.mark.parametrize("fault", ["nan", "zero", "missing"])
def test_a_model_without_vectors_is_replaced_by_an_embedding_model(server, monkeypatch, fault):
    for name in ("BASE_URL", "KEY"):
        monkeypatch.setenv(f"MEMSCOPE_EMBEDDING__{name}", os.environ[f"MEMSCOPE_CHAT__{name}"])
    setenv(monkeypatch, {"MEMSCOPE_EMBEDDING__MODEL": "a-chat-model", "MEMSCOPE_EMBEDDING__ATTEMPTS": "1"})
    server.plan = Faults([{"fault": fault, "endpoint": "embeddings"}])
    (one,) = examined(check="models")
    assert "embedding.model" in one["mend"]
    monkeypatch.setenv("MEMSCOPE_EMBEDDING__MODEL", "test-embed")
    server.plan = Faults([])
    assert examined() == []


# --------------------------------------------------------------------------------------------------------------- work


def park(store, code):
    """Fail the consolidation of the store's turns until they are parked."""

    async def fail():
        async with AsyncMemoryScope(store, settings={}) as memory:
            place = memory.admin.runtime.services.store
            for _ in range(5):
                for claim in await place.claim("consolidate", 10, 60):
                    await place.fail(claim, code, datetime(2000, 1, 1, tzinfo=UTC))

    asyncio.run(fail())


@pytest.mark.parametrize(
    ("code", "advice", "right"),
    [
        ("model_reply", "try chat.structured: json_object, or another model", {"CHAT__STRUCTURED": "json_object"}),
        ("model_reply_cut", "raise max_tokens in chat.parameters", {"CHAT__PARAMETERS": '{"max_tokens": 4000}'}),
        ("model_timeout", "raise chat.deadline_s, or take a faster model", {"CHAT__DEADLINE_S": "120"}),
        ("model_rejected", "check chat.model and chat.base_url", {}),
        ("model_unavailable", "check chat.base_url, and that the server is up", {}),
        ("model_rate_limited", "wait, or lower chat.concurrency", {"CHAT__CONCURRENCY": "1"}),
        ("input", "fix what the error says, usually in chat of the settings", {}),
    ],
)
def test_parked_work_is_done_once_its_error_is_fixed(server, store, monkeypatch, code, advice, right):
    park(store, code)
    (one,) = examined(check="work")
    mended, _, command = one["mend"].partition(", then: ")
    assert mended == advice
    setenv(monkeypatch, {f"MEMSCOPE_{name}": value for name, value in right.items()})
    carry_out(command)
    carry_out("memscope consolidate")
    assert examined() == []


def spend(store, count):
    """Call ``count`` with the services of a memory opened with the settings of the environment."""

    async def call():
        async with AsyncMemoryScope(store) as memory:
            await count(memory.admin.runtime.services)

    asyncio.run(call())


def test_a_budget_that_is_used_up_is_raised(server, store, monkeypatch):
    monkeypatch.setenv("MEMSCOPE_CHAT__BUDGET__CALLS_PER_DAY", "1")
    carry_out("memscope consolidate")
    (one,) = examined(check="work")
    assert one["mend"] == "raise chat.budget, or wait"
    monkeypatch.setenv("MEMSCOPE_CHAT__BUDGET__CALLS_PER_DAY", "100")
    assert examined() == []


def test_a_model_whose_facts_are_refused_is_replaced(server, store, monkeypatch):
    spend(store, lambda services: costs.count_facts(services, {"kept": 1, "no_quote": 9}))
    (one,) = examined(check="work")
    advice, _, rest = one["mend"].partition("; ")
    assert advice == "try a larger chat.model"
    assert one["said"].endswith(": 90 % of the facts were refused: no_quote") and not one["said"].startswith("none")
    carry_out(rest.removesuffix(" shows them"))
    monkeypatch.setenv("MEMSCOPE_CHAT__MODEL", "test-embed")
    assert examined() == []
