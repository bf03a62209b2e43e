"""``create_agent`` without memory, with a middleware over LangGraph's store, and with memscope."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from memscope import AsyncMemoryScope
from memscope_langchain import MemoryScopeMiddleware

NOTES = ("alice", "notes")


class Model(BaseChatModel):
    """Replies instantly and records requests."""

    shown: list[str]

    @property
    def _llm_type(self) -> str:
        return "echo"

    def bind_tools(self, tools: Any, **_: Any) -> Model:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self.shown.append("\n".join(str(message.text) for message in messages))
        return ChatResult(generations=[ChatGeneration(message=AIMessage("Understood."))])

    async def _agenerate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return self._generate(messages)


class StoreMiddleware(AgentMiddleware[Any, Any]):
    """A simple memory with LangGraph's store: search, extend the system message, put."""

    async def abefore_agent(self, state: Any, runtime: Any) -> None:
        said = state["messages"][-1]
        await runtime.store.aput(NOTES, said.id, {"text": str(said.text)})

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        query = str(request.messages[-1].text)
        found = await request.runtime.store.asearch(NOTES, query=query, limit=10)
        notes = "\n".join(item.value["text"] for item in found)
        return await handler(request.override(system_message=SystemMessage(notes)))


class Talk:
    def __init__(self, number: int, middleware: list[Any], **more: Any) -> None:
        self.shown: list[str] = []
        model = Model(shown=self.shown)
        model.shown = self.shown  # pydantic copies the list
        self.agent = create_agent(model, middleware=middleware, checkpointer=InMemorySaver(), **more)
        self.config = {"configurable": {"user_id": "alice", "thread_id": f"now {number}"}}

    async def say(self, text: str) -> None:
        await self.agent.ainvoke({"messages": [{"role": "user", "content": text}]}, self.config)


def variants(core: AsyncMemoryScope) -> dict[str, Callable[[int], Talk]]:
    store = InMemoryStore()
    for number in range(1000):
        store.put(NOTES, str(number), {"text": f"Remark {number}."})
    return {
        "none": lambda number: Talk(number, []),
        "in_memory_store": lambda number: Talk(number, [StoreMiddleware()], store=store),
        "memscope": lambda number: Talk(number, [MemoryScopeMiddleware(memory=core)]),
        "memscope_without_tools": lambda number: Talk(number, [MemoryScopeMiddleware(memory=core, tools=False)]),
    }
