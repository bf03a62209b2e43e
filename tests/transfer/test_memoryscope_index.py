"""An index that MemoryScope's own code wrote (``memoryscope_index.py`` made the dump), on a real node and as a file."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest
from elasticsearch import AsyncElasticsearch

from memscope import AsyncMemoryScope
from memscope.records import Insight, Interval, Observation, Turn
from stores.elasticsearch.node import URL, needs_node

DUMP = json.loads(Path(__file__).with_name("memoryscope_index.json").read_text(encoding="utf-8"))


@pytest.fixture(params=["file", pytest.param("index", marks=needs_node)])
async def source(request, tmp_path):
    """A file of the documents, or the address of a new index with the mapping and the documents of the dump."""
    if request.param == "file":
        path = tmp_path / "dump.jsonl"
        path.write_text("\n".join(map(json.dumps, DUMP["documents"])), encoding="utf-8")
        yield path
        return
    name = f"memoryscope-{uuid.uuid4().hex[:8]}"
    async with AsyncElasticsearch(URL) as node:
        await node.indices.create(index=name, mappings=DUMP["mappings"])
        for document in DUMP["documents"]:
            await node.index(index=name, id=document["_id"], document=document["_source"])
        await node.indices.refresh(index=name)
        yield f"{URL}/{name}"
        await node.indices.delete(index=name)


async def test_its_memories_come_with_their_sentences_and_dates(source):
    async with AsyncMemoryScope(":memory:", settings={"timezone": "UTC"}) as memory:
        report = await memory.admin.import_from("memoryscope", source)
        assert (report.observations, report.insights, report.users, dict(report.not_taken)) == (5, 1, 2, {})
        kept = await memory.list(user="alice", superseded=True)
        said = {turn.key: turn.text for turn in kept if isinstance(turn, Turn)}
        facts = {one.text: one for one in kept if isinstance(one, Observation) and one.origin == "import"}
        berlin, munich = (facts[f"alice {words})"] for words in (
            "moved to Berlin (Inference time: May 2022", "is in Munich (Inference time: June 3, 2024",
        ))  # fmt: skip
        assert [said[key] for key in berlin.sources] == ["I moved to Berlin in May 2022"]
        assert dates(berlin.happened) == ("2022-05-01", "2022-06-01")
        assert dates(munich.happened) == ("2024-06-03", "2024-06-04")
        assert berlin.closed and not munich.closed and munich.said.isoformat() == "2024-07-15T00:00:00+00:00"
        (insight,) = [one for one in kept if isinstance(one, Insight)]
        assert (insight.subject, insight.text) == ("where alice lives", "alice lives in Munich.")
        assert "alice likes tea" in said.values()
        (moved,) = [one for one in await memory.list(user="小明") if isinstance(one, Observation)]
        assert dates(moved.happened) == ("2023-12-03", "2023-12-04")
        again = await memory.admin.import_from("memoryscope", source)
        assert (again.known, again.observations, again.insights) == (6, 0, 0)


def dates(interval: Interval) -> tuple[str, str]:
    return interval.start.date().isoformat(), interval.end.date().isoformat()
