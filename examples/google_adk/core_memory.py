"""Two assistants that share the core memory of one user.

    python examples/google_adk/core_memory.py "host: I am Alice, and I sail." "cook: What do you know about me?"
    python examples/google_adk/core_memory.py "host: What do you know about me?"

The host writes the block ``human`` with a tool. From then on the block is in the context of both assistants, in later
runs too.
"""

from __future__ import annotations

import asyncio

from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.models import BaseLlm
from google.adk.runners import InMemoryRunner
from google.genai import types
from model import CORE_MEMORY, chat_model, command_line

from memscope.adapters.google_adk import MemoryScopePlugin


async def main(texts: list[str], *, user: str, store: str | None, model: BaseLlm) -> None:
    runners = {
        name: InMemoryRunner(
            app=App(
                name=name,
                root_agent=LlmAgent(name=name, model=model),
                plugins=[MemoryScopePlugin(memory=store, tools="core")],
            )
        )
        for name in ("host", "cook")
    }
    for name, text in (line.split(": ", 1) for line in texts):
        runner = runners[name]
        session = await runner.session_service.create_session(app_name=name, user_id=user)
        message = types.UserContent(text)
        async for event in runner.run_async(user_id=user, session_id=session.id, new_message=message):
            if event.is_final_response():
                print(f"{user}: {text}\n{name}: {event.content.parts[0].text}")
    for runner in runners.values():
        await runner.close()


if __name__ == "__main__":
    chosen = command_line(__doc__, help="what the user says to the host or the cook").parse_args()
    with chat_model(CORE_MEMORY) as model:
        asyncio.run(main(chosen.input, user=chosen.user, store=chosen.store, model=model))
