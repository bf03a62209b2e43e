"""Recording and recall through whatever AutoGen does with a conversation: resets, teams, state, hand-offs, buffers."""

from __future__ import annotations

import copy
import json

import pytest
from autogen_agentchat.messages import HandoffMessage, MemoryQueryEvent, MultiModalMessage
from autogen_core import CancellationToken, FunctionCall, Image
from autogen_core.memory import ListMemory, MemoryContent, MemoryMimeType
from autogen_core.model_context import (
    BufferedChatCompletionContext,
    ChatCompletionContext,
    UnboundedChatCompletionContext,
)
from autogen_core.models import AssistantMessage, UserMessage
from PIL import Image as Picture

from memscope_autogen import MemoryScopeMemory
from memscope_testing.scripted import ScriptedModel

from .talking import agent_with, calls, texts

FACT, QUESTION = "My boat is called Aurora.", "What is my boat called?"


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


@pytest.mark.parametrize("session", [None, "s"])
async def test_a_turn_that_got_no_reply_is_not_doubled_by_its_saved_state(core, session):
    script = ScriptedModel()
    agent = agent_with(MemoryScopeMemory(user="alice", session=session, memory=core), script)
    await agent.run(task="Good morning")
    script.error = RuntimeError("no model")
    with pytest.raises(RuntimeError):
        await agent.run(task=FACT)
    script.error = None
    again = agent_with(MemoryScopeMemory(user="alice", session=session, memory=core), script)
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


async def test_a_history_that_memory_did_not_hear_is_recorded_when_it_is_loaded(core):
    without = agent_with(None, ScriptedModel(name="earlier"))
    await without.run(task=FACT)
    script = ScriptedModel()
    agent = agent_with(MemoryScopeMemory(user="alice", memory=core), script)
    await agent.run(task="Good morning")
    await agent.load_state(await without.save_state())
    await agent.run(task=QUESTION)
    assert (await texts(core))[2:4] == [FACT, "Understood by earlier, number 1."]
    assert script.latest.count("Aurora") == 1


async def test_of_what_was_said_twice_a_reloaded_history_recalls_neither(core):
    for _ in range(2):
        agent = agent_with(MemoryScopeMemory(user="alice", memory=core), ScriptedModel())
        await agent.run(task=FACT)
    script = ScriptedModel()
    again = agent_with(MemoryScopeMemory(user="alice", memory=core), script)
    await again.load_state(await agent.save_state())
    await again.run(task=QUESTION)
    assert script.latest.count("Aurora") == 1


async def test_what_the_model_sees_takes_no_place_from_what_it_does_not(core):
    await core.add_turns([{"role": "user", "content": "The first boat is called Aurora."}], user="alice", session="old")
    script = ScriptedModel()
    agent = agent_with(MemoryScopeMemory(user="alice", session="new", memory=core, k=1), script)
    await agent.run(task="The second boat is called Borealis.")
    await agent.run(task="What are my boats called, the first boat and the second boat?")
    assert "Aurora" in script.latest


async def test_an_agent_and_its_memory_copied_together_hear_each_message_once(core):
    memory, context = MemoryScopeMemory(user="alice", memory=core), BufferedChatCompletionContext(buffer_size=9)
    await context.add_message(UserMessage(content=FACT, source="user"))
    await memory.update_context(context)
    memory, context = copy.deepcopy((memory, context))
    await context.add_message(AssistantMessage(content="Noted.", source="helper"))
    await context.add_message(UserMessage(content=QUESTION, source="user"))
    await memory.update_context(context)
    await context.add_message(AssistantMessage(content="Aurora.", source="helper"))
    assert await texts(core) == [FACT, "Noted.", QUESTION, "Aurora."]


async def test_after_a_reset_the_same_words_are_new_for_one_who_had_not_heard_them(core):
    memory = MemoryScopeMemory(user="alice", memory=core)
    quick, slow = UnboundedChatCompletionContext(), UnboundedChatCompletionContext()
    for context in (quick, slow):
        await context.add_message(UserMessage(content="Good morning", source="user"))
        await memory.update_context(context)
    await quick.add_message(UserMessage(content="ok", source="user"))
    for context in (quick, slow):
        await context.clear()
    await slow.add_message(UserMessage(content="ok", source="user"))
    assert await texts(core) == ["Good morning", "ok", "ok"]


async def test_a_message_added_to_the_context_by_hand_is_recorded(core):
    memory = MemoryScopeMemory(user="alice", memory=core)
    agent = agent_with(memory, ScriptedModel())
    await agent.run(task=FACT)
    await agent.model_context.add_message(AssistantMessage(content="By the way.", source="helper"))
    assert (await texts(core))[-1] == "By the way."
