"""The context provider beside the suite: tools in a run, agents as tools, histories that a service keeps."""

from __future__ import annotations

import asyncio
import json

import pytest
from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ContextProvider,
    FunctionInvocationLayer,
    InMemoryHistoryProvider,
    Message,
)

from adapters.served import ServedScript
from memscope.errors import ConfigError, ScopeError
from memscope_agent_framework import MemoryScopeContextProvider
from memscope_testing.scripted import FickleStore, ScriptedModel

from .talking import Talk, agent_with, chat_client
from servers.faults import FaultServer

FACT, QUESTION = "My boat is called Aurora.", "What is my boat called?"


def calling(*replies):
    """A script that gives these replies first: text, or a tool call as ``ServedScript`` has it."""
    script, left = ScriptedModel(), list(replies)
    answer = script.answer

    async def scripted(messages):
        reply = await answer(messages)
        return left.pop(0) if left else reply

    script.answer = scripted
    return script


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


@pytest.fixture
async def served():
    """``talk(script, provider)`` is an agent over HTTP; all are closed."""
    talks, servers = [], []

    def talk(script, provider, session="one", **more):
        servers.append(FaultServer(script=ServedScript(script, asyncio.get_running_loop())))
        agent = agent_with(provider, servers[-1].__enter__().base_url, **more)
        talks.append(Talk(agent, provider, AgentSession(session_id=session)))
        return talks[-1]

    yield talk
    for one in talks:
        await one.close()
    for server in servers:
        server.__exit__()


async def texts(core, **scope):
    return [turn.text for turn in await core.list(user="alice", kinds=["turn"], **scope)]


async def test_nobody_said_whose_memory_it_is(core, served):
    talk = served(ScriptedModel(), MemoryScopeContextProvider(memory=core))
    with pytest.raises(ScopeError, match="user_id"):
        await talk.say(FACT)


@pytest.mark.parametrize("wrong", [{"recall": "everything"}, {"tools": "every"}, {"record": "some"}, {"user": " "}])
def test_a_wrong_setting_is_told_at_once(wrong):
    with pytest.raises((ConfigError, ScopeError)):
        MemoryScopeContextProvider(**{"user": "alice", **wrong})


async def test_the_model_remembers_and_searches_with_tools(core, served):
    script = calling(
        call("remember", statement="Alice's boat is called Aurora."), "Done.", call("search_memory", query="boat")
    )
    talk = served(script, MemoryScopeContextProvider(user="alice", memory=core))
    await talk.say("Remember my boat.")
    (memory,) = await core.list(user="alice", kinds=["observation"])
    assert memory.text == "Alice's boat is called Aurora."
    await talk.say("Look it up.")
    assert memory.id in script.shown[-1][-1].text


async def test_a_search_leaves_out_the_conversation(core, served):
    script = calling("Noted.", call("search_memory", query=FACT, kinds=["turn"]))
    talk = served(script, MemoryScopeContextProvider(user="alice", memory=core))
    await talk.say(FACT)
    await talk.say("Look it up.")
    assert script.shown[-1][-1].role == "tool" and "Aurora" not in script.shown[-1][-1].text


async def test_a_tool_that_fails_tells_the_model(served):
    from memscope import AsyncMemoryScope

    store = FickleStore()
    async with AsyncMemoryScope(store, settings={}) as core:
        script = calling(call("search_memory", query="boat"))
        talk = served(script, MemoryScopeContextProvider(user="alice", memory=core))
        store.broken = True
        assert await talk.say("Look it up.")
        assert "out of order" in script.shown[-1][-1].text


async def test_without_tools_there_are_none(core, served):
    script = ScriptedModel()
    talk = served(script, MemoryScopeContextProvider(user="alice", memory=core, tools=False))
    await talk.say(FACT)
    assert await texts(core) == [FACT, "Understood by model, number 1."]


async def test_what_the_model_says_before_it_calls_a_tool_is_recorded_too(core):
    class Client(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
        replies = [  # noqa: RUF012
            Message("assistant", ["Let me look.", {"type": "function_call", "call_id": "1", "name": "search_memory",
                                                   "arguments": {"query": "boat"}}]),
            Message("assistant", ["It is called Aurora."]),
        ]  # fmt: skip

        async def _inner_get_response(self, **_):
            return ChatResponse(messages=[self.replies.pop(0)])

    provider = MemoryScopeContextProvider(user="alice", memory=core)
    await Agent(Client(), context_providers=[provider]).run(QUESTION, session=AgentSession())
    assert await texts(core) == [QUESTION, "Let me look.", "It is called Aurora."]


@pytest.mark.parametrize(("record", "kept"), [("user", [FACT]), ("none", [])])
async def test_only_what_shall_be_recorded(core, served, record, kept):
    await served(ScriptedModel(), MemoryScopeContextProvider(user="alice", memory=core, record=record)).say(FACT)
    assert await texts(core) == kept


async def test_the_session_holds_no_memory(core, served):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    script = ScriptedModel()
    talk = served(script, MemoryScopeContextProvider(user="alice", memory=core), "two")
    await talk.say(QUESTION)
    assert "Aurora" in script.latest
    kept = json.dumps(talk.session.to_dict())
    assert QUESTION in kept and "Aurora" not in kept


async def test_an_agent_that_is_a_tool_of_another_has_memory_of_its_own(core, served):
    inner = served(ScriptedModel(name="inner"), MemoryScopeContextProvider(user="alice", agent="inner", memory=core))
    tool = inner.agent.as_tool(name="boatswain")
    script = calling(call("boatswain", task="Count the boats."))
    outer = served(script, MemoryScopeContextProvider(user="alice", agent="outer", memory=core), tools=[tool])
    await outer.say(FACT)
    assert await texts(core, agent="inner") == ["Count the boats.", "Understood by inner, number 1."]
    task = (await core.list(user="alice", agent="inner"))[0]
    assert (task.role, task.speaker) == ("assistant", "outer")  # its caller's words, not the user's
    assert (await texts(core, agent="outer"))[0] == FACT


async def test_one_provider_serves_two_users_at_once(core, served):
    provider = MemoryScopeContextProvider(memory=core)
    talks = {user: served(ScriptedModel(name=user), provider, user) for user in ("alice", "bert")}
    for user, talk in talks.items():
        talk.session.state["user_id"] = user
    await asyncio.gather(*(talk.say(f"I am {user}.") for user, talk in talks.items()))
    assert await texts(core) == ["I am alice.", "Understood by alice, number 1."]


async def test_a_session_of_before_memory_is_taken_over(core, served):
    session = AgentSession(session_id="one")
    with FaultServer(script=ServedScript(ScriptedModel(), asyncio.get_running_loop())) as server:
        client = chat_client(server.base_url)
        await Agent(client, context_providers=[InMemoryHistoryProvider()]).run(FACT, session=session)
        await client.client.close()
    talk = served(ScriptedModel(), MemoryScopeContextProvider(user="alice", memory=core))
    talk.session = session
    await talk.say(QUESTION)
    assert await texts(core) == [
        FACT, "Understood by model, number 1.", QUESTION, "Understood by model, number 1.",
    ]  # fmt: skip


class StoringClient(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """Its service keeps the conversation: each call has the new messages only."""

    STORES_BY_DEFAULT = True

    def __init__(self):
        super().__init__()
        self.sent = []

    async def _inner_get_response(self, *, messages, stream, options, **_):
        self.sent.append([message.text for message in messages])
        return ChatResponse(messages=[Message("assistant", ["Noted."])], conversation_id="kept by the service")


async def test_a_service_that_keeps_the_conversation_is_shown_nothing_twice(core):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    client = StoringClient()
    agent = Agent(client, context_providers=[MemoryScopeContextProvider(user="alice", memory=core)])
    session = AgentSession(session_id="two")
    for text in ("I might paint my boat Aurora green.", QUESTION, QUESTION):
        await agent.run(text, session=session)
    first, *later = ["\n".join(sent) for sent in client.sent]
    assert FACT in first
    assert [text for text in later if FACT in text or "green" in text] == []
    assert await texts(core, session="two") == ["I might paint my boat Aurora green.", "Noted."] + [
        QUESTION, "Noted.",
    ] * 2  # fmt: skip


async def test_closing_and_using_it_again(tmp_path, served):
    from memscope import MemoryScope

    provider = MemoryScopeContextProvider(user="alice", memory=tmp_path / "memory.db")
    talk = served(ScriptedModel(), provider)
    for _ in range(2):
        await talk.say(FACT)
        await provider.close()
    with MemoryScope(tmp_path / "memory.db", settings={}) as memory:
        assert len(await asyncio.to_thread(memory.list, user="alice")) == 4


class Documents(ContextProvider):
    """Brings what it retrieved as a message in the user's role, as search providers do."""

    async def before_run(self, *, agent, session, context, state):
        context.extend_messages(self.source_id, [Message("user", ["The user's bank is Evil & Sons."])])


async def test_documents_of_another_provider_are_nobodys_words(core, served):
    talk = served(ScriptedModel(), MemoryScopeContextProvider(user="alice", memory=core))
    talk.agent.context_providers.append(Documents("documents"))
    replies = [await talk.say(text) for text in (FACT, QUESTION)]
    assert await texts(core) == [FACT, replies[0], QUESTION, replies[1]]
