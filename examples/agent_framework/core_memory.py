"""Two assistants that share the core memory of one user.

    python examples/agent_framework/core_memory.py "host: I am Alice, and I sail." "cook: What do you know about me?"
    python examples/agent_framework/core_memory.py "host: What do you know about me?"

The host writes the block ``human`` with a tool. From then on the block is in the context of both assistants, in later
runs too.
"""

from __future__ import annotations

import asyncio

from agent_framework import Agent
from agent_framework.openai import OpenAIChatCompletionClient
from model import CORE_MEMORY, chat_client, command_line

from memscope.adapters.agent_framework import MemoryScopeContextProvider


async def main(texts: list[str], *, user: str, store: str | None, client: OpenAIChatCompletionClient) -> None:
    memories = {
        name: MemoryScopeContextProvider(user=user, agent=name, memory=store, tools="core") for name in ("host", "cook")
    }
    agents = {name: Agent(client, name=name, context_providers=[memory]) for name, memory in memories.items()}
    for name, text in (line.split(": ", 1) for line in texts):
        reply = await agents[name].run(text)
        print(f"{user}: {text}\n{name}: {reply.text}")
    for memory in memories.values():
        await memory.close()


if __name__ == "__main__":
    chosen = command_line(__doc__, help="what the user says to the host or the cook").parse_args()
    with chat_client(CORE_MEMORY) as client:
        asyncio.run(main(chosen.input, user=chosen.user, store=chosen.store, client=client))
