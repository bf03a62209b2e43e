"""The tests of ``AdapterSuite`` about one budget of tokens for all that memory shows (setting ``context.budget``)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from memscope import AsyncMemoryScope
from memscope.prompts.memory_block import CLOSE, OPEN
from memscope.records import SUMMARY, ChangeSet, Insight, Scope
from memscope.retrieval.window import summary_name
from memscope.testing.scripted import ScriptedModel
from memscope.text.tokens import estimate_tokens

USER = "alice"
KIM = ("My sister Kim moved to Lisbon.", "I visited Kim in Lisbon.", "Kim is allergic to walnuts.")


class AssembledContext:
    """A part of ``AdapterSuite``."""

    converse: Any

    async def test_one_budget_holds_core_memory_entities_summary_and_hits(self, script: ScriptedModel) -> None:
        settings = {"context": {"budget": 400, "entities": 0.1}}
        async with AsyncMemoryScope(":memory:", settings=settings) as memory:
            for text in (*KIM, *(f"I walked {n} miles and thought of the allergy." for n in range(40))):
                await memory.add_turns([{"role": "user", "content": text}], user=USER, agent="helper", session="one")
            await memory.blocks(USER).append("human", "Alice likes to cook.")
            await _sum_up(memory)
            talk = await self.converse(memory, script, user=USER, agent="helper", session="two")
            await talk.say("What is Kim allergic to?")
        shown = script.latest.partition(OPEN)[2].partition(CLOSE)[0]
        assert estimate_tokens(shown) <= 400
        parts = ["Alice likes to cook.", "Kim (person, my sister)", "Alice plans a dinner for six.", "walnuts"]
        assert [part for part in parts if part not in shown] == []


async def _sum_up(memory: AsyncMemoryScope) -> None:
    """Write what the back end writes when turns have left the window of session two."""
    where = Scope(USER, "helper", "two")
    long = {"role": "user", "content": "Dinner for six. " * 2000}  # in nobody's window
    report = await memory.add_turns([long], user=USER, agent="helper", session="two")
    now = memory.runtime.clock() - timedelta(days=1)
    made = Insight(
        id="summary", scope=where, text="Alice plans a dinner for six.", sources=report.keys, said=now, recorded=now,
        origin="summary", subject="conversation", name=summary_name(where), namespace=SUMMARY,
    )  # fmt: skip
    await memory.runtime.store.apply(USER, ChangeSet(new=(made,)))
