"""``create_agent`` with memory: answers that are made again or have a structure, and words that are redacted."""

from __future__ import annotations

from langchain.agents.middleware import PIIMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from memscope_langchain import MemoryScopeMiddleware
from memscope_testing.scripted import ScriptedModel

from .talking import agent_with, configured

QUESTION = "What is my boat called?"


class Boat(BaseModel):
    name: str


def asked(text):
    return {"messages": [{"role": "user", "content": text}]}


async def texts(core):
    return [turn.text for turn in await core.list(user="alice", kinds=["turn"])]


async def test_an_answer_that_is_made_again_repeats_no_question(core):
    middleware = MemoryScopeMiddleware(memory=core)
    agent = agent_with(middleware, ScriptedModel(), checkpointer=InMemorySaver())
    config = configured("alice", "one")
    first = await agent.ainvoke(asked(QUESTION), config)
    await agent.ainvoke({"messages": [RemoveMessage(first["messages"][-1].id)]}, config)
    assert await texts(core) == [QUESTION, "Understood by model, number 1.", "Understood by model, number 2."]


async def test_a_structured_answer_is_recorded_as_its_json_once(core):
    replies = [AIMessage("", tool_calls=[{"name": "Boat", "args": args, "id": str(number)}]) for number, args in
               enumerate(({"title": "Aurora"}, {"name": "Aurora"}, {"name": "Bolina"}))]  # fmt: skip
    script = ScriptedModel()

    async def answer(messages):
        return replies.pop(0)

    script.answer = answer
    middleware = MemoryScopeMiddleware(memory=core, tools=False)
    agent = agent_with(middleware, script, response_format=ToolStrategy(Boat), checkpointer=InMemorySaver())
    config = configured("alice", "one")
    for text in (QUESTION, "And my other boat?"):
        result = await agent.ainvoke(asked(text), config)
    assert result["structured_response"] == Boat(name="Bolina")
    assert await texts(core) == [QUESTION, '{"name": "Aurora"}', "And my other boat?", '{"name": "Bolina"}']


async def test_what_another_middleware_redacts_first_is_recorded_redacted(core):
    redacting = PIIMiddleware("email", strategy="redact")
    middleware = [redacting, MemoryScopeMiddleware(memory=core)]
    agent = agent_with(middleware, ScriptedModel(), checkpointer=InMemorySaver())
    config = configured("alice", "one")
    for text in ("My address is alice@example.org.", QUESTION):
        await agent.ainvoke(asked(text), config)
    recorded = await texts(core)
    assert recorded[0] == "My address is [REDACTED_EMAIL]." and len(recorded) == 4
