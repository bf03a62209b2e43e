"""The index of local stores: it finds what a plain Python search finds, however it came to be what it is."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memscope.languages.flags import Flag
from memscope.records import (
    Candidates,
    ChangeSet,
    Insight,
    Interval,
    Observation,
    Scope,
    Search,
    Select,
    Supersession,
    Turn,
    TurnInsert,
    VectorSpace,
)
from memscope.search import candidates
from memscope.search.changes import Changes
from memscope.search.local import CachedIndex, IndexCache
from memscope.search.snapshot import CONVERSATION_GAP_US, ScopeIndex, Snapshot
from memscope.search.units import make_units
from memscope.stores.memory import InMemoryStore
from memscope.text.terms import terms

START = datetime(2024, 3, 1, 9, tzinfo=UTC)
SPACE = VectorSpace("test", 4)
NONE = np.zeros(0, np.int64)
NO_VECTORS, NO_SCALE = np.zeros((0, 0), np.int8), np.zeros(0, np.float32)
WORDS = "berlin paris rome tokyo lima oslo cairo delhi".split()


def turn(key: str, text: str, *, minutes: float = 0, session: str | None = "s", agent: str | None = None,
         role: str = "user", speaker: str = "Ada") -> Turn:  # fmt: skip
    at = START + timedelta(minutes=minutes)
    return Turn(key, Scope("alice", agent, session), role, speaker, text, at, at)  # type: ignore[arg-type]


def observation(id: str, text: str, sources: Sequence[str], **given: object) -> Observation:
    plain = Observation(id=id, scope=Scope("alice"), text=text, sources=tuple(sources), said=START, recorded=START)
    return replace(plain, **given)  # type: ignore[arg-type]


def asked(query: str, **given: object) -> Search:
    plain = Search(Scope("alice"), tuple(dict.fromkeys(terms(query))))
    return replace(plain, **given)  # type: ignore[arg-type]


async def filled(*turns: Turn, new: Sequence[Observation | Insight] = ()) -> InMemoryStore:
    store = InMemoryStore()
    await store.append("alice", [TurnInsert(one) for one in turns], ChangeSet(new=tuple(new)))
    return store


async def keys(store: InMemoryStore, search: Search) -> set[str]:
    found = await store.search(search)
    records = (await store.fetch("alice", list(found.handle))).records
    return {record.key if isinstance(record, Turn) else record.id for record in records.values()}


# ---- what is found


@given(st.text(max_size=300))
@settings(deadline=None)
def test_any_text_is_found_by_its_own_words(said: str) -> None:
    async def run() -> None:
        store = await filled(turn("other", "unrelated words"), turn("this", said, session="t"))
        assert not terms(said) or "this" in await keys(store, asked(said))

    asyncio.run(run())


async def test_columns_of_a_unit_and_its_neighbours() -> None:
    store = await filled(
        turn("1", "Oslo?"), turn("2", "Berlin is Berlin, Paris not", minutes=1, role="assistant", speaker="Bot"),
        turn("3", "Rome", minutes=2), turn("4", "Berlin", minutes=3, session="t"),
    )  # fmt: skip
    found = await store.search(asked("Berlin Paris Oslo"))
    rows = {handle: row for row, handle in enumerate(found.handle)}
    row = rows[2]
    assert found.tf[row].tolist() == [2, 1, 0]
    assert found.tf_neighbours[row].tolist() == [[0, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]]
    assert found.length_neighbours[row].tolist() == [0, 1, 1, 0]
    assert found.document_frequency.tolist() == [2, 1, 1]
    assert (found.units, found.average_length, found.session_length[row]) == (4, 1.5, 5)
    assert found.flags_before[row] & Flag.QUESTION
    assert found.has_roles
    assert found.session[row] == found.session[rows[1]] != found.session[rows[4]]


async def test_a_neighbour_is_found_by_the_words_beside_it() -> None:
    store = await filled(turn("1", "Which city?"), turn("2", "Berlin", minutes=1), turn("3", "Nice", minutes=2))
    assert await keys(store, asked("Berlin")) == {"1", "2", "3"}


async def test_a_long_pause_ends_a_conversation() -> None:
    later = CONVERSATION_GAP_US / 60_000_000 + 1
    store = await filled(turn("1", "Which city?", session=None), turn("2", "Berlin", minutes=later, session=None))
    assert await keys(store, asked("Berlin")) == {"2"}


async def test_a_name_in_a_header_finds_what_was_said() -> None:
    store = await filled(turn("1", "Hello there", speaker="Caroline"), turn("2", "Rainy", session="t"))
    assert await keys(store, asked("Caroline")) == {"1"}


async def test_periods_and_the_days_after() -> None:
    day = timedelta(days=1)
    said = [turn(str(n), "words", minutes=1440 * n, session=str(n)) for n in range(40)]
    found = await (await filled(*said)).search(asked("nothing", periods=(Interval(START + 5 * day, START + 6 * day),)))
    periods = dict(zip(found.handle, found.period.tolist(), strict=True))
    assert periods == {6: 1.0, **dict.fromkeys(range(7, 14), 0.5)}


async def test_the_pool_is_bounded_and_prefers_the_latest_of_equals() -> None:
    said = [turn(str(n), "berlin", minutes=n * 2000, session=str(n), role="assistant") for n in range(400)]
    found = await (await filled(*said)).search(asked("berlin"))
    assert sorted(found.handle) == list(range(251, 401))


# ---- what may be seen

turns = st.builds(
    lambda words, minutes, session, agent, role: (words, minutes, session, agent, role),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4),
    st.integers(0, 5000),
    st.sampled_from([None, "s1", "s2"]),
    st.sampled_from([None, "a1", "a2"]),
    st.sampled_from(["user", "assistant", "person"]),
)
stories = st.lists(turns, min_size=1, max_size=25)


def told(story: list[tuple[list[str], int, str | None, str | None, str]]) -> list[Turn]:
    return [
        turn(str(n), " ".join(words), minutes=minutes, session=session, agent=agent, role=role)
        for n, (words, minutes, session, agent, role) in enumerate(story)
    ]


@given(stories, st.sampled_from(WORDS), st.sampled_from([None, "s1", "s2"]), st.sampled_from([None, "a1", "a2"]),
       st.none() | st.integers(0, 5000), st.sets(st.integers(0, 24)))  # fmt: skip
@settings(max_examples=100, deadline=None)
def test_conditions_equal_a_plain_filter(
    story: list[tuple[list[str], int, str | None, str | None, str]], word: str, session: str | None, agent: str | None,
    as_of: int | None, left_out: set[int],
) -> None:  # fmt: skip
    async def run() -> None:
        store = await filled(*told(story))
        limit = None if as_of is None else START + timedelta(minutes=as_of)
        search = asked(word, as_of=limit, exclude=frozenset(map(str, left_out)))
        search = replace(search, scope=Scope("alice", agent, session))
        seen = {
            one.key
            for one in told(story)
            if session in (None, one.scope.session)
            and agent in (None, one.scope.agent)
            and (limit is None or one.time <= limit)
            and int(one.key) not in left_out
        }
        having = {str(n) for n, (words, *_) in enumerate(story) if word in words}
        found = await keys(store, search)
        assert seen & having <= found <= seen
        assert (await store.search(search)).units == len(seen)

    asyncio.run(run())


async def test_a_filter_narrows() -> None:
    fits = replace(turn("1", "Berlin"), metadata={"topic": "travel"})
    store = await filled(fits, turn("2", "Berlin", session="t"))
    assert await keys(store, asked("Berlin", filter={"topic": "travel"})) == {"1"}


# ---- memories


async def test_observations_lend_their_turn_words_and_vectors() -> None:
    store = await filled(
        turn("1", "I moved last week"),
        turn("2", "Rome", session="t"),
        new=[observation("o", "Ada lives in Berlin", ["1"])],
    )
    await store.set_vector_space(SPACE)
    await embed(store, {1: [0, 1, 0, 0], 2: [0, 0, 1, 0], 3: [1, 0, 0, 0]})
    found = await store.search(asked("Berlin", vector=np.array([1, 0, 0, 0], np.float32), space=SPACE))
    rows = {handle: row for row, handle in enumerate(found.handle)}
    assert set(rows) == {1, 2}
    assert found.tf[rows[1]].tolist() == [1]
    assert found.attributed[rows[1]]
    assert found.cosine[rows[1]] == 1
    assert not found.attributed[rows[2]]
    assert (found.units, found.document_frequency.tolist()) == (2, [1])


async def test_superseded_and_proposed_observations_lend_nothing() -> None:
    old, guess = (
        observation("old", "Ada lives in Berlin", ["1"]),
        observation("new", "Ada is in Oslo", ["1"], proposed=True),
    )
    store = await filled(turn("1", "I moved last week"), new=[old, guess])
    assert await keys(store, asked("Berlin")) == {"1"}
    await store.apply("alice", ChangeSet(closed=(Supersession("old", None, START, START + timedelta(days=3)),)))
    assert await keys(store, asked("Berlin")) == set()
    assert await keys(store, asked("Oslo")) == set()
    assert await keys(store, asked("Berlin", as_of=START + timedelta(days=2))) == {"1"}
    assert await keys(store, asked("Berlin", as_of=START + timedelta(days=4))) == set()


async def test_expired_memories_are_out_of_sight() -> None:
    store = await filled(turn("1", "Hello"), new=[observation("o", "Berlin", ["1"], expires=START + timedelta(days=1))])
    assert await keys(store, asked("Berlin", now=START)) == {"1"}
    assert await keys(store, asked("Berlin", now=START + timedelta(days=2))) == set()


async def test_insights_are_found_once_and_by_any_of_their_sessions() -> None:
    story = [turn("1", "a"), turn("2", "b", session="t"), turn("3", "c", session="u")]
    seen = observation("o", "x", ["1", "2"])
    insight = Insight(
        id="i", scope=Scope("alice"), text="Berlin", sources=("o",), said=START, recorded=START, subject="home"
    )
    store = await filled(*story, new=[seen, insight])
    found = await store.search(asked("Berlin"))
    assert (found.handle, found.kind.tolist()) == ([5], [2])
    for session, expected in (("s", {"i"}), ("t", {"i"}), ("u", set())):
        assert await keys(store, asked("Berlin", scope=Scope("alice", None, session))) == expected


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [({"turn"}, {"1"}), ({"observation"}, {"2"}), ({"insight"}, {"i"}), ({"turn", "observation"}, {"1", "2"})],
)
async def test_kinds(kinds: set[str], expected: set[str]) -> None:
    insight = Insight(
        id="i", scope=Scope("alice"), text="Berlin", sources=("o",), said=START, recorded=START, subject="home"
    )
    memories = [observation("o", "Berlin", ["2"]), insight]
    store = await filled(turn("1", "Berlin"), turn("2", "Hello", session="t"), new=memories)
    assert await keys(store, asked("Berlin", kinds=frozenset(kinds))) == expected


async def test_vectors_of_another_model_are_not_compared() -> None:
    store = await filled(turn("1", "Berlin"))
    await store.set_vector_space(SPACE)
    await embed(store, {1: [1, 0, 0, 0]})
    vector = np.array([1, 0, 0, 0], np.float32)
    assert (await store.search(asked("Berlin", vector=vector, space=SPACE))).cosine.tolist() == [1]
    other = await store.search(asked("Berlin", vector=vector, space=VectorSpace("another", 4)))
    assert np.isnan(other.cosine).all()


async def embed(store: InMemoryStore, vectors: dict[int, list[float]]) -> None:
    """Vectors for units by their sequence number."""
    for claim in await store.claim("embed", 100, 60):
        given = {item: np.array(vectors[int(item)], np.float32) for item in claim.items}
        await store.complete(claim, ChangeSet(vectors=given, done=claim.items))


# ---- keeping up

steps = st.lists(st.one_of(st.lists(turns, min_size=1, max_size=6), st.integers(0, 30)), min_size=1, max_size=8)


@given(steps, st.lists(st.sampled_from(WORDS), min_size=1, max_size=3))
@settings(max_examples=60, deadline=None)
def test_an_index_that_kept_up_equals_one_made_anew(
    script: list[list[tuple[list[str], int, str | None, str | None, str]] | int], query: list[str]
) -> None:
    """Turns come in any order of time, some are forgotten; between the steps it is asked, sorted and extended."""

    async def run() -> None:
        store, count = InMemoryStore(), 0
        for step in script:
            if isinstance(step, int):
                await store.forget(Select("alice", ids=frozenset({str(step)})))
            else:
                story = [replace(one, key=str(count + n)) for n, one in enumerate(told(step))]
                count += len(story)
                await store.append("alice", [TurnInsert(one) for one in story])
            kept = await store.search(asked(" ".join(query)))
            again = candidates.search(
                ScopeIndex().extend(await store.changes("alice", 0)), asked(" ".join(query)), NONE, None
            )
            assert_same(kept, again)
            store._cache.put("alice", sorted_entry(store))

    asyncio.run(run())


def sorted_entry(store: InMemoryStore) -> CachedIndex:
    entry = store._cache.get("alice")
    assert entry is not None
    return CachedIndex(entry.index, entry.snapshot.sorted())


def assert_same(one: Candidates, other: Candidates) -> None:
    """But for the numbers of conversations, which are names only."""
    for name in Candidates.__slots__:
        a, b = getattr(one, name), getattr(other, name)
        if name == "session":
            a, b = (np.equal.outer(column, column) for column in (a, b))
        if name != "records":
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b), err_msg=name)


async def test_a_snapshot_does_not_change_when_the_index_goes_on() -> None:
    store, index = InMemoryStore(), ScopeIndex()
    await store.append("alice", [TurnInsert(turn(str(n), "Berlin", minutes=n)) for n in range(3)])
    changes = await store.changes("alice", 0)
    before = index.extend(changes)
    first = candidates.search(before, asked("Berlin"), NONE, None)
    await store.append("alice", [TurnInsert(turn(str(n), "Berlin", minutes=n)) for n in range(3, 9)])
    await store.forget(Select("alice", ids=frozenset({"1"})))
    index.extend(await store.changes("alice", changes.revision), before)
    assert_same(first, candidates.search(before, asked("Berlin"), NONE, None))


async def test_many_questions_at_once_build_one_index() -> None:
    class Counting(InMemoryStore):
        asked = 0

        async def changes(self, user: str, since: int) -> Changes:
            self.asked += since == 0
            await asyncio.sleep(0)
            return await super().changes(user, since)

    store = Counting()
    await store.append("alice", [TurnInsert(turn("1", "Berlin"))])
    found = await asyncio.gather(*(store.search(asked("Berlin")) for _ in range(20)))
    assert {tuple(one.handle) for one in found} == {(1,)}
    assert store.asked == 1


async def test_a_question_that_is_given_up_leaves_the_index_whole() -> None:
    store = await filled(*(turn(str(n), "Berlin", minutes=n) for n in range(10)))
    task = asyncio.create_task(store.search(asked("Berlin")))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert len((await store.search(asked("Berlin"))).handle) == 10


async def test_an_empty_memory_finds_nothing() -> None:
    found = await InMemoryStore().search(asked("Berlin"))
    assert (list(found.handle), found.units) == ([], 0)


def test_the_cache_keeps_the_latest_within_its_bytes() -> None:
    snapshot = snapshot_of(turn("1", "Berlin"))
    cache = IndexCache(2 * snapshot.nbytes)
    for user in ("a", "b", "c"):
        cache.put(user, CachedIndex(ScopeIndex(), snapshot))
        cache.get("a")
    assert [cache.get(user) is not None for user in ("a", "b", "c")] == [True, False, True]
    assert cache.nbytes == 2 * snapshot.nbytes
    cache.clear()
    assert cache.nbytes == 0


def snapshot_of(*said: Turn) -> Snapshot:
    made = [unit for n, one in enumerate(said, 1) for unit in make_units(one, number=n, seq=n)]
    columns, words = b"".join(unit.columns for unit in made), b"".join(unit.terms for unit in made)
    return ScopeIndex().extend(Changes(1, [(columns, words)], NONE, NONE, NO_VECTORS, NO_SCALE, None, True))


def test_an_observation_may_come_before_its_turn() -> None:
    """A searching server gives units in any order."""
    said = turn("t", "I moved.")
    (unit,) = make_units(observation("o", "Ada lives in Berlin.", ["t"]), number=2, seq=2, turns=[(1, said)])
    alone = Changes(1, [(unit.columns, unit.terms)], NONE, NONE, NO_VECTORS, NO_SCALE, None, True)
    index = ScopeIndex()
    before = index.extend(alone)
    assert before.links.credited_row.tolist() == [-1]
    assert not len(candidates.search(before, asked("Berlin"), NONE, None).handle)
