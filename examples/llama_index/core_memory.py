"""Two assistants that share the core memory of one user.

    python examples/llama_index/core_memory.py "host: I am Alice, and I sail." "cook: What do you know about me?"
    python examples/llama_index/core_memory.py "host: What do you know about me?"

The host writes the block ``human`` with a tool. From then on the block is in the context of both assistants, in later
runs too.
"""

from __future__ import annotations

import asyncio
from uuid import uuid4

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import LLM
from model import CORE_MEMORY, chat_model, command_line

from memscope.adapters.llama_index import MemoryScopeBlock


async def main(texts: list[str], *, user: str, store: str | None, model: LLM) -> None:
    blocks = {name: MemoryScopeBlock(user=user, agent=name, memory=store) for name in ("host", "cook")}
    agents = {name: FunctionAgent(llm=model, name=name, tools=block.tools("core")) for name, block in blocks.items()}
    memories = {name: block.memory_for(uuid4().hex) for name, block in blocks.items()}
    for name, text in (line.split(": ", 1) for line in texts):
        print(f"{user}: {text}\n{name}: {await agents[name].run(text, memory=memories[name])}")
    for block in blocks.values():
        await block.close()


if __name__ == "__main__":
    chosen = command_line(__doc__, help="what the user says to the host or the cook").parse_args()
    with chat_model(CORE_MEMORY) as model:
        asyncio.run(main(chosen.input, user=chosen.user, store=chosen.store, model=model))
