"""Memories have sources, are superseded instead of overwritten, and keep their history. Summaries are replaced."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from memscope.errors import Conflict
from memscope.records import (
    SUMMARY_NAMESPACE,
    ChangeSet,
    Insight,
    Interval,
    Quote,
    Revision,
    Scope,
    Search,
    Select,
    Supersession,
)
from memscope.stores import Store
from memscope.text.terms import terms
from memscope_testing.contract import Chapter
from memscope_testing.records import at, get, ids, inserts, insight, observation, remember

SUMMARY_FIELDS: dict[str, Any] = {"name": "of s", "namespace": SUMMARY_NAMESPACE, "origin": "summary"}


def summary(id: str, *sources: str) -> Insight:
    return replace(
        insight(id, *sources, text="The user moved to Berlin."), scope=Scope("alice", None, "s"), **SUMMARY_FIELDS
    )


class Memories(Chapter):
    async def test_memories_are_kept_as_they_are(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b"))
        when: dict[str, Any] = {"happened": Interval(at(-9), at(9)), "valid_from": at(-9), "expires": at(10**6)}
        times: dict[str, Any] = {
            "quotes": (Quote("a", "to Berlin"),),
            "keywords": ("Berlin", "搬家"),
            "about": "Bob",
            "origin": "import",
        }
        fact = observation(
            "o", "a", "b", agent="x", level=2, fiction=True, data={"n": [1, {"m": None}]}, **when, **times
        )
        view = insight("i", "o", subject="home")
        assert await remember(store, fact, view) == 2
        assert await get(store, "o") == fact
        assert await get(store, "i") == view

    async def test_a_memory_needs_all_its_sources(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        await store.append("bob", inserts("b", user="bob"))
        sourceless = (observation("o1"), observation("o2", "a", "missing"), observation("o3", "b"), insight("i", "o1"))
        assert await remember(store, *sourceless) == 0
        assert await ids(store) == ["a"]

    async def test_an_insight_may_stand_on_observations_of_the_same_plan(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        assert await remember(store, observation("o", "a"), insight("i", "o")) == 2

    async def test_applying_a_plan_twice_changes_nothing(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        await remember(store, observation("old", "a"))
        change_set = ChangeSet(new=(observation("o", "a"),), closed=(Supersession("old", "o", at(1), at(0)),))
        assert await store.apply("alice", change_set) == 2
        before = [await get(store, id) for id in ("old", "o")]
        assert await store.apply("alice", change_set) == 0
        again = ChangeSet(closed=(Supersession("old", None, at(9), at(9)),), new=(observation("o", "a", text="other"),))
        assert await store.apply("alice", again) == 0
        assert [await get(store, id) for id in ("old", "o")] == before

    async def test_closing_supersedes(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        await remember(store, observation("old", "a"), observation("gone", "a", valid_to=at(7)))
        closings = (Supersession("old", "new", at(5), at(4), at(3)), Supersession("gone", None, at(5), at(4)))
        await store.apply("alice", ChangeSet(new=(observation("new", "a"),), closed=closings))
        old, gone = await get(store, "old"), await get(store, "gone")
        assert (old.closed, old.closed_said, old.superseded_by, old.valid_to) == (at(5), at(4), "new", at(3))
        assert (gone.closed, gone.superseded_by, gone.valid_to) == (at(5), None, at(7))
        assert await ids(store, current=True) == ["a", "new"]

    async def test_nothing_is_closed_for_a_memory_that_was_not_stored(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        await remember(store, observation("old", "a"))
        change_set = ChangeSet(new=(observation("new", "missing"),), closed=(Supersession("old", "new", at(5), at(4)),))
        assert await store.apply("alice", change_set) == 0
        assert (await get(store, "old")).current

    async def test_a_name_is_superseded_in_its_namespace(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b"))
        first = observation("v1", "a", name="city", namespace="n", said=at(1))
        others = (observation("x", "a", name="city"), observation("y", "a", name="town", namespace="n"))
        await remember(store, first, *others)
        second = observation("v2", "b", name="city", namespace="n", said=at(2), valid_from=at(2))
        await remember(store, second)
        old = await get(store, "v1")
        assert (old.superseded_by, old.closed, old.closed_said) == ("v2", second.recorded, at(2))
        assert sorted(await ids(store, current=True, kinds=frozenset({"observation"}))) == ["v2", "x", "y"]
        assert await ids(store, name="city", namespace="n", current=True) == ["v2"]

    async def test_a_proposal_takes_no_name(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        await remember(store, observation("v1", "a", name="city"))
        await remember(store, observation("v2", "a", name="city", proposed=True))
        assert (await get(store, "v1")).current
        assert await ids(store, current=True, name="city") == ["v1"]

    async def test_a_revision_keeps_the_old_version(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        first = observation("o", "a", text="Alice lives in Berlin.", recorded=at(1))
        await remember(store, first)
        for version, text in ((1, "She lives in Bonn."), (2, "She lives in Köln.")):
            changed = replace(first, text=text, recorded=at(1 + version))
            assert await store.apply("alice", ChangeSet(revised=(Revision(changed, version),))) == 1
        now = await get(store, "o")
        assert (now.text, now.version) == ("She lives in Köln.", 3)
        history = await store.history("alice", "o")
        assert [memory.version for memory in history] == [1, 2, 3]
        assert history[0] == first

    async def test_a_revision_expects_a_version(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        first, second = observation("o", "a"), observation("p", "a")
        await remember(store, first, second)
        stale = Revision(replace(second, text="stale"), 2)
        change_set = ChangeSet(new=(observation("q", "a"),), revised=(Revision(replace(first, text="fresh"), 1), stale))
        with pytest.raises(Conflict):
            await store.apply("alice", change_set)
        assert await ids(store) == ["a", "o", "p"]
        assert await get(store, "o") == first
        with pytest.raises(Conflict):
            await store.apply("alice", ChangeSet(revised=(Revision(observation("missing", "a"), 1),)))

    async def test_a_change_set_expects_the_memories_it_was_made_from(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        await remember(store, observation("o", "a"), observation("p", "a"))
        changes = ChangeSet(new=(observation("q", "a"),), closed=(Supersession("o", "q", at(5), at(4)),))
        for wrong in ({"o": 1, "p": 2}, {"missing": 1}):
            with pytest.raises(Conflict):
                await store.apply("alice", replace(changes, expected=wrong))
        assert await ids(store, current=True) == ["a", "o", "p"]
        for _ in range(2):  # a repetition is none
            await store.apply("alice", replace(changes, expected={"o": 1, "p": 1}))
        assert await ids(store, current=True) == ["a", "p", "q"]
        await store.forget(Select("alice", ids=frozenset({"p"})))
        with pytest.raises(Conflict):
            await store.apply("alice", ChangeSet(new=(observation("r", "a"),), expected={"p": 1}))
        assert await ids(store, current=True) == ["a", "q"]

    async def test_an_announced_end_goes_with_the_memory_that_announced_it(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b", "c"))
        home = observation("home", "a")
        news, later = (observation(id, key, announces=("home",)) for id, key in (("news", "b"), ("later", "c")))
        await remember(store, home, news, later)
        for version, (id, day) in enumerate((("news", 50), ("later", 77)), 1):
            ending = replace(home, valid_to=at(day), announced_by=id)
            await store.apply("alice", ChangeSet(revised=(Revision(ending, version),)))
        await store.forget(Select("alice", ids=frozenset({"b"})))
        assert (await get(store, "home")).valid_to == at(77), "announced by another"
        await store.apply("alice", ChangeSet(closed=(Supersession("home", None, at(5), at(4), at(3)),)))
        await store.forget(Select("alice", ids=frozenset({"c"})))
        stored = await get(store, "home")
        assert (stored.valid_to, stored.open_valid_to, stored.announced_by) == (at(3), None, None)

    async def test_an_end_is_open_again_without_its_announcement(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b"))
        home = observation("home", "a")
        await remember(store, replace(home, valid_to=at(77), announced_by="news"))
        await remember(store, observation("news", "b", announces=("home", "unknown")))
        await store.forget(Select("alice", ids=frozenset({"news"})))
        assert await get(store, "home") == home

    async def test_an_insight_of_the_back_end_expects_the_current_one(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        await remember(store, observation("o", "a"), insight("old", "o"), insight("stated", "o", origin="statement"))
        await store.apply("alice", ChangeSet(closed=(Supersession("old", "stated", at(5), at(4)),)))
        derived = insight("new", "o", origin="reflect")
        stale = ChangeSet(new=(derived,), closed=(Supersession("old", "new", at(6), at(4)),))
        with pytest.raises(Conflict):
            await store.apply("alice", stale)
        assert await ids(store, kinds=frozenset({"insight"}), current=True) == ["stated"]
        current = replace(stale, closed=(Supersession("stated", "new", at(6), at(4)),))
        await store.apply("alice", current)
        await store.apply("alice", current)  # a repetition is none
        assert await ids(store, kinds=frozenset({"insight"}), current=True) == ["new"]

    async def test_a_revision_does_not_open_what_was_closed(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        read = observation("o", "a")
        await remember(store, read, observation("new", "a"))
        await store.apply("alice", ChangeSet(closed=(Supersession("o", "new", at(5), at(4)),)))
        await store.apply("alice", ChangeSet(revised=(Revision(replace(read, text="corrected"), 1),)))
        stored = await get(store, "o")
        assert (stored.text, stored.closed, stored.superseded_by) == ("corrected", at(5), "new")

    async def test_a_revision_can_close_and_accept(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        proposal = observation("o", "a", proposed=True)
        await remember(store, proposal)
        assert await ids(store, current=True) == ["a"]
        await store.apply("alice", ChangeSet(revised=(Revision(replace(proposal, proposed=False), 1),)))
        assert await ids(store, current=True) == ["a", "o"]
        await store.apply("alice", ChangeSet(revised=(Revision(replace(proposal, proposed=False, closed=at(9)), 2),)))
        assert await ids(store, current=True) == ["a"]

    async def test_history_follows_supersession_both_ways(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        line = [observation(f"v{n}", "a", recorded=at(n), name="city") for n in range(4)]
        for memory in line:
            await remember(store, memory)
        await remember(store, observation("unrelated", "a"))
        for memory in line:
            assert [version.id for version in await store.history("alice", memory.id)] == ["v0", "v1", "v2", "v3"]

    async def test_history_of_what_has_none(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        await remember(store, observation("o", "a"))
        for id in ("a", "missing", "'; drop table record --"):
            assert await store.history("alice", id) == []
        assert await store.history("bob", "o") == []

    async def test_fetch_gives_what_is_derived_from_each(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b"))
        await remember(store, observation("o1", "a"), observation("o2", "a", "b"), insight("i", "o1", "o2"))
        await store.apply("alice", ChangeSet(closed=(Supersession("o1", "o2", at(5), at(4)),)))
        result = await store.fetch("alice", ["a", "b", "o1", "missing", "a"])
        assert set(result.records) == {"a", "b", "o1"}
        derived = {handle: {memory.id for memory in memories} for handle, memories in result.derived.items()}
        assert derived == {"a": {"o1", "o2"}, "b": {"o2"}, "o1": {"i"}}

    # ---- the summary of a session: replaced in place, deleted with any of its turns, never a hit

    async def test_a_summary_is_found_by_its_name_and_by_no_search(self, store: Store) -> None:
        await store.append("alice", inserts("a", session="s"))
        insight = summary("i", "a")
        await remember(store, insight)
        assert await ids(store, name="of s", namespace=SUMMARY_NAMESPACE, current=True) == ["i"]
        assert await get(store, "i") == insight
        words = tuple(terms("moved to Berlin"))
        for where in (Scope("alice"), Scope("alice", None, "s")):
            candidates = await store.search(Search(where, words, kinds=frozenset({"insight"})))
            assert not len(candidates.handle)
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
