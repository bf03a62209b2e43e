"""A store file and an Elasticsearch index of an earlier version are opened and used by this one.

``fixtures/write.py`` wrote them, each with vectors and without: with ab3e6ae (schema 1) and 4786264 (schema 3).
"""

from __future__ import annotations

import gzip
import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from memscope import AsyncMemoryScope
from memscope.records import Insight, Observation, VectorSpace
from memscope.stores import Store
from memscope.stores.sqlite import SQLiteStore
from memscope_elasticsearch import ElasticsearchStore, Options, parse_location
from memscope_elasticsearch.client import BulkOperation
from memscope_testing.models import ScriptedChat, data
from stores.elasticsearch.node import location, needs_node, remove

from workbench import fact, noted

FIXTURES = Path(__file__).parent / "fixtures"
NOW = datetime(2026, 5, 20, tzinfo=UTC)
DIMS = 16
NAMES = ("ab3e6ae", "ab3e6ae-vectors", "4786264", "4786264-vectors")
KINDS = [pytest.param(("sqlite", name), id=f"sqlite-{name}") for name in NAMES]
KINDS += [pytest.param(("elasticsearch", name), id=f"elasticsearch-{name}", marks=needs_node) for name in NAMES]


class Letters:
    """The embedder of the fixtures: counts letters."""

    languages = None
    space = VectorSpace("letters", DIMS)

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def measure(self):
        return self.space

    async def embed(self, texts, *, deadline_s=None):
        self.texts += texts
        counts = np.array([np.bincount([ord(c) % DIMS for c in text], minlength=DIMS) for text in texts], np.float32)
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)

    async def embed_query(self, text, *, deadline_s=None):
        return (await self.embed([text]))[0]


def decompressed(name: str) -> bytes:
    return gzip.decompress((FIXTURES / name).read_bytes())


@asynccontextmanager
async def old_index(name: str) -> AsyncIterator[Options]:
    """The options of a store whose indices hold the documents of the fixture."""
    prefix = f"test-{secrets.token_hex(4)}"
    store = ElasticsearchStore(replace(parse_location(location(prefix)), lease_s=0.5))
    for index, made in json.loads(decompressed(name)).items():
        alias, new = next(iter(made["aliases"])).replace("old", prefix), index.replace("old", prefix)
        body = {"settings": {"index": made["settings"]}, "mappings": made["mappings"]}
        await store.cluster.request(
            "PUT", f"/{new}", body=body | {"aliases": {alias: {"is_write_index": True}}}, wait_for_active_shards="1"
        )
        await store.cluster.bulk(BulkOperation("create", alias, *document) for document in made["documents"])
    await store.cluster.close()
    yield store.options
    await remove(ElasticsearchStore(store.options))


@pytest.fixture(params=KINDS)
async def old(request, tmp_path) -> AsyncIterator[tuple[Store, Letters | None]]:
    kind, name = request.param
    embedder = Letters() if name.endswith("-vectors") else None
    if kind == "sqlite":
        (tmp_path / "memory.db").write_bytes(decompressed(f"{name}.db.gz"))
        yield SQLiteStore(tmp_path / "memory.db", clock=lambda: NOW), embedder
    else:
        async with old_index(f"{name}.json.gz") as options:
            yield ElasticsearchStore(options, clock=lambda: NOW), embedder


@pytest.fixture
async def memory(old) -> AsyncIterator[AsyncMemoryScope]:
    store, embedder = old
    settings = {"timezone": "UTC"}
    chat = ScriptedChat(answer)
    async with AsyncMemoryScope(store, chat=chat, embedder=embedder, settings=settings, clock=lambda: NOW) as memory:
        yield memory


def answer(messages):
    """The replies of a model for what the fixtures left pending, and for a subject that lost a fact."""
    shown = data(messages)
    if "turns" in shown:
        lines = [line for line in shown["turns"] if not line.get("context")]
        facts = [fact(f"Known: {line['text']}", (line["n"], line["text"])) for line in lines]
        return noted(*facts, levels={line["n"]: 3 for line in lines})
    facts = [*shown["facts"], *shown["earlier"]]
    insight = next((one["n"] for one in shown["insights"]), 0)
    one = {"insight": insight, "subject": "everyday life", "text": "", "facts": [fact["n"] for fact in facts]}
    return {"sentences": [{**one, "replaces": []}], "alone": [], "relations": []}


async def texts(memory, user="alice", **conditions):
    return [record.text for record in await memory.list(user=user, **conditions)]


async def found(memory, query, user="alice"):
    return [hit.text for hit in (await memory.retrieve(query, user=user)).hits]


async def test_everything_is_listed(memory):
    assert await texts(memory, kinds=["turn"]) == [
        "I live in Berlin and work as a carpenter.", "Nice to meet you!", "My cat is called Miso.", "Eats no meat.",
        "I moved to Lisbon last week.", "Eats fish, no meat.", "I have an appointment with the dentist on Friday.",
    ]  # fmt: skip
    assert set(await texts(memory, kinds=["observation"])) == {
        "The user's cat is called Miso, a tabby.", "Eats fish, no meat.", "The user moved to Lisbon.",
    }  # fmt: skip
    assert await texts(memory, user="小雨", kinds=["observation"]) == ["用户住在上海，有一只叫豆豆的猫。"]
    (insight,) = await memory.list(user="alice", kinds=["insight"])
    assert isinstance(insight, Insight) and insight.subject == "everyday life" and len(insight.sources) > 1
    assert await texts(memory, filter={"n": 2}) == ["My cat is called Miso."]
    turn = (await memory.list(user="alice", session="s2"))[0]
    assert (turn.scope.agent, turn.time) == ("concierge", datetime(2026, 5, 10, 9, tzinfo=UTC))


async def test_a_named_document_and_its_history(memory):
    (diet,) = await memory.list(user="alice", name="diet", namespace="food")
    assert isinstance(diet, Observation) and dict(diet.data) == {"strict": False}
    assert [one.text for one in await memory.history(diet.id, user="alice")] == ["Eats no meat.", "Eats fish, no meat."]
    new = await memory.add_memory("Eats anything.", user="alice", name="diet", namespace="food")
    assert len(await memory.history(new.id, user="alice")) == 3
    (cat,) = [one for one in await memory.list(user="alice", kinds=["observation"]) if "Miso" in one.text]
    versions = await memory.history(cat.id, user="alice")
    assert [(one.version, one.text) for one in versions] == [
        (1, "The user's cat is called Miso."), (2, "The user's cat is called Miso, a tabby."),
    ]  # fmt: skip


async def test_questions_find_it(memory):
    assert "The user's cat is called Miso, a tabby." in (await found(memory, "What is my cat called?"))[0]
    assert (await found(memory, "Which town did I move to?"))[0] == "I moved to Lisbon last week."
    assert (await found(memory, "我的猫叫什么名字？", user="小雨"))[0] == "我住在上海，养了一只猫叫豆豆。"
    lines = (await memory.context("Where in Berlin do I live?", user="alice")).splitlines()
    assert any("Berlin" in line and "(changed later: 2026-05-10)" in line for line in lines)
    assert not any("cat" in text for text in await found(memory, "cat", user="carol"))  # which others have


async def test_vectors_serve_as_they_are(memory, old):
    """Nothing that has a vector is embedded again."""
    _, embedder = old
    if embedder is None:
        pytest.skip("a store without vectors")
    assert (await memory.admin.runtime.services.store.stats("alice")).vectors > 5
    found = await memory.retrieve("My cat is called Miso.", user="alice", explain=True)
    assert found.hits and await memory.flush(timeout_s=30)
    pending = {"(10 May 2026) user: I play the cello.", "(10 May 2026) user: I am allergic to nuts."}
    assert set(embedder.texts) == {"My cat is called Miso.", *pending}


async def test_what_was_forgotten_stays_forgotten(memory):
    report = await memory.add_turns([{"role": "user", "content": "My PIN is 4711.", "id": "a3"}], user="alice")
    assert (report.stored, report.forgotten) == (0, 1)
    assert not [text for text in await texts(memory, superseded=True) if "4711" in text]


async def test_what_was_pending_is_consolidated(memory):
    report = await memory.consolidate()
    assert not report.pending
    assert "Known: I have an appointment with the dentist on Friday." in await texts(memory)
    assert await texts(memory, user="bob") == ["I play the cello.", "Known: I play the cello."]  # it had failed
    assert "Known: 下周三我要去看牙医。" in await texts(memory, user="小雨")


async def test_a_saved_reply_is_completed_without_asking_again(memory):
    await memory.consolidate(user="carol")
    assert await texts(memory, user="carol") == ["I am allergic to nuts.", "The user is allergic to nuts."]
    assert memory.admin.runtime.services.chat.prompts == []


async def test_forgetting_takes_along_what_rests_on_it(memory):
    (cat,) = [one for one in await memory.list(user="alice", kinds=["observation"]) if "Miso" in one.text]
    report = await memory.forget(user="alice", ids=["a2"])
    assert (report.turns, report.observations, report.insights) == (1, 1, 2)
    assert not [text for text in await texts(memory, superseded=True) if "Miso" in text]
    assert not [text for text in await found(memory, "What is my cat called?") if "Miso" in text]
    await memory.reflect(user="alice")
    (insight,) = await memory.list(user="alice", kinds=["insight"])
    assert cat.id not in insight.sources and "Lisbon" in insight.text


async def test_what_superseded_is_forgotten_and_the_old_fact_holds_again(memory):
    assert "The user lives in Berlin." not in await texts(memory)
    await memory.forget(user="alice", ids=["a4"])
    assert "The user lives in Berlin." in await texts(memory)
