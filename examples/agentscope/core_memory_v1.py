"""Two assistants that share the core memory of one user (AgentScope 1.x).

    python examples/agentscope/core_memory_v1.py "host: I am Alice, and I sail." "cook: What do you know about me?"
    python examples/agentscope/core_memory_v1.py "host: What do you know about me?"

The host writes the block ``human`` with a tool. From then on the block is in the context of both assistants, in later
runs too.
"""

from __future__ import annotations

import asyncio

from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import Msg
from agentscope.model import ChatModelBase
from agentscope.tool import Toolkit
from model import CORE_MEMORY, chat_model_v1, command_line

from memscope.adapters.agentscope import MemoryScopeLongTermMemory


async def main(texts: list[str], *, user: str, store: str | None, model: ChatModelBase) -> None:
    memories = {name: MemoryScopeLongTermMemory(user=user, agent=name, memory=store) for name in ("host", "cook")}
    agents = {name: assistant(name, memory, model) for name, memory in memories.items()}
    for name, text in (line.split(": ", 1) for line in texts):
        reply = await agents[name](Msg(user, text, "user"))
        print(f"{user}: {text}\n{name}: {reply.get_text_content()}")
    for memory in memories.values():
        await memory.close()


def assistant(name: str, memory: MemoryScopeLongTermMemory, model: ChatModelBase) -> ReActAgent:
    toolkit = Toolkit()
    for tool in memory.tools("core"):
        toolkit.register_tool_function(tool)
    agent = ReActAgent(
        name, "You are helpful.", model, OpenAIChatFormatter(), toolkit=toolkit, long_term_memory=memory,
        long_term_memory_mode="static_control",
    )  # fmt: skip
    agent.set_console_output_enabled(False)
    return agent


if __name__ == "__main__":
    chosen = command_line(__doc__, help="what the user says to the host or the cook").parse_args()
    with chat_model_v1(CORE_MEMORY) as model:
        asyncio.run(main(chosen.input, user=chosen.user, store=chosen.store, model=model))
