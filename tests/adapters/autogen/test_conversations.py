"""Recording and recall through whatever AutoGen does with a conversation: resets, teams, state, hand-offs, buffers."""

from __future__ import annotations

import asyncio
import json

import pytest
from autogen_agentchat.base import Handoff
from autogen_agentchat.conditions import MaxMessageTermination
from autogen_agentchat.messages import HandoffMessage, MemoryQueryEvent, MultiModalMessage, TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat, SelectorGroupChat, Swarm
from autogen_core import CancellationToken, FunctionCall, Image
from autogen_core.memory import ListMemory, MemoryContent, MemoryMimeType
from autogen_core.model_context import BufferedChatCompletionContext, ChatCompletionContext
from autogen_core.models import AssistantMessage, UserMessage
from PIL import Image as Picture

from memscope.testing.scripted import ScriptedModel
from memscope_autogen import MemoryScopeMemory

from .talking import ScriptedClient, agent_with

FACT, QUESTION = "My boat is called Aurora.", "What is my boat called?"


async def texts(core, **scope):
    return [turn.text for turn in await core.list(user="alice", **scope)]


def calls(*functions):
    """A script's answers: function calls or text, one after the other."""
    script, left = ScriptedModel(), list(functions)
    said = script.answer

    async def answer(messages):
        reply = await said(messages)
        return left.pop(0) if left else reply

    script.answer = answer
    return script


# ---- one agent


async def test_the_literal_line(core):
    script = ScriptedModel()
    await agent_with(MemoryScopeMemory(user="alice", memory=core), script).run(task=FACT)
    result = await agent_with(MemoryScopeMemory(user="alice", memory=core), script).run(task=QUESTION)
    assert [type(message).__name__ for message in result.messages] == ["TextMessage", "MemoryQueryEvent", "TextMessage"]
    assert script.shown[-1][-1].text == QUESTION
    assert "Aurora" in script.shown[-1][-2].text
    (event,) = [message for message in result.messages if isinstance(message, MemoryQueryEvent)]
    assert "Aurora" in " ".join(item.content for item in event.content)
    event.model_dump_json()


async def test_a_reset_loses_nothing_and_starts_anew(core):
    script = ScriptedModel()
    agent = agent_with(MemoryScopeMemory(user="alice", memory=core), script)
    await agent.run(task=FACT)
    await agent.on_reset(CancellationToken())
    await agent.run(task=QUESTION)
    assert await texts(core) == [
        FACT, "Understood by model, number 1.", QUESTION, "Understood by model, number 2.",
    ]  # fmt: skip
    assert "Aurora" in script.latest


async def test_state_loaded_into_a_running_agent(core):
    script = ScriptedModel()
    agent = agent_with(MemoryScopeMemory(user="alice", memory=core), script)
    await agent.run(task=FACT)
    state = json.loads(json.dumps(await agent.save_state()))
    await agent.run(task="ok")
    await agent.load_state(state)
    await agent.run(task="ok")
    said = await texts(core)
    assert [said.count(FACT), said.count("ok"), len(said)] == [1, 2, 6]


async def test_a_turn_that_got_no_reply_is_not_doubled_by_its_saved_state(core):
    script = ScriptedModel()
    agent = agent_with(MemoryScopeMemory(user="alice", session="s", memory=core), script)
    await agent.run(task="Good morning")
    script.error = RuntimeError("no model")
    with pytest.raises(RuntimeError):
        await agent.run(task=FACT)
    script.error = None
    again = agent_with(MemoryScopeMemory(user="alice", session="s", memory=core), script)
    await again.load_state(await agent.save_state())
    await again.run(task=QUESTION)
    said = await texts(core)
    assert [said.count(FACT), said.count(QUESTION), len(said)] == [1, 1, 5]


async def test_a_small_buffer_shows_the_memory_and_the_question(core):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice", session="before")
    script = ScriptedModel()
    context = BufferedChatCompletionContext(buffer_size=2)
    agent = agent_with(MemoryScopeMemory(user="alice", memory=core), script, model_context=context)
    for _ in range(3):
        await agent.run(task=QUESTION)
        assert [shown.role for shown in script.shown[-1]] == ["system", "user", "user"]
        assert script.shown[-1][-1].text == QUESTION
        assert "Aurora" in script.shown[-1][-2].text


async def test_what_fell_out_of_the_buffer_is_recalled(core):
    script = ScriptedModel()
    context = BufferedChatCompletionContext(buffer_size=3)
    agent = agent_with(MemoryScopeMemory(user="alice", memory=core), script, model_context=context)
    for task in (FACT, "I like rain.", "I like snow.", QUESTION):
        await agent.run(task=task)
    assert script.latest.count("Aurora") == 1


async def test_tools_are_neither_recorded_nor_shown_twice(core):
    async def weather(city: str) -> str:
        """The weather."""
        return "It rains secretly."

    script = calls([FunctionCall(id="1", name="weather", arguments='{"city": "Berlin"}')])
    memory = MemoryScopeMemory(user="alice", memory=core)
    agent = agent_with(memory, script, tools=[weather], reflect_on_tool_use=True)
    await agent.run(task=FACT)
    assert await texts(core) == [FACT, "Understood by model, number 2."]


async def test_what_was_injected_as_context_of_a_hand_off_is_not_recorded(core):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    sender = agent_with(MemoryScopeMemory(user="alice", memory=core), ScriptedModel())
    await sender.run(task=QUESTION)
    before = await texts(core)
    receiver = agent_with(MemoryScopeMemory(user="alice", memory=core), ScriptedModel(name="b"), name="b")
    context = [message for message in await sender.model_context.get_messages() if isinstance(message, UserMessage)]
    assert any("Aurora" in message.content for message in context)
    await receiver.on_messages(
        [HandoffMessage(content="Yours.", source="helper", target="b", context=context)], CancellationToken()
    )
    assert sum("Aurora" in text for text in await texts(core)) == sum("Aurora" in text for text in before)


async def test_of_an_image_the_words_are_recorded(core):
    image = Image.from_pil(Picture.new("RGB", (2, 2)))
    agent = agent_with(MemoryScopeMemory(user="alice", memory=core), ScriptedModel())
    await agent.run(task=MultiModalMessage(content=["My boat", image, "is Aurora"], source="user"))
    await agent.run(task=MultiModalMessage(content=[image], source="user"))
    assert (await texts(core))[0] == "My boat\nis Aurora"
    assert len(await texts(core)) == 3


async def test_beside_other_memories(core):
    """ListMemory puts a system message into the context: it is not ours, and not recorded."""
    preset = ListMemory()
    await preset.add(MemoryContent(content="Alice likes short answers", mime_type=MemoryMimeType.TEXT))
    script = ScriptedModel()
    agent = agent_with([preset, MemoryScopeMemory(user="alice", memory=core)], script)
    await agent.run(task=FACT)
    await agent.run(task=QUESTION)
    assert len(await texts(core)) == 4
    assert not any("short answers" in text for text in await texts(core))


async def test_two_memories_in_one_agent_keep_apart(core):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    await core.add_turns([{"role": "user", "content": "Our boat is called Borealis."}], user="team")
    own, shared = (MemoryScopeMemory(user=user, memory=core) for user in ("alice", "team"))
    script = ScriptedModel()
    agent = agent_with([own, shared], script)
    for _ in range(3):
        await agent.run(task=QUESTION)
        assert [script.latest.count(name) for name in ("Aurora", "Borealis")] == [1, 1]
    for user in ("alice", "team"):
        assert len(await core.list(user=user)) == 7


async def test_the_same_memory_for_one_conversation_after_the_other(core):
    memory = MemoryScopeMemory(user="alice", memory=core)
    for _ in range(3):
        await agent_with(memory, ScriptedModel()).run(task="ok")
    assert (await texts(core)).count("ok") == 3


async def test_an_empty_run_does_no_harm(core):
    agent = agent_with(MemoryScopeMemory(user="alice", memory=core), ScriptedModel())
    await agent.run(task=FACT)
    await agent.run()
    assert (await texts(core)).count(FACT) == 1


class OwnContext(ChatCompletionContext):
    """A context that keeps its messages elsewhere."""

    component_type = "chat_completion_context"

    def __init__(self):
        self.kept = []

    async def add_message(self, message):
        self.kept.append(message)

    async def get_messages(self):
        return self.kept


async def test_a_context_of_ones_own_is_recorded_and_told(core):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    script = ScriptedModel()
    agent = agent_with(MemoryScopeMemory(user="alice", memory=core), script, model_context=OwnContext())
    await agent.run(task=QUESTION)
    assert "Aurora" in script.latest
    await agent.run(task="Thanks")
    assert await texts(core) == [FACT, QUESTION, "Understood by model, number 1.", "Thanks",
                                 "Understood by model, number 2."]  # fmt: skip


# ---- teams


def team(core, kind=RoundRobinGroupChat, turns=5, shared=True, **options):
    memory = MemoryScopeMemory(user="alice", session="team", memory=core)
    names = ("writer", "critic")
    memories = [memory, memory] if shared else [
        MemoryScopeMemory(user="alice", session="team", memory=core) for _ in names
    ]  # fmt: skip
    agents = [agent_with(m, ScriptedModel(name=n), name=n) for m, n in zip(memories, names, strict=True)]
    return kind(agents, termination_condition=MaxMessageTermination(turns), **options)


@pytest.mark.parametrize("shared", [True, False], ids=["one object", "an object each"])
@pytest.mark.parametrize("kind", [RoundRobinGroupChat, SelectorGroupChat])
async def test_a_team_records_each_message_once(core, kind, shared):
    options = {}
    if kind is SelectorGroupChat:
        options["model_client"] = ScriptedClient(calls("writer", "critic", "writer", "critic"))
    group = team(core, kind, turns=5, shared=shared, **options)
    result = await group.run(task=FACT)
    said = [message.content for message in result.messages if isinstance(message, TextMessage)]
    assert await texts(core) == said
    turns = await core.list(user="alice")
    assert [turn.role for turn in turns] == ["user"] + ["assistant"] * 4
    assert [turn.speaker for turn in turns][:3] == ["user", "writer", "critic"]


async def test_a_team_that_goes_on_is_reset_and_asked_the_same_again(core):
    group = team(core, turns=3)
    await group.run(task="ok")
    await group.run(task="ok")
    await group.reset()
    await group.run(task="ok")
    assert (await texts(core)).count("ok") == 3


async def test_a_team_restored_from_its_state_adds_only_what_is_new(core):
    first = team(core, turns=3)
    await first.run(task=FACT)
    before = await texts(core)
    second = team(core, turns=3, shared=False)
    await second.load_state(json.loads(json.dumps(await first.save_state())))
    result = await second.run(task="Go on.")
    new = [message.content for message in result.messages if isinstance(message, TextMessage)]
    assert await texts(core) == before + new


async def test_agents_of_a_team_with_their_own_memories(core):
    writer, critic = (
        agent_with(MemoryScopeMemory(user="alice", agent=name, memory=core), ScriptedModel(name=name), name=name)
        for name in ("writer", "critic")
    )
    await RoundRobinGroupChat([writer, critic], termination_condition=MaxMessageTermination(3)).run(task=FACT)
    for name, count in (("writer", 2), ("critic", 3)):
        assert len(await texts(core, agent=name)) == count


async def test_hand_offs_of_a_swarm(core):
    memory = MemoryScopeMemory(user="alice", session="s", memory=core)
    go = [FunctionCall(id="1", name="transfer_to_critic", arguments="{}")]
    writer = agent_with(memory, calls(go), name="writer", handoffs=[Handoff(target="critic")])
    critic = agent_with(memory, ScriptedModel(name="critic"), name="critic")
    await Swarm([writer, critic], termination_condition=MaxMessageTermination(3)).run(task=FACT)
    said = await texts(core)
    assert said.count(FACT) == 1
    assert said[-1] == "Understood by critic, number 1."


async def test_the_user_of_a_team_is_told_from_its_agents(core):
    agent = agent_with(MemoryScopeMemory(user="alice", memory=core), ScriptedModel(), name="helper")
    said = [("user", "One."), ("alice", "Two."), ("user_proxy", "Three."), ("bob", "Four.")]
    await agent.on_messages([TextMessage(content=text, source=source) for source, text in said], CancellationToken())
    turns = await core.list(user="alice")
    assert [turn.role for turn in turns] == ["user", "user", "user", "person", "assistant"]
    assert turns[3].speaker == "bob"


async def test_forty_conversations_of_four_users_at_once(core):
    async def converse(user, number):
        memory = MemoryScopeMemory(user=user, session=f"s{number}", memory=core)
        agent = agent_with(memory, script := ScriptedModel(name=f"{user}{number}"))
        await agent.run(task=f"The code of {user} is {user}-{number}.")
        await agent.run(task="What is my code?")
        return user, [shown.text for call in script.shown for shown in call]

    users = ["anna", "bert", "carl", "dora"]
    for user, shown in await asyncio.gather(*(converse(user, n) for n in range(10) for user in users)):
        assert not [text for text in shown for other in users if other != user and f"{other}-" in text]
    for user in users:
        assert len(await core.list(user=user)) == 40


async def test_a_message_added_to_the_context_by_hand_is_recorded(core):
    memory = MemoryScopeMemory(user="alice", memory=core)
    agent = agent_with(memory, ScriptedModel())
    await agent.run(task=FACT)
    await agent.model_context.add_message(AssistantMessage(content="By the way.", source="helper"))
    assert (await texts(core))[-1] == "By the way."
