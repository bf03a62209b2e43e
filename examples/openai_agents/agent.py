"""An agent that remembers its users from one run to the next.

    python examples/openai_agents/agent.py "My boat is called Aurora."
    python examples/openai_agents/agent.py "What is my boat called?"
    python examples/openai_agents/agent.py --user bert "What is my boat called?"

The runs share only the store's file (``--store``; by default in the platform's data folder).
"""

from __future__ import annotations

import asyncio
import uuid

from agents import Agent, OpenAIChatCompletionsModel, Runner
from model import BOAT, chat_model, command_line

from memscope.adapters.openai_agents import MemoryScopeSession


async def main(texts: list[str], *, user: str, store: str | None, model: OpenAIChatCompletionsModel) -> None:
    session = MemoryScopeSession(uuid.uuid4().hex, user=user, memory=store)
    agent = Agent("assistant", instructions="You are a helpful assistant.", model=model, tools=session.tools())
    for text in texts:
        result = await Runner.run(agent, text, session=session, run_config=session.run_config())
        print(f"{user}: {text}\nassistant: {result.final_output}")
    await session.close()


if __name__ == "__main__":
    chosen = command_line(__doc__).parse_args()
    with chat_model(BOAT) as model:
        asyncio.run(main(chosen.input, user=chosen.user, store=chosen.store, model=model))
