"""One scenario per feature of the ranking, which is wrong where the feature has little or no weight."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from memscope import AsyncMemoryScope
from memscope.records import Hit, VectorSpace
from memscope.retrieval.features import FEATURES

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
FILLER = (
    "The kettle is broken again.",
    "It rained all day.",
    "What a long line at the till.",
    "The parcel came at noon.",
    "There was no milk left.",
)
SESSION_GAP = timedelta(days=1)
Said = tuple[str, str] | tuple[str, str, str]  # role, text, and the time where it matters


class OneMeaning:
    """An embedder for which texts with one of these words mean the same, and others something else."""

    languages = None
    space = VectorSpace("one meaning", 2)

    def __init__(self, *words: str) -> None:
        self.words = words

    async def measure(self):
        return self.space

    async def embed(self, texts, *, deadline_s=None):
        return np.array([await self.embed_query(text) for text in texts], np.float32)

    async def embed_query(self, text, *, deadline_s=None):
        return np.array([1, 0] if any(word in text for word in self.words) else [0, 1], np.float32)


async def ranked(query: str, sessions: list[list[Said]], embedder: OneMeaning | None = None) -> list[Hit]:
    """Return the hits for a query over sessions, a day apart, and small talk on later days."""
    talk = [*sessions, *([("user", f"{FILLER[n % len(FILLER)]} ({n})")] for n in range(20))]
    async with AsyncMemoryScope(":memory:", clock=lambda: NOW, embedder=embedder) as memory:
        for number, session in enumerate(talk):
            for place, (who, text, *when) in enumerate(session):
                time = when[0] if when else (START + number * SESSION_GAP + timedelta(minutes=place)).isoformat()
                role = who if who in ("user", "assistant") else "person"
                turn: dict[str, Any] = {"role": role, "speaker": who, "content": text, "time": time}
                await memory.add_turns([turn], user="alice", session=str(number))
        assert await memory.flush()
        return [*(await memory.retrieve(query, user="alice", k=20, explain=True)).hits]


MUCH_ELSE = (
    "Nobody in the cellar or in the house above it could say on that day how any of it, the smoke and the noise and "
    "all the water on the steps too, which ran down to the street until the evening came, could ever have happened."
)
A_BAND = (
    "When the band came on in the arena none of us had any idea that it was all live and not from a tape that somebody "
    "had put on before the doors were opened to those who stood outside."
)
SEVERAL = (
    "The boiler in the cellar leaks, the boiler upstairs hums, the boiler next door burns, and a boiler is not cheap."
)
QUIET = ("user", "Nothing new today.")
REQUEST = (
    "Hi again! I did what you told me about the balcony garden, and the tomatoes look fine now. I built the box from "
    "the wood of the shed and filled it with soil. So let us go on with that plan. Which seeds do I buy next, and how "
    "do I water them all while I travel in the summer?"
)
IN_PASSING = (
    "There was next to no water in the fountain, the tickets to travel on were sold out, nobody could look inside the "
    "church for the scaffolding, and the whole summer it was said to be fine in the paper while in fact it rained."
)
# feature: query, the turn that comes before another, the other, all sessions
SCENARIOS: dict[str, tuple[str, str, str, list[list[Said]]]] = {
    "window": (
        "Where was the choir concert?",
        "The concert was in the market hall.",
        "The concert was in the gallery hall.",
        [
            [("user", "The choir met early again."), QUIET, ("user", "The concert was in the gallery hall.")],
            [QUIET, ("user", "The choir met early again."), ("user", "The concert was in the market hall.")],
        ],
    ),
    "wide": (
        "Where was the choir concert?",
        "The concert was in the market hall.",
        "The concert was in the gallery hall.",
        [
            [("user", "The choir met early again."), QUIET, QUIET, ("user", "The concert was in the gallery hall.")],
            [QUIET, ("user", "The choir met early again."), QUIET, ("user", "The concert was in the market hall.")],
        ],
    ),
    "session": (
        "Where was the choir concert?",
        "The concert was in the market hall.",
        "The concert was in the gallery hall.",
        [
            [QUIET, QUIET, QUIET, QUIET, ("user", "The concert was in the gallery hall.")],
            [("user", "The choir met."), QUIET, QUIET, QUIET, ("user", "The concert was in the market hall.")],
        ],
    ),
    "answers": (
        "How was the choir concert?",
        "Very well, it lasted until ten.",
        "Very well, it lasted until noon.",
        [
            [("assistant", "How did the choir concert go?"), ("user", "Very well, it lasted until ten.")],
            [("assistant", "The choir concert went on."), ("user", "Very well, it lasted until noon.")],
        ],
    ),
    "header": (
        "What does Ben eat?",
        "Rice is what I have.",
        "I eat soup.",
        [
            [("Ada", "Ben eats with us, Ben eats a lot.")],
            [("Ada", "I eat soup.")],
            [("Ben", "Rice is what I have.")],
        ],
    ),
    "period": (
        "What happened at the harbour last week?",
        "The boiler man came.",
        MUCH_ELSE,
        [
            [("user", "What always happens at the harbour in a week happened.")],
            [("user", MUCH_ELSE)],
            [("user", "The boiler man came.", "2026-05-27T10:00:00+00:00")],
        ],
    ),
    "covered": (
        "Where do Anna and Paul mend old wooden chairs?",
        "Anna and Paul mend things, wooden ones.",
        "Mend your chairs, your chairs.",
        [
            [("user", "Mend your chairs, your chairs.")],
            [("assistant", "Anna and Paul mend things, wooden ones.")],
        ],
    ),
    "rare": (
        "What about the boiler and the cellar?",
        "The boiler was loud.",
        "The cellar is big, my cellar is.",
        [
            [("user", "The cellar is big, my cellar is.")],
            [("user", "The cellar is wet.")],
            [("user", "The cellar is big.")],
            [("user", "The cellar smells.")],
            [("user", "The cellar is dark.")],
            [("assistant", "The boiler was loud.")],
        ],
    ),
    "after": (
        "What happened at the harbour last week?",
        "The harbour was quiet.",
        "I could see the harbour.",
        [
            [("user", "I could see the harbour.", "2026-03-12T10:00:00+00:00")],
            [("user", "The harbour was quiet.", "2026-06-01T10:00:00+00:00")],
        ],
    ),
    "speaker": (
        "What did Ben say about the loud old boiler in the wet cellar by the stairs?",
        "I went to the cellar.",
        "Ben, the boiler leaks again in the cellar.",
        [[("Ada", "Ben, the boiler leaks again in the cellar.")], [("Ben", "I went to the cellar.")]],
    ),
    "user": (
        "What about the boiler?",
        "The boiler leaks in the cellar down there.",
        "The boiler, the boiler leaks.",
        [
            [("user", "The boiler leaks in the cellar down there.")],
            [("assistant", "The boiler, the boiler leaks.")],
        ],
    ),
    "instruction": (
        "Tell me about the boiler.",
        "Always tell me about the boiler in one line.",
        "The boiler has to tell us more, a boiler of its own.",
        [
            [("user", "The boiler has to tell us more, a boiler of its own.")],
            [("user", "Always tell me about the boiler in one line."), ("assistant", "I will.")],
        ],
    ),
    "length": (
        "What about the boiler?",
        "The boiler leaks.",
        "The boiler in the house next door, a boiler of the old kind, leaks.",
        [
            [("user", "The boiler in the house next door, a boiler of the old kind, leaks.")],
            [("user", "The boiler leaks.")],
        ],
    ),
    "short": (
        "What about the boiler?",
        SEVERAL,
        "The boiler leaks.",
        [[("user", "The boiler leaks.")], [("user", SEVERAL)]],
    ),
    "first_person": (
        "Who mended the boiler?",
        "I mended the boiler.",
        "They mended the boiler.",
        [[("user", "I mended the boiler.")], [("user", "They mended the boiler.")]],
    ),
    "number": (
        "How many chairs are there?",
        "There are 14 chairs upstairs.",
        "There are chairs upstairs.",
        [[("user", "There are chairs upstairs.")], [("user", "There are 14 chairs upstairs.")]],
    ),
    "event": (
        "What do I have next week?",
        "The exam is on June 10.",
        "Next week we have less of what we have.",
        [[("user", "Next week we have less of what we have.")], [("user", "The exam is on June 10.")]],
    ),
    "dated": (
        "When is the exam?",
        "The exam is on June 10.",
        "The exam is hard.",
        [[("user", "The exam is hard.")], [("user", "The exam is on June 10.")]],
    ),
    "lasting": (
        "What should I cook tonight?",
        "I'm vegetarian.",
        "Somebody left soup on the stove.",
        [[("user", "Somebody left soup on the stove.")], [("user", "I'm vegetarian.")]],
    ),
    "kind": (
        "Where do I live?",
        "I moved to a flat in Graz.",
        A_BAND,
        [
            [("user", A_BAND)],
            [("user", "You live and learn, live and let live.")],
            [("user", "I moved to a flat in Graz.")],
        ],
    ),
    "topic": (
        "Who mended the guitar?",
        "They mended the piano.",
        "They mended it.",
        [[("user", "They mended it.")], [("user", "They mended the piano.")]],
    ),
    "meaning": (
        "Is the automobile fixed?",
        "They fixed the motor.",
        "They fixed the lamp.",
        [[("user", "They fixed the motor.")], [("user", "They fixed the lamp.")]],
    ),
    "recent": (
        REQUEST,
        "We chose tomatoes for the balcony.",
        "We chose tomatoes for the balcony garden.",
        [
            [("user", "We chose tomatoes for the balcony garden.", "2026-01-12T10:00:00+00:00")],
            [("user", "We chose tomatoes for the balcony.", "2026-05-20T10:00:00+00:00")],
        ],
    ),
}


def test_every_feature_has_a_scenario() -> None:
    assert {*SCENARIOS, "cosine"} == {feature.name for feature in FEATURES}


@pytest.mark.parametrize("feature", SCENARIOS)
async def test_a_turn_comes_first_by_the_feature(feature: str) -> None:
    query, better, worse, sessions = SCENARIOS[feature]
    texts = [hit.text for hit in await ranked(query, sessions)]
    assert better in texts and worse not in texts[: texts.index(better)]


async def test_a_turn_comes_first_by_its_cosine() -> None:
    better, worse = "Somebody said the wagon was fixed.", "I fixed the motor."
    hits = await ranked("Who fixed the automobile?", [[("user", worse)], [("user", better)]], OneMeaning("auto", "wag"))
    texts = [hit.text for hit in hits]
    assert texts.index(better) < texts.index(worse)


async def test_the_cosine_counts_more_for_a_question_about_the_user() -> None:
    better, worse = "The wagon stands behind the barn.", "A letter from Leeds came."
    sessions = [[("user", worse)], [("user", better)]]
    embedder = OneMeaning("auto", "wag")
    best, *_ = await ranked("Where did the mechanic from Leeds leave my automobile?", sessions, embedder)
    assert best.text == better


async def test_a_request_told_at_length_finds_the_short_turn_on_its_subject() -> None:
    texts = [
        hit.text for hit in await ranked(REQUEST, [[("user", "I'd like a balcony garden.")], [("user", IN_PASSING)]])
    ]
    assert texts[0] == "I'd like a balcony garden."
