"""Verdicts that come to less: too many ends, too long texts, a machine's notes beside a person's facts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memscope.dates.iso import parse
from memscope.reconciliation.settlement import FactRelation, Settlement, WorkBatch
from memscope.reconciliation.supersession import MAX_SOURCES, join, more_precise
from memscope.records import Interval, Observation
from memscope_testing.records import insight, observation

JUNE, NOW = datetime(2026, 6, 1, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC)


def noted(id: str, text: str, days: int = 0, **more: object) -> Observation:
    said = JUNE + timedelta(days=days)
    values = {"about": "user", "said": said, "recorded": said, **more}
    return observation(id, *values.pop("sources", (f"turn-{id}",)), text=text, **values)


def settled(*verdicts: FactRelation, fresh: tuple[Observation, ...] = (), recaps: tuple[str, ...] = ()) -> Settlement:
    settlement = Settlement({one.id: one for one in fresh}, NOW, frozenset(recaps))
    settlement.settle(verdicts)
    return settlement


def told(settlement: Settlement) -> list[tuple[object, ...]]:
    return [(one["action"], one["id"], one.get("by", one.get("into"))) for one in settlement.actions]


def test_an_answer_ends_so_many_facts_and_no_more():
    old = [noted(f"old{number}", f"The user has a flat in Berlin with {number} rooms.") for number in range(5)]
    new = noted("new", "The user moved out of the flat in Berlin.", days=9)
    done = settled(*(FactRelation(new, one, "ends") for one in old), fresh=(new,))
    assert [*done.closed] == ["old0", "old1", "old2"]
    assert [one.old.id for one in done.over_limit] == ["old3", "old4"]
    assert (done.refused, len(done.actions)) == ([], 3)


@pytest.mark.parametrize(
    ("new", "old", "verdict", "refused"),
    [
        ("The user moved to Rome.", "The user lives in Berlin.", "ends", 0),
        ("The user moved to Rome.", "Ann lives in Berlin.", "ends", 1),  # of another person
        ("The user plans to move to Rome.", "The user lives in Berlin.", "ends", 1),  # a plan ends nothing
        ("The user lives in Rome.", "The user has a cat.", "repeats", 1),
        ("The user moved to Rome.", "Ann lives in Berlin.", "unrelated", 0),  # as the model said itself
    ],
)
def test_verdicts_that_the_rules_stop_are_counted(new, old, verdict, refused):
    one, other = noted("new", new, days=9), noted("old", old, about="Ann" if old.startswith("Ann") else "user")
    done = settled(FactRelation(one, other, verdict), fresh=(one,))
    assert len(done.refused) == refused
    assert bool(done.closed) is (verdict == "ends" and not refused)


def test_a_fact_that_gained_sources_keeps_them_when_it_is_known_to_be_past():
    """One fact is refined; the model takes the new one for the end of another, too, which it is not."""
    less = noted("less", "The user lived in Paris.")
    home = noted("home", "The user lives in Berlin.")
    new = noted("new", "The user lived in Paris by the river in 2010.", days=9, happened=parse("2010", UTC))
    done = settled(FactRelation(new, home, "ends"), FactRelation(new, less, "refines"), fresh=(new,))
    assert (set(done.fresh["new"].sources), done.fresh["new"].valid_to) == (
        {"turn-new", "turn-less"},
        datetime(2011, 1, 1, tzinfo=UTC),
    )
    assert [*done.closed] == ["less"]


def test_facts_that_would_be_too_long_together_stay_apart():
    old = noted("old", "The user saw Rome, then " + ", ".join(f"town {number}" for number in range(40)) + ".")
    new = noted("new", "The user saw Rome, Siena and Pisa, then " + "the sea and " * 20 + "the sky.", days=9)
    done = settled(FactRelation(new, old, "refines"), fresh=(new,))
    assert (done.closed, done.fresh, done.actions) == ({}, {"new": new}, [])


# ---- sources


@pytest.mark.parametrize("recap", [False, True])
def test_only_a_fact_that_is_said_anew_is_a_further_source(recap):
    old, new = noted("old", "The user lives in Berlin."), noted("new", "The user lives in Berlin.", days=9)
    done = settled(FactRelation(new, old, "repeats"), fresh=(new,), recaps=("new",) if recap else ())
    assert done.latest(new).sources == (("turn-old",) if recap else ("turn-old", "turn-new"))
    assert (done.fresh, "old" in done.revised) == ({}, not recap)


@pytest.mark.parametrize(("known", "kept"), [(7, 8), (8, 8)])
def test_what_was_said_often_gains_no_more_sources(known, kept):
    old = noted("old", "The user lives in Berlin.", sources=tuple(f"t{number}" for number in range(known)))
    new = noted("new", "The user lives in Berlin.", days=9)
    done = settled(FactRelation(new, old, "repeats"), fresh=(new,))
    sources = done.latest(new).sources
    assert (len(sources), "turn-new" in sources) == (kept, known < kept)


# ---- what a machine noted


NOTE = {"origin": "tool"}


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("verdict", ["repeats", "refines"])
def test_a_note_of_a_machine_gives_way_to_what_a_person_says(verdict, stored):
    note = noted("note", "The user lives in Berlin near the zoo with 2 cats.", **NOTE)
    said = noted("said", "The user lives in Berlin near the zoo.", days=9)
    done = settled(FactRelation(said, note, verdict), fresh=(said,) if stored else (said, note))
    assert (done.fresh, done.revised) == ({"said": said}, {})
    assert told(done) == [("superseded" if stored else "merged", "note", "said")]
    assert {id: one.by for id, one in done.closed.items()} == ({"note": "said"} if stored else {})


def test_a_note_of_a_machine_that_repeats_a_person_adds_nothing():
    said = noted("said", "The user lives in Berlin.")
    note = noted("note", "The user lives in Berlin.", days=9, **NOTE)
    done = settled(FactRelation(note, said, "repeats"), fresh=(note,))
    assert (done.fresh, done.revised, done.closed) == ({}, {}, {})
    assert told(done) == [("merged", "note", "said")]


def test_two_notes_of_a_machine_are_merged_like_any_facts():
    one, other = (noted(id, "The user lives in Berlin.", days, **NOTE) for id, days in (("one", 0), ("other", 9)))
    done = settled(FactRelation(other, one, "repeats"), fresh=(other,))
    assert done.latest(other).sources == ("turn-one", "turn-other")


# ---- dates


@pytest.mark.parametrize(
    ("one", "other", "narrower"),
    [
        ("2026-06", "2026-06-12", "2026-06-12"),
        ("2026-06-12", "2026-06", "2026-06-12"),
        ("2026-06-12", "2026-07", "2026-06-12"),  # of two events, the first keeps its own
        ("", "2026-06", "2026-06"),
        ("2026-06", "", "2026-06"),
        ("", "", ""),
    ],
)
def test_of_two_dates_the_narrower_counts_where_they_overlap(one, other, narrower):
    dates: list[Interval | None] = [parse(text, UTC) for text in (one, other, narrower)]
    assert more_precise(*dates[:2]) == dates[2]


def test_a_merged_fact_has_the_best_of_both():
    one = noted("one", "It rained.", level=1, fiction=True, quotes=("a",), keywords=("x",), **NOTE)
    other = noted("other", "It rained.", level=3, quotes=("b",), keywords=("y",), happened=parse("2026-06-12", UTC))
    other = replace(other, valid_from=JUNE)
    whole = join(one, other)
    assert (whole.level, whole.fiction, whole.by_machine, whole.valid_from) == (3, False, False, JUNE)
    assert (whole.quotes, whole.keywords, whole.said) == (("a", "b"), ("x", "y"), one.said)
    assert join(replace(one, valid_from=NOW, happened=other.happened), replace(other, happened=None)).valid_from == NOW


# ---- the report


def test_the_report_names_each_memory_and_what_waits_ends_nothing_yet():
    rome, home = noted("rome", "The user moved to Rome."), insight("home", "rome")
    batch = WorkBatch(actions=({"action": "superseded", "id": "berlin", "by": "rome"},))
    kinds = [(one["action"], one.get("kind")) for one in batch.added([rome, home], propose=False).actions]
    assert kinds == [("superseded", None), ("new", "observation"), ("new", "insight")]
    assert [one["action"] for one in batch.added([rome], propose=True).actions] == ["proposed"]
    assert [one["action"] for one in batch.added([home], propose=True).actions] == ["superseded", "proposed"]


def test_counts_of_what_was_left_out_add_up():
    batch = (
        WorkBatch()
        .reject({"no_quote": 1})
        .reject({"no_quote": 2, "copied": 1})
        .judge({"refused": 1})
        .act("x", noted("a", "It rained."))
    )
    report = batch.report()
    assert (report["rejected"], report["judged"]) == ({"no_quote": 3, "copied": 1}, {"refused": 1})


@pytest.mark.parametrize("days", [9, -9])
def test_a_fact_with_enough_sources_adopts_nothing_of_a_source_that_it_does_not_name(days):
    """Or it would survive when that source is forgotten."""
    sources = tuple(f"turn-{number}" for number in range(MAX_SOURCES))
    happened = Interval(JUNE - timedelta(days=60), JUNE - timedelta(days=30))
    old = noted("old", "The user moved to Berlin.", sources=sources, keywords=("Berlin",), happened=happened)
    day = Interval(happened.start, happened.start + timedelta(days=1))
    new = noted("new", "The user moved to Berlin.", days, keywords=("Neukölln",), happened=day)
    done = settled(FactRelation(new, old, "repeats"), fresh=(new,))
    assert (done.revised, done.fresh) == ({}, {})
    assert [line["action"] for line in done.actions] == ["merged"]
