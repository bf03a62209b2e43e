"""The tests of ``AdapterSuite`` about what every adapter's constructor takes: ``kinds`` and ``zone``."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from memscope import AsyncMemoryScope, Turn
from memscope.testing.scripted import ScriptedModel

USER = "alice"


class ConstructorOptions:
    """A part of ``AdapterSuite``."""

    converse: Any

    async def test_kinds_narrow_what_is_recalled(self, memory: AsyncMemoryScope, script: ScriptedModel) -> None:
        await memory.add_memory("Alice's boat is called Aurora.", user=USER, agent="helper")
        await memory.add_turns([{"role": "user", "content": "My boat is painted green."}], user=USER, agent="helper")
        for kinds, shown in ((["observation"], {"Aurora"}), (["insight"], set()), (None, {"Aurora", "green"})):
            talk = await self.converse(memory, script, user=USER, agent="helper", session=str(kinds), kinds=kinds)
            await talk.say("What about my boat?")
            assert {word for word in ("Aurora", "green") if word in script.latest} == shown, kinds

    async def test_turns_are_stamped_in_the_zone(self, memory: AsyncMemoryScope, script: ScriptedModel) -> None:
        talk = await self.converse(memory, script, user=USER, session="one", zone="Asia/Shanghai")
        await talk.say("My boat is called Aurora.")
        turns = [turn for turn in await memory.list(user=USER) if isinstance(turn, Turn)]
        assert [turn.time.utcoffset() for turn in turns] == [timedelta(hours=8)] * 2
