"""An assistant that remembers from one run to the next, in each mode (AgentScope 2.x).

    python examples/agentscope/assistant.py "My boat is called Aurora."
    python examples/agentscope/assistant.py --mode static_control "What is my boat called?"
    python examples/agentscope/assistant.py --mode agent_control "What is my boat called?"

With "static_control" memories are put into its context, with "agent_control" it searches for them with a tool, with
"both" it does both. The runs share only the store's file (``--store``; by default in the platform's data folder).
"""

from __future__ import annotations

import asyncio
from typing import get_args

from agentscope.agent import Agent
from agentscope.message import UserMsg
from agentscope.model import ChatModelBase
from agentscope.tool import Toolkit
from model import chat_model, command_line

from memscope.adapters.agentscope import MemoryScopeMiddleware
from memscope_agentscope.middleware import Mode

QUESTION = "What is my boat called"
# Replies of the scripted model: it knows the boat's name only if memory has shown it. If it has a tool and was not
# shown the name, it searches first.
SCRIPT = [
    {"match": rf"{QUESTION}.*boat is called (\w+)", "in": "all", "reply": r"It is called \1.", "expand": True},
    {"match": rf"{QUESTION}.*Nothing is remembered", "in": "all", "reply": "You have not told me."},
    {
        "match": f"search_memory.*{QUESTION}",
        "in": "all",
        "tool_calls": [{"name": "search_memory", "arguments": {"query": "What is the user's boat called?"}}],
    },
    {"match": QUESTION, "in": "all", "reply": "You have not told me."},
    {"match": "", "reply": "I will keep that in mind."},
]


async def main(texts: list[str], *, user: str, mode: Mode, store: str | None, model: ChatModelBase) -> None:
    memory = MemoryScopeMiddleware(user=user, mode=mode, memory=store)
    toolkit = Toolkit(tools=await memory.list_tools())
    agent = Agent("assistant", "You are a helpful assistant.", model, toolkit, [memory])
    for text in texts:
        reply = await agent.reply(UserMsg(user, text))
        print(f"{user}: {text}\nassistant: {reply.get_text_content()}")
    await memory.close()


if __name__ == "__main__":
    parser = command_line(__doc__)
    parser.add_argument("--mode", default="both", choices=get_args(Mode))
    chosen = parser.parse_args()
    with chat_model(SCRIPT) as model:
        asyncio.run(main(chosen.input, user=chosen.user, mode=chosen.mode, store=chosen.store, model=model))
