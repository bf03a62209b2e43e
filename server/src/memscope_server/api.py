"""The HTTP API: memscope's operations under ``/api/v1/users/{user}``, with the same limits and errors as in Python."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from memscope import AsyncMemoryScope, __version__
from memscope.errors import MemscopeError
from memscope.reconciliation.audit import AuditFinding, AuditReport
from memscope.records import AddReport, ForgetReport, Kind, WorkReport
from memscope.text.surrogates import joined
from memscope_server import access, schemas
from memscope_server.access import Anyone, Operator, decide, proposals_for
from memscope_server.listing import Listings
from memscope_server.problems import BUG_DETAIL, BUG_HINT, described, log_unexpected
from memscope_server.schemas import record_of, retrieval_of

MAX_RECORDS_PER_CALL = 1000
Limit = Annotated[int, Query(ge=1, le=MAX_RECORDS_PER_CALL)]

router = APIRouter(prefix="/api/v1")
health_router = APIRouter()


def memory_of(request: Request) -> AsyncMemoryScope:
    memory: AsyncMemoryScope = request.app.state.memory
    return memory


def listings_of(request: Request) -> Listings:
    listings: Listings = request.app.state.listings
    return listings


# ----------------------------------------------------------------------------------------------------------- the server


@health_router.get("/health", tags=["server"])
async def health() -> schemas.Health:
    """Report that the server is up. Needs no token and reveals nothing about the store."""
    return schemas.Health(status="ok", version=__version__)


@router.get("/me", tags=["server"])
async def me(caller: Anyone) -> schemas.Me:
    """Get the token's role, user and agent."""
    return schemas.Me(role=caller.token.role, user=caller.token.user, agent=caller.token.agent)


@router.get("/users", tags=["server"])
async def users(request: Request, caller: Operator) -> schemas.UsersOut:
    """List all users (operators only)."""
    return schemas.UsersOut(users=await memory_of(request).admin.users())


@router.get("/status", tags=["server"])
async def status(request: Request, caller: Operator, user: str | None = None) -> dict[str, Any]:
    """Get counts, pending and failed work, models and cost, for one user or all (operators only)."""
    return dict(await memory_of(request).admin.status(user=user))


# -------------------------------------------------------------------------------------------------------------- writing


@router.post("/users/{user:name}/turns", tags=["writing"])
async def add_turns(request: Request, caller: Anyone, user: str, body: schemas.TurnsIn) -> AddReport:
    """Store turns. They are durable and searchable once this responds."""
    turns = [turn.model_dump(exclude_none=True) for turn in body.turns]
    scope = caller.scope(user, body.agent)
    return await memory_of(request).add_turns(turns, **scope, session=body.session, replay=body.replay, zone=body.zone)


@router.post("/users/{user:name}/memories", tags=["writing"])
async def add_memory(request: Request, caller: Anyone, user: str, body: schemas.MemoryIn) -> schemas.RecordOut:
    """Store a statement as a memory, verbatim. A second one under the same name supersedes the first."""
    values = body.model_dump(exclude={"agent", "text"}, exclude_none=True)
    return record_of(await memory_of(request).add_memory(body.text, **caller.scope(user, body.agent), **values))


@router.patch("/users/{user:name}/memories/{id:name}", tags=["writing"])
async def update(request: Request, caller: Anyone, user: str, id: str, body: schemas.MemoryChange) -> schemas.RecordOut:
    """Correct a memory. Its id stays, and its history keeps the old version."""
    values = body.model_dump(exclude_none=True)
    return record_of(await memory_of(request).update(id, **caller.scope(user), **values))


@router.post("/users/{user:name}/forget", tags=["writing"])
async def forget(request: Request, caller: Anyone, user: str, body: schemas.ForgetIn) -> ForgetReport:
    """Permanently delete the selected records and all that is derived from them; respond with a receipt."""
    values = body.model_dump(exclude={"agent", "since", "until"}, exclude_none=True)
    period = (body.since, body.until)
    return await access.forget(memory_of(request), caller, caller.scope(user, body.agent), period=period, **values)


@router.post("/users/{user:name}/sweep", tags=["writing"])
async def sweep(request: Request, caller: Operator, user: str) -> ForgetReport:
    """Forget expired memories (operators only)."""
    return await memory_of(request).admin.sweep(user=user)


@router.post("/users/{user:name}/unpark", tags=["writing"])
async def unpark(request: Request, caller: Operator, user: str) -> schemas.CountOut:
    """Retry parked work, which had failed too often (operators only)."""
    return schemas.CountOut(count=await memory_of(request).admin.unpark(user=user))


@router.post("/users/{user:name}/consolidate", tags=["writing"])
async def consolidate(request: Request, caller: Operator, user: str) -> WorkReport:
    """Extract observations from pending turns now (operators only)."""
    return await memory_of(request).consolidate(user=user)


@router.post("/users/{user:name}/reflect", tags=["writing"])
async def reflect(request: Request, caller: Operator, user: str) -> WorkReport:
    """Consolidate, then update the insights (operators only)."""
    return await memory_of(request).reflect(user=user)


@router.post("/users/{user:name}/audit", tags=["writing"])
async def audit_pairs(request: Request, caller: Operator, user: str, asked: schemas.AuditIn) -> AuditReport:
    """Let the chat model judge pairs of similar facts and apply its verdicts, unless ``preview`` (operators only)."""
    return await memory_of(request).admin.audit(user=user, ask=asked.ask, preview=asked.preview)


# -------------------------------------------------------------------------------------------------------------- reading


@router.post("/users/{user:name}/retrieve", tags=["reading"])
async def retrieve(request: Request, caller: Anyone, user: str, body: schemas.RetrieveIn) -> schemas.RetrievalOut:
    """Get the best hits for a query; ``explain`` adds the features of each score."""
    values = body.model_dump(exclude={"agent", "query"})
    return retrieval_of(await memory_of(request).retrieve(body.query, **caller.scope(user, body.agent), **values))


@router.post("/users/{user:name}/context", tags=["reading"])
async def context(request: Request, caller: Anyone, user: str, body: schemas.ContextIn) -> schemas.TextOut:
    """Get the best hits as dated lines for a prompt."""
    values = body.model_dump(exclude={"agent", "query"})
    text = await memory_of(request).context(body.query, **caller.scope(user, body.agent), **values)
    return schemas.TextOut(text=text)


@router.get("/users/{user:name}/profile", tags=["reading"])
async def profile(
    request: Request, caller: Anyone, user: str, tokens: Annotated[int, Query(ge=1, le=10_000)] = 200
) -> schemas.TextOut:
    """Get the profile: what is known about the user at a glance."""
    scope = caller.scope(user)
    return schemas.TextOut(text=await memory_of(request).profile(**scope, tokens=tokens))


@router.get("/users/{user:name}/audit", tags=["reading"])
async def audit(request: Request, caller: Operator, user: str) -> list[AuditFinding]:
    """Find near duplicates, contradictions, memories without an existing source, and loops (operators only)."""
    return await memory_of(request).admin.audit(user=user)


@router.get("/users/{user:name}/records", tags=["reading"])
async def records(
    request: Request,
    caller: Anyone,
    user: str,
    kind: Annotated[list[Kind] | None, Query()] = None,
    text: str | None = None,
    name: str | None = None,
    namespace: str | None = None,
    agent: str | None = None,
    session: str | None = None,
    since: schemas.Moment | None = None,
    until: schemas.Until | None = None,
    superseded: bool = False,
    limit: Limit = 100,
    after: str | None = None,
) -> schemas.RecordsOut:
    """List turns and memories, newest first. ``after``: ``next`` of the page before; none is repeated or skipped."""
    page = await listings_of(request).page(
        memory_of(request), after, limit, **caller.scope(user, agent), session=session, kinds=kind, text=text,
        name=name, namespace=namespace, period=(since, until), superseded=superseded,
    )  # fmt: skip
    return schemas.RecordsOut(records=list(map(record_of, page.records)), next=page.next)


@router.get("/users/{user:name}/records/{id:name}", tags=["reading"])
async def record(request: Request, caller: Anyone, user: str, id: str) -> schemas.RecordOut:
    """Get the turn or memory with this id."""
    return record_of(await memory_of(request).get(id, **caller.scope(user)))


@router.get("/users/{user:name}/memories/{id:name}/history", tags=["reading"])
async def history(request: Request, caller: Anyone, user: str, id: str) -> list[schemas.RecordOut]:
    """List all versions of a memory and the memories before and after it by supersession, oldest first."""
    return list(map(record_of, await memory_of(request).history(id, **caller.scope(user))))


# ------------------------------------------------------------------------------------------------------------- approval


@router.get("/users/{user:name}/proposals", tags=["approval"])
async def proposals(request: Request, caller: Anyone, user: str) -> list[schemas.RecordOut]:
    """List the memories that await a person's approval."""
    return list(map(record_of, await proposals_for(memory_of(request), caller.scope(user))))


@router.post("/users/{user:name}/proposals/accept", tags=["approval"])
async def accept(request: Request, caller: Anyone, user: str, body: schemas.IdsIn) -> schemas.CountOut:
    """Accept proposals, which makes them visible as memories."""
    scope = caller.scope(user)
    return schemas.CountOut(count=await decide(memory_of(request), scope, body.ids, accept=True))


@router.post("/users/{user:name}/proposals/reject", tags=["approval"])
async def reject(request: Request, caller: Anyone, user: str, body: schemas.IdsIn) -> schemas.CountOut:
    """Reject proposals, which closes them."""
    scope = caller.scope(user)
    return schemas.CountOut(count=await decide(memory_of(request), scope, body.ids, accept=False))


# ----------------------------------------------------------------------------------------------------------------- chat


@router.post(
    "/users/{user:name}/chat",
    tags=["chat"],
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def chat(request: Request, caller: Anyone, user: str, body: schemas.ChatIn) -> StreamingResponse:
    """Stream the chat model's answer, based on memory, as events: ``piece``, then ``done`` or ``error``."""
    scope = caller.scope(user, body.agent)
    answer = memory_of(request).chat(body.text, **scope, session=body.session, persona=body.persona)

    def done() -> dict[str, Any]:
        return {"notes": list(answer.notes), "memories": [hit.id for hit in answer.memories]}

    events = stream_events(answer, done, operator=caller.operator)
    return StreamingResponse(events, media_type="text/event-stream")


async def stream_events(answer: Any, done: Callable[[], dict[str, Any]], *, operator: bool) -> AsyncIterator[bytes]:
    """Yield the pieces of an answer as events, then ``done`` with the result of ``done()``, or ``error``."""
    async with aclosing(answer):
        try:
            async for piece in answer:
                yield _event("piece", {"text": piece})
            yield _event("done", done())
        except MemscopeError as error:
            yield _event("error", described(error, operator=operator))
        except Exception as error:
            log_unexpected(error, "a chat")
            detail = BUG_DETAIL.format(type(error).__name__)
            yield _event("error", {"code": "internal", "detail": detail, "hint": BUG_HINT})


def _event(name: str, value: Any) -> bytes:
    return f"event: {name}\ndata: {joined(json.dumps(value, ensure_ascii=False))}\n\n".encode()


# -------------------------------------------------------------------------------------------------------------- metrics


@health_router.get("/metrics", tags=["server"], response_class=StreamingResponse, include_in_schema=False)
async def metrics(request: Request, caller: Operator) -> Any:
    """Export metrics in the Prometheus format, without user names (operators only)."""
    from memscope_server.metrics import exposition

    return await exposition(memory_of(request))
