"""The summary of what left a session's window: made in the background, replaced, forgotten with its turns."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memscope import AsyncMemoryScope
from memscope.errors import ModelTimeout
from memscope.records import INJECTED, SUMMARY_NAMESPACE
from memscope_testing.models import IdealChat, ScriptedChat, data

NOW = datetime(2026, 6, 30, 12, tzinfo=UTC)
PLANS = [f"For the trip I chose stop number {n}, a town at the river with an old bridge." for n in range(40)]
SETTINGS = {"context": {"budget": 400}, "batch_turns": 10, "consolidation": {"context_turns": 0}, "retry_s": 0.01}


class Clock:
    now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def nothing_noted(messages):
    return {"turns": [{"turn": line["n"], "level": 1} for line in data(messages)["turns"]], "facts": []}


class Summarist(ScriptedChat):
    """Notes no facts; a summary counts the turns that it tells of. ``fails``: errors of the next summaries."""

    def __init__(self, *fails: Exception) -> None:
        super().__init__(self.answer)
        self.fails, self.shown = list(fails), []

    def answer(self, messages):
        shown = data(messages)
        if "so_far" not in shown:
            return nothing_noted(messages)
        self.shown.append(shown)
        if self.fails:
            raise self.fails.pop()
        before = int(shown["so_far"].split()[3]) if shown["so_far"] else 0
        return {"summary": f"The user chose {before + len(shown['turns'])} stops."}


def opened(chat, clock, store=":memory:", **settings) -> AsyncMemoryScope:
    return AsyncMemoryScope(store, settings={**SETTINGS, **settings}, chat=chat, clock=clock)


async def say(memory, *texts, session="s", clock=None, **more) -> list[str]:
    keys: list[str] = []
    for text in texts:
        if clock is not None:
            clock.now += timedelta(minutes=1)
        report = await memory.add_turns([{"role": "user", "content": text}], user="u", session=session, **more)
        keys += report.keys
    return keys


async def summaries(memory, **more):
    return await memory.list(user="u", kinds=["insight"], namespace=SUMMARY_NAMESPACE, **more)


async def shown(memory, session="s", **more) -> str:
    return await memory.context("Where do we stop?", user="u", session=session, tokens=400, assemble=True, **more)


async def test_what_left_the_window_is_summed_up_once_and_shown(clock):
    async with opened(chat := Summarist(), clock) as memory:
        await say(memory, *PLANS[:20], clock=clock)
        report = await memory.consolidate(user="u")
        (one,) = await summaries(memory)
        assert [line["text"] for line in chat.shown[0]["turns"]] == PLANS[: len(chat.shown[0]["turns"])]
        assert len(one.sources) == sum(len(call["turns"]) for call in chat.shown) >= 10
        assert (one.origin, one.scope.session, one.said) == ("summary", "s", NOW + timedelta(minutes=len(one.sources)))
        assert any(action["id"] == one.id and action["action"] == "updated" for action in report.actions)
        text = await shown(memory)
        assert f"Earlier in this conversation:\nThe user chose {len(one.sources)} stops.\n" in text
        assert f"user: {PLANS[19]}" in text
        assert "Earlier" not in await shown(memory, session="another")
        assert "Earlier" not in await shown(memory, as_of=NOW + timedelta(minutes=3))
        calls = len(chat.prompts)
        await memory.reflect(user="u")
        assert len(chat.prompts) == calls, "nothing new, nothing asked"


async def test_it_is_replaced_and_goes_on_from_what_it_was(clock):
    async with opened(chat := Summarist(), clock) as memory:
        for start in range(0, 40, 10):
            await say(memory, *PLANS[start : start + 10], clock=clock)
            await memory.consolidate(user="u")
        (one,) = await summaries(memory, superseded=True)
        assert [version.id for version in await memory.history(one.id, user="u")] == [one.id]
        assert chat.shown[1]["so_far"].startswith("The user chose") and len(chat.shown) == one.version > 2
        assert [line for call in chat.shown for line in call["turns"]] == [
            {"at": f"{NOW + timedelta(minutes=n + 1):%Y-%m-%d %H:%M}", "by": "user", "text": PLANS[n]}
            for n in range(len(one.sources))
        ]


async def test_it_is_no_hit_no_profile_and_no_subject(clock):
    async with opened(Summarist(), clock) as memory:
        await say(memory, *PLANS[:20], clock=clock)
        await memory.reflect(user="u")
        assert await summaries(memory)
        found = await memory.retrieve("The user chose stops.", user="u", k=50)
        assert not [hit for hit in found if hit.insight]
        assert "chose 1" not in await memory.profile("u")


async def test_it_goes_with_a_turn_and_comes_again_without_it(clock):
    async with opened(chat := Summarist(), clock) as memory:
        keys = await say(memory, *PLANS[:20], clock=clock)
        await memory.consolidate(user="u")
        report = await memory.forget(user="u", ids=[keys[2]])
        assert (report.turns, report.insights) == (1, 1)
        assert not await summaries(memory) and "Earlier" not in await shown(memory)
        assert (await memory.consolidate(user="u")).pending == 0, "no other turn is read again"
        calls = len(chat.shown)
        await say(memory, *PLANS[20:30], clock=clock)
        await memory.consolidate(user="u")
        (one,) = await summaries(memory)
        assert keys[2] not in one.sources and set(keys[:2]) <= set(one.sources)
        assert PLANS[2] not in json.dumps(chat.shown[calls:])


async def test_a_later_conversation_takes_its_place(clock):
    async with opened(chat := Summarist(), clock) as memory:
        await say(memory, *PLANS[:20], clock=clock)
        await memory.consolidate(user="u")
        clock.now += timedelta(days=1)
        await say(memory, "Hello again.", clock=clock)
        assert "Earlier in this conversation:" in await shown(memory), "the next day it tells of the day before"
        await say(memory, *PLANS[20:], clock=clock)
        calls = len(chat.shown)
        await memory.consolidate(user="u")
        (one,) = await summaries(memory)
        assert chat.shown[calls]["so_far"] == ""
        assert chat.shown[calls]["turns"][0]["text"] == "Hello again." and one.said.day == 1


async def test_sessions_and_agents_have_their_own(clock):
    async with opened(Summarist(), clock) as memory:
        for session, agent in (("s", None), ("s", "a"), (None, "a")):
            await say(memory, *PLANS[:20], session=session, agent=agent, clock=clock)
        await memory.consolidate(user="u")
        made = await summaries(memory)
        assert {(one.scope.session, one.scope.agent) for one in made} == {("s", None), ("s", "a"), (None, "a")}
        assert {one.scope.agent for one in await summaries(memory, agent="a")} == {"a"}


async def test_a_call_that_fails_costs_no_turn_and_is_made_again(clock):
    async with opened(chat := Summarist(ModelTimeout("slow")), clock, batch_turns=40) as memory:
        await say(memory, *PLANS[:20], clock=clock)
        report = await memory.consolidate(user="u")
        assert (report.done, report.pending, report.errors) == (20, 0, {"model_timeout": 1})
        assert not await summaries(memory)
        await say(memory, *PLANS[20:25], clock=clock)
        await memory.consolidate(user="u")
        assert len(await summaries(memory)) == 1 and len(chat.shown) == 2


@pytest.mark.parametrize("reply", ["", "  \u200b ", "用户选了二十个停留的地方，都在河边，有一座旧桥。"])
async def test_a_useless_summary_is_not_kept(clock, reply):
    chat = ScriptedChat(lambda said: nothing_noted(said) if "so_far" not in data(said) else {"summary": reply})
    async with opened(chat, clock, batch_turns=40) as memory:
        await say(memory, *PLANS[:20], clock=clock)
        report = await memory.consolidate(user="u")
        assert sum(report.errors.values()) == 1 and report.done == 20
        assert not await summaries(memory)


async def test_none_without_a_budget_or_a_model_and_nothing_waits(clock):
    async with opened(chat := Summarist(), clock, context={}) as memory:
        await say(memory, *PLANS[:20], clock=clock)
        await memory.consolidate(user="u")
        assert not chat.shown and "Earlier" not in await shown(memory)
    async with opened(None, clock) as memory:
        await say(memory, *PLANS[:20], clock=clock)
        assert "Earlier" not in await shown(memory)


async def test_a_long_summary_is_shown_as_far_as_whole_sentences_fit(clock):
    long = " ".join(f"Stop {n} is a town at the river." for n in range(40))
    chat = ScriptedChat(lambda said: nothing_noted(said) if "so_far" not in data(said) else {"summary": long})
    async with opened(chat, clock) as memory:
        await say(memory, *PLANS[:20], clock=clock)
        await memory.consolidate(user="u")
        told = (await shown(memory)).partition("Earlier in this conversation:\n")[2].partition("\n")[0]
        assert told.endswith("river.") and long.startswith(told) and 60 < len(told) <= 160


async def test_the_chat_shows_it_and_asks_nothing_for_it(clock):
    async with opened(chat := Summarist(), clock) as memory:
        await say(memory, *PLANS[:20], clock=clock)
        await memory.consolidate(user="u")
        chat.answer = None
        chat.prompts.clear()
        chat._all = lambda messages: "At stop 12."
        assert await memory.chat("Where do we stop next?", user="u", session="s") == "At stop 12."
        (prompt,) = chat.prompts
        assert "Earlier in this conversation:\nThe user chose" in prompt[-1]["content"]


async def test_what_a_dead_worker_saved_is_completed_without_the_model(clock):
    async with opened(chat := Summarist(), clock, batch_turns=40) as memory:
        await say(memory, *PLANS[:20], clock=clock)
        job, _ = memory.admin.runtime.stage_jobs()
        (claim,) = await memory.admin.runtime.services.store.claim("consolidate", 40, 1e-6)  # its lease ends at once
        await memory.admin.runtime.services.store.save_reply(
            claim, await job.make(memory.admin.runtime.services, claim)
        )
        calls = len(chat.prompts)
        await memory.consolidate(user="u")
        assert len(await summaries(memory, superseded=True)) == 1 and len(chat.prompts) == calls


class Redactor:
    """Lets the model see no river, and nothing of the second stop."""

    def memscope_before_consolidate(self, turns, scope):
        seen = [turn for turn in turns if "number 2," not in turn.text]
        return [replace(turn, text=turn.text.replace("river", "***")) for turn in seen]


async def test_what_plugins_and_memory_put_aside_is_not_summed_up(clock):
    settings = {**SETTINGS, "batch_turns": 40}
    async with AsyncMemoryScope(
        ":memory:", settings=settings, chat=(chat := Summarist()), clock=clock, plugins=[Redactor()]
    ) as memory:
        injected = {"role": "user", "content": "As memory had it, the ferry is late.", "metadata": {INJECTED: True}}
        await memory.add_turns([injected], user="u", session="s")
        keys = await say(memory, *PLANS[:20], clock=clock)
        await memory.consolidate(user="u")
        told = json.dumps(chat.shown)
        assert "***" in told and not any(words in told for words in ("river", "number 2,", "ferry"))
        (one,) = await summaries(memory)
        assert keys[2] in one.sources, "it is not asked about again"


async def test_export_and_import_keep_it(clock, tmp_path):
    async with opened(Summarist(), clock, tmp_path / "m.db") as memory:
        await say(memory, *PLANS[:20], clock=clock)
        await memory.consolidate(user="u")
        kept = await summaries(memory)
        await memory.admin.export(tmp_path / "all.jsonl")
        async with opened(None, clock) as other:
            await other.admin.import_(tmp_path / "all.jsonl")
            assert await summaries(other) == kept
            assert "Earlier" in await shown(other)


async def test_the_ideal_model_sums_up_the_facts_of_the_turns(clock):
    facts = [{"turns": [3], "text": "The user chose stop 3.", "about": "user", "when": "", "keywords": ["travel"]}
             | {"level": 3, "quote": "stop number 3"}]  # fmt: skip
    async with opened(IdealChat([{"text": text} for text in PLANS], facts), clock) as memory:
        await say(memory, *PLANS[:20], clock=clock)
        await memory.consolidate(user="u")
        (one,) = await summaries(memory)
        assert "The user chose stop 3." in one.text
