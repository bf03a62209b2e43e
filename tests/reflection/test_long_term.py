"""A model's values of one subject, over the long term."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from memscope.records import ChangeSet, Interval, Revision
from reflecting import BERLIN, FLAT, HOME, JANUARY, JUNE, MUNICH, Placing, insights, know, reflected


async def test_a_contradiction_among_the_facts_of_a_subject_is_settled_by_rule(world):
    (old,) = await know(world, BERLIN, said=JANUARY)
    (new,) = await know(world, MUNICH, said=JUNE)
    report = await reflected(world, Placing(HOME, relations=[(BERLIN, MUNICH, "contradicts")]))
    closed = (await world.store.fetch("alice", [old])).records[old]
    assert (closed.superseded_by, closed.valid_to, report.superseded) == (new, JUNE, 1)


async def test_late_news_holds_over_the_long_term(world):
    (old,) = await know(world, BERLIN, said=JANUARY)
    (new,) = await know(world, MUNICH, said=JUNE)
    memory = (await world.store.fetch("alice", [new])).records[new]
    before = replace(memory, happened=Interval(JANUARY - timedelta(days=9), JANUARY - timedelta(days=8)))
    await world.store.apply("alice", ChangeSet(revised=(Revision(before, 1),)))
    await reflected(world, Placing(HOME, relations=[(BERLIN, MUNICH, "ends")]))
    records = (await world.store.fetch("alice", [old, new])).records
    assert (records[old].superseded_by, records[old].valid_to) == (new, before.happened.start)
    assert records[new].closed is None


async def test_what_was_ends_nothing_over_the_long_term(world):
    await know(world, BERLIN, said=JANUARY)
    await know(world, MUNICH, said=JUNE)
    report = await reflected(world, Placing(HOME, relations=[(BERLIN, MUNICH, "was")]))
    assert (report.superseded, len(await insights(world))) == (0, 1)


async def test_a_fact_takes_part_in_several_relations(world):
    (berlin, flat) = await know(world, BERLIN, FLAT, said=JANUARY)
    (munich,) = await know(world, MUNICH, said=JUNE)
    relations = [(BERLIN, MUNICH, "ends"), (FLAT, MUNICH, "ends")]
    await reflected(world, Placing(HOME, relations=relations))
    records = (await world.store.fetch("alice", [berlin, flat])).records
    assert [one.superseded_by for one in records.values()] == [munich, munich]


async def test_a_fact_that_says_more_takes_the_place_of_the_one_that_says_less(world):
    (old,) = await know(world, BERLIN, said=JANUARY)
    more = "The user lives in Berlin with Bo."
    (new,) = await know(world, more, said=JUNE)
    await reflected(world, Placing(HOME, relations=[(BERLIN, more, "refines")]))
    records = (await world.store.fetch("alice", [old, new])).records
    assert (records[old].superseded_by, records[old].valid_to) == (new, None)
    assert set(records[new].sources) == {"t1", "t2"}


async def test_the_model_may_not_end_the_newer_one(world):
    (new,) = await know(world, MUNICH, said=JUNE)
    (old,) = await know(world, BERLIN, said=JANUARY)
    await reflected(world, Placing(HOME, relations=[(MUNICH, BERLIN, "contradicts")]))
    records = (await world.store.fetch("alice", [old, new])).records
    assert (records[old].superseded_by, records[new].closed) == (new, None)


async def test_t14_nor_what_is_said_of_somebody_else(world):
    await know(world, BERLIN, said=JANUARY)
    anna = "Anna moved to Munich."
    await know(world, anna, said=JUNE, about="Anna")
    report = await reflected(world, Placing(HOME, relations=[(BERLIN, anna, "contradicts")]))
    assert report.superseded == 0


async def test_repeats_over_the_long_term_are_merged(world):
    (old,) = await know(world, BERLIN, said=JANUARY)
    again = "Berlin is where the user lives."
    (new,) = await know(world, again, said=JUNE)
    report = await reflected(world, Placing(HOME, relations=[(BERLIN, again, "repeats")]))
    records = (await world.store.fetch("alice", [old, new])).records
    assert (report.merged, records[new].superseded_by, records[new].valid_to) == (1, old, None)
    assert set(records[old].sources) == {"t1", "t2"}
