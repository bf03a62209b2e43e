"""``create_agent`` with memory: threads, streams, interruptions, other middleware, other users."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from types import SimpleNamespace

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, SummarizationMiddleware
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from memscope import MemoryScope
from memscope.adapters.session import Recalled
from memscope.errors import ConfigError, ScopeError
from memscope.prompts.memory_block import OPEN_MARK
from memscope_langchain import MemoryScopeMiddleware
from memscope_langchain.middleware import begin
from memscope_langchain.run import thread_of, user_of
from memscope_testing.scripted import FickleStore, ScriptedModel

from .talking import ScriptedChat, agent_with, configured

FACT, QUESTION = "My boat is called Aurora.", "What is my boat called?"


def user(text, **more):
    return {"messages": [HumanMessage(text, **more)]}


def calling(*replies):
    """A script that gives these messages first, one after the other."""
    script, left = ScriptedModel(), list(replies)
    said = script.answer

    async def answer(messages):
        reply = await said(messages)
        return left.pop(0) if left else reply

    script.answer = answer
    return script


def call(name, **arguments):
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "1"}])


async def texts(core, user="alice", **scope):
    return [turn.text for turn in await core.list(user=user, kinds=["turn"], **scope)]


# ---- without await


def test_without_await(memory):
    script = ScriptedModel()
    agent = agent_with(MemoryScopeMiddleware(memory=memory), script)
    agent.invoke(user(FACT), configured("alice", "one"))
    said = agent.invoke(user(QUESTION), configured("alice", "two"))
    assert "Aurora" in script.latest
    assert OPEN_MARK not in "".join(str(message.content) for message in said["messages"])
    assert list(said) == ["messages"]
    assert [turn.text for turn in memory.list(user="alice", session="two")] == [QUESTION, said["messages"][-1].text]


async def test_without_await_inside_a_running_loop(memory):
    agent = agent_with(MemoryScopeMiddleware(memory=memory), ScriptedModel())
    agent.invoke(user(FACT), configured("alice", "one"))
    assert memory.list(user="alice")


def test_a_stream_without_await(memory):
    agent = agent_with(MemoryScopeMiddleware(memory=memory), ScriptedModel())
    for _ in agent.stream(user(FACT), configured("alice"), stream_mode="values"):
        pass
    assert len(memory.list(user="alice")) == 2


def test_forty_threaded_runs_of_four_users(memory):
    """Nothing crosses, with one agent for all."""
    names = ["anna", "bert", "carl", "dora"]
    script = ScriptedModel()
    agent = agent_with(MemoryScopeMiddleware(memory=memory), script)

    def run(number):
        name = names[number % 4]
        agent.invoke(user(f"My secret word is {name}secret{number}."), configured(name, f"{name} {number}"))
        agent.invoke(user(f"What is my secret word, {name}?"), configured(name, f"{name} {number} later"))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(run, range(40)))
    for name in names:
        turns = memory.list(user=name, kinds=["turn"])
        assert len(turns) == 40
        assert {turn.scope.session.split()[0] for turn in turns} == {name}
        assert not [turn for turn in turns if "secret" in turn.text and name not in turn.text and turn.role == "user"]
    assert len(script.shown) == 80
    for shown in script.shown:
        everything = " ".join(message.text for message in shown)
        assert sum(f"{name}secret" in everything for name in names) <= 1
        if "What is my secret word" in everything:
            assert "secret word is" in shown[-1].text


async def test_four_users_at_once_with_await(core):
    names = ["anna", "bert", "carl", "dora"]
    script = ScriptedModel()
    agent = agent_with(MemoryScopeMiddleware(memory=core), script)

    async def run(number):
        name = names[number % 4]
        await agent.ainvoke(user(f"My secret word is {name}secret{number}."), configured(name, f"{number}"))
        await agent.ainvoke(user(f"What is my secret word, {name}?"), configured(name, f"{number} later"))

    await asyncio.gather(*(run(number) for number in range(40)))
    for shown in script.shown:
        everything = " ".join(message.text for message in shown)
        assert sum(f"{name}secret" in everything for name in names) <= 1


# ---- whose memory


def runtime(**more):
    return SimpleNamespace(**{"context": None, "server_info": None, "execution_info": None, **more})


def test_the_user_is_the_contexts_then_the_configs_then_the_servers():
    server = SimpleNamespace(user=SimpleNamespace(identity="sara"))
    config = {"configurable": {"user_id": "carl", "langgraph_auth_user_id": "sid"}}
    full = runtime(context={"user_id": "anna"}, server_info=server)
    assert user_of(full, config) == "anna"
    assert user_of(runtime(context=SimpleNamespace(user_id="anna")), config) == "anna"
    assert user_of(runtime(context={"theme": "dark"}, server_info=server), config) == "carl"
    assert user_of(runtime(server_info=server), {"configurable": {"langgraph_user_id": "lang"}}) == "lang"
    assert user_of(runtime(server_info=server)) == "sara"
    assert user_of(runtime(), {"configurable": {"langgraph_auth_user_id": "sid"}}) == "sid"
    with pytest.raises(ScopeError, match="user_id"):
        user_of(runtime())


def test_the_thread_is_the_configs():
    assert thread_of(None, {"configurable": {"thread_id": 7}}) == "7"
    assert thread_of(runtime(execution_info=SimpleNamespace(thread_id="t"))) == "t"
    assert thread_of(runtime()) is None


async def test_no_user_is_an_error_even_where_memory_may_fail(core):
    agent = agent_with(MemoryScopeMiddleware(memory=core), ScriptedModel())
    with pytest.raises(ScopeError):
        await agent.ainvoke(user(FACT))
    assert await core.list(user="alice") == []


async def test_an_agent_inside_a_tool_has_the_same_user(core):
    inner = agent_with(MemoryScopeMiddleware(memory=core, agent="inner"), ScriptedModel(name="inner"))

    @tool
    async def delegate(task: str) -> str:
        """Have it done."""
        return str((await inner.ainvoke(user(task)))["messages"][-1].text)

    script = calling(call("delegate", task="Count the boats."))
    outer = agent_with(MemoryScopeMiddleware(memory=core, agent="outer"), script, tools=[delegate])
    await outer.ainvoke(user(FACT), configured("carol", "t9"))
    assert await texts(core, "carol", agent="inner", session="t9") == [
        "Count the boats.", "Understood by inner, number 1.",
    ]  # fmt: skip
    assert (await texts(core, "carol", agent="outer"))[0] == FACT


def test_a_wrong_setting_is_told_at_once():
    with pytest.raises(ConfigError):
        MemoryScopeMiddleware(recall="everything")


# ---- what is shown


async def test_recall_is_once_a_run_and_shown_at_every_step(core, monkeypatch):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    asked = []
    real = core.retrieve

    async def retrieve(query, **more):
        asked.append(query)
        return await real(query, **more)

    monkeypatch.setattr(core, "retrieve", retrieve)

    @tool
    def clock() -> str:
        """The time."""
        return "noon"

    script = calling(call("clock"), call("clock"))
    agent = agent_with(MemoryScopeMiddleware(memory=core), script, tools=[clock], checkpointer=InMemorySaver())
    await agent.ainvoke(user(QUESTION), configured("alice", "two"))
    assert asked == [QUESTION]
    assert ["Aurora" in shown[0].text for shown in script.shown] == [True] * 3
    assert len({shown[0].text for shown in script.shown}) == 1


@pytest.mark.skipif(version("langgraph") in ("1.0.0", "1.0.1", "1.0.2"), reason="these write untracked state as well")
async def test_what_was_recalled_is_in_no_checkpoint(core):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    saver = InMemorySaver()
    agent = agent_with(MemoryScopeMiddleware(memory=core), ScriptedModel(), checkpointer=saver)
    await agent.ainvoke(user(QUESTION), configured("alice", "two"))
    kept = repr([saved async for saved in saver.alist(configured("alice", "two"))]) + repr(saver.blobs)
    assert QUESTION in kept
    assert "Aurora" not in kept


async def test_a_run_that_was_interrupted_goes_on_with_memory(core):
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")

    @tool
    def confirm() -> str:
        """Ask a person."""
        return str(interrupt("Really?"))

    script = calling(call("confirm"))
    agent = agent_with(MemoryScopeMiddleware(memory=core), script, tools=[confirm], checkpointer=InMemorySaver())
    config = configured("alice", "two")
    await agent.ainvoke(user(QUESTION), config)
    said = await agent.ainvoke(Command(resume="yes"), config)
    assert ["Aurora" in shown[0].text for shown in script.shown] == [True, True]
    assert await texts(core) == [FACT, QUESTION, said["messages"][-1].text]


# ---- what is recorded


async def test_what_the_model_says_before_it_calls_a_tool_is_recorded_too(core):
    @tool
    def clock() -> str:
        """The time."""
        return "noon, as the clock says"

    first = AIMessage("Let me look.", tool_calls=[{"name": "clock", "args": {}, "id": "1"}])
    agent = agent_with(MemoryScopeMiddleware(memory=core), calling(first), tools=[clock])
    await agent.ainvoke(user("What time is it?"), configured("alice"))
    assert await texts(core) == ["What time is it?", "Let me look.", "Understood by model, number 2."]


async def test_a_thread_that_is_run_again_without_news_records_nothing(core):
    script = ScriptedModel(error=RuntimeError("out of order"))
    agent = agent_with(MemoryScopeMiddleware(memory=core), script, checkpointer=InMemorySaver())
    config = configured("alice", "one")
    with pytest.raises(RuntimeError):
        await agent.ainvoke(user("ok"), config)
    script.error = None
    await agent.ainvoke({"messages": []}, config)
    assert await texts(core) == ["ok", "Understood by model, number 2."]


async def test_a_thread_of_before_memory_is_taken_over(core):
    saver, script, config = InMemorySaver(), ScriptedModel(), configured("alice", "one")
    await agent_with([], script, checkpointer=saver).ainvoke(user(FACT), config)
    agent = agent_with(MemoryScopeMiddleware(memory=core), script, checkpointer=saver)
    await agent.ainvoke(user(QUESTION), config)
    assert await texts(core) == [
        FACT, "Understood by model, number 1.", QUESTION, "Understood by model, number 2.",
    ]  # fmt: skip


async def test_what_an_outage_lost_is_kept_later():
    from memscope import AsyncMemoryScope

    store = FickleStore()
    async with AsyncMemoryScope(store, settings={}) as core:
        agent = agent_with(MemoryScopeMiddleware(memory=core), ScriptedModel(), checkpointer=InMemorySaver())
        store.broken = True
        await agent.ainvoke(user(FACT), configured("alice", "one"))
        store.broken = False
        await agent.ainvoke(user(QUESTION), configured("alice", "one"))
        assert (await texts(core))[:3] == [FACT, "Understood by model, number 1.", QUESTION]


async def test_a_summary_is_nothing_that_was_said(core):
    script = ScriptedModel()
    summary = SummarizationMiddleware(ScriptedChat(script=ScriptedModel(name="summary")), **summarize_after(4))
    agent = agent_with([MemoryScopeMiddleware(memory=core), summary], script, checkpointer=InMemorySaver())
    said = [f"This is remark {number}." for number in range(6)]
    for text in said:
        await agent.ainvoke(user(text), configured("alice", "one"))
    kept = await texts(core)
    assert [text for text in kept if text.startswith("This is")] == said
    assert len(kept) == 12
    assert not [text for text in kept if "summary" in text]


def summarize_after(messages):
    import inspect

    if "trigger" in inspect.signature(SummarizationMiddleware.__init__).parameters:
        return {"trigger": ("messages", messages), "keep": ("messages", 2)}
    return {"max_tokens_before_summary": 30, "messages_to_keep": 2}


async def test_other_middleware_may_change_the_reply(core):
    class Polite(AgentMiddleware):
        def after_model(self, state, runtime):
            return {"messages": [AIMessage("Certainly.", id=state["messages"][-1].id)]}

    agent = agent_with([MemoryScopeMiddleware(memory=core), Polite()], ScriptedModel())
    await agent.ainvoke(user("Please."), configured("alice"))
    assert await texts(core) == ["Please.", "Certainly."]


@pytest.mark.parametrize(("record", "kept"), [("user", [FACT]), ("none", [])])
async def test_only_what_shall_be_recorded(core, record, kept):
    agent = agent_with(MemoryScopeMiddleware(memory=core, record=record), ScriptedModel())
    await agent.ainvoke(user(FACT), configured("alice"))
    assert await texts(core) == kept


async def test_people_have_their_names(core):
    agent = agent_with(MemoryScopeMiddleware(memory=core), ScriptedModel())
    await agent.ainvoke(user(FACT, name="Alice Cooper"), configured("alice"))
    assert (await core.list(user="alice"))[0].speaker == "Alice Cooper"


# ---- the place of what is new


def history(*kinds):
    made = {"h": HumanMessage, "a": AIMessage, "s": SystemMessage}
    return [made[kind]("x", id=str(number)) for number, kind in enumerate("".join(kinds))]


@pytest.mark.parametrize(
    ("messages", "heard", "place"),
    [
        ("", None, 0), ("h", None, 0), ("hah", None, 2), ("ha", None, 2), ("hahh", None, 3), ("a", None, 1),
        ("sh", None, 1), ("hah", "1", 2), ("hah", "2", 3), ("hahah", "2", 3), ("hah", "gone", 2),
    ],
)  # fmt: skip
async def test_where_the_new_begins(messages, heard, place):
    said = []

    class Session:
        session = None

        async def record(self, turns, *, replay=False):
            said.extend(() if replay else turns)
            return ("",) * len(turns)

        async def recall(self, query, **_):
            return Recalled()

    await begin(Session(), {"messages": history(messages), "memscope_heard": [heard] if heard else []}, ())
    assert len(said) == len(messages[place:].replace("s", ""))


# ---- tools by itself


async def test_tools_come_by_themselves(core):
    assert [tool.name for tool in MemoryScopeMiddleware(memory=core).tools] == ["search_memory", "remember", "forget"]
    assert MemoryScopeMiddleware(memory=core, tools=False).tools == []
    script = calling(call("remember", statement="Alice's boat is called Aurora."))
    agent = create_agent(ScriptedChat(script=script), middleware=[MemoryScopeMiddleware(memory=core)])
    await agent.ainvoke(user("Remember my boat."), configured("alice", "t1"))
    (memory,) = await core.list(user="alice", kinds=["observation"])
    assert memory.text == "Alice's boat is called Aurora."
    assert (await core.list(user="alice", session="t1", text="Aurora"))[0].scope.session == "t1"


def test_closing_and_using_it_again(tmp_path):
    middleware = MemoryScopeMiddleware(memory=tmp_path / "memory.db")
    agent = agent_with(middleware, ScriptedModel())
    for _ in range(2):
        agent.invoke(user(FACT), configured("alice"))
        middleware.close()
    with MemoryScope(tmp_path / "memory.db", settings={}) as memory:
        assert len(memory.list(user="alice")) == 4
