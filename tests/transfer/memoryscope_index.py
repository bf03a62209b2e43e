"""Write an index with MemoryScope's own code and save it as JSON: its mapping, and its documents one on a line.

    uv run --no-project --with memoryscope==0.1.1.0 tests/transfer/memoryscope_index.py http://127.0.0.1:9200

Its workers make the memories, its store writes and updates them. Replaced are the embedding model and the model that
would say what the workers are told here; and, for the test node (``tests/servers/elasticsearch``), which lacks them,
``info`` and ``delete_by_query``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from elasticsearch import Elasticsearch
from llama_index.core import MockEmbedding
from memoryscope.constants.language_constants import COLON_WORD, TIME_INFER_WORD
from memoryscope.core.memoryscope_context import MemoryscopeContext
from memoryscope.core.storage.llama_index_es_memory_store import LlamaIndexEsMemoryStore
from memoryscope.core.worker.backend.get_observation_worker import GetObservationWorker
from memoryscope.core.worker.backend.get_reflection_subject_worker import GetReflectionSubjectWorker
from memoryscope.enumeration.language_enum import LanguageEnum
from memoryscope.enumeration.store_status_enum import StoreStatusEnum
from memoryscope.scheme.memory_node import MemoryNode
from memoryscope.scheme.message import Message

INDEX, TIME = "memoryscope_own_code", 1_721_001_600  # Monday 2024-07-15, 00:00 UTC


def worker(target: str, language: LanguageEnum) -> Any:
    """Stand in for a configured worker: the names and the words of its language."""
    words = {id(word): word[language] for word in (COLON_WORD, TIME_INFER_WORD)}
    return SimpleNamespace(
        user_name="AI", target_name=target, language=language, get_language_value=lambda word: words[id(word)]
    )


def observed(target: str, language: LanguageEnum, said: str, when: str, content: str, keywords: str) -> MemoryNode:
    message = Message(role="user", role_name=target, content=said, time_created=TIME)
    return GetObservationWorker.add_observation(worker(target, language), message, when, content, keywords)


def memories() -> list[MemoryNode]:
    en, cn = LanguageEnum.EN, LanguageEnum.CN
    insight = GetReflectionSubjectWorker.new_insight_node(worker("alice", en), "where alice lives")
    insight.content, insight.value, insight.timestamp = "alice lives in Munich.", "Munich", TIME + 60
    customized = MemoryNode(user_name="AI", target_name="alice", content="alice likes tea",
                            memory_type="obs_customized", timestamp=TIME)  # fmt: skip
    return [
        observed("alice", en, "I moved to Berlin in May 2022", "May 2022", "alice moved to Berlin", "Berlin"),
        observed("alice", en, "I live in Munich since June 3, 2024", "June 3, 2024", "alice is in Munich", "home"),
        observed("alice", en, "I like green tea", "", "alice likes green tea", "tea"),
        observed("小明", cn, "我2023年12月3日搬到了上海", "2023年12月3日", "用户搬到了上海", "上海"),
        customized,
        insight,
    ]


def deleted_by_query(self: Elasticsearch, *, index: str, query: Any, **_: Any) -> dict[str, int]:
    self.indices.refresh(index=index)
    hits = self.search(index=index, query=query, source=False)["hits"]["hits"]
    for hit in hits:
        self.delete(index=index, id=hit["_id"], refresh=True)
    return {"deleted": len(hits)}


def by_memory(hit: dict[str, Any]) -> str:
    return hit["_source"]["metadata"]["memory_id"]


def main(url: str) -> None:
    Elasticsearch.info = lambda self, **_: {"version": {"number": "8.14.0"}}
    Elasticsearch.delete_by_query = deleted_by_query
    MemoryscopeContext().memory_scope_uuid = INDEX
    plain = Elasticsearch(url)
    plain.indices.delete(index=INDEX, ignore_unavailable=True)
    store = LlamaIndexEsMemoryStore(SimpleNamespace(model=MockEmbedding(embed_dim=3)), INDEX, url)
    nodes = memories()
    for number, node in enumerate(nodes):
        node.memory_id = f"{number:032x}"  # else random
    store.batch_insert(nodes)
    nodes[0].store_status = StoreStatusEnum.EXPIRED.value  # as its ContraRepeatWorker does
    store.update(nodes[0], update_embedding=False)
    plain.indices.refresh(index=INDEX)
    hits = plain.search(index=INDEX, size=100)["hits"]["hits"]
    mappings = plain.indices.get_mapping(index=INDEX)[INDEX]["mappings"]
    plain.indices.delete(index=INDEX)
    kept = [{"_id": hit["_id"], "_source": hit["_source"]} for hit in sorted(hits, key=by_memory)]
    lines = ",\n".join(json.dumps(one, ensure_ascii=False) for one in kept)
    made = f'{{"mappings": {json.dumps(mappings)},\n"documents": [\n{lines}\n]}}\n'
    Path(__file__).with_suffix(".json").write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
