"""The rules hold for any records: nothing here has a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memscope.errors import Conflict
from memscope.records import ChangeSet, Interval, Record, Revision, Select, Supersession, VectorSpace
from memscope.records.serialization import turn_key
from memscope.stores import MAX_ATTEMPTS, rules
from memscope.stores.rules import Batch, MemoryState, PendingChanges
from memscope.stores.spaces import Spaces
from memscope_testing.records import at, observation, turn

IDS = [f"m{n}" for n in range(5)]
memories = st.builds(
    lambda id, name, data, proposed: observation(id, "t", name=name, proposed=proposed, **data),
    st.sampled_from(IDS),
    st.sampled_from((None, "n")),
    st.fixed_dictionaries({"valid_to": st.one_of(st.none(), st.integers(0, 5).map(at))}),
    st.booleans(),
)
closings = st.builds(
    lambda id, by, valid_to: Supersession(id, by, at(7), at(7), valid_to),
    st.sampled_from(IDS),
    st.one_of(st.none(), st.sampled_from(IDS)),
    st.one_of(st.none(), st.integers(0, 5).map(at)),
)
change_sets = st.builds(
    lambda new, closed: ChangeSet(new=tuple(new), closed=tuple(closed)),
    st.lists(memories, max_size=4),
    st.lists(closings, max_size=3),
)
links = st.dictionaries(st.sampled_from(IDS), st.one_of(st.none(), st.sampled_from([*IDS, "stays"])))


def applied(change_set: ChangeSet, states: Mapping[str, MemoryState] | None = None) -> PendingChanges:
    """The changes after a change set, on what earlier ones left."""
    before = [MemoryState(one.record, one.record, one.valid_to) for one in (states or {}).values()]
    changes = PendingChanges(before, {"t"})
    changes.apply(change_set)
    return changes


# ---- change sets


@given(first=change_sets, second=change_sets)
def test_a_change_set_done_twice_is_done_once(first: ChangeSet, second: ChangeSet) -> None:
    states = applied(second, applied(first).states).states
    again = applied(ChangeSet(closed=first.closed), states)
    assert all(state.record.closed is not None for state in states.values() if state.record.superseded_by)
    assert [one.record.id for one in applied(ChangeSet(new=second.new), states).changed()] == []
    assert all(old.closed is None for old in (one.stored for one in again.changed()) if old is not None)


@given(first=change_sets, second=change_sets)
def test_of_a_name_one_memory_is_current(first: ChangeSet, second: ChangeSet) -> None:
    states = applied(second, applied(first).states).states
    assert sum(one.record.current and one.record.name == "n" for one in states.values()) <= 1


@given(change_set=change_sets)
def test_a_memory_without_its_source_is_dropped_and_named(change_set: ChangeSet) -> None:
    changes = PendingChanges()
    done = changes.apply(change_set)
    assert (done.new, done.other, changes.changed()) == (0, 0, [])
    assert done.unsourced == ({"t"} if change_set.new else set())


@given(change_set=change_sets, forgotten=st.sets(st.sampled_from(IDS)))
def test_what_was_forgotten_does_not_come_back(change_set: ChangeSet, forgotten: set[str]) -> None:
    changes = PendingChanges((), {"t"}, forgotten)
    changes.apply(change_set)
    assert forgotten.isdisjoint(changes.states)


@given(change_set=change_sets, removed=st.sets(st.sampled_from(IDS), min_size=1))
def test_forgetting_the_superseder_gives_back_what_it_closed(change_set: ChangeSet, removed: set[str]) -> None:
    states = applied(change_set).states
    before = {id: one.record for id, one in states.items()}
    gone = {id: before[id].superseded_by for id in removed if id in before}
    changes = PendingChanges([MemoryState(one.record, one.record, one.valid_to) for one in states.values()], {"t"})
    opened = changes.reopen(gone)
    for id, state in changes.states.items():
        if id in gone:
            continue
        assert state.record.superseded_by not in gone
        assert (id in opened) == (before[id].closed is not None and state.record.closed is None)
        given_back = next(one.valid_to for one in change_set.new if one.id == id)
        assert id not in opened or state.record.valid_to == given_back


@given(expected=st.integers(0, 3), closed=st.booleans())
def test_a_revision_is_refused_or_keeps_the_old_version(expected: int, closed: bool) -> None:
    old = observation("m", "t")
    old = replace(old, closed=at(1), superseded_by="x") if closed else old
    changes = PendingChanges([MemoryState(old, old)], {"t"})
    change_set = ChangeSet(revised=(Revision(replace(old, text="new", closed=None, superseded_by=None), expected),))
    if expected != 1:
        with pytest.raises(Conflict):
            changes.apply(change_set)
        assert changes.changed() == []
        return
    changes.apply(change_set)
    (state,) = changes.changed()
    assert (state.record.text, state.record.version, state.older) == ("new", 2, [old])
    assert (state.record.closed, state.record.superseded_by) == (old.closed, old.superseded_by)


# ---- keys and forgetting


@given(taken=st.integers(0, 40))
def test_the_free_key_is_the_first(taken: int) -> None:
    keys = {turn_key(b"base", n) for n in range(taken)}
    assert rules.free_key(b"base", keys.__contains__) == turn_key(b"base", taken)


@given(removed=links)
def test_an_heir_stays_and_is_found_where_the_line_leads_out(removed: dict[str, str | None]) -> None:
    for id in removed:
        found = rules.surviving_successor(id, removed)
        assert found not in removed
        line, at_id = [id], removed[id]
        while at_id in removed and at_id not in line:
            line.append(at_id)
            at_id = removed[at_id]
        assert found == (None if at_id in removed else at_id)


letters = st.sampled_from("abc")


@given(
    sources=st.dictionaries(st.sampled_from(IDS), st.lists(letters, min_size=1, max_size=3, unique=True)),
    gone=st.sets(letters),
)
def test_only_sources_of_what_fell_are_left_behind(sources: dict[str, list[str]], gone: set[str]) -> None:
    fell = {id: of for id, of in sources.items() if gone.intersection(of)}
    removed: dict[str, Record] = {key: turn(key) for key in gone}
    removed |= {id: observation(id, *of) for id, of in sources.items()}
    assert rules.sources_to_rederive(removed) == {source for of in fell.values() for source in of} - gone


# ---- selection


@given(name=st.sampled_from(("n", "other")), hours=st.integers(0, 6), expires=st.one_of(st.none(), st.integers(0, 6)))
def test_each_condition_decides(name: str, hours: int, expires: int | None) -> None:
    memory = observation("m", "t", name="n", said=at(3), expires=None if expires is None else at(expires))

    def chosen(**fields: Any) -> bool:
        return rules.selected(
            Select("alice", **fields), memory, sessions=lambda: {"one"}, waiting=lambda stage: False, derived=list
        )

    assert chosen(name=name) == (name == "n")
    assert chosen(period=Interval(at(hours), at(hours + 2))) == (hours <= 3 < hours + 2)
    assert chosen(live_at=at(hours)) == (expires is None or expires > hours)
    assert chosen(expired_by=at(hours)) == (expires is not None and expires <= hours)
    assert (chosen(session="one"), chosen(session="two"), chosen(pending="reflect")) == (True, False, False)


# ---- leases


@given(steps=st.lists(st.sampled_from(("lease", "fail", "unfair", "back", "unpark")), max_size=30))
def test_a_batch_parks_after_as_many_counted_attempts(steps: list[str]) -> None:
    batch, attempts = Batch("1", "consolidate"), 0
    for step in steps:
        if step == "unpark":
            rules.unpark(batch)
            attempts = 0
        elif step == "lease" and not batch.parked and not batch.token:
            rules.lease([batch], batch, 10)
            attempts += 1
        elif batch.token and step == "back":
            rules.give_back(batch)
            attempts -= 1
        elif batch.token and step in ("fail", "unfair"):
            rules.fail(batch, "model_timeout", 5, counted=step == "fail")
            attempts -= step == "unfair"
        assert batch.attempt == attempts
        assert batch.parked <= (attempts >= MAX_ATTEMPTS)
        assert not (batch.parked and batch.token)


@given(until=st.integers(0, 20), pause=st.integers(0, 20), now=st.integers(0, 20), parked=st.booleans())
def test_due_says_when_it_can_be_claimed(until: int, pause: int, now: int, parked: bool) -> None:
    batches = [
        Batch("1", "consolidate", "token", until),
        Batch("2", "reflect", not_before=pause, parked=parked),
    ]
    when = rules.due(batches, "reflect", now, waiting=True)
    assert when is not None
    assert rules.claimable(batches, "reflect", when) or when > now
    assert rules.claimable(batches, "reflect", now) == (when == now)
    assert rules.due([], "reflect", now, waiting=False) is None


# ---- vector spaces

SPACES = st.sampled_from((VectorSpace("a", 2), VectorSpace("b", 2), VectorSpace("b", 3)))


@given(declared=st.lists(st.tuples(SPACES, st.booleans()), max_size=6))
def test_the_space_that_serves_stays_until_another_is_filled(declared: list[tuple[VectorSpace, bool]]) -> None:
    spaces = Spaces()
    for space, has_vectors in declared:
        before, spaces = spaces, spaces.declare(space, has_vectors=has_vectors, replace=True)
        assert spaces.target == space
        assert spaces.serving == before.serving or not has_vectors or before.serving is None
        assert spaces.declare(space, has_vectors=has_vectors, replace=True) is spaces
