"""Consequences of verdicts in everyday use: late news, plans, what was, recaps, several verdicts on one fact."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memscope import AsyncMemoryScope
from memscope.dates.iso import parse
from memscope.reconciliation.settlement import FactRelation, Settlement, relation_of
from memscope.reconciliation.supersession import apply_ends, as_past, is_tentative
from memscope.records import Observation, Scope, Supersession
from memscope_testing.models import IdealChat


def day(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


class Story:
    """A user says one thing per day, a model notes one fact of each and knows how they stand to each other."""

    def __init__(self, *told, relations=(), **settings):
        self.now = day("2026-01-01")
        self.told = told
        turns = [{"text": text} for _, text, *_ in told]
        self.memory = AsyncMemoryScope(
            ":memory:", settings=settings, chat=IdealChat(turns, self.facts(), relations), clock=lambda: self.now
        )

    def facts(self):
        about = {"about": "user", "keywords": ["topic"], "level": 3}
        return [
            {**about, "turns": [n], "text": fact, "when": "".join(when), "quote": text.rstrip(".")}
            for n, (_, text, fact, *when) in enumerate(self.told)
        ]

    async def __aenter__(self):
        for when, text, *_ in self.told:
            self.now = day(when) + timedelta(hours=9)
            await self.memory.add_turns([{"role": "user", "content": text}], user="alice", session="s")
            await self.memory.consolidate(user="alice")
        return self

    async def __aexit__(self, *_):
        await self.memory.close()

    async def all(self):
        return await self.memory.list(user="alice", kinds=["observation"], superseded=True)

    async def shown(self, query, at=None, as_of=None):
        """The texts of the current observations of all hits."""
        self.now = day(at) if at else self.now
        found = await self.memory.retrieve(query, user="alice", as_of=as_of)
        return {one.text for hit in found.hits for one in hit.observations}


BERLIN, LISBON = "The user lives in Berlin.", "The user moved to Lisbon two weeks ago."
LATE = (
    ("2026-11-01", "I live in Berlin.", BERLIN),
    ("2026-11-10", "I moved to Lisbon two weeks ago.", LISBON, "2026-10-27"),
)


async def test_late_news_ends_what_was_said_after_the_change():
    async with Story(*LATE, relations=[(0, 1, "contradicts")]) as story:
        berlin, lisbon = await story.all()
        assert (lisbon.closed, lisbon.valid_from) == (None, day("2026-10-27"))
        assert (berlin.superseded_by, berlin.valid_to) == (lisbon.id, day("2026-10-27"))
        assert await story.shown("live Berlin Lisbon moved") == {LISBON}
        assert await story.shown("live Berlin Lisbon moved", as_of=day("2026-11-05")) == {BERLIN}


@pytest.mark.parametrize("verdict", ["ends", "contradicts"])
async def test_a_habit_that_ended_before_it_was_told(verdict):
    told = (
        ("2026-10-05", "I smoke a lot.", "The user smokes a lot."),
        ("2026-11-10", "I quit smoking in September.", "The user quit smoking in September.", "2026-09"),
    )
    async with Story(*told, relations=[(0, 1, verdict)]) as story:
        assert await story.shown("smoke smoking quit") == {told[1][2]}


async def test_late_news_in_chinese():
    told = (
        ("2026-11-01", "我在阿里工作。", "用户在阿里工作。"),
        ("2026-11-10", "其实我上个月去了腾讯", "用户上个月去了腾讯。", "2026-10"),
    )
    async with Story(*told, relations=[(0, 1, "contradicts")]) as story:
        ali, tencent = await story.all()
        assert (ali.superseded_by, tencent.closed) == (tencent.id, None)
        assert tencent.valid_from == day("2026-10-01")


async def test_a_new_day_of_what_is_to_come_ends_the_old_one():
    told = (
        ("2026-03-02", "The project ends on March 29.", "The user's project ends on March 29.", "2026-03-29"),
        ("2026-03-10", "The project now targets March 31.", "The user's project now targets March 31.", "2026-03-31"),
    )
    async with Story(*told, relations=[(0, 1, "contradicts")]) as story:
        assert await story.shown("project", at="2026-03-11") == {told[1][2]}


async def test_a_certain_change_ends_a_fact_on_its_day():
    told = (
        ("2026-06-01", "I live in Berlin.", BERLIN),
        ("2026-06-10", "I'll move to Rome in December.", "The user will move to Rome in December.", "2026-12"),
    )
    async with Story(*told, relations=[(0, 1, "contradicts")]) as story:
        berlin, rome = await story.all()
        assert (berlin.closed, berlin.valid_to, rome.closed) == (None, day("2026-12-01"), None)
        assert BERLIN in await story.shown("live Berlin Rome", at="2026-11-30")
        assert await story.shown("live Berlin Rome", at="2026-12-02") == {told[1][2]}
        assert BERLIN in await story.shown("live Berlin Rome", as_of=day("2026-11-30"))


@pytest.mark.parametrize(
    "said, fact",
    [
        ("I'm planning to move to Rome in December.", "The user is planning to move to Rome in December."),
        ("I'd love to move to Rome.", "The user would love to move to Rome."),
        ("I might move to Rome in December.", "The user might move to Rome in December."),
        ("I'm afraid of losing the flat in December.", "The user is afraid of losing the flat in December."),
    ],
)
async def test_a_plan_a_wish_or_a_fear_ends_nothing(said, fact):
    told = (("2026-06-01", "I live in Berlin.", BERLIN), ("2026-06-10", said, fact, "2026-12"))
    async with Story(*told, relations=[(0, 1, "contradicts")]) as story:
        assert [(one.closed, one.valid_to) for one in await story.all()] == [(None, None)] * 2


async def test_what_was_closes_nothing_and_holds_for_its_time():
    told = (
        ("2026-06-01", "I live in Berlin.", BERLIN),
        ("2026-06-10", "In 2019 I lived in Rome.", "The user lived in Rome in 2019.", "2019"),
    )
    async with Story(*told, relations=[(0, 1, "was")]) as story:
        berlin, rome = await story.all()
        assert (berlin.closed, berlin.valid_to, rome.closed, rome.valid_to) == (None, None, None, day("2020-01-01"))
        assert await story.shown("lived Berlin Rome") == {BERLIN, told[1][2]}


async def test_a_fact_may_end_several():
    told = (
        ("2026-06-01", "I live in Berlin.", BERLIN),
        ("2026-06-02", "I rent a flat in Kreuzberg.", "The user rents a flat in Kreuzberg."),
        ("2026-06-10", "I moved to Rome.", "The user moved to Rome."),
    )
    async with Story(*told, relations=[(0, 2, "ends"), (1, 2, "ends")]) as story:
        *old, rome = await story.all()
        assert [one.superseded_by for one in old] == [rome.id, rome.id]


async def test_with_approval_nothing_ends_before_a_person_says_so():
    told = (
        ("2026-06-01", "I live in Berlin.", BERLIN),
        ("2026-06-10", "I'll move to Rome in December.", "The user will move to Rome in December.", "2026-12"),
    )
    async with Story(*told, relations=[(0, 1, "ends")], approve=True) as story:
        waiting = await story.memory.admin.proposals(user="alice")
        assert [one.valid_to for one in waiting] == [None, None]


async def test_a_recap_renews_nothing():
    """The assistant restates an old fact, the user only agrees: the fact in force stays, with its sources."""
    turns = [{"text": "I live in Berlin."}, {"text": "You live in Berlin, so take the U8."}, {"text": "Right, thanks!"}]
    fact = {"about": "user", "when": "", "keywords": ["home"], "level": 3}
    facts = [
        {**fact, "turns": [0], "text": BERLIN, "quote": "I live in Berlin"},
        {**fact, "turns": [1, 2], "text": BERLIN, "quote": "You live in Berlin"},
    ]
    now = day("2026-06-01")
    chat = IdealChat(turns, facts)
    async with AsyncMemoryScope(":memory:", settings={}, chat=chat, clock=lambda: now) as memory:
        await memory.add_turns([{"role": "user", "content": turns[0]["text"]}], user="alice", session="s")
        await memory.consolidate(user="alice")
        now = day("2026-07-01")
        said = [("assistant", turns[1]["text"]), ("user", turns[2]["text"])]
        given = [{"role": role, "content": text} for role, text in said]
        await memory.add_turns(given, user="alice", session="t")
        report = await memory.consolidate(user="alice")
        (berlin,) = await memory.list(user="alice", kinds=["observation"])
        assert (report.new, berlin.said, len(berlin.sources)) == (0, day("2026-06-01"), 1)


# -------------------------------------------------------------------------------------------------------- the rules


def observation(id, text, said="2026-06-01", when="", **more):
    return Observation(
        id=id, scope=Scope("alice"), text=text, sources=(f"turn-{id}",), said=day(said), recorded=day(said),
        happened=parse(when, UTC), **more,
    )  # fmt: skip


def settled(*verdicts, fresh=(), recaps=()):
    settlement = Settlement({one.id: one for one in fresh}, day("2026-12-01"), frozenset(recaps))
    settlement.settle(verdicts)
    return settlement


NOW = day("2026-12-01")
OLD, NEW = observation("old", "The user lives in Berlin."), observation("new", "The user moved.", said="2026-06-10")


def test_where_a_verdict_gives_no_direction_what_was_said_later_holds():
    assert relation_of(NEW, OLD, "ends") == relation_of(OLD, NEW, "ends") == FactRelation(NEW, OLD, "ends")


def test_of_two_dated_past_events_the_earlier_ends_nothing():
    berlin = replace(OLD, happened=parse("2024-05", UTC))
    rome = replace(NEW, happened=parse("2019", UTC))
    (revised,) = apply_ends(rome, berlin, day("2026-12-01"))
    assert (revised.id, revised.valid_to) == ("new", day("2020-01-01"))


def test_a_fact_never_ends_before_it_began():
    berlin = replace(OLD, valid_from=day("2026-05-20"))
    outcome = apply_ends(replace(NEW, happened=parse("2026-05-10", UTC)), berlin, day("2026-12-01"))
    assert isinstance(outcome, Supersession)
    assert outcome.valid_to == berlin.valid_from


@pytest.mark.parametrize(
    ("old", "new", "when"),
    [
        ("The user lives in Berlin.", "The user lived in Paris in 2010.", "2010"),
        ("The user lives in Berlin.", "The user used to live in Paris.", ""),
        ("The user works at Siemens.", "The user was an intern at Bosch in 2012.", "2012"),
        ("Ann Lee lives in Berlin.", "Ann Lee lived in Paris in 2010.", "2010"),
        ("张萍住在柏林。", "张萍2010年住在巴黎。", "2010"),
        ("用户住在柏林。", "用户2010年住在巴黎。", "2010"),
        ("用户在西门子工作。", "用户2012年在博世工作。", "2012"),
        ("用户住在柏林。", "用户以前住在巴黎。", ""),
    ],
)
def test_what_tells_of_a_time_that_was_over_ends_nothing_that_holds(old, new, when):
    about = next((name for name in ("Ann Lee", "张萍") if old.startswith(name)), "user")
    lives = observation("old", old, about=about)
    outcome = apply_ends(observation("new", new, said="2026-06-10", when=when, about=about), lives, day("2026-12-01"))
    assert not isinstance(outcome, Supersession)
    assert [(one.id, one.valid_to) for one in outcome] == [("new", parse(when, UTC).end if when else None)]


@pytest.mark.parametrize(
    ("old", "new", "when"),
    [
        ("The user works at Siemens.", "The user worked at Siemens until 2025.", "2025"),
        ("The user smokes a lot.", "The user used to smoke.", ""),
        ("The user lives in Berlin.", "The user has lived in Rome since May.", "2026-05"),
        ("The user lives in Berlin.", "The user moved to Rome in May.", "2026-05"),
        ("The user plans to study in Rome.", "The user studied there last year.", ""),
        ("The user has a toothache.", "The user was at the dentist.", ""),
        ("The user has lived in Berlin since 2019.", "The user moved to Rome in May.", "2026-05"),
        ("用户在西门子工作。", "用户以前在西门子工作。", ""),
        ("用户住在柏林。", "用户五月起住在罗马。", "2026-05"),
        ("用户住在柏林。", "用户五月搬到了罗马。", "2026-05"),
    ],
)
def test_late_news_and_the_end_of_the_same_still_end(old, new, when):
    since = "2019" if "2019" in old else ""
    outcome = apply_ends(
        observation("new", new, said="2026-06-10", when=when), observation("old", old, when=since), day("2026-12-01")
    )
    assert isinstance(outcome, Supersession)


def test_a_plan_holds_until_another_was_said():
    lisbon = observation("old", "The user plans to move to Lisbon in September.", when="2026-09")
    rome = observation("new", "The user plans to move to Rome in December.", said="2026-06-10", when="2026-12")
    outcome = apply_ends(rome, replace(lisbon, happened=None), day("2026-12-01"))
    assert isinstance(outcome, Supersession)
    assert outcome.valid_to == rome.said
    early = apply_ends(replace(rome, text="The user moved to Rome.", happened=parse("2026-06-05", UTC)), lisbon, NOW)
    assert isinstance(early, Supersession)
    assert early.valid_to == day("2026-06-05")


def test_an_event_ends_the_dated_appointment_that_it_cancels():
    trip = observation("old", "The user flies to Rome on 20 June.", when="2026-06-20")
    cancelled = observation("new", "The user cancelled the flight to Rome.", said="2026-06-10", when="2026-06-09")
    outcome = apply_ends(cancelled, trip, NOW)
    assert isinstance(outcome, Supersession) and outcome.id == "old"


def test_what_still_holds_of_an_ended_fact_is_known_from_then_on():
    two = observation("old", "The user has 2 cats and 3 hens.")
    three = observation("new", "The user has 3 cats.", said="2026-06-10")
    told = settled(FactRelation(three, two, "ends", "The user has 3 hens."), fresh=[three])
    (hens,) = [one for one in told.fresh.values() if one.id != "new"]
    assert (hens.text, hens.said, hens.sources) == ("The user has 3 hens.", three.said, ("turn-old",))


def test_what_was_without_a_date_has_no_known_end():
    assert as_past(NEW) == NEW


def test_a_merged_fact_ends_another_in_the_name_of_the_one_that_stays():
    munich = observation("munich", "The user lives in Munich.", said="2026-06-05")
    again = observation("again", "Berlin is where the user lives.", said="2026-06-10")
    told = settled(FactRelation(again, munich, "ends"), FactRelation(again, OLD, "repeats"), fresh=[again])
    assert told.fresh == {}
    assert told.revised["old"].memory.sources == ("turn-old", "turn-again")
    closing = told.closed["munich"]
    assert (closing.by, closing.said, closing.valid_to) == ("old", again.said, again.said)


def test_a_fact_that_repeats_two_does_not_merge_these():
    """Nobody said that the two say the same: one has a place that the other lacks."""
    town, lake = observation("town", "The user moved to a town."), observation("lake", "The user moved to the lake.")
    again = observation("again", "The user has moved.", said="2026-06-10")
    told = settled(FactRelation(again, town, "repeats"), FactRelation(again, lake, "repeats"), fresh=[again])
    assert (told.fresh, told.closed) == ({}, {})
    assert [line["action"] for line in told.actions] == ["merged"]


@pytest.mark.parametrize("verdicts", [("refines", "repeats"), ("repeats", "refines")])
def test_a_fact_that_repeats_one_and_refines_another_leaves_both(verdicts):
    town, lake = observation("town", "The user moved to a town."), observation("lake", "The user moved to the lake.")
    again = observation("again", "The user has moved to a small town.", said="2026-06-10")
    told = settled(FactRelation(again, town, verdicts[0]), FactRelation(again, lake, verdicts[1]), fresh=[again])
    repeated = (town, lake)[verdicts.index("repeats")]
    assert (told.fresh, told.closed, [*told.revised]) == ({}, {}, [repeated.id])


@pytest.mark.parametrize("way", [1, -1])
def test_a_chain_of_refined_facts_ends_in_the_last(way):
    dog = observation("dog", "The user has a dog.")
    max_ = observation("max", "The user has a dog named Max.", said="2026-06-10")
    pug = observation("pug", "The user has a pug, a dog named Max.", said="2026-06-20")
    verdicts = [FactRelation(pug, max_, "refines"), FactRelation(max_, dog, "refines")][::way]
    told = settled(*verdicts, fresh=[max_, pug])
    assert [*told.fresh] == ["pug"]
    assert set(told.fresh["pug"].sources) == {"turn-dog", "turn-max", "turn-pug"}
    assert told.closed["dog"].by == "pug", "the one that is stored"
    assert {line.get("by", line.get("into")) for line in told.actions} == {"pug"}
    assert sorted(line["action"] for line in told.actions) == ["merged", "superseded"], "only dog was stored before"


@pytest.mark.parametrize("way", [1, -1])
def test_a_chain_of_repeated_facts_becomes_the_first(way):
    dog = observation("dog", "The user has a dog.")
    pet, again = (
        observation(id, "A dog lives here.", said=f"2026-06-{day}") for id, day in (("pet", 10), ("again", 20))
    )
    verdicts = [FactRelation(pet, dog, "repeats"), FactRelation(again, pet, "repeats")][::way]
    told = settled(*verdicts, fresh=[pet, again])
    assert told.fresh == {}
    assert told.revised["dog"].memory.sources == ("turn-dog", "turn-pet", "turn-again")


def test_what_was_merged_keeps_the_turn_that_said_it_first_in_front():
    told = settled(FactRelation(NEW, replace(OLD, text="The user moved."), "repeats"))
    assert told.revised["old"].memory.sources == ("turn-old", "turn-new")
    told.merge(observation("before", "The user moved.", said="2026-05-01"), told.latest(OLD))
    assert told.revised["old"].memory.sources == ("turn-before", "turn-old", "turn-new")


def test_what_is_over_ended_others_before():
    third = observation("third", "The user moved to Rome.", said="2026-06-20")
    told = settled(FactRelation(third, NEW, "ends"), FactRelation(NEW, OLD, "ends"), fresh=[NEW, third])
    assert {closing.id: closing.by for closing in told.closed.values()} == {"new": "third", "old": "new"}


def test_of_two_dates_of_one_event_the_more_precise_stays():
    vague = replace(OLD, text="The user moved to Berlin.", happened=parse("2026-06", UTC))
    exact = replace(NEW, happened=parse("2026-06-12", UTC))
    for new, old in ((exact, vague), (replace(vague, said=NEW.said), replace(exact, said=OLD.said))):
        for verdict in ("repeats", "refines"):
            told = settled(FactRelation(new, old, verdict))
            (revision,) = told.revised.values()
            assert revision.memory.happened == exact.happened


def test_a_recap_ends_nothing():
    assert settled(FactRelation(NEW, OLD, "ends"), fresh=[NEW], recaps=["new"]).closed == {}


@pytest.mark.parametrize(
    "text",
    ["用户打算年底搬去长沙。", "用户想换车。", "用户担心被裁员。", "用户可能去上海。", "Ann hopes to study in Rome.",
     "The user is thinking about a move.", "The user may change jobs."],
)  # fmt: skip
def test_plans_wishes_and_fears_are_known_by_their_words(text):
    assert is_tentative(observation("one", text))


@pytest.mark.parametrize(
    "text",
    ["用户搬到了长沙。", "用户害怕狗。", "用户思想开放。", "用户希望回答简短。", "The user moved in May.",
     "The user is afraid of dogs.", "The user wants to be called Sam.", "The user no longer wants to move to Rome."],
)  # fmt: skip
def test_what_is_so_is_no_plan(text):
    assert not is_tentative(observation("one", text))


def test_an_earlier_conversation_that_is_learned_of_later_takes_the_place():
    assert settled(FactRelation(NEW, replace(OLD, text=NEW.text), "repeats"), fresh=[OLD]).actions[0]["by"] == "old"
