"""An agent of the OpenAI Agents SDK with the SDK's session, and with memscope's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, SQLiteSession, Usage
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from memscope import AsyncMemoryScope
from memscope_openai_agents import MemoryScopeSession
from memscope_openai_agents.items import text_of

QUIET = RunConfig(tracing_disabled=True)


class AtOnce(Model):
    """Replies instantly and records requests."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    async def get_response(self, system_instructions: str | None, input: Any, *_: Any, **__: Any) -> ModelResponse:
        self.shown.append("\n".join([system_instructions or "", *map(text_of, input)]))
        text = ResponseOutputText(annotations=[], text="Understood.", type="output_text")
        message = ResponseOutputMessage(id="1", content=[text], role="assistant", status="completed", type="message")
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


class Talk:
    def __init__(self, session: Any, config: RunConfig = QUIET) -> None:
        self.model = AtOnce()
        self.agent = Agent("assistant", instructions="You are helpful.", model=self.model)
        self.session, self.config = session, config

    async def say(self, text: str) -> None:
        await Runner.run(self.agent, text, session=self.session, run_config=self.config)

    @property
    def shown(self) -> list[str]:
        return self.model.shown


def variants(core: AsyncMemoryScope) -> dict[str, Callable[[int], Talk]]:
    def ours(number: int, history: Any = None) -> Talk:
        session = MemoryScopeSession(f"now {number}", user="alice", memory=core, history=history)
        return Talk(session, session.run_config(QUIET))

    return {
        "none": lambda number: Talk(SQLiteSession(f"now {number}")),
        "memscope": ours,
        "memscope_and_sqlite_session": lambda number: ours(number, SQLiteSession(f"now {number}")),
    }
