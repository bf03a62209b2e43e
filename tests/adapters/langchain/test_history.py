"""``MemoryScopeChatMessageHistory`` with ``RunnableWithMessageHistory``."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables.history import RunnableWithMessageHistory

from memscope import AsyncMemoryScope
from memscope.errors import MemscopeError, ScopeError
from memscope_langchain import MemoryScopeChatMessageHistory
from memscope_testing.scripted import FickleStore, ScriptedModel

from .talking import ScriptedChat

pytestmark = pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainDeprecationWarning")


def made(memory, session="one", user="alice", **more):
    return MemoryScopeChatMessageHistory(user=user, session=session, memory=memory, **more)


def with_history(memory, script):
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("history"), ("human", "{input}")])
    return RunnableWithMessageHistory(
        prompt | ScriptedChat(script=script), lambda session_id: made(memory, session_id), input_messages_key="input",
        history_messages_key="history",
    )  # fmt: skip


def test_what_was_said_comes_back(memory):
    history = made(memory)
    history.add_user_message("My boat is called Aurora.")
    history.add_ai_message("Noted.")
    history.add_messages([HumanMessage("ok", name="Alice"), AIMessage("ok")])
    assert made(memory).messages == [
        HumanMessage("My boat is called Aurora."), AIMessage("Noted."), HumanMessage("ok", name="Alice"),
        AIMessage("ok"),
    ]  # fmt: skip
    assert [message.content for message in made(memory, limit=2).messages] == ["ok", "ok"]
    assert made(memory, "two").messages == made(memory, user="bob").messages == []
    history.clear()
    assert made(memory).messages == []
    assert memory.list(user="alice") == []


def test_only_what_was_said(memory):
    call = AIMessage("", tool_calls=[{"name": "clock", "args": {}, "id": "1"}])
    made(memory).add_messages(
        [SystemMessage("Help."), HumanMessage("Time?"), call, ToolMessage("noon", tool_call_id="1"), AIMessage("Noon.")]
    )
    assert made(memory).messages == [HumanMessage("Time?"), AIMessage("Noon.")]


def test_statements_are_no_messages(memory):
    memory.add_memory("Alice has a boat.", user="alice", session="one")
    assert made(memory).messages == []


def test_in_a_runnable(memory):
    script = ScriptedModel()
    chain = with_history(memory, script)
    for text in ("My boat is called Aurora.", "ok", "ok"):
        chain.invoke({"input": text}, {"configurable": {"session_id": "one"}})
    chain.invoke({"input": "ok"}, {"configurable": {"session_id": "two"}})
    assert [len(shown) for shown in script.shown] == [1, 3, 5, 1]
    assert len(made(memory).messages) == 6


async def test_in_a_runnable_with_await(core):
    script = ScriptedModel()
    chain = with_history(core, script)
    for text in ("My boat is called Aurora.", "ok"):
        await chain.ainvoke({"input": text}, {"configurable": {"session_id": "one"}})
    assert [len(shown) for shown in script.shown] == [1, 3]
    assert len(await made(core).aget_messages()) == 4


def test_user_and_session_are_required(memory):
    for missing in (None, "", " "):
        with pytest.raises(ScopeError):
            made(memory, user=missing)
        with pytest.raises((ScopeError, TypeError)):
            made(memory, session=missing)


async def test_a_memory_that_fails(caplog):
    store = FickleStore()
    async with AsyncMemoryScope(store, settings={}) as memory:
        store.broken = True
        await made(memory).aadd_messages([HumanMessage("Hello")])
        assert len(caplog.records) == 1
        with pytest.raises(MemscopeError):
            await made(memory, strict=True).aadd_messages([HumanMessage("Hello")])
