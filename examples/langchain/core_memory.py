"""Two assistants that share the core memory of one user.

    python examples/langchain/core_memory.py "host: I am Alice, and I sail." "cook: What do you know about me?"
    python examples/langchain/core_memory.py "host: What do you know about me?"

The host writes the block ``human`` with a tool. From then on the block is in the context of both assistants, in later
runs too.
"""

from __future__ import annotations

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from model import CORE_MEMORY, chat_model, command_line

from memscope.adapters.langchain import MemoryScopeMiddleware


def main(texts: list[str], *, user: str, store: str | None, model: ChatOpenAI) -> None:
    memories = {name: MemoryScopeMiddleware(agent=name, memory=store, tools="core") for name in ("host", "cook")}
    agents = {name: create_agent(model, middleware=[memory]) for name, memory in memories.items()}
    for name, text in (line.split(": ", 1) for line in texts):
        message = {"role": "user", "content": text}
        result = agents[name].invoke({"messages": [message]}, {"configurable": {"user_id": user}})
        print(f"{user}: {text}\n{name}: {result['messages'][-1].text}")
    for memory in memories.values():
        memory.close()


if __name__ == "__main__":
    chosen = command_line(__doc__, help="what the user says to the host or the cook").parse_args()
    with chat_model(CORE_MEMORY) as model:
        main(chosen.input, user=chosen.user, store=chosen.store, model=model)
