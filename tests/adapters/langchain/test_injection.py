"""The place of memory in a request of ``create_agent``, and what a prompt cache keeps of it."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, SummarizationMiddleware
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from memscope.prompts.memory_block import CLOSE_MARK, OPEN_MARK
from memscope_langchain import MemoryScopeMiddleware
from memscope_testing.scripted import ScriptedModel

from .talking import ScriptedChat, agent_with, configured

FACT, QUESTION = "My boat is called Aurora.", "What is my boat called?"
EPHEMERAL = {"type": "ephemeral", "ttl": "5m"}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


class Recorder(ScriptedModel):
    """Keeps the messages themselves; gives ``replies`` first."""

    def __init__(self, *replies: AIMessage) -> None:
        super().__init__()
        self.replies, self.requests = list(replies), []

    async def answer(self, messages: Any) -> Any:
        said = await super().answer([(message.type, str(message.text)) for message in messages])
        self.requests.append(messages)
        return self.replies.pop(0) if self.replies else said


class Chat(ScriptedChat):
    """Gives the script LangChain's own messages."""

    def _generate(self, messages: Any, *args: Any, **more: Any) -> Any:
        raise NotImplementedError

    async def _agenerate(self, messages: Any, *_: Any, **__: Any) -> Any:
        from .talking import result

        return result(await self.script.answer(messages))


def agent(script: Recorder, *middleware: Any, **more: Any) -> Any:
    return create_agent(Chat(script=script), middleware=list(middleware), **more)


def call(name: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "1"}])


def said(*messages: Any) -> dict[str, Any]:
    return {"messages": list(messages)}


@pytest.fixture
async def aboard(core):
    """A memory that knows the fact."""
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    return core


# ---- the place


@pytest.mark.parametrize("prompt", ["You help.", None])
async def test_memory_stands_before_the_users_words_in_the_same_message(aboard, prompt):
    script = Recorder()
    made = agent(script, MemoryScopeMiddleware(memory=aboard), system_prompt=prompt)
    result = await made.ainvoke(said(HumanMessage(QUESTION, name="Alice")), configured("alice"))
    *system, message = script.requests[0]
    assert [one.content for one in system] == ([prompt] if prompt else [])
    assert message.content.startswith(OPEN_MARK) and FACT in message.content
    assert message.content.endswith(f"{CLOSE_MARK}\n\n{QUESTION}")
    assert message.name == "Alice"
    assert result["messages"][0].content == QUESTION
    assert [turn.text for turn in await aboard.list(user="alice", kinds=["turn"])][:2] == [FACT, QUESTION]


async def test_parts_of_a_message_stay_as_they_are(aboard):
    script = Recorder()
    made = agent(script, MemoryScopeMiddleware(memory=aboard))
    parts = [{"type": "text", "text": QUESTION}, PICTURE]
    result = await made.ainvoke(said(HumanMessage(parts)), configured("alice"))
    first, *others = script.requests[0][0].content
    assert FACT in first["text"] and first["type"] == "text"
    assert others == parts == result["messages"][0].content
    assert [turn.text for turn in await aboard.list(user="alice", kinds=["turn"])][:2] == [FACT, QUESTION]


@pytest.mark.parametrize("content", [QUESTION, [{"type": "text", "text": QUESTION}, PICTURE]])
async def test_a_message_as_it_was_sent_is_recorded_without_the_memory_in_it(aboard, content):
    script = Recorder()
    made = agent(script, MemoryScopeMiddleware(memory=aboard))
    await made.ainvoke(said(HumanMessage(content)), configured("alice", "two"))
    (sent,) = script.requests[0]
    assert OPEN_MARK in str(sent.content)
    await made.ainvoke(said(sent, AIMessage("Aurora."), HumanMessage("Thanks.")), configured("alice", "three"))
    turns = await aboard.list(user="alice", session="three", kinds=["turn"])
    assert [turn.text for turn in turns][:3] == [QUESTION, "Aurora.", "Thanks."]


@pytest.mark.parametrize(
    "messages", [[], [SystemMessage("Greet.")], [SystemMessage("Greet."), AIMessage("Good morning.")]]
)
async def test_without_a_users_message_memory_is_one_of_its_own(core, messages):
    await core.blocks("alice").append("human", "Alice sails.")
    script = Recorder()
    result = await agent(script, MemoryScopeMiddleware(memory=core)).ainvoke(said(*messages), configured("alice"))
    roles = [message.type for message in script.requests[0]]
    expected = [message.type for message in messages]
    expected.insert(expected.count("system"), "human")
    assert roles == expected
    assert "Alice sails." in script.requests[0][expected.index("human")].content
    assert OPEN_MARK not in str(result["messages"])


# ---- calls of one run, and the next run


async def test_the_calls_of_a_run_send_the_same_memory_at_the_same_place(aboard):
    @tool
    async def note() -> str:
        """Takes a note, which memory would now find; somebody else speaks meanwhile."""
        await aboard.add_turns([{"role": "user", "content": "My boat is called Borealis now."}], user="alice")
        return "noted"

    script = Recorder(call("note"), call("note"))
    made = agent(script, MemoryScopeMiddleware(memory=aboard), tools=[note], system_prompt="You help.")
    history = [HumanMessage("Hello."), AIMessage("Hello!"), HumanMessage(QUESTION)]
    await made.ainvoke(said(*history), configured("alice"))
    first, second, third = ([message.content for message in request] for request in script.requests)
    assert second[: len(first)] == first and third[: len(second)] == second
    assert OPEN_MARK in first[-1] and "Borealis" not in first[-1]


async def test_an_interrupted_run_that_goes_on_sends_one_memory(aboard):
    @tool
    async def note() -> str:
        """Takes a note."""
        await aboard.add_turns([{"role": "user", "content": "My boat is called Borealis now."}], user="alice")
        return str(interrupt("Really?"))

    @tool
    async def clock() -> str:
        """Somebody else speaks meanwhile."""
        await aboard.add_turns([{"role": "user", "content": "My boat is called Corona now."}], user="alice")
        return "noon"

    script = Recorder(call("note"), call("clock"), call("clock"))
    made = agent(script, MemoryScopeMiddleware(memory=aboard), tools=[note, clock], checkpointer=InMemorySaver())
    config = configured("alice", "two")
    await made.ainvoke(said(HumanMessage(QUESTION)), config)
    await made.ainvoke(Command(resume="yes"), config)
    assert len(script.requests) == 4
    assert len({request[0].content for request in script.requests[1:]}) == 1
    assert "Corona" not in script.requests[-1][0].content


async def test_what_an_earlier_run_was_shown_is_not_sent_again(aboard):
    script = Recorder()
    made = agent(script, MemoryScopeMiddleware(memory=aboard), checkpointer=InMemorySaver(), system_prompt="You help.")
    for text in (QUESTION, f"{QUESTION} Again.", f"{QUESTION} Once more."):
        await made.ainvoke(said(HumanMessage(text)), configured("alice", "two"))
    for number, request in enumerate(script.requests):
        assert [OPEN_MARK in str(message.content) for message in request] == [False] * (2 * number + 1) + [True]
    assert [message.content for message in script.requests[2][:4]] == [
        "You help.", QUESTION, "Understood by model, number 1.", f"{QUESTION} Again.",
    ]  # fmt: skip


async def test_a_person_who_speaks_in_between_does_not_move_it(aboard):
    class Overheard(AgentMiddleware):
        def after_model(self, state: Any, runtime: Any) -> Any:
            return said(HumanMessage("A voice from afar.")) if len(state["messages"]) == 2 else None

    @tool
    def clock() -> str:
        """The time."""
        return "noon"

    script = Recorder(call("clock"))
    made = agent(script, MemoryScopeMiddleware(memory=aboard), Overheard(), tools=[clock])
    await made.ainvoke(said(HumanMessage(QUESTION)), configured("alice"))
    for request in script.requests:
        assert [OPEN_MARK in str(message.content) for message in request] == [True] + [False] * (len(request) - 1)


async def test_a_summary_that_replaced_the_users_message_takes_the_memory(aboard):
    @tool
    def clock() -> str:
        """The time."""
        return "noon"

    script = Recorder(*(call("clock") for _ in range(4)))
    kept = {"trigger": ("messages", 5), "keep": ("messages", 2)}
    try:
        summary = SummarizationMiddleware(ScriptedChat(script=ScriptedModel(name="summary")), **kept)
    except TypeError:
        pytest.skip("this version counts tokens")
    made = agent(script, MemoryScopeMiddleware(memory=aboard), summary, tools=[clock])
    await made.ainvoke(said(HumanMessage(QUESTION)), configured("alice"))
    last = script.requests[-1]
    assert not any(QUESTION in str(message.content) for message in last)
    assert OPEN_MARK in last[0].content and "summary" in last[0].content


# ---- Anthropic's breakpoints


class Cached(AgentMiddleware):
    """Ask for a cache like AnthropicPromptCachingMiddleware."""

    def __init__(self, system: Any = None) -> None:
        super().__init__()
        self.system = system

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        more = {"system_message": self.system} if self.system else {}
        return await handler(request.override(model_settings={"cache_control": EPHEMERAL}, **more))


def marks(request: Any) -> list[bool]:
    return [
        any(isinstance(block, dict) and "cache_control" in block for block in message.content) for message in request
    ]


HISTORY = [HumanMessage("Hello."), AIMessage("Hello!"), HumanMessage(QUESTION)]


async def test_a_cache_that_was_asked_for_ends_before_the_memory(aboard):
    script = Recorder()
    await agent(script, Cached(), MemoryScopeMiddleware(memory=aboard)).ainvoke(said(*HISTORY), configured("alice"))
    assert marks(script.requests[0]) == [False, True, False]
    assert script.requests[0][1].content == [{"type": "text", "text": "Hello!", "cache_control": EPHEMERAL}]
    assert HISTORY[1].content == "Hello!"


async def test_no_cache_is_asked_for_by_memory_itself(aboard):
    script = Recorder()
    await agent(script, MemoryScopeMiddleware(memory=aboard)).ainvoke(said(*HISTORY), configured("alice"))
    assert marks(script.requests[0]) == [False] * 3
    await agent(script, Cached(), MemoryScopeMiddleware(memory=aboard)).ainvoke(
        said(HumanMessage(QUESTION)), configured("alice")
    )
    assert marks(script.requests[1]) == [False]


async def test_there_are_never_more_breakpoints_than_a_request_may_have(aboard):
    if not hasattr(_request(), "system_message"):
        pytest.skip("langchain 1.0 takes text only")
    script = Recorder()
    system = SystemMessage([{"type": "text", "text": text, "cache_control": EPHEMERAL} for text in "abc"])
    made = agent(script, Cached(system), MemoryScopeMiddleware(memory=aboard), system_prompt="You help.")
    await made.ainvoke(said(*HISTORY), configured("alice"))
    assert marks(script.requests[0]) == [True, False, False, False]


def _request() -> Any:
    from langchain.agents.middleware import ModelRequest

    return ModelRequest(
        model=ScriptedChat(script=None), messages=[], tool_choice=None, tools=[], response_format=None,
        state={"messages": []}, runtime=None, system_prompt=None,
    )  # fmt: skip


@pytest.mark.slow
async def test_what_anthropic_is_sent(aboard, monkeypatch):
    """The history is within a breakpoint that the next run's request finds again."""
    try:
        from langchain_anthropic import ChatAnthropic
        from langchain_anthropic.middleware import AnthropicPromptCachingMiddleware
    except ImportError:
        pytest.skip("needs a langchain-anthropic that fits langchain")

    sent: list[dict[str, Any]] = []

    async def generate(self: Any, messages: Any, *_: Any, **more: Any) -> Any:
        from .talking import result

        sent.append(self._get_request_payload(messages, **{**more, "stop": None}))
        return result("Aurora.")

    monkeypatch.setattr(ChatAnthropic, "_agenerate", generate)
    model = ChatAnthropic(model="claude-test", api_key="none")
    middleware = [AnthropicPromptCachingMiddleware(), MemoryScopeMiddleware(memory=aboard)]
    made = create_agent(model, middleware=middleware, system_prompt="You help.", checkpointer=InMemorySaver())
    for text in ("Hello.", QUESTION, f"{QUESTION} Again."):
        await made.ainvoke(said(HumanMessage(text)), configured("alice", "two"))
    for payload in sent:
        assert str(payload).count("cache_control") <= 4
        assert "cache_control" in str(payload["system"]) and OPEN_MARK not in str(payload["system"])
    before, after = (payload["messages"] for payload in sent[1:])
    assert "cache_control" in str(before[1]) and before[1]["role"] == "assistant"
    assert _plain(before[:2]) == _plain(after[:2])


def _plain(messages: Any) -> list[tuple[str, str]]:
    return [
        (one["role"], one["content"] if isinstance(one["content"], str) else one["content"][0]["text"])
        for one in messages
    ]


async def test_a_thread_of_many_users_words_needs_no_ids(core):
    """Memory finds its place by the message that the run began with, whatever stands behind it."""
    await core.add_turns([{"role": "user", "content": FACT}], user="alice")
    script = ScriptedModel()
    made = agent_with(MemoryScopeMiddleware(memory=core), script)
    await made.ainvoke({"messages": [("user", "Hello."), ("user", QUESTION)]}, configured("alice"))
    assert [OPEN_MARK in shown.text for shown in script.shown[0]] == [False, True]


async def test_the_parts_of_a_users_message_are_lines_of_one_turn(core):
    question, caption = {"type": "text", "text": "Look at Anna"}, {"type": "text", "text": "What is she wearing?"}
    reply = AIMessage([{"type": "text", "text": "A red"}, {"type": "text", "text": " hat."}])
    middleware = MemoryScopeMiddleware(memory=core)
    await agent(Recorder(reply), middleware).ainvoke(
        said(HumanMessage([question, PICTURE, caption])), configured("alice")
    )
    texts = [turn.text for turn in await core.list(user="alice")]
    assert texts == ["Look at Anna\nWhat is she wearing?", "A red hat."]
