"""By settings alone: every preset at a server, and the two cases of docs/models.md, up to chat and rerank."""

from __future__ import annotations

import pytest

from memscope import AsyncMemoryScope
from memscope.models.endpoint import presets

from servers.faults import FaultServer

TEAS = ["I drink black tea in the morning.", "My sister grows tea in a pot.", "The train to Bern was late."]
EXTRACTED = {
    "turns": [{"turn": n, "level": 3} for n in (1, 2, 3)],
    "facts": [{"text": "The user drinks black tea.", "about": "user", "when": "", "keywords": ["tea"],
               "quotes": [{"turn": 1, "words": "I drink black tea"}]}],
}  # fmt: skip
SCRIPT = [
    {"in": "user", "match": '"by":', "reply": EXTRACTED},
    {"in": "user", "match": "Which tea", "reply": "Black tea."},
]


def sections(preset, url):
    """The settings of all that a preset has, at another address and with a key for it.

    The server does not speak DashScope's rerank; test_ranks.py does.
    """
    known = {"chat": "chat", "embed": "embedding"} | ({} if preset == "dashscope" else {"rerank": "rerank"})
    there = {"preset": preset, "base_url": url, "key": "k", "model": "m"}
    return {section: there for kind, section in known.items() if kind in presets()[preset]}


async def remembered(settings):
    """Turns added, found, consolidated where there is a model for it, and talked about."""
    async with AsyncMemoryScope(":memory:", settings=settings) as memory:
        await memory.add_turns([{"role": "user", "content": text} for text in TEAS], user="alice", session="before")
        await memory.flush()
        report = await memory.consolidate()
        found = await memory.retrieve("Which tea do I drink?", user="alice")
        said = await memory.chat("Which tea?", user="alice", session="now") if "chat" in settings else ""
        return report, found, said, await memory.admin.status()


@pytest.mark.parametrize("preset", presets())
async def test_a_preset_by_settings_alone(preset):
    bearer = presets()[preset].get("key_header") is None  # the only way the server looks for a key
    with FaultServer(script=SCRIPT, require_key="k" if bearer else None) as server:
        settings = sections(preset, server.base_url)
        report, found, said, status = await remembered(settings)
        asked = server.stats()["by_endpoint"]
    paths = {"chat": "chat", "embedding": "embeddings", "rerank": "rerank"}
    assert asked.keys() == {paths[section] for section in settings}
    assert found.reason == "" and len(found) >= 2
    if "chat" in settings:
        assert (report.new, dict(report.errors), said) == (1, {}, "Black tea.")
    assert (status["vectors"] >= len(TEAS)) == ("embedding" in settings)


async def test_another_chat_endpoint_with_an_embedding_model_of_its_own(embedding_server):
    """The first case, with real vectors: no word of the question is in what answers it."""
    with FaultServer(script=SCRIPT, require_key="k") as server:
        settings = {
            "chat": {"preset": "siliconflow", "base_url": server.base_url, "key": "k", "model": "Qwen/Qwen3-8B"},
            "embedding": {"base_url": embedding_server.base_url, "model": "all-MiniLM-L6-v2", "languages": ["en"]},
        }
        async with AsyncMemoryScope(":memory:", settings=settings) as memory:
            turns = [{"role": "user", "content": text} for text in TEAS]
            await memory.add_turns(turns, user="alice", session="before")
            await memory.flush()
            found = await memory.retrieve("Which beverage at breakfast?", user="alice")
            assert found[0].turn.text == TEAS[0] and "vector" in found[0].found_by
            assert (await memory.consolidate()).new == 1
            answer = memory.chat("Which tea?", user="alice", session="now")
            assert await answer == "Black tea." and answer.notes == []


async def test_only_a_rerank_model(fault_server):
    """The second case."""
    where = {"preset": "siliconflow", "base_url": fault_server.base_url}
    settings = {"rerank": {**where, "model": "BAAI/bge-reranker-v2-m3"}}
    _, found, _, status = await remembered(settings)
    assert found.reason == "" and status["usage_by_operation"]["retrieve"]["calls"] == 1
    scores = [hit.score for hit in found]
    assert scores == sorted(scores, reverse=True) and len(found) == 3
