"""Turns of one call: said together, marked where not, and fewer where a reply cannot be used."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from memscope.errors import ModelReplyCut, ModelReplyError, ModelUnavailable
from memscope.records import Select
from memscope_testing.models import ScriptedChat

from workbench import NOW, fact, heard, listening, noted, pending, turns_in


def calls(world):
    """The lines of each extraction."""
    return [*map(turns_in, world.chat.prompts)]


def shown(world, call=0):
    return [line["text"] for line in calls(world)[call]]


# ------------------------------------------------------------------------------------------------------- said together


async def test_a_batch_that_is_half_full_ends_with_its_session(world):
    world.settings["batch_turns"] = 4
    await world.say("one", "two", session="a")
    await world.say("three", "four", session="b")
    await world.consolidate(chat=listening())
    assert [shown(world, call) for call in range(2)] == [["one", "two"], ["three", "four"]]
    assert all("conversation" not in line for line in turns_in(world.chat.prompts[0]))


async def test_short_sessions_share_a_call_and_each_has_its_number(world):
    world.settings["batch_turns"] = 4
    await world.say("one", session="a")
    await world.say("two", session="b")
    await world.consolidate(chat=listening())
    assert [line["conversation"] for line in turns_in(world.chat.prompts[0])] == [1, 2]


async def test_a_long_pause_ends_a_batch_that_is_half_full(world):
    world.settings["batch_turns"] = 4
    await world.say("one", "two", session=None)
    await world.say("three", session=None, at=NOW + timedelta(hours=9))
    await world.consolidate(chat=listening())
    assert shown(world) == ["one", "two"]


async def test_the_turns_of_another_session_are_no_context(world):
    world.settings |= {"batch_turns": 1, "consolidation": {"context_turns": 4}}
    await world.say("one", session="a")
    await world.say("two", session="b")
    await world.consolidate(chat=listening())
    assert shown(world, 1) == ["two"]


async def test_a_part_of_a_long_turn_is_marked_as_continued(world):
    await world.say("Filler sentence of no weight. " * 400)
    await world.consolidate(chat=ScriptedChat(lambda messages: noted(levels=[0])))
    lines = [line for prompt in world.chat.prompts for line in turns_in(prompt)]
    assert [line.get("continued", False) for line in lines] == [False, True]


async def test_what_an_ai_says_of_itself_is_no_fact(world):
    await world.say("I love poetry", role="person", speaker="AI")
    await world.say("My name is Zhang", role="person", speaker="Zhang")
    await world.consolidate(noted(fact("Zhang is called so.", (2, "My name is Zhang"), about="user"), levels={2: 3}))
    assert [line.get("context", False) for line in turns_in(world.chat.prompts[0])] == [True, False]
    assert (await world.memories())[0].about == "Zhang"


# ------------------------------------------------------------------------------------------------------------- halving


def reading(refused):
    """A model that takes every turn for a fact, but where ``refused`` returns an error for the texts it is to judge."""

    def answer(messages):
        lines = turns_in(messages)
        return refused([line["text"] for line in lines if not line.get("context")]) or heard(messages)

    return ScriptedChat(answer)


def failing(bad, error):
    return reading(lambda texts: error if any(map(bad, texts)) else None)


def too_many(most):
    return reading(lambda texts: ModelReplyCut("cut") if len(texts) > most else None)


@pytest.mark.parametrize("most", [1, 2, 5])
async def test_a_reply_that_is_cut_is_asked_for_in_halves(world, most):
    said = [f"Word number {n}" for n in range(10)]
    await world.say(*said)
    report = await world.consolidate(chat=too_many(most))
    assert (report.done, report.pending, dict(report.errors)) == (10, 0, {})
    assert await world.texts() == [f"The user said {text}." for text in said]


async def test_the_second_half_is_read_with_the_end_of_the_first_as_context(world):
    await world.say("one", "two")
    await world.consolidate(chat=too_many(1))
    assert [line.get("context", False) for line in calls(world)[-1]] == [True, False]


async def test_a_long_turn_whose_reply_is_cut_is_read_in_parts(world):
    await world.say("Filler sentence of no weight. " * 100 + "My blood type is AB.")

    def answer(messages):
        (line,) = [line for line in turns_in(messages) if not line.get("context")]
        if len(line["text"]) > 2_000:
            return ModelReplyCut("cut")
        last = "blood" in line["text"]
        facts = [fact("The user's blood type is AB.", (line["n"], "My blood type is AB"))] * last
        return noted(*facts, levels={line["n"]: 3 * last})

    await world.consolidate(chat=ScriptedChat(answer))
    assert await world.texts() == ["The user's blood type is AB."]


async def test_one_turn_that_no_model_can_read_holds_up_no_other_and_is_parked_alone(world):
    await world.say(*[f"Word number {n}" for n in range(12)])
    for _ in range(6):
        report = await world.consolidate(chat=failing(lambda text: text.endswith(" 3"), ModelReplyError("filtered")))
        world.clock.now += timedelta(hours=1)
    assert len(await world.texts()) == 11
    assert await pending(world) == (0, 0, 1)
    assert dict(report.errors) == {"model_reply": 1}


async def test_a_model_that_says_nothing_usable_is_not_asked_for_every_turn(world):
    await world.say(*[f"Word number {n}" for n in range(10)])
    report = await world.consolidate(chat=ScriptedChat(lambda messages: ModelReplyCut("cut")))
    assert (report.done, report.pending, dict(report.errors)) == (0, 10, {"model_reply_cut": 1})
    assert report.calls <= 8


async def test_of_a_fact_that_is_refused_twice_only_its_turn_waits(world):
    await world.say("I moved to Berlin", "Nice weather")
    bad = noted(fact("The user was in Rome.", (1, "I was in Rome")), levels=[3, 0])
    alone = noted(fact("The user moved to Berlin.", "I moved to Berlin"))
    report = await world.consolidate(bad, bad, alone)
    assert (report.done, report.pending, report.new) == (2, 0, 1)


async def test_a_turn_left_behind_costs_no_fact_and_doubles_none(world):
    world.settings["batch_turns"] = 4
    await world.say(*[f"Word number {n}" for n in range(9)])
    broken = {"2"}

    def bad(text):
        return text[-1] in broken

    await world.consolidate(chat=failing(bad, ModelReplyCut("cut")))
    broken.clear()
    world.clock.now += timedelta(hours=1)
    report = await world.consolidate(chat=failing(bad, ModelReplyCut("cut")))
    assert report.pending == 0
    assert sorted(await world.texts()) == [f"The user said Word number {n}." for n in range(9)]


# ------------------------------------------------------------------------------------------------ what was read is kept

PARTS = [f"{colour} is the colour of part {n}. " for n, colour in enumerate(("Red", "Green", "Blue", "Grey"), 1)]
LONG = "".join(part + "Filler sentence of no weight. " * 400 for part in PARTS)


def telling(trouble):
    """Answers that note the colour of each part of ``LONG``; ``trouble`` by colour: errors, until there is none."""

    def answer(messages):
        lines = [line for line in turns_in(messages) if not line.get("context")]
        told = [(line["n"], part) for line in lines for part in PARTS if part in line["text"]]
        for _, part in told:
            if errors := trouble.get(part.split()[0]):
                return errors.pop(0)
        facts = [fact(f"The user says: {part}", (number, part.strip())) for number, part in told]
        return noted(*facts, levels={line["n"]: 3 * bool(told) for line in lines})

    return answer


def of_parts(trouble):
    return ScriptedChat(telling(trouble))


def asked_for(world):
    """The colours that each call asked for."""
    return [[part.split()[0] for part in PARTS if part in line["text"]] for lines in calls(world) for line in lines]


@pytest.mark.parametrize("error", [ModelUnavailable("down"), ModelReplyError("no JSON"), ModelReplyCut("cut")])
@pytest.mark.parametrize("others", [(), ("Nice weather", "Good night")])
async def test_what_was_read_of_a_long_turn_is_neither_lost_nor_read_again(world, error, others):
    await world.say(LONG, *others)
    trouble = {"Blue": [error] * 8}
    report = await world.consolidate(chat=of_parts(trouble))
    assert report.pending == 1 + len(others) and dict(report.errors) == {error.code: 1}
    before = asked_for(world)
    assert before.count(["Red"]) == before.count(["Green"]) == 1
    trouble.clear()
    world.clock.now += timedelta(hours=1)
    report = await world.consolidate(chat=of_parts(trouble))
    again = [colour for call in asked_for(world) for colour in call]
    assert "Red" not in again and "Green" not in again
    assert (report.new, report.pending) == (4, 0)
    assert await world.texts() == [f"The user says: {part}".strip() for part in PARTS]


async def test_a_worker_that_dies_between_parts_leaves_what_it_read(world):
    await world.say(LONG)
    reached, answer = asyncio.Event(), telling({})

    async def stop_at_blue(messages):
        if any("Blue" in line["text"] for line in turns_in(messages)):
            reached.set()
            await asyncio.Event().wait()
        return answer(messages)

    running = asyncio.create_task(world.consolidate(chat=ScriptedChat(stop_at_blue)))
    await asyncio.wait_for(reached.wait(), 30)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await world.consolidate(chat=of_parts({}))
    assert [call for call in asked_for(world) if call] == [["Blue"], ["Grey"]]
    assert len(await world.texts()) == 4


async def test_a_part_that_no_model_can_read_is_reported_and_parked_and_holds_up_no_other_turn(world):
    await world.say(LONG, "Word number 1")
    for _ in range(6):
        report = await world.consolidate(
            chat=reading(lambda texts: ModelReplyError("no") if "Blue" in texts[0] else None)
        )
        world.clock.now += timedelta(hours=1)
    assert dict(report.errors) == {"model_reply": 1}
    assert await pending(world) == (0, 0, 1)
    assert await world.texts() == ["The user said Word number 1."]


async def test_what_was_read_of_a_turn_that_is_forgotten_is_forgotten(world):
    await world.say(LONG)
    await world.consolidate(chat=of_parts({"Blue": [ModelUnavailable("down")]}))
    await world.store.forget(Select("alice"))
    await world.say(LONG.replace("Red", "Pink"))
    await world.consolidate(chat=of_parts({}))
    assert not any("Red" in text for text in await world.texts())


async def test_a_preview_keeps_nothing_of_what_it_read(world):
    await world.say(LONG)
    for _ in range(2):
        report = await world.consolidate(chat=of_parts({}), preview=True)
        assert report.new == 4
        assert [call for call in asked_for(world) if call] == [["Red"], ["Green"], ["Blue"], ["Grey"]]


async def test_halves_that_were_read_are_not_read_again(world):
    said = [f"Word number {n}" for n in range(4)]
    await world.say(*said)
    down = [ModelUnavailable("down")]

    def answer(texts):
        return ModelReplyCut("cut") if len(texts) > 2 else down.pop() if down and texts[0].endswith("2") else None

    await world.consolidate(chat=reading(answer))
    world.clock.now += timedelta(hours=1)
    report = await world.consolidate(chat=reading(answer))
    assert [line["text"] for line in calls(world)[0] if not line.get("context")] == said[2:]
    assert (report.new, report.pending) == (4, 0)
