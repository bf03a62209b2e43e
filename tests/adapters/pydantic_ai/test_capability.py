"""The capability beside the suite: tools in a run, structured answers, agents as tools."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import ImageUrl, ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from memscope.errors import ConfigError, MemscopeError, ScopeError
from memscope_pydantic_ai import MemoryScopeCapability
from memscope_testing.scripted import FickleStore

FACT, QUESTION = "My boat is called Aurora.", "What is my boat called?"


class Model:
    """Pydantic AI's model for tests: gives ``replies`` in turn, and keeps the messages it was shown."""

    def __init__(self, *replies):
        self.left, self.shown = list(replies), []
        self.model = FunctionModel(self._answer)

    async def _answer(self, messages, info):
        self.shown.append(messages)
        reply = self.left.pop(0) if self.left else TextPart(f"Understood, number {len(self.shown)}.")
        return ModelResponse(parts=list(reply) if isinstance(reply, tuple) else [reply])

    @property
    def latest(self):
        return ModelMessagesTypeAdapter.dump_json(self.shown[-1]).decode()


def agent_with(core, model, user="alice", **more):
    options = {name: more.pop(name) for name in ("agent", "tools", "record", "session") if name in more}
    made = MemoryScopeCapability(user=user, memory=core, **options)
    return Agent(model.model, capabilities=[made], **more)


async def texts(core, **scope):
    return [turn.text for turn in await core.list(user="alice", kinds=["turn"], **scope)]


async def test_nobody_said_whose_memory_it_is(core):
    with pytest.raises(ScopeError, match="user_id"):
        await agent_with(core, Model(), user=None).run(FACT)


@pytest.mark.parametrize("wrong", [{"recall": "everything"}, {"tools": "every"}, {"record": "some"}, {"user": " "}])
def test_a_wrong_setting_is_told_at_once(wrong):
    with pytest.raises((ConfigError, ScopeError)):
        MemoryScopeCapability(**{"user": "alice", **wrong})


async def test_deps_may_be_a_mapping(core):
    await agent_with(core, Model(), user=None).run(FACT, deps={"user_id": "alice"})
    assert (await texts(core))[0] == FACT


async def test_the_model_remembers_and_searches_with_tools(core):
    model = Model(ToolCallPart("remember", {"statement": "Alice's boat is called Aurora."}), TextPart("Done."),
                  ToolCallPart("search_memory", {"query": "boat"}))  # fmt: skip
    agent = agent_with(core, model)
    await agent.run("Remember my boat.")
    (memory,) = await core.list(user="alice", kinds=["observation"])
    await agent.run("Look it up.")
    assert memory.text == "Alice's boat is called Aurora." and memory.id in model.latest


async def test_a_search_leaves_out_the_conversation(core):
    model = Model(TextPart("Noted."), ToolCallPart("search_memory", {"query": FACT, "kinds": ["turn"]}))
    agent = agent_with(core, model)
    history = (await agent.run(FACT)).all_messages()
    await agent.run("Look it up.", message_history=history)
    assert "Aurora" not in model.shown[-1][-1].parts[0].content


async def test_a_tool_that_fails_tells_the_model():
    from memscope import AsyncMemoryScope

    store = FickleStore()
    async with AsyncMemoryScope(store, settings={}) as core:
        model = Model(ToolCallPart("search_memory", {"query": "boat"}))
        store.broken = True
        assert (await agent_with(core, model).run("Look it up.")).output
        assert "out of order" in model.latest


async def test_a_call_with_a_list_of_arguments_is_told_to_the_model(core):
    model = Model(ToolCallPart("search_memory", "[]"))
    assert (await agent_with(core, model).run("Look it up.")).output
    assert "should be an object" in model.latest


async def test_what_the_model_says_before_it_calls_a_tool_is_recorded_too(core):
    model = Model((TextPart("Let me look."), ToolCallPart("search_memory", {"query": "boat"})))
    await agent_with(core, model).run(QUESTION)
    assert await texts(core) == [QUESTION, "Let me look.", "Understood, number 2."]


async def test_a_structured_answer_is_recorded(core):
    class Boat(BaseModel):
        name: str

    model = Model(ToolCallPart("final_result", {"name": "Aurora"}))
    result = await agent_with(core, model, output_type=Boat).run(QUESTION)
    assert result.output == Boat(name="Aurora")
    assert await texts(core) == [QUESTION, '{"name":"Aurora"}']


async def test_a_message_of_several_parts_keeps_them(core):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    model = Model()
    await agent_with(core, model, session="two").run([QUESTION, ImageUrl("http://127.0.0.1/boat.png")])
    memory, *said = model.shown[0][0].parts[-1].content
    assert "Aurora" in memory and said == [QUESTION, ImageUrl("http://127.0.0.1/boat.png")]
    assert (await texts(core, session="two"))[0] == QUESTION


async def test_the_message_history_holds_no_memory(core):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    model = Model()
    result = await agent_with(core, model).run(QUESTION)
    assert "Aurora" in model.latest
    assert b"Aurora" not in result.all_messages_json()


async def test_an_agent_that_is_a_tool_of_another_has_memory_of_its_own(core):
    inner = agent_with(core, Model(), agent="inner")

    async def boatswain(task: str) -> str:
        """Ask the boatswain."""
        return (await inner.run(task)).output

    outer = Agent(
        Model(ToolCallPart("boatswain", {"task": "Count the boats."})).model,
        tools=[boatswain],
        capabilities=[MemoryScopeCapability(user="alice", agent="outer", memory=core)],
    )
    await outer.run(FACT)
    assert await texts(core, agent="inner") == ["Count the boats.", "Understood, number 1."]
    assert (await texts(core, agent="outer"))[0] == FACT


async def test_one_capability_serves_two_users_at_once(core):
    agent = agent_with(core, Model(), user=None)
    await asyncio.gather(*(agent.run(f"I am {user}.", deps={"user_id": user}) for user in ("alice", "bert")))
    assert (await texts(core))[0] == "I am alice." and len(await texts(core)) == 2


@pytest.mark.parametrize(("record", "kept"), [("user", [FACT]), ("none", [])])
async def test_only_what_shall_be_recorded(core, record, kept):
    await agent_with(core, Model(), record=record).run(FACT)
    assert await texts(core) == kept


def test_a_closed_memory_says_so(tmp_path):
    from memscope import MemoryScope

    memory = MemoryScope(tmp_path / "memory.db", settings={})
    memory.close()
    made = MemoryScopeCapability(user="alice", memory=memory, strict=True)
    with pytest.raises(MemscopeError, match="closed"):
        asyncio.run(Agent(Model().model, capabilities=[made]).run(FACT))


def test_without_await(tmp_path):
    made = MemoryScopeCapability(user="alice", memory=tmp_path / "memory.db")
    agent = Agent(Model().model, capabilities=[made])
    for _ in range(2):
        agent.run_sync(FACT)
    from memscope import MemoryScope

    with MemoryScope(tmp_path / "memory.db", settings={}) as memory:
        assert len(memory.list(user="alice")) == 4
