"""An assistant that keeps a block of core memory, and a second one of the same user that has it before its eyes.

    python examples/autogen/core_memory.py --agent host "I am Alice, and I sail."
    python examples/autogen/core_memory.py --agent cook "What do you know about me?"

The first writes the block ``human`` with a tool; the second, in another run, is shown it.
"""

from __future__ import annotations

import argparse
import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_core.models import ChatCompletionClient
from model import model_client

from memscope.adapters.autogen import MemoryScopeMemory

# What the pretend model says: it writes the block when told of it, and answers from the block alone.
EDIT = {"name": "memory_append", "arguments": {"label": "human", "text": "Alice sails.", "reason": "she said so"}}
SCRIPT = [
    {
        "match": r"<block label=\"human\".*Alice sails.*What do you know",
        "in": "all",
        "reply": "You are Alice. You sail.",
    },
    {"match": "What do you know", "reply": "Nothing yet."},
    {"match": "I am Alice, and I sail", "tool_calls": [EDIT]},
    {"match": "", "reply": "I will keep that in mind."},
]


async def main(said: str, *, agent: str, user: str, store: str | None, model: ChatCompletionClient) -> None:
    memory = MemoryScopeMemory(user=user, agent=agent, memory=store)
    assistant = AssistantAgent(agent, model, memory=memory, tools=memory.tools("core"))
    result = await assistant.run(task=said)
    print(f"{user}: {said}\n{agent}: {result.messages[-1].content}")
    await memory.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("said", help="what the user says")
    parser.add_argument("--agent", default="host")
    parser.add_argument("--user", default="alice")
    parser.add_argument("--store", help="a file, or a store's URL")
    chosen = parser.parse_args()
    with model_client(SCRIPT) as model:
        asyncio.run(main(chosen.said, agent=chosen.agent, user=chosen.user, store=chosen.store, model=model))
