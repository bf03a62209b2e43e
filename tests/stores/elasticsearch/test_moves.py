"""A memory moves: between stores, into a newer format, to other terms."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memscope.errors import StoreTooNew
from memscope.records import ChangeSet, Revision, Scope, Search, Select, TurnInsert, VectorSpace
from memscope.search.candidates import MEANING_CHANNEL, TOPIC_CHANNEL
from memscope.stores import Store
from memscope.stores.sqlite import SQLiteStore
from memscope.text.language import add_rules, usual_rules
from memscope.text.terms import terms
from memscope.text.topics import topics
from memscope.text.vectors import sentence_vector
from memscope.transfer import copy
from memscope_elasticsearch import ElasticsearchStore, Options, append, apply, mapping, migrate
from memscope_elasticsearch import documents as made_of
from memscope_elasticsearch.client import Cluster
from memscope_testing.records import at, get, ids, inserts, insight, observation, remember, turn
from stores.elasticsearch.node import Killed, needs_node, opened, texts


@needs_node
async def test_a_memory_moves_between_stores_and_back(place: Options, tmp_path: Path) -> None:
    first, last = SQLiteStore(tmp_path / "first.db"), SQLiteStore(tmp_path / "last.db")
    async with opened(place) as middle:
        for store in (first, last):
            await store.open()
        for user in ("alice", "bob"):
            await first.append(user, inserts("a", "b", "c", user=user, metadata={"n": 1}))
            await remember(
                first, *(observation(f"o{n}", "a", user=user, name="city", recorded=at(n)) for n in range(3))
            )
            changed = replace(await get(first, "o2", user), text="Alice lives in Köln.")
            await first.apply(user, ChangeSet(new=(insight("i", "o2", user=user),), revised=(Revision(changed, 1),)))
            await first.forget(Select(user, ids=frozenset({"c"})))
        for source, target in ((first, middle), (middle, last)):
            copied = await copy.copy(source, target)
            assert (copied.unequal, copied.secret_adopted) == ((), True)
        again = await copy.copy(middle, last)
        assert (again.skipped, again.counts) == (2, {})
        for user in ("alice", "bob"):
            assert await copy.digest(first, user) == await copy.digest(last, user)
            assert [one.text for one in await last.history(user, "o2")] == [
                one.text for one in await first.history(user, "o2")
            ]
        await first.close()
        await last.close()


async def filled(store: ElasticsearchStore) -> None:
    said = [*inserts("a", "b", text="zebras in Köln"), TurnInsert(turn("long", "So many words. " * 300))]
    await store.append("alice", said)
    await remember(store, observation("o", "a", text="Zebras are loved."), insight("i", "o", text="wanderlust"))
    space = VectorSpace("small", 4)
    await store.set_vector_space(space)
    (claim,) = await store.claim("embed", 1000, 60)
    vectors = {item: np.eye(4, dtype=np.float32)[int(item) % 4] + 0.1 for item in claim.items}
    await store.complete(claim, ChangeSet(vectors=vectors, done=claim.items))


async def everything(store: Store) -> tuple[object, ...]:
    stats = await store.stats("alice")
    pool = await store.search(
        Search(Scope("alice"), tuple(terms("zebras")), vector=np.ones(4, np.float32), space=VectorSpace("small", 4))
    )
    cosines = sorted(np.round(pool.cosine, 4).tolist())
    return await ids(store), stats.units, stats.vectors, dict(stats.pending), await store.secret(), cosines


@needs_node
@pytest.mark.parametrize("dies", [False, True])
async def test_an_older_format_moves_into_a_new_index(
    place: Options, monkeypatch: pytest.MonkeyPatch, dies: bool
) -> None:
    """Broken off before the alias changes its place, it goes on; turns and vectors are as they were."""
    async with opened(place) as store:
        await filled(store)
        await store.searchable("alice")
        before = await everything(store)
    monkeypatch.setattr(mapping, "LAST_COPIED_VERSION", mapping.MAPPING_VERSION)
    monkeypatch.setattr(mapping, "MAPPING_VERSION", mapping.MAPPING_VERSION + 1)
    if dies:
        with monkeypatch.context() as patched:
            patched.setattr(migrate, "DOCUMENTS_PER_PAGE", 2)
            sent = Cluster.bulk

            async def bulk(self: Cluster, operations: Any, **more: Any) -> Any:
                await sent(self, operations, **more)
                raise Killed

            patched.setattr(Cluster, "bulk", bulk)
            with pytest.raises(Killed):
                async with opened(place):
                    pass
    async with opened(place) as store:
        assert await everything(store) == before
        ((index, _),) = (await store.cluster.request("GET", f"/{place.prefix}-mem")).items()
        assert index.endswith(f"{mapping.MAPPING_VERSION:06d}")
        assert (await store.append("alice", inserts("a", "new"))).outcomes == ("duplicate", "stored")


@needs_node
async def test_units_of_other_terms_are_made_again(place: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(place) as store:
        await filled(store)
        await store.searchable("alice")
        before = await everything(store)
        assert await texts(store, "zebras")
    for module in (mapping, migrate, made_of):
        monkeypatch.setattr(module, "DERIVED_VERSION", "other")
    usual = usual_rules("latin")
    add_rules(replace(usual, stem=lambda word: word[::-1]))
    try:
        async with opened(place) as store:
            assert {"zebras in Köln"} <= await texts(store, "zebras")
            assert await everything(store) == before
            assert await migrate.renew(store._session) == 0
    finally:
        add_rules(usual)


NEW = ("topics", "personal", "meaning", "named", "packed")  # fields of later formats


@contextmanager
def first_format() -> Iterator[None]:
    """The store as it was before it had topics and built-in vectors: fewer fields, shorter columns."""

    def older(*args: Any, **more: Any) -> dict[str, Any]:
        made = made_of.documents(*args, **more)
        return {
            id: {name: body[name] for name in body if name not in NEW} | {"columns": body["columns"][:80]}
            for id, body in made.items()
        }

    fields = {name: field for name, field in mapping.MEMORY_FIELDS.items() if name not in NEW}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(mapping, "MAPPING_VERSION", 1)
        patched.setattr(mapping, "MEMORY_FIELDS", fields)
        for module in (mapping, migrate, made_of):
            patched.setattr(module, "DERIVED_VERSION", "older")
        for module in (append, apply):
            patched.setattr(module, "documents", older)
        yield


async def in_other_words(store: Store) -> set[str]:
    """Found by topic, without a word in common; it has a built-in vector too."""
    question = "What should I cook for dinner?"
    asked = Search(Scope("alice"), (1,), topics=tuple(topics(question)), meaning=sentence_vector(question))
    found = await store.search(asked)
    channels = TOPIC_CHANNEL | MEANING_CHANNEL
    return {
        str(found.handle[row])
        for row in np.flatnonzero(found.channels & channels == channels)
        if found.meaning[row] > 0
    }


@needs_node
@pytest.mark.parametrize("kills", [0, 3])
async def test_an_index_of_the_first_format_learns_topics_in_place(
    place: Options, monkeypatch: pytest.MonkeyPatch, kills: int
) -> None:
    """Broken off, it goes on; a process of the older version cannot open it, what one still writes is renewed."""
    with first_format():
        async with opened(place) as store:
            await filled(store)
            await store.append("alice", inserts("veg", text="I'm vegetarian."))
            await store.searchable("alice")
            before = await ids(store)
    with monkeypatch.context() as patched:
        patched.setattr(migrate, "DOCUMENTS_PER_PAGE", 2)
        sent = Cluster.bulk

        async def bulk(self: Cluster, operations: Any, **more: Any) -> Any:
            await sent(self, operations, **more)
            raise Killed

        patched.setattr(Cluster, "bulk", bulk)
        for _ in range(kills):
            with pytest.raises(Killed):
                async with opened(place):
                    pass
    async with opened(place) as store:
        assert await in_other_words(store) == {"veg"}
        assert await ids(store) == before
        with first_format():
            await store.append("alice", inserts("late", text="I love to bake bread at home."))
            with pytest.raises(StoreTooNew):
                async with opened(place):
                    pass
        await store.searchable("alice")
        assert await in_other_words(store) == {"veg"}  # nothing breaks over what it wrote
    async with opened(place) as store:
        assert await in_other_words(store) == {"veg", "late"}
        assert await migrate.renew(store._session) == 0
