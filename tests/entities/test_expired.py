"""Entities after a memory has expired: those that only its statement named are gone."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memscope.errors import NotFound
from talk import START, note, say, talking


async def test_what_a_statement_names_goes_when_its_memory_expires():
    async with talking() as memory:
        entities, end = memory.entities("u"), START + timedelta(days=1)
        stated = await memory.add_memory("I met Ann Quibble at the Ritz Hotel in Lisbon.", user="u", expires=end)
        await say(memory, "I flew to Lisbon.")
        assert {one.name for one in await entities.list()} >= {"Ann Quibble", "Lisbon"}
        memory.days.now = end
        assert [(one.name, one.count) for one in await entities.list()] == [("Lisbon", 1)]
        assert stated.sources[0] not in [turn.key for turn in (await entities.get("Lisbon")).turns]
        with pytest.raises(NotFound):
            await entities.get("Ann Quibble")
        await memory.update(stated.id, user="u", expires=end + timedelta(days=1))
        assert "Ann Quibble" in {one.name for one in await entities.list()}


async def test_what_a_turn_names_stays_when_a_fact_of_it_expires():
    async with talking() as memory:
        key = await say(memory, "I met Ann Quibble in Lisbon.")
        await note(memory, "met", "The user met Ann Quibble.", key, expires=START + timedelta(days=1))
        memory.days.now = START + timedelta(days=9)
        assert "Ann Quibble" in {one.name for one in await memory.entities("u").list()}
