"""From a query to its hits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import numpy as np
import pytest
from numpy.typing import NDArray

from memscope import AsyncMemoryScope, retrieval
from memscope.errors import DeadlineExceeded, ModelTimeout
from memscope.records import ChangeSet, FoundBy, Insight, Observation, Scope, Supersession, VectorSpace
from memscope.retrieval import Query, follow_supersession
from memscope.retrieval.explain import BROUGHT_BY
from memscope.retrieval.features import FEATURES, RANK_WEIGHTS
from memscope.retrieval.rank import CHANNELS
from memscope.stores.memory import InMemoryStore

Ask = Callable[..., Query]


class Letters:
    """An embedder whose vectors count letters: what it finds can be told by hand."""

    def __init__(self, languages: frozenset[str] | None = None, fails: bool = False) -> None:
        self.languages, self.fails, self.asked = languages, fails, 0
        self.space = VectorSpace("letters", 26)

    async def measure(self) -> VectorSpace:
        return self.space

    async def embed(self, texts: Sequence[str], *, deadline_s: float | None = None) -> NDArray[np.float32]:
        rows = np.array([[text.lower().count(chr(97 + i)) for i in range(26)] for text in texts], np.float32)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)

    async def embed_query(self, text: str, *, deadline_s: float | None = None) -> NDArray[np.float32]:
        self.asked += 1
        if self.fails:
            raise ModelTimeout("no answer")
        return (await self.embed([text]))[0]


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("What is the name of Ada's dog?", "t1"),
        ("Which breed is the dog?", "t3"),
        ("Where did they move to?", "t4"),
        ("What hobby has Ben begun, pottery?", "t5"),
        ("What was in May?", "t6"),
        ("小明去西湖看了什么？", "t7"),
    ],
)
async def test_the_evidence_is_among_the_first_three(memory: AsyncMemoryScope, query: str, best: str) -> None:
    found = await memory.retrieve(query, user="alice")
    assert best in [hit.id for hit in found[:3]]


async def test_every_hit_says_why(memory: AsyncMemoryScope) -> None:
    for hit in await memory.retrieve("dog in March", user="alice"):
        assert hit.found_by
        assert hit.score == pytest.approx(sum(feature.contribution for feature in hit.features), abs=1e-3)


@pytest.mark.parametrize("query", ["", "?!", "🙂"])
async def test_a_query_without_words_is_empty_and_no_error(memory: AsyncMemoryScope, query: str) -> None:
    found = await memory.retrieve(query, user="alice", explain=True)
    assert (found.hits, found.why) == ((), "not_searched")
    assert ("the query has no words" if query.strip() else "empty query") in found.explanation


async def test_unknown_words_find_nothing(memory: AsyncMemoryScope) -> None:
    assert not await memory.retrieve("zygote quasar", user="alice")
    assert not await memory.retrieve("dog", user="bob")


async def test_one_hit_a_turn_however_long() -> None:
    async with AsyncMemoryScope(":memory:") as memory:
        await memory.add_turns(
            [{"id": "long", "role": "user", "content": "The harbour was foggy. " * 100}], user="alice"
        )
        (hit,) = await memory.retrieve("foggy harbour", user="alice")
        assert hit.id == "long"


async def test_the_part_of_a_long_turn_that_fits_best() -> None:
    told = "Nothing of note here. " * 60 + "\n\nThe lighthouse keeper is called Olaf.\n\n" + "More of the same. " * 60
    async with AsyncMemoryScope(":memory:") as memory:
        await memory.add_turns([{"role": "user", "content": told}], user="alice")
        (hit,) = await memory.retrieve("lighthouse keeper", user="alice")
        assert hit.part > 0
        line = await memory.context("lighthouse keeper", user="alice")
        assert "called Olaf" in line and len(line) < 1200
        assert len(retrieval.context([hit], tokens=5000, lines="turns")) > len(told)


async def test_results_are_the_same_again(memory: AsyncMemoryScope) -> None:
    first = await memory.retrieve("dog garden harbour", user="alice")
    assert [await memory.retrieve("dog garden harbour", user="alice") for _ in range(4)] == [first] * 4


async def test_what_is_forgotten_meanwhile_makes_room_for_the_next(question: Ask) -> None:
    async with AsyncMemoryScope(":memory:") as memory:
        said = [{"id": str(n), "role": "user", "content": f"dog number {n}"} for n in range(20)]
        await memory.add_turns(said, user="alice")
        ctx = memory.admin.runtime.services
        asked = question("dog", k=10)
        for step in retrieval.RETRIEVAL_STEPS[:-1]:
            asked = await step(asked, ctx)
        found = asked.candidates
        assert found is not None
        first = [str(found.handle[row] - 1) for row in asked.order[:5]]  # type: ignore[operator]
        await memory.forget(user="alice", ids=first)
        done = await retrieval.build_hits(asked, ctx)
        assert len(done.hits) == 10 and done.gone == 5
        assert not {hit.id for hit in done.hits} & set(first)


async def test_explain_prints_the_lines_of_the_table(memory: AsyncMemoryScope) -> None:
    found = await memory.retrieve("Which dog did Ada adopt in March?", user="alice", k=2, explain=True)
    lines = found.explanation.splitlines()
    assert "terms" in lines[0]
    assert any(line.startswith("1. 't1' score") for line in lines)
    assert any("period: said in the period asked for" in line for line in lines)
    assert any(line.startswith("cut: ") and "beyond k = 2" in line for line in lines)
    assert (await memory.retrieve("dog", user="alice")).explanation == ""


def test_whatever_brings_a_hit_has_a_phrase_that_explains_it() -> None:
    assert {*CHANNELS, *follow_supersession.FOUND_BY} == {*get_args(FoundBy)} == BROUGHT_BY.keys()


async def test_a_correction_beside_a_changed_hit_is_explained(memory: AsyncMemoryScope) -> None:
    made = await memory.add_memory("Ada's bicycle is green.", user="alice")
    await memory.update(made.id, user="alice", text="Ada's bicycle is red, not blue.")
    found = await memory.retrieve("Is it green?", user="alice", explain=True)
    assert ("supersedes",) in [hit.found_by for hit in found]
    assert "found by supersedes (holds in place of a changed one)" in found.explanation


def test_the_table_has_a_weight_for_each_feature() -> None:
    assert [column.name for column in FEATURES] == list(RANK_WEIGHTS)


# ---- vectors


async def test_the_cosine_is_one_more_channel() -> None:
    async with AsyncMemoryScope(":memory:", embedder=Letters()) as memory:
        await memory.add_turns([{"id": "z", "role": "user", "content": "zzz qqq"}], user="alice")
        await memory.add_turns([{"id": "a", "role": "user", "content": "abc"}], user="alice")
        assert await memory.flush()
        hit = (await memory.retrieve("zq zzqq", user="alice"))[0]
        assert (hit.id, hit.found_by) == ("z", ("vector",))
        assert any(feature.name == "cosine" and feature.value == 1 for feature in hit.features)


async def test_a_second_hop_embeds_nothing_again() -> None:
    embedder = Letters()
    async with AsyncMemoryScope(":memory:", embedder=embedder) as memory:
        await memory.add_turns([{"role": "user", "content": "My friend Liam started at Globex."}], user="alice")
        await memory.add_turns([{"role": "user", "content": "Liam moved to Oslo."}], user="alice", session="2")
        await memory.retrieve("Which city does my friend at Globex live in?", user="alice")
        assert embedder.asked == 1


@pytest.mark.parametrize(("query", "asked"), [("日落在哪里", 0), ("sunset", 1)])
async def test_no_vector_for_a_query_in_a_script_the_embedder_does_not_know(query: str, asked: int) -> None:
    embedder = Letters(frozenset({"en"}))
    async with AsyncMemoryScope(":memory:", embedder=embedder) as memory:
        await memory.add_turns([{"role": "user", "content": "The sunset. 日落"}], user="alice")
        await memory.retrieve(query, user="alice")
        assert embedder.asked == asked


async def test_words_do_when_the_embedder_fails() -> None:
    async with AsyncMemoryScope(":memory:", embedder=Letters(fails=True)) as memory:
        await memory.add_turns([{"id": "t", "role": "user", "content": "The sunset"}], user="alice")
        found = await memory.retrieve("sunset", user="alice")
        assert [hit.id for hit in found] == ["t"]
        assert "model_timeout" in found.reason


class Silent(Letters):
    """Models of one's own that never answer, and know no deadline."""

    name = "silent"

    async def embed_query(self, text: str, *, deadline_s: float | None = None) -> NDArray[np.float32]:
        await asyncio.Event().wait()
        raise AssertionError

    async def rerank(self, query: str, documents: Sequence[str], *, deadline_s: float | None = None) -> list[float]:
        await asyncio.Event().wait()
        raise AssertionError


@pytest.mark.parametrize(
    ("models", "note"),
    [({"embedder": Silent()}, "without vectors: model_timeout"), ({"reranker": Silent()}, "not reranked")],
)
async def test_words_do_when_a_model_never_answers(models: dict[str, Any], note: str) -> None:
    async with AsyncMemoryScope(":memory:", settings={"retrieve_s": 2}, **models) as memory:
        sunsets = [{"id": day, "role": "user", "content": f"The sunset on {day}"} for day in ("Monday", "Friday")]
        await memory.add_turns(sunsets, user="alice")
        found = await memory.retrieve("sunset", user="alice")
        assert {hit.id for hit in found} == {"Monday", "Friday"} and note in found.reason


async def test_a_retrieve_ends_at_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(*_: object) -> None:
        await asyncio.Event().wait()

    async with AsyncMemoryScope(":memory:", settings={"retrieve_s": 0.01}) as memory:
        monkeypatch.setattr(memory.admin.runtime.services.store, "search", hang)
        with pytest.raises(DeadlineExceeded, match="retrieve_s"):
            await memory.retrieve("sunset", user="alice")


# ---- memories

SAID = datetime(2024, 3, 4, 9, tzinfo=UTC)


def observation(id: str, text: str, *sources: str, **given: Any) -> Observation:
    return Observation(id=id, scope=Scope("alice"), text=text, sources=sources, said=SAID, recorded=SAID, **given)


@pytest.fixture
async def store(memory: AsyncMemoryScope) -> InMemoryStore:
    store = memory.admin.runtime.services.store
    assert isinstance(store, InMemoryStore)
    return store


async def test_an_observation_that_says_more_than_its_turn_stands_behind_the_words(
    memory: AsyncMemoryScope, store: InMemoryStore
) -> None:
    seen = observation("o", "Ada is the owner of a collie called Pixel", "t1")
    await store.apply("alice", ChangeSet(new=(seen,)))
    hit = (await memory.retrieve("Who is the owner of the collie?", user="alice"))[0]
    words = "Hey Ben! I adopted a dog, her name is Pixel."
    assert (hit.id, hit.matched, hit.text) == ("t1", (seen,), f"{words} — {seen.text}")
    assert retrieval.context([hit], tokens=100) == f"[2024-03-04 09:00 Monday] Ada: {words} — {seen.text}"
    assert retrieval.context([hit], tokens=100, lines="turns").endswith(words)


async def test_a_turn_is_marked_when_what_it_says_changed_later(memory: AsyncMemoryScope, store: InMemoryStore) -> None:
    later = SAID + timedelta(days=40)
    old = observation("old", "Ada lives in Lisbon", "t4")
    await store.apply("alice", ChangeSet(new=(old,), closed=(Supersession("old", None, later, later),)))
    hit = (await memory.retrieve("Who moved to Lisbon?", user="alice"))[0]
    assert (hit.observations, hit.changed) == ((), later)
    assert retrieval.context([hit], tokens=100).endswith("the flat has a garden. (changed later: 2024-04-13)")
    before = (await memory.retrieve("Who moved to Lisbon?", user="alice", as_of="2024-04-12T00:00+00:00"))[0]
    assert ([one.id for one in before.observations], before.changed) == (["old"], None)


async def test_insights_are_hits_of_their_own(memory: AsyncMemoryScope, store: InMemoryStore) -> None:
    insight = Insight(
        id="i", scope=Scope("alice"), text="Ada keeps animals", sources=("o",), said=SAID, recorded=SAID, subject="pets"
    )
    await store.apply("alice", ChangeSet(new=(observation("o", "Ada has a dog", "t1"), insight)))
    hit = next(hit for hit in await memory.retrieve("animals", user="alice") if hit.insight)
    assert (hit.id, hit.text, hit.time) == ("i", "Ada keeps animals", SAID)
    assert retrieval.context([hit], tokens=100) == "[2024-03-04 09:00 Monday] Ada keeps animals"


async def test_many_questions_at_once(memory: AsyncMemoryScope) -> None:
    queries = ["dog", "garden", "harbour", "Norway", "西湖"] * 8
    found = await asyncio.gather(*(memory.retrieve(query, user="alice") for query in queries))
    assert [hits[0].id for hits in found[:5]] == ["t1", "t4", "t5", "t6", "t7"]
    assert found[5:10] == found[:5]


async def test_a_task_that_asks_again_and_again_leaves_the_loop_to_others(memory: AsyncMemoryScope) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    ticking = asyncio.create_task(tick())
    for _ in range(20):
        await memory.retrieve("dog", user="alice")
    ticking.cancel()
    assert ticks >= 20


@pytest.mark.parametrize(
    ("said", "question", "wanted"),
    [
        (
            ["I live in a ground-floor flat in Bristol with my husband Owen.", "Owen is allergic to peanuts.",
             "Owen proposed to me on a ferry.", "We moved to Cardiff two weeks ago."],
            "Where do I live?",
            [0, 3],
        ),
        (
            ["我姐林月在成都当小学老师，有个女儿叫糖糖。", "我叫林晓，在杭州一家设计公司做平面设计。",
             "我打算五月搬去上海，已经跟房东说了。", "两周前搬到上海了，新家在徐汇。"],
            "我住哪儿？",
            [3],
        ),
        (
            ["I've just started as a paramedic in Bristol.", "We live in a flat.", "I never learned to swim.",
             "I'm now a triage nurse at the hospital."],
            "What do I do for a living?",
            [0, 3],
        ),
    ],
)  # fmt: skip
async def test_a_few_hits_hold_what_is_of_the_kind_asked_for(said: list[str], question: str, wanted: list[int]) -> None:
    async with AsyncMemoryScope(":memory:") as memory:
        for n, text in enumerate(said):
            await memory.add_turns([{"role": "user", "content": text}], user="alice", session=str(n))
        found = await memory.retrieve(question, user="alice", k=3)
    assert {said[at] for at in wanted} <= {hit.text for hit in found}


async def test_words_of_asking_do_not_hide_a_name() -> None:
    async with AsyncMemoryScope(":memory:") as memory:
        said = [*(f"今天第{n}次听见楼下装修" for n in range(40)), "周岩特别迷黑胶唱片。"]
        for text in said:
            await memory.add_turns([{"role": "user", "content": text}], user="alice")
        found = await memory.retrieve("关于周岩你知道什么？", user="alice")
    assert found[0].text == said[-1]


@pytest.mark.parametrize(
    ("said", "query", "is_noted"), [("Το σκυλί μου είναι μαύρο.", "σκυλί", True), ("My dog is black.", "dog", False)]
)
async def test_hits_in_a_language_that_is_not_registered_come_with_a_note(said, query, is_noted):
    async with AsyncMemoryScope(":memory:", settings={}) as memory:
        await memory.add_turns([{"role": "user", "content": said}], user="alice")
        found = await memory.retrieve(query, user="alice")
        assert len(found) == 1 and found.why is None and bool(found.reason) is is_noted
