"""A classic chain that had ``ConversationBufferMemory``, with one line changed.

    python examples/langchain/chain.py "My boat is called Aurora."
    python examples/langchain/chain.py "What is my boat called?"

Unlike a buffer, this memory survives a restart of the program.
"""

from __future__ import annotations

import warnings

from langchain_classic.chains import ConversationChain
from langchain_openai import ChatOpenAI
from model import BOAT, chat_model, command_line

from memscope.adapters.langchain import MemoryScopeMemory

warnings.filterwarnings("ignore", message="The class `ConversationChain` was deprecated")


def main(texts: list[str], *, user: str, store: str | None, model: ChatOpenAI) -> None:
    memory = MemoryScopeMemory(user=user, memory=store)  # was: memory = ConversationBufferMemory()
    chain = ConversationChain(llm=model, memory=memory)
    for text in texts:
        print(f"{user}: {text}\nassistant: {chain.invoke({'input': text})['response']}")
    memory.close()


if __name__ == "__main__":
    chosen = command_line(__doc__).parse_args()
    with chat_model(BOAT) as model:
        main(chosen.input, user=chosen.user, store=chosen.store, model=model)
