"""An agent that remembers its users from one run to the next.

    python examples/google_adk/agent.py "My boat is called Aurora."
    python examples/google_adk/agent.py "What is my boat called?"
    python examples/google_adk/agent.py --user bert "What is my boat called?"

The runs share only the store's file (``--store``; by default in the platform's data folder).
"""

from __future__ import annotations

import asyncio

from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.models import BaseLlm
from google.adk.runners import InMemoryRunner
from google.genai import types
from model import BOAT, chat_model, command_line

from memscope.adapters.google_adk import MemoryScopePlugin


async def main(texts: list[str], *, user: str, store: str | None, model: BaseLlm) -> None:
    agent = LlmAgent(name="helper", model=model, instruction="You are a helpful assistant.")
    runner = InMemoryRunner(app=App(name="sailing", root_agent=agent, plugins=[MemoryScopePlugin(memory=store)]))
    session = await runner.session_service.create_session(app_name="sailing", user_id=user)
    for text in texts:
        message = types.UserContent(text)
        async for event in runner.run_async(user_id=user, session_id=session.id, new_message=message):
            if event.is_final_response():
                print(f"{user}: {text}\nassistant: {event.content.parts[0].text}")
    await runner.close()


if __name__ == "__main__":
    chosen = command_line(__doc__).parse_args()
    with chat_model(BOAT) as model:
        asyncio.run(main(chosen.input, user=chosen.user, store=chosen.store, model=model))
