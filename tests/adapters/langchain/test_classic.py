"""``MemoryScopeMemory`` where ``ConversationBufferMemory`` was."""

from __future__ import annotations

import copy
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
from langchain_classic.agents import AgentExecutor, create_tool_calling_agent
from langchain_classic.chains import ConversationChain, LLMChain, SequentialChain
from langchain_classic.memory import CombinedMemory, ConversationBufferMemory, ReadOnlySharedMemory
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_core.tools import tool

from memscope import MemoryScope
from memscope.errors import ConfigError, InputError, ScopeError
from memscope_langchain import MemoryScopeMemory
from memscope_langchain.classic import MAX_PENDING, PendingQuestions
from memscope_testing.scripted import ScriptedModel

from .talking import ScriptedChat
from .test_middleware import FACT, QUESTION, call, calling

pytestmark = pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainDeprecationWarning")


def made(memory, user="alice", **more):
    return MemoryScopeMemory(user=user, memory=memory, **more)


def conversation(memory, script=None):
    return ConversationChain(llm=ScriptedChat(script=script or ScriptedModel()), memory=memory)


def turns(memory, user="alice", **scope):
    return [turn.text for turn in memory.list(user=user, kinds=["turn"], **scope)]


# ---- in the place of ConversationBufferMemory


def test_one_line_is_changed(memory):
    """The same chain, the same prompts: what a buffer shows, this shows."""
    scripts = {"buffer": ScriptedModel(), "ours": ScriptedModel()}
    for name, its in {"buffer": ConversationBufferMemory(), "ours": made(memory)}.items():
        chain = conversation(its, scripts[name])
        for text in (FACT, "I sail it on Sundays.", "ok"):
            chain.invoke({"input": text})
        scripts[f"{name} says"] = its.load_memory_variables({})
    assert scripts["ours"].shown == scripts["buffer"].shown
    assert scripts["ours says"] == scripts["buffer says"]


def test_a_new_chain_remembers_the_old_one(memory):
    conversation(made(memory)).invoke({"input": FACT})
    script = ScriptedModel()
    said = conversation(made(memory), script).invoke({"input": QUESTION})
    assert "Aurora" in said["history"]
    assert "Aurora" in script.latest
    assert turns(memory) == [FACT, "Understood by model, number 1.", QUESTION, "Understood by model, number 1."]


async def test_inside_a_running_loop_and_with_await(memory):
    chain = conversation(made(memory))
    chain.invoke({"input": FACT})
    await chain.ainvoke({"input": QUESTION})
    chunks = [chunk async for chunk in chain.astream({"input": "ok"})]
    assert len(chunks) == 1
    assert len(turns(memory)) == 6
    assert len(list(chain.stream({"input": "bye"}))) == 1
    assert len(turns(memory)) == 8


def test_what_was_said_long_ago_is_recalled_and_the_latest_is_shown(memory):
    """Within ``tokens``: half at most for the latest turns, nothing twice."""
    its = made(memory, tokens=120)
    its.save_context({"input": FACT}, {"response": "Noted."})
    for number in range(30):
        its.save_context({"input": f"Remark {number} about the weather."}, {"response": "Indeed."})
    shown = its.load_memory_variables({"input": QUESTION})["history"]
    assert shown.count("Aurora") == 1
    assert shown.index("Aurora") > shown.index("Remark 29")  # beside the question, which the prompt puts behind it
    assert shown.count("Remark 29") == 1
    assert "Remark 10 " not in shown
    assert QUESTION not in shown


def test_messages(memory):
    made(memory).save_context({"input": FACT}, {"output": "Noted."})
    its = made(memory, return_messages=True)
    its.save_context({"input": "Hello"}, {"output": "Hi"})
    user, model, remembered = its.load_memory_variables({"input": [HumanMessage(QUESTION)]})["history"]
    assert isinstance(remembered, HumanMessage)
    assert "Aurora" in remembered.content
    assert (user, model) == (HumanMessage("Hello"), AIMessage("Hi"))
    assert turns(memory)[-1] == QUESTION


def test_keys_and_prefixes(memory):
    its = made(memory, memory_key="talk", human_prefix="Alice", ai_prefix="Bot")
    assert its.memory_variables == ["talk"]
    its.save_context({"input": "Hello"}, {"output": AIMessage("Hi")})
    assert its.load_memory_variables({}) == {"talk": "Alice: Hello\nBot: Hi"}


def test_seeding_by_hand(memory):
    its = made(memory)
    for _ in range(2):
        its.save_context({"input": "ok"}, {"output": "ok then"})
    assert turns(memory) == ["ok", "ok then"] * 2


# ---- agents and chains


def test_an_agent_with_tools(memory):
    @tool
    def clock() -> str:
        """The time."""
        return "noon"

    prompt = ChatPromptTemplate.from_messages(
        [("system", "Help."), MessagesPlaceholder("history"), ("human", "{input}"),
         MessagesPlaceholder("agent_scratchpad")]
    )  # fmt: skip
    made(memory).save_context({"input": FACT}, {"output": "Noted."})
    script = calling(call("clock"))
    agent = create_tool_calling_agent(ScriptedChat(script=script), [clock], prompt)
    executor = AgentExecutor(
        agent=agent, tools=[clock], memory=made(memory, return_messages=True), return_intermediate_steps=True,
        stream_runnable=False,
    )  # fmt: skip
    said = executor.invoke({"input": QUESTION})
    assert said["output"] == "Understood by model, number 2."
    assert len(said["intermediate_steps"]) == 1
    assert ["Aurora" in "".join(message.text for message in shown) for shown in script.shown] == [True, True]
    assert turns(memory)[2:] == [QUESTION, "Understood by model, number 2."]


def test_beside_another_memory(memory):
    made(memory).save_context({"input": FACT}, {"output": "Noted."})
    combined = CombinedMemory(
        memories=[
            made(memory, memory_key="remembered", input_key="input"),
            ConversationBufferMemory(memory_key="talk", input_key="input"),
        ]
    )
    prompt = PromptTemplate.from_template("{remembered}\n---\n{talk}\n---\n{input}")
    script = ScriptedModel()
    chain = LLMChain(llm=ScriptedChat(script=script), prompt=prompt, memory=combined)
    chain.invoke({"input": QUESTION})
    chain.invoke({"input": "ok"})
    assert "Aurora" in script.shown[0][0].text
    assert turns(memory)[2:] == [QUESTION, "Understood by model, number 1.", "ok", "Understood by model, number 2."]


async def test_combined_with_await(memory):
    combined = CombinedMemory(memories=[made(memory, input_key="input")])
    await ConversationChain(llm=ScriptedChat(script=ScriptedModel()), memory=combined).ainvoke({"input": FACT})
    assert turns(memory) == [FACT, "Understood by model, number 1."]


def test_several_inputs_and_outputs(memory):
    its = made(memory, input_key="question", output_key="answer")
    prompt = PromptTemplate.from_template("{history} {context} {question}")
    chain = LLMChain(llm=ScriptedChat(script=ScriptedModel()), prompt=prompt, memory=its, output_key="answer")
    chain.invoke({"question": QUESTION, "context": "Boats."})
    its.save_context({"question": "Two?", "context": "x"}, {"answer": "Yes.", "sources": "none"})
    assert turns(memory) == [QUESTION, "Understood by model, number 1.", "Two?", "Yes."]
    vague = made(memory)
    with pytest.raises(InputError, match="input_key"):
        vague.load_memory_variables({"question": QUESTION, "context": "Boats."})
    with pytest.raises(InputError, match="output_key"):
        vague.save_context({"question": QUESTION}, {"answer": "Yes.", "sources": "none"})
    vague.save_context({"question": "Three?", "stop": ["\n"]}, {"output": "No.", "intermediate_steps": []})
    assert turns(memory)[-2:] == ["Three?", "No."]


def test_a_chain_inside_another_one(memory):
    its = made(memory, record="none", input_key="input")
    first = LLMChain(
        llm=ScriptedChat(script=ScriptedModel(name="first")), prompt=PromptTemplate.from_template("{history}{input}"),
        memory=its, output_key="draft",
    )  # fmt: skip
    second = LLMChain(
        llm=ScriptedChat(script=ScriptedModel()), prompt=PromptTemplate.from_template("{draft}"), output_key="text"
    )
    chain = SequentialChain(chains=[first, second], input_variables=["input"], memory=made(memory, memory_key="other"))
    chain.invoke({"input": FACT})
    assert turns(memory) == [FACT, "Understood by model, number 1."]


def test_shared_and_read_only(memory):
    """A question that is loaded twice before it is answered is one question."""
    its = made(memory)
    ReadOnlySharedMemory(memory=its).load_memory_variables({"input": FACT})
    conversation(its).invoke({"input": FACT})
    assert turns(memory) == [FACT, "Understood by model, number 1."]


# ---- whose


def test_there_is_no_default_user(memory):
    for given in ({}, {"user": "alice", "user_key": "user_id"}, {"user": ""}):
        with pytest.raises(ScopeError):
            MemoryScopeMemory(memory=memory, **given)


def test_the_user_is_an_input(memory):
    its = MemoryScopeMemory(user_key="user_id", session_key="chat", memory=memory)
    script = ScriptedModel()
    chain = conversation(its, script)
    chain.invoke({"input": FACT, "user_id": "alice", "chat": "one"})
    chain.invoke({"input": QUESTION, "user_id": "bob", "chat": "one"})
    assert "Aurora" not in script.latest
    chain.invoke({"input": QUESTION, "user_id": "alice", "chat": "two"})
    assert script.latest.count("Aurora") == 1
    assert turns(memory, "bob", session="one") == [QUESTION, "Understood by model, number 2."]
    with pytest.raises(ScopeError, match="user_id"):
        chain.invoke({"input": FACT, "chat": "one"})
    with pytest.raises(ConfigError):
        its.clear()


def test_forty_threaded_runs_of_four_users(memory):
    """Nothing crosses, with one object for all."""
    names = ["anna", "bert", "carl", "dora"]
    script = ScriptedModel()
    chain = conversation(MemoryScopeMemory(user_key="user_id", session_key="chat", memory=memory), script)

    def run(number):
        name = names[number % 4]
        for text in (f"My secret word is {name}secret{number}.", f"What is my secret word, {name}?"):
            chain.invoke({"input": text, "user_id": name, "chat": f"{name} {number}"})

    with warnings.catch_warnings(), ThreadPoolExecutor(8) as pool:
        warnings.simplefilter("ignore")
        list(pool.map(run, range(40)))
    assert len(script.shown) == 80
    for shown in script.shown:
        everything = " ".join(message.text for message in shown)
        assert sum(f"{name}secret" in everything for name in names) == 1
    for name in names:
        assert len(turns(memory, name)) == 40


def test_clearing_forgets_this_session_only(memory):
    other, its = made(memory), made(memory)
    other.save_context({"input": FACT}, {"output": "Noted."})
    its.save_context({"input": "My cat is called Tom."}, {"output": "Noted."})
    its.clear()
    assert turns(memory) == [FACT, "Noted."]
    assert its.load_memory_variables({}) == {"history": ""}


# ---- the object


def test_it_can_be_written_down_and_copied(tmp_path):
    its = made(tmp_path / "memory.db", session="one", k=3)
    assert "memory" not in its.model_dump()
    assert its.model_dump()["k"] == 3
    its.save_context({"input": FACT}, {"output": "Noted."})
    for other in (pickle.loads(pickle.dumps(its)), copy.deepcopy(its)):
        assert "Aurora" in other.load_memory_variables({})["history"]
        other.close()
    its.close()
    with MemoryScope(tmp_path / "memory.db", settings={}) as memory:
        assert len(turns(memory)) == 2


def test_a_wrong_setting_is_told_at_once(memory):
    for wrong in ({"k": 0}, {"tokens": 0}, {"recall": "everything"}, {"record": "nothing"}):
        with pytest.raises(ValueError):
            made(memory, **wrong)


def test_what_is_never_answered_does_not_pile_up():
    waiting = PendingQuestions()
    first = waiting.id_of("alice", "one", "0")
    assert waiting.id_of("alice", "one", "0") == first
    for number in range(1, MAX_PENDING + 1):
        waiting.id_of("alice", "one", str(number))
    assert waiting.take_id("alice", "one", "0") != first
    last = waiting.id_of("alice", "one", str(MAX_PENDING))
    assert waiting.take_id("alice", "one", str(MAX_PENDING)) == last
    assert len(waiting._ids) == MAX_PENDING - 1
