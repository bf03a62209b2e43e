"""The rerank step: it orders what was found, is capped, and whatever becomes of it, retrieve answers."""

from __future__ import annotations

import logging

import pytest

from memscope import AsyncMemoryScope
from memscope.errors import ModelTimeout
from memscope.models.clients import OpenAIReranker
from memscope.models.endpoint import Endpoint
from memscope.retrieval.rerank import MAX_RERANKED_DOCUMENTS

from servers.faults import FAULTS, RERANK, Plan

TEAS = ["I drink tea.", "Green tea is what I like best.", "My sister grows tea in a pot.", "Black tea keeps me awake."]


class Judge:
    """A rerank model that prefers texts with a word, and remembers what it was shown."""

    name = "judge"

    def __init__(self, word="", error=None):
        self.word, self.error, self.shown = word, error, []

    async def rerank(self, query, documents, *, deadline_s=None):
        self.shown.append((query, list(documents)))
        if self.error:
            raise self.error
        return [1.0 if self.word in document else 0.1 for document in documents]


async def filled(texts=TEAS, **more):
    memory = AsyncMemoryScope(":memory:", **{"settings": {}, **more})
    await memory.add_turns([{"role": "user", "content": text} for text in texts], user="alice")
    return memory


async def test_the_model_decides_the_order_and_its_scores_are_the_hits():
    judge = Judge("sister")
    async with await filled(reranker=judge) as memory:
        found = await memory.retrieve("tea", user="alice", explain=True)
    assert found[0].turn.text == TEAS[2]
    assert [hit.score for hit in found] == pytest.approx([1.0, 0.1, 0.1, 0.1])
    assert "order of the rerank model" in found.explanation and found.reason == ""


async def test_of_equals_our_own_order_stands():
    async with await filled() as memory, await filled(reranker=Judge("nothing")) as judged:
        plain, same = await memory.retrieve("tea", user="alice"), await judged.retrieve("tea", user="alice")
    assert [hit.text for hit in same] == [hit.text for hit in plain]


async def test_it_sees_what_context_prints_and_no_more_than_its_share():
    judge = Judge("number 59")
    texts = [f"Tea is my subject number {n}." for n in range(MAX_RERANKED_DOCUMENTS + 30)]
    async with await filled(texts, reranker=judge) as memory:
        found = await memory.retrieve("tea", user="alice", k=3)
    ((query, documents),) = judge.shown
    assert (query, len(documents), len(found)) == ("tea", MAX_RERANKED_DOCUMENTS, 3)
    assert all(document.startswith("[20") and "] user: " in document for document in documents)


async def test_a_model_that_fails_is_a_note():
    async with await filled() as memory, await filled(reranker=Judge(error=ModelTimeout("slow"))) as judged:
        plain, same = await memory.retrieve("tea", user="alice"), await judged.retrieve("tea", user="alice")
    assert [hit.text for hit in same] == [hit.text for hit in plain]
    assert same.reason == "not reranked: model_timeout"


@pytest.mark.parametrize(
    ("scores", "why"),
    [
        (lambda texts: 1 / 0, "ZeroDivisionError"),
        (lambda texts: None, "TypeError"),
        (lambda texts: ["best"] * len(texts), "ValueError"),
        (lambda texts: [1.0], "model_reply"),
        (lambda texts: [1.0] * (len(texts) + 1), "model_reply"),
        (lambda texts: [float("nan")] * len(texts), "model_reply"),
    ],
)
async def test_no_mistake_of_ones_own_model_fails_a_retrieve(scores, why):
    class Mine:
        name = "mine"

        async def rerank(self, query, documents, *, deadline_s=None):
            return scores(documents)

    async with await filled() as memory, await filled(reranker=Mine()) as judged:
        plain, same = await memory.retrieve("tea", user="alice"), await judged.retrieve("tea", user="alice")
    assert [(hit.text, hit.score) for hit in same] == [(hit.text, hit.score) for hit in plain]
    assert same.reason == f"not reranked: {why}"


async def test_one_hit_needs_no_order_and_a_pipeline_without_it_asks_nobody():
    judge = Judge()
    async with await filled(TEAS[:1], reranker=judge) as memory:
        assert len(await memory.retrieve("tea", user="alice")) == 1
    settings = {"pipelines": {"retrieve": ["understand", "search", "rank", "build_hits"]}}
    async with await filled(reranker=judge, settings=settings) as memory:
        assert len(await memory.retrieve("tea", user="alice")) == len(TEAS)
    assert judge.shown == []


async def test_what_is_forgotten_while_the_model_thinks_is_not_shown():
    class Slow(Judge):
        async def rerank(self, query, documents, *, deadline_s=None):
            await memory.forget(user="alice", text="sister")
            return await super().rerank(query, documents)

    async with await filled(reranker=Slow("sister")) as memory:
        found = await memory.retrieve("tea", user="alice")
    assert sorted(hit.text for hit in found) == sorted(TEAS[:2] + TEAS[3:])


@pytest.mark.parametrize("fault", sorted(fault for fault, strikes in FAULTS.items() if strikes & RERANK))
async def test_no_fault_of_the_endpoint_fails_a_retrieve(fault_server, caplog, fault):
    """Reply indices that do not exist among them."""
    caplog.set_level(logging.DEBUG)
    longer = {"seconds": 3} if fault in ("hang", "stall") else {}
    fault_server.plan = Plan([{"fault": fault, **longer}])
    quick = {"query_deadline_s": 0.5, "first_pause_s": 0.01, "key": "sk-cnry-0123456789"}
    model = OpenAIReranker(Endpoint(model="test-rerank", base_url=fault_server.base_url, **quick))
    async with await filled(reranker=model) as memory:
        found = await memory.retrieve("tea", user="alice")
    assert len(found) == len(TEAS)
    assert found.reason == "" or found.reason.startswith("not reranked: model_")
    assert "sk-cnry" not in caplog.text and "sister" not in caplog.text
