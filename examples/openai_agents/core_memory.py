"""Two assistants that share the core memory of one user.

    python examples/openai_agents/core_memory.py "host: I am Alice, and I sail." "cook: What do you know about me?"
    python examples/openai_agents/core_memory.py "host: What do you know about me?"

The host writes the block ``human`` with a tool. From then on the block is in the context of both assistants, in later
runs too.
"""

from __future__ import annotations

import asyncio
import uuid

from agents import Agent, OpenAIChatCompletionsModel, Runner
from model import CORE_MEMORY, chat_model, command_line

from memscope.adapters.openai_agents import MemoryScopeSession


async def main(texts: list[str], *, user: str, store: str | None, model: OpenAIChatCompletionsModel) -> None:
    sessions = {
        name: MemoryScopeSession(uuid.uuid4().hex, user=user, agent=name, memory=store) for name in ("host", "cook")
    }
    agents = {name: Agent(name, model=model, tools=session.tools("core")) for name, session in sessions.items()}
    for name, text in (line.split(": ", 1) for line in texts):
        session = sessions[name]
        result = await Runner.run(agents[name], text, session=session, run_config=session.run_config())
        print(f"{user}: {text}\n{name}: {result.final_output}")
    for session in sessions.values():
        await session.close()


if __name__ == "__main__":
    chosen = command_line(__doc__, help="what the user says to the host or the cook").parse_args()
    with chat_model(CORE_MEMORY) as model:
        asyncio.run(main(chosen.input, user=chosen.user, store=chosen.store, model=model))
