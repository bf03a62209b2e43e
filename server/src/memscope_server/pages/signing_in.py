"""Pages to sign in and out and to choose the language."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from memscope_server.access import SESSION_COOKIE, Anyone, Sessions
from memscope_server.pages.rendering import render
from memscope_server.translations import PAGE_LANGUAGES

router = APIRouter()


@router.get("/login")
async def login_page(request: Request, token: str | None = None) -> Response:
    """Show the sign-in form. A link with a token signs in directly and redirects to a URL without the token."""
    return render(request, "login.html", wrong=False) if token is None else _signed_in(request, token)


@router.post("/login")
async def login(request: Request) -> Response:
    return _signed_in(request, request.state.form.get("token", ""))


def _signed_in(request: Request, secret: str) -> Response:
    sessions: Sessions = request.app.state.sessions
    token = sessions.tokens.find(secret.strip())
    if token is None:
        return render(request, "login.html", code=401, wrong=True)
    reply = RedirectResponse("/", 303)
    secure = request.url.scheme == "https"
    reply.set_cookie(SESSION_COOKIE, sessions.open(token), httponly=True, samesite="strict", secure=secure)
    return reply


@router.post("/logout")
async def logout(request: Request, caller: Anyone) -> Response:
    request.app.state.sessions.close(request.cookies.get(SESSION_COOKIE, ""))
    reply = RedirectResponse("/login", 303)
    reply.delete_cookie(SESSION_COOKIE)
    return reply


@router.post("/language/{language}")
async def language(request: Request, caller: Anyone, language: str) -> Response:
    reply = RedirectResponse(request.headers.get("referer") or "/", 303)
    if language in PAGE_LANGUAGES:
        reply.set_cookie("lang", language, httponly=True, samesite="strict")
    return reply
