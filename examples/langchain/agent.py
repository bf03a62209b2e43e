"""An agent that remembers its users from one run to the next.

    python examples/langchain/agent.py "My boat is called Aurora."
    python examples/langchain/agent.py "What is my boat called?"
    python examples/langchain/agent.py --user bert "What is my boat called?"

One agent serves all users: the config of each run names the user. The runs share only the store's file (``--store``; by
default in the platform's data folder).
"""

from __future__ import annotations

import uuid

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from model import BOAT, chat_model, command_line

from memscope.adapters.langchain import MemoryScopeMiddleware


def main(texts: list[str], *, user: str, store: str | None, model: ChatOpenAI) -> None:
    memory = MemoryScopeMiddleware(memory=store)
    agent = create_agent(model, system_prompt="You are a helpful assistant.", middleware=[memory])
    config = {"configurable": {"user_id": user, "thread_id": uuid.uuid4().hex}}
    for text in texts:
        result = agent.invoke({"messages": [{"role": "user", "content": text}]}, config)
        print(f"{user}: {text}\nassistant: {result['messages'][-1].text}")
    memory.close()


if __name__ == "__main__":
    chosen = command_line(__doc__).parse_args()
    with chat_model(BOAT) as model:
        main(chosen.input, user=chosen.user, store=chosen.store, model=model)
