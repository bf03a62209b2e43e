"""Insights as they read on a later day: what has ended is left out or marked."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memscope.languages.insight_text import as_read, composed
from memscope.records import Insight, Interval, Observation, Sentence
from memscope_testing.records import insight, observation

SAID, WRITTEN, LATER = (datetime(2026, month, 1, tzinfo=UTC) for month in (5, 6, 9))
JULY = datetime(2026, 7, 1, tzinfo=UTC)


def fact(id: str, text: str, **more: object) -> Observation:
    return observation(id, f"turn-{id}", text=text, said=SAID, recorded=SAID, **more)


HOME, CAT = fact("home", "The user lives in Berlin."), fact("cat", "The user has a cat.")
ENDED = replace(HOME, valid_to=JULY)
PLAN = fact("plan", "The user plans to fly to Rome.", happened=Interval(JULY, JULY + timedelta(days=5)))
BOTH = Sentence("The user lives in Berlin with a cat.", ("home", "cat"))
ALONE = Sentence("The user has a cat.", ("cat",))


def life(*sentences: Sentence, text: str = "") -> Insight:
    sources = dict.fromkeys(id for one in sentences for id in one.sources) or ("home", "cat", "plan")
    text = text or composed("home", sentences)
    return insight("life", *sources, text=text, sentences=sentences, said=WRITTEN, recorded=WRITTEN)


def read(one: Insight, *facts: Observation, when: datetime = LATER) -> str | None:
    shown = as_read(one, {fact.id: fact for fact in facts}, when)
    return None if shown is None else shown.text


@pytest.mark.parametrize(
    ("sentences", "facts", "text"),
    [
        ((BOTH,), (HOME, CAT), "home: The user lives in Berlin with a cat."),
        ((BOTH,), (ENDED, CAT), "home: The user has a cat."),  # the other fact holds, and stands alone
        ((BOTH, ALONE), (ENDED, CAT), "home: The user has a cat."),  # and is not said twice
        ((BOTH,), (ENDED, replace(CAT, closed=JULY)), None),
        ((BOTH,), (ENDED, replace(CAT, valid_to=JULY)), None),
        ((BOTH,), (ENDED,), None),  # the other fact was forgotten
        ((BOTH,), (CAT,), "home: The user lives in Berlin with a cat."),
    ],
)
def test_a_sentence_goes_with_a_fact_that_has_ended(sentences, facts, text):
    assert read(life(*sentences), *facts) == text


@pytest.mark.parametrize(
    ("sentence", "ended_on", "stays"),
    [
        ("The user left Berlin.", WRITTEN - timedelta(days=1), True),  # it was written in knowledge of the end
        (
            "The user lives in Berlin. So far.",
            WRITTEN - timedelta(days=1),
            False,
        ),  # it says what has ended all the same
        ("The user left Berlin.", JULY, False),
    ],
)
def test_a_sentence_that_was_written_after_the_end_stays(sentence, ended_on, stays):
    one = life(Sentence(sentence, ("home",)), ALONE)
    assert ("Berlin" in str(read(one, replace(HOME, valid_to=ended_on), CAT))) is stays


@pytest.mark.parametrize(
    ("sentence", "when", "text"),
    [
        ("The user plans to fly to Rome.", LATER, "home: The user plans to fly to Rome. (now past)"),
        ("The user plans to fly to Rome.", JULY, "home: The user plans to fly to Rome."),
        ("The user likes Rome.", LATER, "home: The user likes Rome."),
        ("用户打算飞去罗马。", LATER, "home：用户打算飞去罗马。（已过去）"),
    ],
)
def test_a_plan_whose_day_is_over_is_marked(sentence, when, text):
    assert read(life(Sentence(sentence, ("plan", "forgotten"))), PLAN, when=when) == text
    happened = replace(PLAN, text="The user flew to Rome.")
    assert (
        read(life(Sentence(sentence, ("plan",))), happened, when=when) == text.partition(" (now")[0].partition("（")[0]
    )


def test_only_the_sentence_of_the_plan_is_marked():
    one = life(Sentence(PLAN.text, ("plan",)), Sentence("The user plans to get a cat.", ("cat",)))
    assert read(one, PLAN, CAT) == "home: The user plans to fly to Rome. (now past) The user plans to get a cat."


@pytest.mark.parametrize(
    ("text", "facts", "mark"),
    [
        ("home: Berlin.", (HOME, CAT), ""),
        ("home: Berlin.", (ENDED, CAT), " (changed later: 2026-07-01)"),
        ("home: Berlin.", (ENDED, replace(CAT, valid_to=JULY + timedelta(days=9))), " (changed later: 2026-07-10)"),
        ("home: Berlin.", (replace(HOME, closed=JULY), CAT), ""),  # it was replaced, and no time ended
        ("trips: the user will fly to Rome.", (PLAN,), " (now past)"),
        ("trips: Rome.", (PLAN,), ""),
        ("居住情况：柏林。", (ENDED,), "（后来有变：2026-07-01）"),
    ],
)
def test_an_insight_without_sentences_has_one_mark(text, facts, mark):
    assert read(life(text=text), *facts) == text + mark


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (("Berlin", "a cat"), "home: Berlin, a cat"),
        (("The user lives in Berlin.", "It rains."), "home: The user lives in Berlin. It rains."),
        (("用户住在柏林。", "下雨了"), "home：用户住在柏林。下雨了"),
    ],
)
def test_sentences_stand_behind_their_subject(parts, text):
    assert composed("home", [Sentence(part, ("t",)) for part in parts]) == text
