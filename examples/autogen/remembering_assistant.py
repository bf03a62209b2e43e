"""An assistant that remembers from one run to the next.

    python examples/autogen/remembering_assistant.py "My boat is called Aurora."
    python examples/autogen/remembering_assistant.py "What is my boat called?"

The runs share only the store's file (``--store``; by default in the platform's data folder).
"""

from __future__ import annotations

import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_core.models import ChatCompletionClient
from model import BOAT, chat_model, command_line

from memscope.adapters.autogen import MemoryScopeMemory


async def main(texts: list[str], *, user: str, store: str | None, model: ChatCompletionClient) -> None:
    memory = MemoryScopeMemory(user=user, memory=store)
    agent = AssistantAgent("assistant", model, memory=memory, system_message="You are a helpful assistant.")
    for text in texts:
        result = await agent.run(task=text)
        print(f"{user}: {text}\nassistant: {result.messages[-1].content}")
    await memory.close()


if __name__ == "__main__":
    chosen = command_line(__doc__).parse_args()
    with chat_model(BOAT) as model:
        asyncio.run(main(chosen.input, user=chosen.user, store=chosen.store, model=model))
