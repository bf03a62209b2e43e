"""Pages for operators: users, jobs."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from memscope_server.access import Anyone, Operator
from memscope_server.api import memory_of
from memscope_server.pages.rendering import address, render

MAX_LISTED_USERS = 1000
router = APIRouter()


@router.get("/")
async def home(request: Request, caller: Anyone, q: str = "") -> Response:
    """Show the list of users to an operator; redirect a user to their own memory."""
    if not caller.operator:
        return RedirectResponse(address(str(caller.token.user)), 303)
    users = await memory_of(request).admin.users()
    matching = [user for user in users if q.casefold() in user.casefold()]
    return render(request, "users.html", caller, users=matching[:MAX_LISTED_USERS], number=len(matching), wanted=q)


@router.get("/jobs")
async def jobs(request: Request, caller: Operator, user: str = "") -> Response:
    """Show pending, failed and parked work, errors, models and cost, for one user or all."""
    status = await memory_of(request).admin.status(user=user or None)
    return render(request, "jobs.html", caller, status=status, wanted=user)


@router.post("/jobs/unpark")
async def unpark(request: Request, caller: Operator) -> Response:
    await memory_of(request).admin.unpark(user=request.state.form.get("user") or None)
    return RedirectResponse("/jobs", 303)
