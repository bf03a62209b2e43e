"""A classic chain that had ``ConversationBufferMemory``, with one line changed.

    python examples/langchain/chain.py "My boat is called Aurora."
    python examples/langchain/chain.py "What is my boat called?"

A buffer is empty when the program starts again; this memory is not.
"""

from __future__ import annotations

import argparse
import warnings

from langchain_classic.chains import ConversationChain
from langchain_openai import ChatOpenAI
from model import chat_model

from memscope.adapters.langchain import MemoryScopeMemory

warnings.filterwarnings("ignore", message="The class `ConversationChain` was deprecated")

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


def main(said: list[str], *, user: str, store: str | None, model: ChatOpenAI) -> None:
    memory = MemoryScopeMemory(user=user, memory=store)  # was: memory = ConversationBufferMemory()
    chain = ConversationChain(llm=model, memory=memory)
    for text in said:
        print(f"{user}: {text}\nassistant: {chain.invoke({'input': text})['response']}")
    memory.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("said", nargs="+", help="what the user says, one message each")
    parser.add_argument("--user", default="alice")
    parser.add_argument("--store", help="a file, or a store's URL")
    chosen = parser.parse_args()
    with chat_model(SCRIPT) as model:
        main(chosen.said, user=chosen.user, store=chosen.store, model=model)
