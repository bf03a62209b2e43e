"""The suite that every adapter passes, on ``Runner`` with a history of memory's own and of the SDK's."""

from __future__ import annotations

import json

from agents import Runner, SQLiteSession

from adapters.served import ServedSuite
from memscope_openai_agents import MemoryScopeSession

from .talking import QUIET, Talk


class Suite(ServedSuite):
    __test__ = False
    plugin = "memscope_openai_agents.plugin"
    framework = ("agents",)

    async def use_tools(self, memory, which, *, user, agent=None):
        session = MemoryScopeSession("one", user=user, agent=agent, memory=memory)
        tools = {tool.name: tool for tool in session.tools(which)}

        async def use(name, **arguments):
            return await tools[name].on_invoke_tool(None, json.dumps(arguments))

        return use


class TestOwnHistory(Suite):
    """The conversation is kept as turns; a new object with the same id goes on with it."""

    __test__ = True

    async def converse(self, memory, script, *, user, agent=None, session=None, strict=False, state=None, **more):
        made = MemoryScopeSession(
            state or session or "none", user=user, agent=agent, memory=memory, strict=strict, **more
        )
        talk = Talk(made, self.serve(script))
        self.close_later(talk.client.close)
        return talk


class StreamedTalk(Talk):
    async def say(self, text):
        result = Runner.run_streamed(self.agent, text, session=self.session, run_config=self.session.run_config(QUIET))
        async for _ in result.stream_events():
            pass
        return result.final_output


class TestStreamed(TestOwnHistory):
    async def converse(self, memory, script, **more):
        talk = await super().converse(memory, script, **more)
        talk.__class__ = StreamedTalk
        return talk


class KeptTalk(Talk):
    async def state(self):
        return self.session._history


class TestHistoryOfTheSdk(Suite):
    """Another session keeps the items, shown again to memory in every run."""

    __test__ = True

    async def converse(self, memory, script, *, user, agent=None, session=None, strict=False, state=None, **more):
        history = state or SQLiteSession(session or "none")
        self.close_later(self.closing(history))
        made = MemoryScopeSession(
            session or "none", user=user, agent=agent, memory=memory, strict=strict, history=history, **more
        )
        talk = KeptTalk(made, self.serve(script))
        self.close_later(talk.client.close)
        return talk

    def closing(self, history):
        async def close():
            history.close()

        return close
