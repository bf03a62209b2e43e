"""The capability beside the suite: tools in a run, structured answers, agents as tools."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, BinaryImage, DeferredToolRequests, DeferredToolResults, RunContext, ToolReturn
from pydantic_ai.messages import (
    ImageUrl,
    ModelMessagesTypeAdapter,
    ModelResponse,
    TextPart,
    ToolCallPart,
)
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


async def test_a_request_for_approval_is_no_answer_and_the_prompt_beside_its_results_is_the_users(core):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    model = Model(ToolCallPart("sell", {"what": "anchor"}, tool_call_id="1"))
    agent = agent_with(core, model, session="two", output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def sell(what: str) -> str:
        return "Sold."

    asked = await agent.run("Sell the anchor.")
    assert isinstance(asked.output, DeferredToolRequests)
    assert await texts(core, session="two") == ["Sell the anchor."]
    approved = DeferredToolResults(approvals={"1": True})
    result = await agent.run(QUESTION, message_history=asked.all_messages(), deferred_tool_results=approved)
    assert f"{FACT}\n</memory>\n\n{QUESTION}" in model.shown[-1][-1].parts[-1].content
    await agent.run("And in which harbour?", message_history=result.all_messages())
    turns = await core.list(user="alice", session="two", kinds=["turn"])
    replies = "Understood, number 2.", "Understood, number 3."
    said = ["Sell the anchor.", QUESTION, replies[0], "And in which harbour?", replies[1]]
    assert [turn.text for turn in turns] == said
    assert {turn.role for turn in turns if turn.text not in replies} == {"user"}
    assert QUESTION not in model.shown[-1][-1].parts[-1].content


async def test_memory_stays_beside_the_prompt_when_a_tool_returns_content_and_that_is_not_recorded(core):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    model = Model(ToolCallPart("look", {}, tool_call_id="1"))
    agent = agent_with(core, model, session="two")

    @agent.tool_plain
    def look() -> ToolReturn:
        return ToolReturn(return_value="Done.", content=["The screen says: Gale."])

    result = await agent.run(QUESTION)
    first, second = model.shown
    assert "Aurora" in str(first[0]) and second[0].parts == first[0].parts
    assert second[-1].parts[-1].content == ["The screen says: Gale."]
    await agent.run("Thanks.", message_history=result.all_messages())
    assert await texts(core, session="two") == [QUESTION, "Understood, number 2.", "Thanks.", "Understood, number 3."]


async def test_what_the_user_adds_during_a_run_is_recorded(core):
    agent = agent_with(core, Model(ToolCallPart("look", {}, tool_call_id="1")))

    @agent.tool
    def look(ctx: RunContext) -> str:
        ctx.enqueue("I am vegetarian.", priority="when_idle")
        return "An egg."

    await agent.run("Cook something.")
    said = ["Cook something.", "Understood, number 2.", "I am vegetarian.", "Understood, number 3."]
    assert await texts(core) == said


async def test_an_image_as_answer_is_not_recorded(core):
    capability = MemoryScopeCapability(user="alice", memory=core)
    made = await capability.for_run(type("Context", (), {"deps": None, "conversation_id": "one"})())
    result = type("Result", (), {"output": BinaryImage(data=b"png", media_type="image/png")})()
    await made.after_run(None, result=result)
    assert await texts(core) == []


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
    task = (await core.list(user="alice", agent="inner"))[0]
    assert (task.role, task.speaker) == ("assistant", "outer")  # its caller's words, not the user's
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
