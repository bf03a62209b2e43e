"""A custom graph that serves two users, with a store that keeps them apart.

    python examples/langchain/graph.py

Its one node searches the notes about the user, asks the model, and stores the user's message as a note. The notes are
added to the newest message: all messages before it stay unchanged, so that a provider's prompt cache applies. The store
is compiled into the graph once, and each run names the user whose notes it uses.
"""

from __future__ import annotations

import asyncio
import uuid

from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import MessagesState, StateGraph
from langgraph.runtime import Runtime
from model import chat_model, command_line

from memscope.adapters.langchain import MemoryScopeStore, user_of_run

NOTES = ("notes",)

# Replies of the scripted model: it knows what to cook only if the user's own notes say so.
SCRIPT = [
    {"match": "never eat meat.*What shall I cook", "in": "all", "reply": "A vegetarian curry."},
    {"match": "never eat fish.*What shall I cook", "in": "all", "reply": "A steak."},
    {"match": "What shall I cook", "reply": "What do you like?"},
    {"match": "", "reply": "I will keep that in mind."},
]


def build(model: ChatOpenAI, store: MemoryScopeStore):
    async def chat(state: MessagesState, runtime: Runtime):
        *earlier, newest = state["messages"]
        message = newest.text
        notes = await runtime.store.asearch(NOTES, query=message, limit=5)
        known = "Notes about the user:\n" + "\n".join(note.value["text"] for note in notes)
        reply = await model.ainvoke([*earlier, HumanMessage(f"{known}\n\n{message}")])
        await runtime.store.aput(NOTES, uuid.uuid4().hex, {"text": message})
        return {"messages": [reply]}

    graph = StateGraph(MessagesState)
    graph.add_node("chat", chat)
    graph.set_entry_point("chat")
    graph.set_finish_point("chat")
    return graph.compile(store=store)


async def main(*, store: str | None, model: ChatOpenAI) -> None:
    notes = MemoryScopeStore(user=user_of_run, memory=store)
    graph = build(model, notes)
    for user, text in [
        ("anna", "I never eat meat."),
        ("bert", "I never eat fish."),
        ("anna", "What shall I cook?"),
        ("bert", "What shall I cook?"),
    ]:
        config = {"configurable": {"user_id": user}}
        result = await graph.ainvoke({"messages": [HumanMessage(text)]}, config)
        print(f"{user}: {text}\nassistant: {result['messages'][-1].text}")
    await notes.aclose()


if __name__ == "__main__":
    chosen = command_line(__doc__, nargs="*", help="not used").parse_args()
    with chat_model(SCRIPT) as model:
        asyncio.run(main(store=chosen.store, model=model))
