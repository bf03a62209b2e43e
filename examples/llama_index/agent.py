"""An agent that remembers its users from one run to the next.

    python examples/llama_index/agent.py "My boat is called Aurora."
    python examples/llama_index/agent.py "What is my boat called?"
    python examples/llama_index/agent.py --user bert "What is my boat called?"

The runs share only the store's file (``--store``; by default in the platform's data folder).
"""

from __future__ import annotations

import asyncio
from uuid import uuid4

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import LLM
from model import BOAT, chat_model, command_line

from memscope.adapters.llama_index import MemoryScopeBlock


async def main(texts: list[str], *, user: str, store: str | None, model: LLM) -> None:
    block, session = MemoryScopeBlock(user=user, memory=store), uuid4().hex
    memory = block.memory_for(session)
    agent = FunctionAgent(
        llm=model, system_prompt="You are a helpful assistant.", tools=block.tools(session_id=session)
    )
    for text in texts:
        print(f"{user}: {text}\nassistant: {await agent.run(text, memory=memory)}")
    await block.close()


if __name__ == "__main__":
    chosen = command_line(__doc__).parse_args()
    with chat_model(BOAT) as model:
        asyncio.run(main(chosen.input, user=chosen.user, store=chosen.store, model=model))
