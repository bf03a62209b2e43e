"""The inspector: server-rendered pages with little script. Templates escape all stored text.

rendering.py   template rendering, values shared by all templates, URLs and their scope
signing_in.py  token, cookie, language
operators.py   users, jobs
memories.py    overview, lists, one record, queries with explanations
entities.py    people and things, their graph, the timeline
blocks.py      core memory with its history
changes.py     remember, review, correct, forget
chat.py        streamed answers with the memories they are based on
"""

from fastapi import APIRouter

from memscope_server.pages import blocks, changes, chat, entities, memories, operators, signing_in
from memscope_server.pages.rendering import error_page

router = APIRouter()
for part in (signing_in, operators, changes, chat, blocks, entities, memories):
    router.include_router(part.router)

__all__ = ["error_page", "router"]
