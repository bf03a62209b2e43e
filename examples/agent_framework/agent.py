"""An agent that remembers its users from one run to the next.

    python examples/agent_framework/agent.py "My boat is called Aurora."
    python examples/agent_framework/agent.py "What is my boat called?"
    python examples/agent_framework/agent.py --user bert "What is my boat called?"

The runs share only the store's file (``--store``; by default in the platform's data folder).
"""

from __future__ import annotations

import asyncio

from agent_framework import Agent
from agent_framework.openai import OpenAIChatCompletionClient
from model import BOAT, chat_client, command_line

from memscope.adapters.agent_framework import MemoryScopeContextProvider


async def main(texts: list[str], *, user: str, store: str | None, client: OpenAIChatCompletionClient) -> None:
    async with MemoryScopeContextProvider(user=user, memory=store) as memory:
        agent = Agent(client, "You are a helpful assistant.", context_providers=[memory])
        session = agent.create_session()
        for text in texts:
            reply = await agent.run(text, session=session)
            print(f"{user}: {text}\nassistant: {reply.text}")


if __name__ == "__main__":
    chosen = command_line(__doc__).parse_args()
    with chat_client(BOAT) as client:
        asyncio.run(main(chosen.input, user=chosen.user, store=chosen.store, client=client))
