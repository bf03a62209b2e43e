"""The chat page: answers are streamed, with the memories they are based on, which can be corrected or forgotten."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse

from memscope_server.api import memory_of, stream_events
from memscope_server.pages.rendering import Here, show

MAX_EARLIER_TURNS = 50
router = APIRouter()


@router.get("/u/{user:name}/chat")
async def chat(request: Request, here: Here, session: str = "") -> Response:
    """Show the last turns of a session, by default a new one, and the form for the next message."""
    memory = memory_of(request)
    model = memory.admin.runtime.services.chat
    turns = await memory.list(**here.scope, session=session, kinds=["turn"], limit=MAX_EARLIER_TURNS) if session else []
    name = session or f"chat {memory.admin.runtime.services.now():%Y-%m-%d %H:%M:%S}"
    return show(request, "chat.html", here, model=model.name if model else "", session=name, turns=turns)


@router.post("/u/{user:name}/chat")
async def answer(request: Request, here: Here) -> StreamingResponse:
    """Stream the answer as events: ``piece``, then ``done`` with an HTML fragment, or ``error``."""
    form = request.state.form
    reply = memory_of(request).chat(form.get("text", ""), **here.scope, session=form.get("session") or None)

    def shown() -> dict[str, Any]:
        part = show(request, "shown.html", here, hits=reply.memories, notes=reply.notes)
        return {"html": bytes(part.body).decode()}

    return StreamingResponse(stream_events(reply, shown, operator=here.caller.operator), media_type="text/event-stream")
