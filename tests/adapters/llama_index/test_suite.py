"""The suite that every adapter passes, on ``FunctionAgent.run``, streamed too."""

from __future__ import annotations

from llama_index.core.base.llms.types import ChatMessage, DocumentBlock, MessageRole, TextBlock

from adapters.served import ServedSuite
from memscope_llama_index import MemoryScopeBlock

from .talking import StreamedTalk, Talk, model


class TestRun(ServedSuite):
    plugin = "memscope_llama_index.plugin"
    framework = ("llama_index",)
    talk = Talk

    async def converse(self, memory, script, *, user, agent=None, session=None, strict=False, state=None, **more):
        block = MemoryScopeBlock(user=user, agent=agent, memory=memory, strict=strict, **more)
        talk = self.talk(block, model(self.serve(script)), session=session or "none", history=state or ())
        self.close_later(talk.release)
        return talk

    def foreign(self, words):
        document = DocumentBlock(data=words.encode(), title="page.txt")
        return {
            **{role.value: [ChatMessage(words, role=role)] for role in MessageRole if role != MessageRole.USER},
            "document": [ChatMessage(role="user", blocks=[TextBlock(text="See this."), document])],
            "pasted": [ChatMessage(f"What is this?\n```\n{words}\n```", role="user")],
        }

    async def use_tools(self, memory, which, *, user, agent=None):
        block = MemoryScopeBlock(user=user, agent=agent, session="one", memory=memory)
        tools = {tool.metadata.name: tool for tool in block.tools(which)}

        async def use(name, **arguments):
            return (await tools[name].acall(**arguments)).content

        return use


class TestStreamed(TestRun):
    talk = StreamedTalk
