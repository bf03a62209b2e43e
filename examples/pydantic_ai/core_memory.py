"""Two assistants that share the core memory of one user.

    python examples/pydantic_ai/core_memory.py "host: I am Alice, and I sail." "cook: What do you know about me?"
    python examples/pydantic_ai/core_memory.py "host: What do you know about me?"

The host writes the block ``human`` with a tool. From then on the block is in the context of both assistants, in later
runs too.
"""

from __future__ import annotations

import asyncio

from model import CORE_MEMORY, chat_model, command_line
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel

from memscope.adapters.pydantic_ai import MemoryScopeCapability


async def main(texts: list[str], *, user: str, store: str | None, model: OpenAIChatModel) -> None:
    memories = {
        name: MemoryScopeCapability(user=user, agent=name, memory=store, tools="core") for name in ("host", "cook")
    }
    agents = {name: Agent(model, name=name, capabilities=[memory]) for name, memory in memories.items()}
    for name, text in (line.split(": ", 1) for line in texts):
        result = await agents[name].run(text)
        print(f"{user}: {text}\n{name}: {result.output}")
    for memory in memories.values():
        await memory.close()


if __name__ == "__main__":
    chosen = command_line(__doc__, help="what the user says to the host or the cook").parse_args()
    with chat_model(CORE_MEMORY) as model:
        asyncio.run(main(chosen.input, user=chosen.user, store=chosen.store, model=model))
