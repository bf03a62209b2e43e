"""The ASGI application: guard, API, inspector."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from memscope import AsyncMemoryScope, __version__
from memscope.errors import MemscopeError
from memscope_server import api, pages, problems
from memscope_server.access import Sessions
from memscope_server.guard import Guard
from memscope_server.tokens import TokenFile

STATIC = Path(__file__).parent / "static"


def create_app(
    memory: AsyncMemoryScope, *, tokens: TokenFile | None = None, hosts: Collection[str] = ("127.0.0.1", "localhost")
) -> FastAPI:
    """Return the application over a memory, which it opens and leaves open: close it yourself.

    ``hosts`` are the names it answers to, as a browser sends them: with the port, where it is not 80 or 443.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with memory.runtime.operation("serve"):
            pass
        yield

    app = FastAPI(
        title="memscope", version=__version__, lifespan=lifespan, openapi_url="/api/v1/openapi.json",
        docs_url=None, redoc_url=None, description="Long-term memory for LLM agents.",
    )  # fmt: skip
    app.state.memory = memory
    app.state.sessions = Sessions(tokens or TokenFile())
    app.add_exception_handler(MemscopeError, _failed)
    app.add_exception_handler(RequestValidationError, problems.invalid)
    app.add_exception_handler(HTTPException, problems.http_error)
    app.add_exception_handler(Exception, problems.unexpected)
    app.include_router(api.health_router)
    app.include_router(api.router)
    app.include_router(pages.router, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.add_middleware(Guard, hosts=hosts)
    return app


async def _failed(request: Request, error: Exception) -> Response:
    """Answer a program with a problem, a browser with a page."""
    assert isinstance(error, MemscopeError)
    if "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/api/"):
        return pages.failed(request, error, problems.status_of(error))
    return await problems.memscope_error(request, error)
