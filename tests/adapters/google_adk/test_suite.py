"""The suite that every adapter passes, on ``Runner.run_async``, streamed too."""

from __future__ import annotations

from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.adk.sessions import InMemorySessionService
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from adapters.served import ServedSuite
from memscope_google_adk import MemoryScopePlugin

from .talking import APP, StreamedTalk, Talk, close_client, model


class TestRun(ServedSuite):
    plugin = "memscope_google_adk.plugin"
    framework = ("google.adk", "google.genai")
    talk = Talk

    async def converse(self, memory, script, *, user, agent=None, session=None, strict=False, state=None, **more):
        made = self.made(user, agent=agent, memory=memory, strict=strict, **more)
        session = session or "none"
        llm = model(self.serve(script))
        self.close_later(lambda: close_client(llm))
        return self.talk(made, llm, user=user, session=session, history=state or ())

    def made(self, user, **options):
        return MemoryScopePlugin(user=user, **options)

    def foreign(self, words):
        call = types.Part(function_call=types.FunctionCall(id="1", name="read", args={}))
        result = types.Part(function_response=types.FunctionResponse(id="1", name="read", response={"page": words}))
        file = types.Part(inline_data=types.Blob(data=words.encode(), mime_type="text/plain"))
        histories = {
            "tool": [("helper", "model", call), ("helper", "user", result)],
            "thought": [("helper", "model", types.Part(text=words, thought=True))],
            "assistant": [("helper", "model", types.Part(text=words))],
            "another agent": [("browser", "model", types.Part(text=words))],
            "another agent in the users role": [("browser", "user", types.Part(text=words))],
            "file": [("user", "user", file)],
            "pasted": [("user", "user", types.Part(text=f"What is this?\n```\n{words}\n```"))],
        }
        return {
            name: [
                Event(author=author, invocation_id="earlier", content=types.Content(role=role, parts=[part]))
                for author, role, part in history
            ]
            for name, history in histories.items()
        }

    async def use_tools(self, memory, which, *, user, agent=None):
        made = MemoryScopePlugin(agent=agent, memory=memory, tools=which)
        service = InMemorySessionService()
        session = await service.create_session(app_name=APP, user_id=user, session_id="one")
        run = InvocationContext(session_service=service, invocation_id="one", session=session, agent=None)
        tools = {tool.name: tool for tool in made.tools}

        async def use(name, **arguments):
            return await tools[name].run_async(args=arguments, tool_context=ToolContext(run))

        return use


class TestStreamed(TestRun):
    talk = StreamedTalk


class TestUserOfRun(TestRun):
    not_applicable = {  # noqa: RUF012
        "test_a_user_is_required": "ADK wraps what a plugin raises: test_memory_plugin.py has it"
    }

    def made(self, user, **options):
        return MemoryScopePlugin(**options)
