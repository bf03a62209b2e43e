"""AutoGen's own tests of a memory, asked of ours. Each names the upstream test it stands for.

C is autogen-core's tests/test_memory.py, A autogen-agentchat's tests/test_assistant_agent.py.
docs/maintaining/autogen-tests.md lists them, and the three that cannot apply.
"""

from __future__ import annotations

import asyncio

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import Handoff, Response
from autogen_agentchat.messages import (
    MemoryQueryEvent,
    TextMessage,
    ThoughtEvent,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
)
from autogen_core import CancellationToken, ComponentModel, FunctionCall
from autogen_core.memory import Memory, MemoryContent, MemoryMimeType
from autogen_core.model_context import BufferedChatCompletionContext
from autogen_core.models import CreateResult, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient

from memscope_autogen import MemoryScopeMemory

TOOLS = {
    "function_calling": True,
    "vision": False,
    "json_output": False,
    "family": "unknown",
    "structured_output": False,
}
USAGE = RequestUsage(prompt_tokens=20, completion_tokens=10)


@pytest.fixture
def memory(core):
    return MemoryScopeMemory(user="alice", memory=core)


def text(words: str) -> MemoryContent:
    return MemoryContent(content=words, mime_type=MemoryMimeType.TEXT)


def events(messages) -> list[MemoryQueryEvent]:
    return [message for message in messages if isinstance(message, MemoryQueryEvent)]


def test_memory_protocol_attributes():
    """C: test_memory_protocol_attributes"""
    for name in ("update_context", "query", "add", "clear", "close"):
        assert asyncio.iscoroutinefunction(getattr(MemoryScopeMemory, name))


def test_memory_abc_implementation(memory):
    """C: test_memory_abc_implementation"""
    assert isinstance(memory, Memory)
    assert not MemoryScopeMemory.__abstractmethods__


async def test_memory_empty(memory):
    """C: test_list_memory_empty"""
    context = BufferedChatCompletionContext(buffer_size=3)
    assert (await memory.update_context(context)).memories.results == []
    assert await context.get_messages() == []
    assert (await memory.query(text("test"))).results == []


async def test_memory_add_and_query(memory):
    """C: test_list_memory_add_and_query; ranked by what is asked, not in the order of adding"""
    await memory.add(text("Alice drinks tea"))
    await memory.add(MemoryContent(content={"drinks": "coffee"}, mime_type=MemoryMimeType.JSON))
    results = (await memory.query(text("Who drinks what?"))).results
    assert {str(result.content) for result in results} == {"Alice drinks tea", "{'drinks': 'coffee'}"}


async def test_memory_keeps_all_that_was_added(memory):
    """C: test_list_memory_max_memories"""
    for number in range(5):
        await memory.add(text(f"Alice was in hall {number}"))
    assert len((await memory.query(text("In which hall was Alice?"))).results) == 5


async def test_memory_update_context(memory):
    """C: test_list_memory_update_context; recall needs a question, so there is one"""
    context = BufferedChatCompletionContext(buffer_size=3)
    await memory.add(text("The first test is on Monday"))
    await memory.add(text("The second test is on Friday"))
    await context.add_message(TextMessage(content="When is the test?", source="user").to_model_message())
    results = await memory.update_context(context)
    shown = await context.get_messages()
    assert len(results.memories.results) == 2
    assert len(shown) == 2
    assert "Monday" in shown[0].content
    assert "Friday" in shown[0].content


async def test_memory_clear(memory):
    """C: test_list_memory_clear"""
    await memory.add(text("test"))
    receipt = await memory.clear()
    assert (receipt.turns, receipt.observations) == (1, 1)
    assert (await memory.query(text("test"))).results == []


async def test_memory_content_types(memory):
    """C: test_list_memory_content_types"""
    await memory.add(text("a note as text"))
    await memory.add(MemoryContent(content={"note": "as json"}, mime_type=MemoryMimeType.JSON))
    await memory.add(
        MemoryContent(content=b"\x00binary", mime_type=MemoryMimeType.BINARY, metadata={"caption": "a note in bytes"})
    )
    results = (await memory.query(text("note"))).results
    assert {type(result.content): result.mime_type for result in results} == {
        str: MemoryMimeType.TEXT,
        dict: MemoryMimeType.JSON,
        bytes: MemoryMimeType.BINARY,
    }


async def test_initialization_with_memory(memory):
    """A: test_initialization_with_memory"""
    model = ReplayChatCompletionClient(["Using memory content"])
    agent = AssistantAgent("test_agent", model, memory=[memory])
    result = await agent.run(task="Use memory")
    assert result.messages[-1].content == "Using memory content"


def test_memory_type_validation():
    """A: test_memory_type_validation: what is no memory is still refused beside ours"""
    with pytest.raises(TypeError, match=r"Expected Memory, List\[Memory\], or None"):
        AssistantAgent("test_agent", ReplayChatCompletionClient([]), memory="invalid_memory")


async def test_memory_updates_context(memory):
    """A: test_memory_updates_context"""
    await memory.add(text("Previous conversation about topic A"))
    model = ReplayChatCompletionClient(["Response incorporating memory content"])
    agent = AssistantAgent("memory_test_agent", model, memory=[memory], description="Agent with memory")
    result = await agent.run(task="Respond about topic A")
    (event,) = events(result.messages)
    assert event.source == "memory_test_agent"
    assert event.content[0].content == "Previous conversation about topic A"
    assert "Response incorporating memory content" in result.messages[-1].content


async def test_memory_persistence(memory):
    """A: test_memory_persistence"""
    await memory.add(text("Initial memory of the trip"))
    model = ReplayChatCompletionClient(["Response using memory", "Response with updated memory"])
    first = await AssistantAgent("memory_test_agent", model, memory=[memory]).run(task="First session of the trip")
    await memory.add(text("New memory of the trip"))
    second = await AssistantAgent("memory_test_agent", model, memory=[memory]).run(task="Second session of the trip")
    assert first.messages[-1].content == "Response using memory"
    assert second.messages[-1].content == "Response with updated memory"
    assert any("New memory of the trip" in str(event.content) for event in events(second.messages))


async def test_from_config_with_memory(tmp_path):
    """A: test_from_config_with_workbench_and_memory"""
    memory = MemoryScopeMemory(user="alice", memory=tmp_path / "memory.db")
    model = ReplayChatCompletionClient(["Hello"], model_info=TOOLS)
    agent = AssistantAgent("test_agent", model, memory=memory, tools=memory.tools())
    loaded = AssistantAgent.load_component(agent.dump_component())
    (again,) = loaded._memory
    assert isinstance(again, MemoryScopeMemory)
    assert again.dump_component() == memory.dump_component()
    assert (await loaded.run(task="Hi")).messages[-1].content == "Hello"
    await again.close()


async def test_cancellation_during_memory_operations(memory):
    """A: test_cancellation_during_memory_operations"""
    agent = AssistantAgent("test_agent", ReplayChatCompletionClient(["Response"]), memory=[memory])
    response = await agent.on_messages([TextMessage(content="Test", source="user")], CancellationToken())
    assert response.chat_message.content == "Response"
    cancelled = CancellationToken()
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await memory.query("Test", cancelled)
    with pytest.raises(asyncio.CancelledError):
        await memory.add(text("Test"), cancelled)


async def test_complete_workflow_with_all_features(memory):
    """A: test_complete_workflow_with_all_features"""
    await memory.add(text("User prefers detailed explanations of any analysis"))

    async def analyse(param: str) -> str:
        """Analyses."""
        return f"{param} done"

    call = FunctionCall(id="1", arguments='{"param": "analysis"}', name="analyse")
    model = ReplayChatCompletionClient(
        [
            CreateResult(
                finish_reason="function_calls", content=[call], usage=USAGE, cached=False, thought="First this"
            ),
            CreateResult(finish_reason="stop", content="In detail.", usage=USAGE, cached=False, thought="Thorough"),
        ],
        model_info=TOOLS,
    )
    agent = AssistantAgent(
        "comprehensive_agent", model, tools=[analyse], handoffs=[Handoff(target="specialist_agent")], memory=[memory],
        reflect_on_tool_use=True, model_client_stream=True, tool_call_summary_format="Analysis: {result}",
    )  # fmt: skip
    task = TextMessage(content="Analyse my figures in detail, please", source="user")
    seen = [message async for message in agent.on_messages_stream([task], CancellationToken())]
    kinds = [type(message) for message in seen]
    assert len(events(seen)) == 1
    assert kinds.count(ThoughtEvent) == 2
    assert kinds.count(ToolCallRequestEvent) == kinds.count(ToolCallExecutionEvent) == 1
    assert isinstance(seen[-1], Response)
    assert seen[-1].chat_message.content == "In detail."


def test_component_round_trip(tmp_path):
    """Case C: test_memory_component_{load_config_from,dump_config_to}_base_model, which name ListMemory's fields"""
    memory = MemoryScopeMemory(user="alice", agent="helper", session="s", memory=tmp_path / "memory.db", k=3)
    model = memory.dump_component()
    assert isinstance(model, ComponentModel)
    assert (model.provider, model.component_type) == ("memscope_autogen.MemoryScopeMemory", "memory")
    loaded = Memory.load_component(ComponentModel.model_validate_json(model.model_dump_json()))
    assert isinstance(loaded, MemoryScopeMemory)
    assert loaded.dump_component() == model


def test_to_config_of_an_agent_with_memory(tmp_path):
    """Case A: test_to_config_agent_with_memory, which names its mock's provider"""
    memory = MemoryScopeMemory(user="alice", memory=tmp_path / "memory.db")
    config = AssistantAgent("test_agent", ReplayChatCompletionClient([]), memory=memory)._to_config()
    (dumped,) = config.memory
    assert dumped.provider == "memscope_autogen.MemoryScopeMemory"
    assert dumped.config["user"] == "alice"
