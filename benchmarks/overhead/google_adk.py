"""ADK's runner without memory, and with memscope."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from pydantic import PrivateAttr

from memscope import AsyncMemoryScope
from memscope_google_adk import MemoryScopePlugin


class _Model(BaseLlm):
    model: str = "scripted"
    _shown: list[str] = PrivateAttr(default_factory=list)

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> AsyncIterator[LlmResponse]:
        self._shown.append("\n".join(part.text or "" for one in llm_request.contents for part in one.parts or []))
        usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=0, candidates_token_count=0)
        yield LlmResponse(content=types.ModelContent("Understood."), usage_metadata=usage)


class Talk:
    def __init__(self, number: int, *plugins: Any) -> None:
        model = _Model()
        self.shown: list[str] = model._shown
        root = LlmAgent(name="helper", model=model, instruction="You are helpful.")
        self.runner = InMemoryRunner(app=App(name="overhead", root_agent=root, plugins=list(plugins)))
        self.session = f"now {number}"

    async def say(self, text: str) -> None:
        where = {"user_id": "alice", "session_id": self.session}
        if not self.shown:
            await self.runner.session_service.create_session(app_name="overhead", **where)
        async for _ in self.runner.run_async(**where, new_message=types.UserContent(text)):
            pass


def variants(core: AsyncMemoryScope) -> dict[str, Callable[[int], Talk]]:
    return {
        "none": lambda number: Talk(number),
        "memscope": lambda number: Talk(number, MemoryScopePlugin(memory=core, agent=None)),
    }
