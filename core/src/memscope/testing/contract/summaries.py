"""The summary of a session is replaced, goes with any of its turns, and is no hit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from memscope.records import SUMMARY, ChangeSet, Insight, Revision, Scope, Search, Select
from memscope.stores import Store
from memscope.testing.contract import Chapter
from memscope.testing.records import get, ids, inserts, insight, remember
from memscope.text.terms import terms

NAMED: dict[str, Any] = {"name": "of s", "namespace": SUMMARY, "origin": "summary"}


def summary(id: str, *sources: str) -> Insight:
    return replace(insight(id, *sources, text="The user moved to Berlin."), scope=Scope("alice", None, "s"), **NAMED)


class Summaries(Chapter):
    async def test_a_summary_is_found_by_its_name_and_by_no_search(self, store: Store) -> None:
        await store.append("alice", inserts("a", session="s"))
        kept = summary("i", "a")
        await remember(store, kept)
        assert await ids(store, name="of s", namespace=SUMMARY, current=True) == ["i"]
        assert await get(store, "i") == kept
        words = tuple(terms("moved to Berlin"))
        for where in (Scope("alice"), Scope("alice", None, "s")):
            found = await store.search(Search(where, words, kinds=frozenset({"insight"})))
            assert not len(found.handle)
            assert len((await store.search(Search(where, words))).handle) == 1

    async def test_a_summary_is_replaced_without_a_history(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b", session="s"))
        old = summary("i", "a")
        await remember(store, old)
        new = replace(old, text="The user moved to Berlin and has a cat.", sources=("a", "b"))
        await store.apply("alice", ChangeSet(revised=(Revision(new, 1),)))
        assert await get(store, "i") == replace(new, version=2)
        assert await store.history("alice", "i") == [replace(new, version=2)]

    async def test_a_summary_goes_with_a_turn_and_leaves_the_others_alone(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b", session="s"))
        await store.apply("alice", ChangeSet(done=("a", "b")))
        await remember(store, summary("i", "a", "b"))
        report = await store.forget(Select("alice", ids=frozenset({"a"})))
        assert (report.turns, report.insights) == (1, 1)
        assert await ids(store) == ["b"]
        assert await ids(store, pending="consolidate") == []
        assert not await remember(store, summary("i", "b")), "a forgotten one does not come back"
