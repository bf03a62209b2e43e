"""The ASGI application: guard, API, inspector."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import Depends, FastAPI, Request
from fastapi.responses import Response
from fastapi.security import HTTPBearer
from fastapi.staticfiles import StaticFiles

from memscope import AsyncMemoryScope, __version__
from memscope_server import api, api_blocks, api_entities, pages, problems
from memscope_server.access import Sessions, check_parameters
from memscope_server.guard import SECURITY_HEADERS, Guard
from memscope_server.limits import HttpLimits
from memscope_server.listing import Listings
from memscope_server.tokens import TokenFile

Handler = Callable[[Request, Exception], Awaitable[Response]]
STATIC = Path(__file__).parent / "static"


def create_app(
    memory: AsyncMemoryScope,
    *,
    tokens: TokenFile | None = None,
    hosts: Collection[str] = ("127.0.0.1", "localhost"),
    limits: HttpLimits | None = None,
) -> FastAPI:
    """Create the application for a memory. It opens the memory at startup; closing it is up to the caller.

    ``hosts`` are the accepted Host headers, with the port unless it is 80 or 443. Run the application with
    ``connections.options()``, which limits how long a connection may be idle.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with memory.admin.runtime.operation("serve"):
            pass
        yield

    app = FastAPI(
        title="memscope", version=__version__, lifespan=lifespan, openapi_url="/api/v1/openapi.json",
        docs_url=None, redoc_url=None, description="Long-term memory for LLM agents.",
    )  # fmt: skip
    app.state.memory = memory
    app.state.listings = Listings()
    sessions = app.state.sessions = Sessions(tokens or TokenFile())
    for kind, handler in problems.HANDLERS.items():
        app.add_exception_handler(kind, _with_error_page(handler))
    app.include_router(api.health_router)
    dependencies = [Depends(HTTPBearer(auto_error=False)), Depends(check_parameters)]
    for part in (api, api_blocks, api_entities):
        app.include_router(part.router, responses=problems.RESPONSES, dependencies=dependencies)
    app.include_router(pages.router, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.add_middleware(Guard, hosts=hosts, sessions=sessions, limits=limits or HttpLimits())
    return app


def _with_error_page(problem: Handler) -> Handler:
    """Wrap an error handler so that browsers get an HTML page instead of JSON."""

    async def answer(request: Request, error: Exception) -> Response:
        reply = await problem(request, error)
        if "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/api/"):
            problem_json = json.loads(bytes(reply.body))
            detail = "; ".join(filter(None, (problem_json["detail"], problem_json["hint"])))
            reply = pages.error_page(request, problem_json["status"], problem_json["code"], detail)
        reply.headers.update({**SECURITY_HEADERS, "cache-control": "no-store"})  # a 500 response bypasses the guard
        return reply

    return answer
