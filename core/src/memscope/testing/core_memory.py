"""The tests of ``AdapterSuite`` about core memory: shown in every turn, edited with tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from memscope import AsyncMemoryScope
from memscope.records import Turn
from memscope.testing.scripted import ScriptedModel

USER = "alice"
UseTool = Callable[..., Awaitable[str]]


class CoreMemory:
    """A part of ``AdapterSuite``."""

    converse: Any

    async def use_tools(self, memory: AsyncMemoryScope, which: Any, *, user: str, agent: str | None = None) -> UseTool:
        """``use(name, **arguments)`` calls a tool of the set as the framework does; returns its answer or error."""
        pytest.skip("no use_tools in this suite")

    async def test_core_memory_is_shown_in_every_turn_and_never_recorded(
        self, memory: AsyncMemoryScope, script: ScriptedModel
    ) -> None:
        talk = await self.converse(memory, script, user=USER, agent="helper", session="one")
        await memory.blocks(USER, agent="helper").append("human", "Alice sails.")
        await talk.say("hello")
        assert script.latest.count("Alice sails.") == 1
        await memory.blocks(USER, agent="other").append("human", "She has a dog.", author="model")
        await talk.say("hello again")
        assert script.latest.count("She has a dog.") == 1
        for number in range(3):
            await talk.say(f"question {number}")
            assert "She has a dog." in script.latest
            assert script.latest.count("She has a dog.") == 1
        assert not [text for text in await _texts(memory) if "dog" in text or "sails" in text]

    async def test_the_model_edits_core_memory_with_tools(
        self, memory: AsyncMemoryScope, script: ScriptedModel
    ) -> None:
        use = await self.use_tools(memory, "all", user=USER, agent="helper")
        told = await use("memory_append", label="human", text="Alice sails.", reason="she said so")
        assert "version 1" in told
        assert "0 matches" in await use("memory_replace", label="human", old="Bob", new="x", reason="r")
        await use("memory_insert", label="human", text="Sailor.", line=1, reason="r")
        await use("memory_rethink", label="human", value="Alice, sailor.", version=2, reason="shorter")
        assert (await memory.blocks(USER).get("human")).value == "Alice, sailor."
        await use("archival_insert", text="The boat is called Aurora.")
        assert "Aurora" in await use("archival_search", query="boat")
        talk = await self.converse(memory, script, user=USER, agent="helper", session="one")
        await talk.say("My boat is called Aurora.")
        assert "Aurora" in await use("conversation_search", text="boat", roles=["user"])
        assert [one.author for one in await memory.blocks(USER).history("human")] == ["model"] * 3
        assert (await memory.blocks("bob").get("human")).value == ""


async def _texts(memory: AsyncMemoryScope) -> list[str]:
    return [turn.text for turn in await memory.list(user=USER, kinds=["turn"]) if isinstance(turn, Turn)]
