"""Two assistants that share the core memory of one user.

    python examples/agentscope/core_memory.py "host: I am Alice, and I sail." "cook: What do you know about me?"
    python examples/agentscope/core_memory.py "host: What do you know about me?"

The host writes the block ``human`` with a tool. From then on the block is in the context of both assistants, in later
runs too.
"""

from __future__ import annotations

import asyncio

from agentscope.agent import Agent
from agentscope.message import UserMsg
from agentscope.model import ChatModelBase
from agentscope.permission import PermissionBehavior, PermissionContext, PermissionRule
from agentscope.state import AgentState
from agentscope.tool import Toolkit
from model import CORE_MEMORY, chat_model, command_line

from memscope.adapters.agentscope import MemoryScopeMiddleware


async def main(texts: list[str], *, user: str, store: str | None, model: ChatModelBase) -> None:
    memories = {
        name: MemoryScopeMiddleware(user=user, agent=name, memory=store, tools="core") for name in ("host", "cook")
    }
    agents = {
        name: Agent(name, "You are helpful.", model, Toolkit(tools=await memory.list_tools()), [memory], state=state())
        for name, memory in memories.items()
    }
    for name, text in (line.split(": ", 1) for line in texts):
        reply = await agents[name].reply(UserMsg(user, text))
        print(f"{user}: {text}\n{name}: {reply.get_text_content()}")
    for memory in memories.values():
        await memory.close()


def state() -> AgentState:
    """Allow the tool; without this rule the user would be asked before each edit."""
    rule = PermissionRule(
        tool_name="memory_append", rule_content=None, behavior=PermissionBehavior.ALLOW, source="userSettings"
    )
    return AgentState(permission_context=PermissionContext(allow_rules={"memory_append": [rule]}))


if __name__ == "__main__":
    chosen = command_line(__doc__, help="what the user says to the host or the cook").parse_args()
    with chat_model(CORE_MEMORY) as model:
        asyncio.run(main(chosen.input, user=chosen.user, store=chosen.store, model=model))
