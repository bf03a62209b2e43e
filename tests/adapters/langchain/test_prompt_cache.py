"""The requests that ``create_agent`` sends with LangChain's own client."""

from __future__ import annotations

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from adapters.prompt_cache import PROMPT, PromptCacheSuite
from memscope_langchain import MemoryScopeMiddleware

from .talking import Talk, ThreadTalk, configured


@tool
def clock(zone: str) -> str:
    """The time."""
    return "noon"


class TestThread(PromptCacheSuite):
    async def open(self, memory, url):
        middleware = MemoryScopeMiddleware(memory=memory)
        model = ChatOpenAI(model="test-chat", api_key="none", base_url=url)
        made = create_agent(model, [clock], system_prompt=PROMPT, middleware=[middleware], checkpointer=InMemorySaver())
        return ThreadTalk(made, middleware, configured("alice", "two"))


class TestHistoryOfTheCallers(PromptCacheSuite):
    async def open(self, memory, url):
        middleware = MemoryScopeMiddleware(memory=memory)
        model = ChatOpenAI(model="test-chat", api_key="none", base_url=url)
        made = create_agent(model, [clock], system_prompt=PROMPT, middleware=[middleware])
        return WholeTalk(made, middleware, configured("alice", "two"))


class WholeTalk(Talk):
    """The caller keeps all messages, those of tools too."""

    async def say(self, text):
        self.history.append({"role": "user", "content": text})
        self.history = (await self.agent.ainvoke({"messages": self.history}, self.config))["messages"]
        return str(self.history[-1].text)
