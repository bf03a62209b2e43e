"""Pages that change memories: remember, review, correct, forget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from memscope.errors import InputError
from memscope.reconciliation.approval import superseded_by
from memscope_server import access
from memscope_server.access import decide, proposals_for
from memscope_server.api import memory_of
from memscope_server.listing import fetch
from memscope_server.pages.rendering import MAX_LIST_ITEMS, Here, back, day_start, show, version_of

SELECTOR_FIELDS = ("id", "text", "since", "until", "session")
router = APIRouter()


@router.get("/u/{user:name}/review")
async def review(request: Request, here: Here) -> Response:
    """Show proposals, each with its quote and the memories that it would supersede."""
    memory = memory_of(request)
    waiting = await proposals_for(memory, here.scope)
    shown = waiting[:MAX_LIST_ITEMS]
    replaced = {one.id: await fetch(memory, here.user, superseded_by(one)) for one in shown}
    return show(request, "review.html", here, proposals=shown, number=len(waiting), replaced=replaced)


@router.post("/u/{user:name}/review/{id:name}/{verdict}")
async def judge(request: Request, here: Here, id: str, verdict: str) -> Response:
    if verdict not in ("accept", "reject"):
        raise InputError("a proposal is accepted or rejected")
    await decide(memory_of(request), here.scope, [id], accept=verdict == "accept")
    return back(here, "review")


@router.post("/u/{user:name}/remember")
async def remember(request: Request, here: Here) -> Response:
    """Store a statement as a memory, verbatim."""
    form: Mapping[str, str] = request.state.form
    memory = await memory_of(request).add_memory(form.get("text", "").replace("\r\n", "\n"), **here.scope)
    return back(here, "records", memory.id)


@router.post("/u/{user:name}/records/{id:name}/correct")
async def correct(request: Request, here: Here, id: str) -> Response:
    """Correct a memory, unless it has changed since the form was loaded."""
    form: Mapping[str, str] = request.state.form
    text = form.get("text", "").replace("\r\n", "\n")
    await memory_of(request).update(id, **here.scope, text=text, version=version_of(form))
    return back(here, "records", id)


@router.get("/u/{user:name}/forget")
async def forget_page(request: Request, here: Here) -> Response:
    """Show the form or, with a selection, a preview of the records that would be deleted."""
    asked = {name: request.query_params.get(name, "") for name in SELECTOR_FIELDS}
    selected = selection(request, asked)
    if not selected:
        return show(request, "forget.html", here)
    memory = memory_of(request)
    report = await access.forget(memory, here.caller, here.scope, **selected, dry_run=True)
    goes = await fetch(memory, here.user, report.ids[:MAX_LIST_ITEMS])
    return show(request, "forget_preview.html", here, asked=asked, report=report, goes=goes)


@router.post("/u/{user:name}/forget")
async def forget(request: Request, here: Here) -> Response:
    """Delete the selected records and show the receipt. To delete everything, the form must repeat the user's name."""
    form: Mapping[str, str] = request.state.form
    selected = {"everything": True} if form.get("everything") == here.user else selection(request, form)
    if not selected:
        raise InputError("nothing was selected", hint="give an id, words, days or a session")
    memory = memory_of(request)
    report = await access.forget(memory, here.caller, here.scope, **selected)
    return show(request, "receipt.html", here, report=report, now=memory.admin.runtime.services.now())


def selection(request: Request, asked: Mapping[str, str]) -> dict[str, Any]:
    """Translate form fields to keyword arguments of ``forget``; empty if nothing is selected."""
    values = {name: asked.get(name, "") for name in SELECTOR_FIELDS}
    days = day_start(request, values["since"]), day_start(request, values["until"], 1)
    chosen = {"ids": [values["id"]] if values["id"] else None, "text": values["text"], "session": values["session"],
              "period": days if any(days) else None}  # fmt: skip
    return {name: value for name, value in chosen.items() if value}
