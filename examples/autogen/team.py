"""A team of agents that shares its memory of the user.

    python examples/autogen/team.py "Plan my Sunday. I never eat meat."
    python examples/autogen/team.py "Plan my birthday dinner."

Planner and critic have one memory object, so that each message is stored once, although both receive it. In the second
run, the planner knows what was said in the first.
"""

from __future__ import annotations

import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import MaxMessageTermination
from autogen_agentchat.messages import TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core.models import ChatCompletionClient
from model import chat_model, command_line

from memscope.adapters.autogen import MemoryScopeMemory

# Replies of the scripted models: the planner knows about the meat only if memory has shown it.
SCRIPT = [
    {"match": "You criticise", "in": "system", "reply": "Good. Book a table in time."},
    {"match": "never eat meat.*birthday dinner", "in": "all", "reply": "A vegetarian menu at the old mill."},
    {"match": "birthday dinner", "reply": "A steak house, at eight."},
    {"match": "", "reply": "A walk, then soup by the river."},
]


async def main(task: str, *, user: str, store: str | None, model: ChatCompletionClient) -> None:
    memory = MemoryScopeMemory(user=user, memory=store)
    planner = AssistantAgent("planner", model, memory=memory, system_message="You plan. One sentence.")
    critic = AssistantAgent("critic", model, memory=memory, system_message="You criticise the plan. One sentence.")
    team = RoundRobinGroupChat([planner, critic], termination_condition=MaxMessageTermination(3))
    async for message in team.run_stream(task=task):
        if isinstance(message, TextMessage):
            print(f"{message.source}: {message.content}")
    await memory.close()


if __name__ == "__main__":
    chosen = command_line(__doc__, nargs=None, help="the task").parse_args()
    with chat_model(SCRIPT) as model:
        asyncio.run(main(chosen.input, user=chosen.user, store=chosen.store, model=model))
