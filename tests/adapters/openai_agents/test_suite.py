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


class Kept(list):
    """Items of a session of the SDK that is yet to be made."""


class TestHistoryOfTheSdk(Suite):
    """Another session keeps the items, shown again to memory in every run."""

    __test__ = True

    def foreign(self, words):
        call = {"type": "function_call", "call_id": "1", "name": "read", "arguments": "{}"}
        page = {"type": "input_file", "filename": "page.txt", "file_data": words}
        histories = {
            "instructions": [{"role": "system", "content": words}],
            "developer": [{"role": "developer", "content": words}],
            "tool": [call, {"type": "function_call_output", "call_id": "1", "output": words}],
            "assistant": [{"role": "assistant", "content": words}],
            "file": [{"role": "user", "content": [{"type": "input_text", "text": "See this."}, page]}],
            "pasted": [{"role": "user", "content": f"What is this?\n```\n{words}\n```"}],
        }
        return {name: Kept(history) for name, history in histories.items()}

    async def converse(self, memory, script, *, user, agent=None, session=None, strict=False, state=None, **more):
        history = SQLiteSession(session or "none") if state is None else state
        if isinstance(history, Kept):
            history, items = SQLiteSession(session), history
            await history.add_items(items)
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
