"""The place of memory in an agent's model context, and that it is nowhere else."""

from __future__ import annotations

import json

from autogen_agentchat.messages import MultiModalMessage
from autogen_core import Image
from autogen_core.model_context import UnboundedChatCompletionContext
from autogen_core.models import AssistantMessage, SystemMessage, UserMessage

from memscope.prompts.memory_block import OPEN_MARK
from memscope_autogen import MemoryScopeMemory
from memscope_testing.scripted import ScriptedModel

from .talking import agent_with, texts

FACT, QUESTION = "My boat is called Aurora.", "What is my boat called?"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="


async def memory_that_knows(core):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    return MemoryScopeMemory(user="alice", memory=core)


async def test_a_saved_state_holds_nothing_that_was_injected(core):
    script = ScriptedModel()
    agent = agent_with(await memory_that_knows(core), script)
    await agent.run(task=QUESTION)
    assert OPEN_MARK in script.latest
    saved = await agent.save_state()
    assert [message["content"] for message in saved["llm_context"]["messages"]] == [
        QUESTION, "Understood by model, number 1.",
    ]  # fmt: skip
    assert OPEN_MARK in str(
        await agent.model_context.get_messages()
    )  # it stays beside the question that it was shown for
    json.dumps(saved)


async def test_the_state_of_a_custom_context_is_its_own(core):
    class Custom(UnboundedChatCompletionContext):
        async def save_state(self):
            return {"count": len(self._messages)}

    context = Custom()
    await context.add_message(UserMessage(content=QUESTION, source="user"))
    await (await memory_that_knows(core)).update_context(context)
    assert await context.save_state() == {"count": 2}


async def test_parts_of_a_message_stay_as_they_are(core):
    agent = agent_with(await memory_that_knows(core), ScriptedModel())
    picture = Image.from_base64(PIXEL)
    await agent.run(task=MultiModalMessage(content=[QUESTION, picture], source="user"))
    memory, question, _ = await agent.model_context.get_messages()
    assert memory.content.startswith(OPEN_MARK) and FACT in memory.content
    assert question.content == [QUESTION, picture]
    assert (await texts(core, kinds=["turn"]))[:2] == [FACT, QUESTION]


async def test_without_a_users_message_memory_stands_last(core):
    await core.blocks("alice").append("human", "Alice sails.")
    for given in ([], [SystemMessage(content="Greet.")], [AssistantMessage(content="Hello!", source="helper")]):
        context = UnboundedChatCompletionContext()
        for message in given:
            await context.add_message(message)
        await MemoryScopeMemory(user="alice", memory=core).update_context(context)
        *before, memory = await context.get_messages()
        assert before == given
        assert "Alice sails." in memory.content
