"""The suite that every adapter passes, on ``Agent`` with a session and without."""

from __future__ import annotations

from agent_framework import AgentSession, Content, FunctionTool, Message

from adapters.served import ServedSuite
from memscope_agent_framework import MemoryScopeContextProvider
from memscope_testing.scripted import ScriptedModel

from .talking import ShownAgainTalk, Talk, agent_with


class Suite(ServedSuite):
    __test__ = False
    plugin = "memscope_agent_framework.plugin"
    framework = ("agent_framework",)

    async def use_tools(self, memory, which, *, user, agent=None):
        """The tools that a provider brings to a run."""
        brought = []

        class Spy(MemoryScopeContextProvider):
            async def before_run(self, *, agent, session, context, state):
                await super().before_run(agent=agent, session=session, context=context, state=state)
                brought[:] = context.tools

        provider = Spy(user=user, agent=agent, memory=memory, tools=which)
        made = agent_with(provider, self.serve(ScriptedModel()))
        self.close_later(made.client.client.close)
        await made.run("", session=AgentSession(session_id="one"))
        tools: dict[str, FunctionTool] = {tool.name: tool for tool in brought}

        async def use(name, **arguments):
            answer = await tools[name].invoke(arguments=arguments)
            return answer if isinstance(answer, str) else "".join(one.text for one in answer)

        return use


class TestSession(Suite):
    """The session keeps the history."""

    __test__ = True

    async def converse(self, memory, script, *, user, agent=None, session=None, strict=False, state=None, **more):
        provider = MemoryScopeContextProvider(user=user, agent=agent, memory=memory, strict=strict, **more)
        kept = AgentSession.from_dict(state) if state else AgentSession(session_id=session)
        talk = Talk(agent_with(provider, self.serve(script)), provider, kept)
        self.close_later(talk.agent.client.client.close)
        return talk


class TestUserOfTheSession(TestSession):
    """The user comes from the session's state."""

    async def converse(self, memory, script, *, user, **more):
        talk = await super().converse(memory, script, user=None, **more)
        talk.session.state["user_id"] = user
        return talk


class TestShownAgain(Suite):
    """Without a session: the caller shows the whole history every time, and streams."""

    __test__ = True

    def foreign(self, words):
        call = Content.from_function_call("1", "read", arguments="{}")
        result = Content.from_function_result("1", result=words)
        file = Content.from_data(words.encode(), "text/plain")
        return {
            "instructions": [Message("system", [words])],
            "tool": [Message("assistant", [call]), Message("tool", [result])],
            "tool in the users role": [Message("assistant", [call]), Message("user", [result])],
            "assistant": [Message("assistant", [words])],
            "file": [Message("user", ["See this.", file])],
            "pasted": [Message("user", [f"What is this?\n```\n{words}\n```"])],
        }

    async def converse(self, memory, script, *, user, agent=None, session=None, strict=False, state=None, **more):
        provider = MemoryScopeContextProvider(
            user=user, agent=agent, session=session, memory=memory, strict=strict, **more
        )
        talk = ShownAgainTalk(agent_with(provider, self.serve(script)), provider, state or [])
        self.close_later(talk.agent.client.client.close)
        return talk
