"""The inspector: pages rendered here, with little script. Templates escape every text of a memory.

rendering.py   templates, what all of them are given, the scope of an address
signing_in.py  token, cookie, language
operators.py   users, jobs
memories.py    overview, lists, one record, a question
entities.py    people and things, their graph, the timeline
blocks.py      core memory with its history
changes.py     remember, review, correct, forget
chat.py        an answer as it comes, and what it was shown
"""

from fastapi import APIRouter

from memscope_server.pages import blocks, changes, chat, entities, memories, operators, signing_in
from memscope_server.pages.rendering import failed

router = APIRouter()
for part in (signing_in, operators, changes, chat, blocks, entities, memories):
    router.include_router(part.router)

__all__ = ["failed", "router"]
