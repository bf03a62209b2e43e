"""Names that memory knows are shown with the turns that use a shorter one."""

from __future__ import annotations

from memscope_testing.models import ScriptedChat

from workbench import clock, heard, listening, turns_in, world

__all__ = ["clock", "world"]


def shown(chat):
    return [line for prompt in chat.prompts for line in turns_in(prompt)]


async def test_a_first_name_and_a_relation_get_the_full_name(world):
    await world.say("My sister Anna Schmidt works at NASA.")
    await world.consolidate(chat=listening())
    await world.say("Anna called.", "My sister is ill.", "Anna Schmidt moved to Linz.", "Annabel plays chess.")
    chat = ScriptedChat(heard)
    await world.consolidate(chat=chat)
    names = {line["text"]: line.get("names") for line in shown(chat) if line.get("text")}
    assert names["Anna called."] == {"Anna": "Anna Schmidt"}
    assert names["My sister is ill."] == {"my sister": "Anna Schmidt"}
    assert names["Anna Schmidt moved to Linz."] is None
    assert names["Annabel plays chess."] is None


async def test_a_name_of_two_people_is_not_explained(world):
    await world.say("Bob Ross paints.", "Bob Dylan sings.", "Bob called.")
    chat = ScriptedChat(heard)
    await world.consolidate(chat=chat)
    assert not any("names" in line for line in shown(chat))


async def test_another_agents_and_another_users_names_are_unknown(world):
    await world.say("My sister Anna Schmidt works at NASA.", agent="a")
    await world.say("My sister Anna Weber works at NASA.", user="bob")
    await world.say("Anna called.", agent="b")
    chat = ScriptedChat(heard)
    await world.consolidate(chat=chat)
    assert not any("names" in line for line in shown(chat))
