"""With ``approve`` new memories wait for a person's word."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memscope.blocks.corrections import apply_correction
from memscope.errors import Conflict, NotFound
from memscope.reconciliation.approval import (
    REFUSAL_FIELD,
    SUPERSESSIONS,
    WORDS_FIELD,
    accept,
    proposals,
    reject,
    superseded_by,
)
from memscope.records import Revision, Search
from memscope.text.terms import terms

from workbench import NOW, answering, clock, fact, noted, world

__all__ = ["clock", "world"]

BERLIN = fact("The user lives in Berlin.", "I live in Berlin", keywords=["home"])
MUNICH = fact("The user moved to Munich.", "I moved to Munich", keywords=["home"])


async def proposed(world, *facts):
    """The user says it, the model notes it, and it waits."""
    world.settings["approve"] = True
    for given in facts:
        await world.say(given["quotes"][0]["words"])
        await world.consolidate(chat=answering(noted(given), relations={MUNICH["text"]: "contradicts"}))
    return [memory.id for memory in await proposals(world.store, "alice")]


async def attributed(world):
    found = await world.store.search(Search(world.scope(), tuple(terms("user lives"))))
    return bool(found.attributed.any())


async def test_a_proposal_is_found_by_nobody_until_it_is_accepted(world):
    (id,) = await proposed(world, BERLIN)
    assert await world.texts() == []
    assert not await attributed(world)
    assert (await world.store.stats("alice")).pending["reflect"] == 0
    assert await accept(world.store, "alice", [id], clock=world.clock) == 1
    assert await world.texts() == [BERLIN["text"]]
    assert await attributed(world)
    assert (await world.store.stats("alice")).pending["reflect"] == 1
    assert await proposals(world.store, "alice") == []


async def test_what_a_proposal_would_supersede_stays_until_then(world):
    (berlin,) = await proposed(world, BERLIN)
    await accept(world.store, "alice", [berlin], clock=world.clock)
    (munich,) = await proposed(world, MUNICH)
    assert [superseded_by(one) for one in await proposals(world.store, "alice")] == [[berlin]]
    assert await world.texts() == [BERLIN["text"]]
    await accept(world.store, "alice", [munich], clock=world.clock)
    assert await world.texts() == [MUNICH["text"]]
    records = (await world.store.fetch("alice", [berlin, munich])).records
    assert records[berlin].superseded_by == munich
    assert records[berlin].valid_to == records[munich].said
    assert SUPERSESSIONS not in records[munich].data


@pytest.mark.parametrize(
    ("decisions", "left"),
    [
        ([(accept, 0)], BERLIN),
        ([(accept, 0), (reject, 1)], BERLIN),
        ([(reject, 1), (accept, 0)], BERLIN),
        ([(accept, 1)], MUNICH),
        ([(accept, 0), (accept, 1)], MUNICH),
        ([(accept, 1), (accept, 0)], MUNICH),
    ],
)
async def test_one_proposal_supersedes_another_when_both_are_accepted(world, decisions, left):
    world.settings["approve"] = True
    await world.say("I live in Berlin", "I moved to Munich")
    both = noted(BERLIN, {**MUNICH, "quotes": [{"turn": 2, "words": "I moved to Munich"}]}, levels=(3, 3))
    await world.consolidate(chat=answering(both, relations={MUNICH["text"]: "contradicts"}))
    ids = [memory.id for memory in await proposals(world.store, "alice")]
    for decide, number in decisions:
        await decide(world.store, "alice", [ids[number]], clock=world.clock)
    assert await world.texts() == [left["text"]]


async def test_a_proposal_whose_data_is_corrected_still_supersedes(world):
    (berlin,) = await proposed(world, BERLIN)
    await accept(world.store, "alice", [berlin], clock=world.clock)
    (munich,) = await proposed(world, MUNICH)
    (old,) = await proposals(world.store, "alice")
    await apply_correction(world.ctx(), old, Revision(replace(old, data={"checked": True}), old.version))
    await accept(world.store, "alice", [munich], clock=world.clock)
    assert await world.texts() == [MUNICH["text"]]
    assert (await world.store.fetch("alice", [munich])).records[munich].data == {"checked": True}


async def test_what_is_rejected_stays_away_and_its_turn_is_not_read_again(world):
    (id,) = await proposed(world, BERLIN)
    assert await reject(world.store, "alice", [id], clock=world.clock) == 1
    assert await proposals(world.store, "alice") == []
    assert await world.texts() == []
    report = await world.consolidate()
    assert (report.calls, report.pending) == (0, 0)


@pytest.mark.parametrize("decide", [accept, reject])
async def test_only_what_waits_can_be_decided_on(world, decide):
    (id,) = await proposed(world, BERLIN)
    for wrong in ("nothing", "t1"):
        with pytest.raises(NotFound, match=wrong):
            await decide(world.store, "alice", [id, wrong], clock=world.clock)
    with pytest.raises(NotFound):
        await decide(world.store, "bob", [id], clock=world.clock)
    assert len(await proposals(world.store, "alice")) == 1
    await decide(world.store, "alice", [id], clock=world.clock)
    with pytest.raises(NotFound):
        await decide(world.store, "alice", [id], clock=world.clock)


async def test_the_same_proposal_never_waits_twice(world):
    ids = await proposed(world, BERLIN, BERLIN)
    assert len(ids) == 1
    await world.say("I live in Berlin!")
    report = await world.consolidate(noted(fact(BERLIN["text"], "I live in Berlin")))
    assert (report.new, dict(report.rejected), report.pending) == (0, {"proposed_before": 1}, 0)


@pytest.mark.parametrize(("first", "second"), [(accept, reject), (reject, accept)])
async def test_of_two_decisions_at_once_the_first_holds(world, monkeypatch, first, second):
    (berlin,) = await proposed(world, BERLIN)
    await accept(world.store, "alice", [berlin], clock=world.clock)
    (munich,) = await proposed(world, MUNICH)
    apply = world.store.apply

    async def late(user, changes):
        monkeypatch.undo()
        await first(world.store, "alice", [munich], clock=world.clock)
        return await apply(user, changes)

    monkeypatch.setattr(world.store, "apply", late)
    with pytest.raises(Conflict):
        await second(world.store, "alice", [munich], clock=world.clock)
    assert await world.texts() == [MUNICH["text"] if first is accept else BERLIN["text"]]


async def test_what_was_rejected_is_not_proposed_again(world):
    (id,) = await proposed(world, BERLIN)
    await reject(world.store, "alice", [id], clock=world.clock)
    assert await proposed(world, BERLIN) == []


HOME = fact("Berlin is where the user's home is.", "I live in Berlin!", keywords=["home"])
SPANDAU = fact("The user lives in Spandau, Berlin.", "I live in Spandau, in Berlin", keywords=["home"])
BERLIN_ZH = fact("用户住在柏林。", "我住在柏林", keywords=["住处"])
HOME_ZH = fact("用户的家在柏林。", "我住在柏林。", keywords=["住处"])


@pytest.mark.parametrize(("rejected", "again"), [(BERLIN, HOME), (BERLIN_ZH, HOME_ZH)], ids=["en", "zh"])
async def test_what_was_rejected_is_not_proposed_in_other_words(world, rejected, again):
    (id,) = await proposed(world, rejected)
    await reject(world.store, "alice", [id], clock=world.clock)
    assert await proposed(world, again) == []


@pytest.mark.parametrize(
    "other",
    [
        SPANDAU,  # other words of the user
        fact("Berlin is where the home of the user is.", "I live in Berlin!", about="Berlin", keywords=["home"]),
        fact("The user knows the city well.", "I live in Berlin!", keywords=["name"]),  # another fact of the same words
    ],
    ids=["words", "subject", "fact"],
)
async def test_another_fact_is_proposed_after_one_was_rejected(world, other):
    (id,) = await proposed(world, BERLIN)
    await reject(world.store, "alice", [id], clock=world.clock)
    assert len(await proposed(world, other)) == 1


async def test_the_same_words_of_another_year_are_another_fact(world):
    visit = fact("The user was in Rome in May.", "I was in Rome in May", when="2025-05")
    world.settings["approve"] = True
    await world.say("I was in Rome in May", at=NOW.replace(year=2025))
    await world.consolidate(noted(visit))
    (id,) = [memory.id for memory in await proposals(world.store, "alice")]
    await reject(world.store, "alice", [id], clock=world.clock)
    assert len(await proposed(world, {**visit, "when": "2026-05"})) == 1


async def test_the_report_says_that_what_is_new_waits(world):
    (berlin,) = await proposed(world, BERLIN)
    await accept(world.store, "alice", [berlin], clock=world.clock)
    await world.say("I moved to Munich")
    report = await world.consolidate(chat=answering(noted(MUNICH), relations={MUNICH["text"]: "ends"}))
    assert (report.new, report.proposed, report.superseded) == (0, 1, 0)
    assert [action["action"] for action in report.actions] == ["proposed"]


async def test_a_refused_quote_waits_for_a_person_with_its_words_and_the_reason(world):
    world.settings["approve"] = True
    await world.say("I live in Berlin")
    bad = fact("The user was in Rome.", "I was in Rome")
    await world.consolidate(noted(BERLIN, bad))
    waiting = await proposals(world.store, "alice")
    assert [(one.text, one.data.get(REFUSAL_FIELD), one.data.get(WORDS_FIELD)) for one in waiting] == [
        (BERLIN["text"], None, None),
        ("The user was in Rome.", "no_quote", ["I was in Rome"]),
    ]
    await accept(world.store, "alice", [waiting[1].id], clock=world.clock)
    (memory,) = await world.memories()
    assert (memory.text, memory.sources, memory.quotes) == ("The user was in Rome.", ("t1",), ())


async def test_without_approval_a_refused_quote_is_only_counted(world):
    await world.say("I live in Berlin")
    report = await world.consolidate(noted(BERLIN, fact("The user was in Rome.", "I was in Rome")))
    assert (report.new, dict(report.rejected)) == (1, {"no_quote": 1})
    assert await proposals(world.store, "alice") == []
