"""One assistant that remembers from one run to the next.

    python examples/autogen/remembering_assistant.py "My boat is called Aurora."
    python examples/autogen/remembering_assistant.py "What is my boat called?"

The two runs share nothing but the file that memory keeps (``--store``; by default the platform's data folder).
"""

from __future__ import annotations

import argparse
import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_core.models import ChatCompletionClient
from model import model_client

from memscope.adapters.autogen import MemoryScopeMemory

# What the pretend model says: it knows the boat's name only if memory has shown it.
SCRIPT = [
    {
        "match": r"boat is called (\w+).*What is my boat called",
        "in": "all",
        "reply": r"It is called \1.",
        "expand": True,
    },
    {"match": "What is my boat called", "reply": "You have not told me."},
    {"match": "", "reply": "I will keep that in mind."},
]


async def main(said: list[str], *, user: str, store: str | None, model: ChatCompletionClient) -> None:
    memory = MemoryScopeMemory(user=user, memory=store)
    agent = AssistantAgent("assistant", model, memory=memory, system_message="You are a helpful assistant.")
    for text in said:
        result = await agent.run(task=text)
        print(f"{user}: {text}\nassistant: {result.messages[-1].content}")
    await memory.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("said", nargs="+", help="what the user says, one message each")
    parser.add_argument("--user", default="alice")
    parser.add_argument("--store", help="a file, or a store's URL")
    chosen = parser.parse_args()
    with model_client(SCRIPT) as model:
        asyncio.run(main(chosen.said, user=chosen.user, store=chosen.store, model=model))
