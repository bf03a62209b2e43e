"""An agent that remembers its users from one run to the next.

    python examples/pydantic_ai/agent.py "My boat is called Aurora."
    python examples/pydantic_ai/agent.py "What is my boat called?"
    python examples/pydantic_ai/agent.py --user bert "What is my boat called?"

The runs share only the store's file (``--store``; by default in the platform's data folder).
"""

from __future__ import annotations

import asyncio

from model import BOAT, chat_model, command_line
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel

from memscope.adapters.pydantic_ai import MemoryScopeCapability


async def main(texts: list[str], *, user: str, store: str | None, model: OpenAIChatModel) -> None:
    async with MemoryScopeCapability(user=user, memory=store) as memory:
        agent = Agent(model, instructions="You are a helpful assistant.", capabilities=[memory])
        history = None
        for text in texts:
            result = await agent.run(text, message_history=history)
            history = result.all_messages()
            print(f"{user}: {text}\nassistant: {result.output}")


if __name__ == "__main__":
    chosen = command_line(__doc__).parse_args()
    with chat_model(BOAT) as model:
        asyncio.run(main(chosen.input, user=chosen.user, store=chosen.store, model=model))
