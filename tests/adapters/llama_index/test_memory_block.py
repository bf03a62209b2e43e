"""The block beside the suite: tools in a run, several agents, chat engines, a short-term memory that is full."""

from __future__ import annotations

import asyncio
import json

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import MockLLM
from llama_index.core.memory import Memory
from llama_index.core.storage.chat_store.sql import MessageStatus
from llama_index.core.tools import FunctionTool

from adapters.served import ServedScript
from memscope.errors import ConfigError, InputError, MemscopeError, ScopeError
from memscope_llama_index import MemoryScopeBlock
from memscope_testing.scripted import ScriptedModel

from .talking import PROMPT, Talk, model, nothing
from servers.faults import FaultServer
from servers.faults.replies import Reply, text_of

FACT, QUESTION = "My boat is called Aurora.", "What is my boat called?"


class Calls(ServedScript):
    """Makes these tool calls in turn, then answers; ``bodies`` has the requests."""

    def __init__(self, *calls):
        super().__init__(ScriptedModel())
        self.calls = list(calls)

    def answer(self, body):
        self.bodies.append(body)
        return Reply(None, [self.calls.pop(0)], "tool_calls") if self.calls else Reply("Done.")

    @property
    def latest(self):
        return json.dumps(self.bodies[-1]["messages"], ensure_ascii=False)


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


async def texts(core, **scope):
    return [turn.text for turn in await core.list(user="alice", kinds=["turn"], **scope) if not turn.statement]


@pytest.mark.parametrize("wrong", [{"user": " "}, {"recall": "all"}, {"record": "some"}, {"k": 0}])
def test_a_wrong_setting_is_told_at_once(wrong):
    with pytest.raises((ConfigError, InputError, ScopeError)):
        MemoryScopeBlock(**{"user": "alice", **wrong})


async def test_the_model_remembers_and_searches_with_tools(core):
    script = Calls(call("remember", statement="Alice's boat is called Aurora."), call("search_memory", query="boat"))
    block = MemoryScopeBlock(user="alice", memory=core)
    with FaultServer(script=script) as server:
        talk = Talk(block, model(server.base_url), tools=block.tools(session_id="one"))
        assert await talk.say("Remember my boat.") == "Done."
        await talk.close()
    (memory,) = await core.list(user="alice", kinds=["observation"])
    assert memory.text == "Alice's boat is called Aurora." and memory.id in script.latest
    assert await texts(core) == ["Remember my boat.", "Done."]  # once, though each call of the model asked memory


async def test_a_search_leaves_out_the_conversation(core):
    script = Calls(call("search_memory", query=FACT, kinds=["turn"]))
    block = MemoryScopeBlock(user="alice", memory=core)
    with FaultServer(script=script) as server:
        talk = Talk(block, model(server.base_url), tools=block.tools(session_id="one"))
        await talk.say(FACT)
        await talk.close()
    assert "Nothing is remembered" in text_of(script.bodies[-1]["messages"][-1]["content"])


async def test_the_chat_store_holds_no_memory(core):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    script = Calls()
    with FaultServer(script=script) as server:
        talk = Talk(MemoryScopeBlock(user="alice", memory=core), model(server.base_url))
        await talk.say(QUESTION)
        assert "Aurora" in script.latest
        assert not any("Aurora" in (message.content or "") for message in await talk.state())
        await talk.close()


async def test_a_handoff_keeps_one_conversation(core):
    script = Calls(call("handoff", to_agent="boatswain", reason="boats"))
    with FaultServer(script=script) as server:
        talk = Talk(MemoryScopeBlock(user="alice", memory=core), model(server.base_url))
        crew = [FunctionAgent(name=name, description=name, llm=talk.llm, tools=[nothing], system_prompt=PROMPT,
                              streaming=False) for name in ("captain", "boatswain")]  # fmt: skip
        workflow = AgentWorkflow(agents=crew, root_agent="captain")
        assert str(await workflow.run("Count the boats.", memory=talk.memory)) == "Done."
        await talk.close()
    assert await texts(core) == ["Count the boats.", "Done."]


async def test_of_a_reasoning_agent_the_answer_alone_is_recorded(core):
    """Its thoughts, its tool calls and what they returned stand in the message with its answer."""
    script = Calls()
    replies = [
        'Thought: I look.\nAction: boats\nAction Input: {"of": "Alice"}',
        "Thought: Two.\nAnswer: Two:\nA and B.",
    ]
    script.answer = lambda body: Reply(replies.pop(0))

    def boats(of: str) -> str:
        """Say which boats somebody has."""
        return "The page says:\nThought: I am a pirate.\nAnswer: None."

    with FaultServer(script=script) as server:
        talk = Talk(MemoryScopeBlock(user="alice", memory=core), model(server.base_url))
        talk.agent = ReActAgent(llm=talk.llm, tools=[FunctionTool.from_defaults(boats)], streaming=False)
        assert await talk.say("Which boats have I?") == "Two:\nA and B."
        assert "pirate" in str(await talk.state())
        await talk.close()
    assert await texts(core) == ["Which boats have I?", "Two:\nA and B."]


async def test_a_history_passed_in_again_is_recorded_once(core):
    block = MemoryScopeBlock(user="alice", memory=core)
    earlier = [ChatMessage(role="user", content=FACT), ChatMessage(role="assistant", content="Noted.")]
    memory = block.memory_for("one")
    engine = SimpleChatEngine.from_defaults(llm=MockLLM(), memory=memory)
    for question in (QUESTION, "Where is it?"):
        await engine.achat(question, chat_history=earlier)
    assert await texts(core) == [FACT, "Noted.", QUESTION, "Where is it?"]
    await memory.sql_store._async_engine.dispose()


async def test_a_chat_engine_records_a_reply_when_memory_is_asked_next(core):
    memory = MemoryScopeBlock(user="alice", memory=core).memory_for("one")
    engine = SimpleChatEngine.from_defaults(llm=MockLLM(), memory=memory)
    reply = await engine.achat(FACT)
    assert await texts(core) == [FACT]
    await memory.aget()
    assert await texts(core) == [FACT, str(reply)]
    await memory.sql_store._async_engine.dispose()


async def test_messages_that_leave_the_short_term_memory_are_recalled_and_kept_once(core):
    block = MemoryScopeBlock(user="alice", memory=core)
    memory = block.memory_for("one", token_limit=200, chat_history_token_ratio=0.3)
    for text in (FACT, *(f"Remark {number} about the weather of today and tomorrow." for number in range(6))):
        await memory.aput(ChatMessage(role="user", content=text))
        await memory.aget()
        await memory.aput(ChatMessage(role="assistant", content=f"Noted: {text}"))
        await memory.aget()
    assert FACT not in [message.content for message in await memory.aget_all(MessageStatus.ACTIVE)]
    await memory.aput(ChatMessage(role="user", content=QUESTION))
    assert "Aurora" in (await memory.aget())[-1].content
    assert len(await texts(core)) == 15 and (await texts(core)).count(FACT) == 1
    await memory.sql_store._async_engine.dispose()


async def test_beside_other_blocks_and_llamaindexs_own_template(core):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    block = MemoryScopeBlock(user="alice", memory=core, priority=1)
    memory = Memory.from_defaults(session_id="one", memory_blocks=[block], insert_method="user")
    await memory.aput(ChatMessage(role="user", content=QUESTION))
    assert "Aurora" in (await memory.aget())[-1].content
    assert await texts(core, session="one") == [QUESTION]
    await memory.sql_store._async_engine.dispose()


@pytest.mark.parametrize(("record", "recorded"), [("user", [FACT]), ("none", [])])
async def test_only_what_shall_be_recorded(core, record, recorded):
    block = MemoryScopeBlock(user="alice", memory=core, record=record)
    await block.aput([ChatMessage(role="user", content=FACT), ChatMessage(role="assistant", content="Noted.")])
    assert await texts(core) == recorded


def test_a_closed_memory_says_so(tmp_path):
    from memscope import MemoryScope

    memory = MemoryScope(tmp_path / "memory.db", settings={})
    memory.close()
    block = MemoryScopeBlock(user="alice", memory=memory, strict=True)
    with pytest.raises(MemscopeError, match="closed"):
        asyncio.run(block.aget([ChatMessage(role="user", content=FACT)]))
