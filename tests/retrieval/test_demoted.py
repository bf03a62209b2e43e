"""Low ranks: the time of saying for a time ahead, restatements, lines of a frequent name, facts of other agents."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memscope import AsyncMemoryScope
from memscope.records import ChangeSet, Observation, Scope

NOW = datetime(2026, 6, 3, 12, tzinfo=UTC)  # a Wednesday


def said(text: str, time: str, role: str = "user") -> dict[str, str]:
    return {"role": role, "content": text, "time": f"{time}T10:00:00+00:00"}


async def shown(query: str, *turns: dict[str, str]) -> list[str]:
    async with AsyncMemoryScope(":memory:", clock=lambda: NOW) as memory:
        for number, turn in enumerate(turns):
            await memory.add_turns([turn], user="alice", session=str(number))
        return [hit.text for hit in await memory.retrieve(query, user="alice")]


async def test_for_a_time_ahead_the_time_of_saying_counts_little() -> None:
    before, lately = (
        "I stopped eating meat in winter.",
        "They eat by the lake, where meat was burning on a grill at noon.",
    )
    texts = await shown("Do I eat meat this week?", said(before, "2026-02-03"), said(lately, "2026-06-02"))
    assert texts.index(before) < texts.index(lately)


async def test_an_assistants_answer_is_demoted_by_newer_words_of_the_user_only() -> None:
    answer = "Moby-Dick is a book on the sea, a sea book."
    aside = (
        "There was a storm out at sea, so nobody went out until the morning, and of all that there was to do in the "
        "house in the end only the telephone book was left, or the wall."
    )
    older, newer = said(aside, "2026-02-03"), said(aside, "2026-02-05")
    replied = said(answer, "2026-02-04", "assistant")
    assert (await shown("Which book is on the sea?", older, replied)) == [answer, aside]
    assert (await shown("Which book is on the sea?", replied, newer)) == [aside, answer]


@pytest.mark.parametrize(("times", "followed"), [(8, True), (20, False)])
async def test_a_name_in_many_turns_is_not_followed(times: int, followed: bool) -> None:
    bridge, last = "My friend Liam started at Globex in spring.", "Kim and I swim every Monday, lane 3."
    others = [f"Liam and I swim every Monday, lane {n}." for n in range(times)]
    talk = [said(text, "2026-02-03") for text in (bridge, *others, last, *(f"It rained, {n}." for n in range(60)))]
    texts = await shown("Which city does my friend at Globex live in?", *talk)
    assert texts[0] == bridge and any("Liam" in one for one in texts[1:2]) is followed


async def test_a_fact_of_another_agent_on_a_shared_turn_is_not_shown() -> None:
    async with AsyncMemoryScope(":memory:", clock=lambda: NOW) as memory:
        turns = [{"id": "t", **said("I adopted a collie.", "2026-02-03")}]
        await memory.add_turns(turns, user="alice", agent="mine")
        fact = Observation(
            id="o", scope=Scope("alice", "other"), text="Alice owns a collie called Pixel.", sources=("t",),
            said=NOW - timedelta(days=9), recorded=NOW,
        )  # fmt: skip
        await memory.admin.runtime.services.store.apply("alice", ChangeSet(new=(fact,)))
        mine = await memory.retrieve("Which collie?", user="alice", agent="mine")
        every = await memory.retrieve("Which collie?", user="alice")
    assert [hit.observations for hit in mine] == [()]
    assert [hit.observations for hit in every] == [(fact,)]


@pytest.mark.parametrize("answer", ["I don't know that yet.", "Mondays are long."])
async def test_what_only_an_answer_without_knowledge_follows_is_no_evidence(answer: str) -> None:
    asking = "My mother asks which shoe size Maja is"
    told = "Maja's wellies are a 31 now, and tight."
    async with AsyncMemoryScope(":memory:", clock=lambda: NOW) as memory:
        await memory.add_turns([said(told, "2026-02-03")], user="alice", session="1")
        await memory.add_turns(
            [said(asking, "2026-02-04"), said(answer, "2026-02-04", "assistant")], user="alice", session="2"
        )
        texts = [hit.text for hit in await memory.retrieve("Which shoe size is Maja?", user="alice")]
    assert told in texts and (asking in texts) is (answer == "Mondays are long.")


async def test_statements_told_in_no_session_lend_each_other_nothing() -> None:
    texts = ("The harbour office wants the blue forms.", "Bicycles are kept in the cellar.", "Tea is drunk at four.")
    async with AsyncMemoryScope(":memory:", clock=lambda: NOW) as memory:
        for text in texts:
            await memory.add_memory(text, user="alice", time=NOW)
        hits = {hit.observations[0].text: hit for hit in await memory.retrieve("Where are the bicycles?", user="alice")}
    borrowed = [one.name for text, hit in hits.items() if text != texts[1] for one in hit.features]
    assert texts[1] in hits and {"window", "wide", "session"}.isdisjoint(borrowed)
