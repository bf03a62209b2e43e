"""A question for a list is answered on Elasticsearch as on a local store."""

from __future__ import annotations

from memscope import AsyncMemoryScope
from memscope_elasticsearch import ElasticsearchStore, Options
from stores.elasticsearch.node import needs_node, opened


@needs_node
async def test_a_question_for_a_list_has_the_users_other_lines_as_on_a_local_store(place: Options) -> None:
    tales = [f"{word} {n}, a tale." for n in range(60) for word in ("Rain", "Wind")]
    said = ["I tried judo, which is a sport.", *tales]
    said[7:7] = ["Fencing: I gave it a go in the big old hall by the river."]
    shown = []
    async with opened(place) as store:
        for where in (store, ":memory:"):
            async with AsyncMemoryScope(where) as memory:
                await memory.add_turns([{"role": "user", "content": text} for text in said], user="alice")
                hits = await memory.retrieve("Which sports did I try?", user="alice", expand_lists=True)
                shown.append([hit.text if hit.text not in tales else "a tale" for hit in hits])  # all are equally near
    assert shown[0] == shown[1] and said[7] in shown[0]


@needs_node
async def test_of_equally_near_lines_a_list_has_the_latest_as_on_a_local_store(place: Options) -> None:
    texts = [
        "I tried judo, which is a sport.",
        *(f"{word} {n}, a tale." for n in range(160) for word in ("Rain", "Wind")),
    ]
    turns = [{"role": "user", "content": text} for text in texts]
    async with opened(place) as store, AsyncMemoryScope(store) as writer:
        await writer.add_turns(turns, user="alice")
        await store.cluster.request("POST", f"/{place.prefix}-mem/_refresh")
    lines = []
    for where in (ElasticsearchStore(place), ":memory:"):  # what a process has just written, it reads without a search
        async with AsyncMemoryScope(where) as memory:
            if where == ":memory:":
                await memory.add_turns(turns, user="alice")
            hits = await memory.retrieve("Which sports did I try?", user="alice", expand_lists=True)
            lines.append([hit.text for hit in hits])
    assert lines[0] == lines[1] and "Wind 159, a tale." in lines[0]
