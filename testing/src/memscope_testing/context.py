"""Tests of ``AdapterSuite`` for the context: core memory, the token budget, and the constructor's options."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from memscope import AsyncMemoryScope
from memscope.prompts.memory_block import CLOSE_MARK, OPEN_MARK
from memscope.records import SUMMARY_NAMESPACE, ChangeSet, Insight, Scope, Turn
from memscope.retrieval.window import summary_name
from memscope.text.tokens import estimate_tokens
from memscope_testing.scripted import ScriptedModel

CONTEXT_USER = "alice"
KIM = ("My sister Kim moved to Lisbon.", "I visited Kim in Lisbon.", "Kim is allergic to walnuts.")
UseTool = Callable[..., Awaitable[str]]


class ShownContext:
    """The part of ``AdapterSuite`` on contexts."""

    converse: Any

    async def use_tools(self, memory: AsyncMemoryScope, which: Any, *, user: str, agent: str | None = None) -> UseTool:
        """Return ``use(name, **arguments)``, which calls a tool as the framework does and returns answer or error."""
        pytest.skip("no use_tools in this suite")

    async def test_core_memory_is_shown_in_every_turn_and_never_recorded(
        self, memory: AsyncMemoryScope, script: ScriptedModel
    ) -> None:
        talk = await self.converse(memory, script, user=CONTEXT_USER, agent="helper", session="one")
        await memory.blocks(CONTEXT_USER, agent="helper").append("human", "Alice sails.")
        await talk.say("hello")
        assert script.latest.count("Alice sails.") == 1
        await memory.blocks(CONTEXT_USER, agent="other").append("human", "She has a dog.", author="model")
        await talk.say("hello again")
        assert script.latest.count("She has a dog.") == 1
        for number in range(3):
            await talk.say(f"question {number}")
            assert "She has a dog." in script.latest
            assert script.latest.count("She has a dog.") == 1
        assert not [turn for turn in await _turns(memory) if "dog" in turn.text or "sails" in turn.text]

    async def test_the_model_edits_core_memory_with_tools(
        self, memory: AsyncMemoryScope, script: ScriptedModel
    ) -> None:
        use = await self.use_tools(memory, "all", user=CONTEXT_USER, agent="helper")
        answer = await use("memory_append", label="human", text="Alice sails.", reason="she said so")
        assert "version 1" in answer
        assert "0 matches" in await use("memory_replace", label="human", old="Bob", new="x", reason="r")
        await use("memory_insert", label="human", text="Sailor.", line=1, reason="r")
        await use("memory_rethink", label="human", value="Alice, sailor.", version=2, reason="shorter")
        assert (await memory.blocks(CONTEXT_USER).get("human")).value == "Alice, sailor."
        await use("archival_insert", text="The boat is called Aurora.")
        assert "Aurora" in await use("archival_search", query="boat")
        talk = await self.converse(memory, script, user=CONTEXT_USER, agent="helper", session="one")
        await talk.say("My boat is called Aurora.")
        assert "Aurora" in await use("conversation_search", text="boat", roles=["user"])
        assert [version.author for version in await memory.blocks(CONTEXT_USER).history("human")] == ["model"] * 3
        assert (await memory.blocks("bob").get("human")).value == ""

    # ---- one budget of tokens (setting ``context.budget``)

    async def test_one_budget_holds_core_memory_entities_summary_and_hits(self, script: ScriptedModel) -> None:
        settings = {"context": {"budget": 400, "entities": 0.1}}
        async with AsyncMemoryScope(":memory:", settings=settings) as memory:
            for text in (*KIM, *(f"I walked {n} miles and thought of the allergy." for n in range(40))):
                await memory.add_turns(
                    [{"role": "user", "content": text}], user=CONTEXT_USER, agent="helper", session="one"
                )
            await memory.blocks(CONTEXT_USER).append("human", "Alice likes to cook.")
            await _sum_up(memory)
            talk = await self.converse(memory, script, user=CONTEXT_USER, agent="helper", session="two")
            await talk.say("What is Kim allergic to?")
        shown = script.latest.partition(OPEN_MARK)[2].partition(CLOSE_MARK)[0]
        assert estimate_tokens(shown) <= 400
        parts = ["Alice likes to cook.", "Kim (person, my sister)", "Alice plans a dinner for six.", "walnuts"]
        assert [part for part in parts if part not in shown] == []

    # ---- options of every constructor: ``kinds`` and ``zone``

    async def test_kinds_narrow_what_is_recalled(self, memory: AsyncMemoryScope, script: ScriptedModel) -> None:
        await memory.add_memory("Alice's boat is called Aurora.", user=CONTEXT_USER, agent="helper")
        await memory.add_turns(
            [{"role": "user", "content": "My boat is painted green."}], user=CONTEXT_USER, agent="helper"
        )
        for kinds, shown in ((["observation"], {"Aurora"}), (["insight"], set()), (None, {"Aurora", "green"})):
            talk = await self.converse(
                memory, script, user=CONTEXT_USER, agent="helper", session=str(kinds), kinds=kinds
            )
            await talk.say("What about my boat?")
            assert {word for word in ("Aurora", "green") if word in script.latest} == shown, kinds

    async def test_turns_are_stamped_in_the_zone(self, memory: AsyncMemoryScope, script: ScriptedModel) -> None:
        talk = await self.converse(memory, script, user=CONTEXT_USER, session="one", zone="Asia/Shanghai")
        await talk.say("My boat is called Aurora.")
        assert [turn.time.utcoffset() for turn in await _turns(memory)] == [timedelta(hours=8)] * 2


async def _turns(memory: AsyncMemoryScope) -> list[Turn]:
    return [turn for turn in await memory.list(user=CONTEXT_USER, kinds=["turn"]) if isinstance(turn, Turn)]


async def _sum_up(memory: AsyncMemoryScope) -> None:
    """Write a summary as the back end does once turns have left the window of session two."""
    where = Scope(CONTEXT_USER, "helper", "two")
    long = {"role": "user", "content": "Dinner for six. " * 2000}  # too long for the window
    report = await memory.add_turns([long], user=CONTEXT_USER, agent="helper", session="two")
    now = memory.admin.runtime.services.clock() - timedelta(days=1)
    insight = Insight(
        id="summary", scope=where, text="Alice plans a dinner for six.", sources=report.keys, said=now, recorded=now,
        origin="summary", subject="conversation", name=summary_name(where), namespace=SUMMARY_NAMESPACE,
    )  # fmt: skip
    await memory.admin.runtime.services.store.apply(CONTEXT_USER, ChangeSet(new=(insight,)))
