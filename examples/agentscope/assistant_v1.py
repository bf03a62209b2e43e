"""An assistant that remembers from one run to the next, in each mode (AgentScope 1.x).

    python examples/agentscope/assistant_v1.py "My boat is called Aurora."
    python examples/agentscope/assistant_v1.py "What is my boat called?"

With "static_control" the agent records and retrieves automatically, with "agent_control" the model decides with tools
what to record and search. The runs share only the store's file.
"""

from __future__ import annotations

import asyncio

from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import Msg
from agentscope.model import ChatModelBase
from model import chat_model_v1, command_line

from memscope.adapters.agentscope import MemoryScopeLongTermMemory

MODES = ("static_control", "agent_control", "both")
QUESTION = "What is my boat called"
FACT = "The user's boat is called Aurora."
# Replies of the scripted model: it knows the boat's name only if memory has shown it. If it has tools, it searches for
# the name, and records what the user tells it.
SCRIPT = [
    {"match": rf"{QUESTION}.*boat is called (\w+)", "in": "all", "reply": r"It is called \1.", "expand": True},
    {"match": rf"{QUESTION}.*Nothing is remembered", "in": "all", "reply": "You have not told me."},
    {
        "match": f"tools.*{QUESTION}",
        "in": "all",
        "tool_calls": [
            {"name": "retrieve_from_memory", "arguments": {"keywords": ["What is the user's boat called?"]}}
        ],
    },
    {"match": QUESTION, "reply": "You have not told me."},
    {"match": "Remembered, id", "in": "all", "reply": "I will keep that in mind."},
    {
        "match": "tools.*boat is called Aurora",
        "in": "all",
        "tool_calls": [{"name": "record_to_memory", "arguments": {"thinking": "A name.", "content": [FACT]}}],
    },
    {"match": "", "reply": "I will keep that in mind."},
]


async def main(texts: list[str], *, user: str, mode: str, store: str | None, model: ChatModelBase) -> None:
    memory = MemoryScopeLongTermMemory(user=user, memory=store)
    prompt = "You are a helpful assistant." + ("" if mode == "static_control" else " Use your tools.")
    agent = ReActAgent(
        "assistant", prompt, model, OpenAIChatFormatter(), long_term_memory=memory, long_term_memory_mode=mode
    )
    agent.set_console_output_enabled(False)
    for text in texts:
        reply = await agent(Msg(user, text, "user"))
        print(f"{user}: {text}\nassistant: {reply.get_text_content()}")
    await memory.close()


if __name__ == "__main__":
    parser = command_line(__doc__)
    parser.add_argument("--mode", default="static_control", choices=MODES)
    chosen = parser.parse_args()
    with chat_model_v1(SCRIPT) as model:
        asyncio.run(main(chosen.input, user=chosen.user, mode=chosen.mode, store=chosen.store, model=model))
