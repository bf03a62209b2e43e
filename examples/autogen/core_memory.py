"""Two assistants that share the core memory of one user.

    python examples/autogen/core_memory.py "host: I am Alice, and I sail." "cook: What do you know about me?"
    python examples/autogen/core_memory.py "host: What do you know about me?"

The host writes the block ``human`` with a tool. From then on the block is in the context of both assistants, in later
runs too.
"""

from __future__ import annotations

import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_core.models import ChatCompletionClient
from model import CORE_MEMORY, chat_model, command_line

from memscope.adapters.autogen import MemoryScopeMemory


async def main(texts: list[str], *, user: str, store: str | None, model: ChatCompletionClient) -> None:
    memories = {name: MemoryScopeMemory(user=user, agent=name, memory=store) for name in ("host", "cook")}
    agents = {
        name: AssistantAgent(name, model, memory=memory, tools=memory.tools("core"))
        for name, memory in memories.items()
    }
    for name, text in (line.split(": ", 1) for line in texts):
        result = await agents[name].run(task=text)
        print(f"{user}: {text}\n{name}: {result.messages[-1].content}")
    for memory in memories.values():
        await memory.close()


if __name__ == "__main__":
    chosen = command_line(__doc__, help="what the user says to the host or the cook").parse_args()
    with chat_model(CORE_MEMORY) as model:
        asyncio.run(main(chosen.input, user=chosen.user, store=chosen.store, model=model))
