"""HTTP API for entities: list, details, corrections, timeline, stream of mentions, graph."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from memscope.entities.graph import EntityGraph
from memscope.entities.operations import MAX_GRAPH_DEPTH, MAX_GRAPH_NODES
from memscope.entities.results import By, Entity, EntityMention, Timeline
from memscope_server import schemas
from memscope_server.access import Anyone
from memscope_server.api import Limit, memory_of
from memscope_server.schemas import record_of

router = APIRouter(prefix="/api/v1/users/{user:name}", tags=["entities"])


class View:
    """The entities in the scope of a request, checked against the token, and the time to view them at."""

    def __init__(
        self, request: Request, caller: Anyone, user: str, agent: str | None = None, session: str | None = None,
        as_of: schemas.Moment | None = None,
    ) -> None:  # fmt: skip
        self.entities = memory_of(request).entities(**caller.scope(user, agent), session=session)
        self.as_of = as_of


Viewed = Annotated[View, Depends(View)]


@router.get("/entities")
async def entities(
    view: Viewed,
    top: Limit = 20,
    since: schemas.Moment | None = None,
    kind: schemas.EntityKind | None = None,
) -> list[Entity]:
    """List the entities that are named most often and most recently."""
    return await view.entities.list(top=top, since=since, kind=kind, as_of=view.as_of)


@router.get("/entities/{name:name}")
async def entity(view: Viewed, name: str, top: Limit = 20) -> schemas.EntityOut:
    """Get one entity by its name or an alias, with its facts, insights, turns and neighbours."""
    details = await view.entities.get(name, top=top, as_of=view.as_of)
    return schemas.EntityOut(
        entity=details.entity, neighbours=list(details.neighbours), facts=list(map(record_of, details.facts)),
        turns=list(map(record_of, details.turns)), insights=list(map(record_of, details.insights)),
    )  # fmt: skip


@router.post("/entities/{name:name}/merge")
async def merge(request: Request, caller: Anyone, user: str, name: str, body: schemas.OtherName) -> Entity:
    """Merge two names into one entity. Split undoes it."""
    return await memory_of(request).entities(**caller.scope(user, body.agent)).merge(name, body.other)


@router.post("/entities/{name:name}/split")
async def split(request: Request, caller: Anyone, user: str, name: str, body: schemas.OtherName) -> Entity:
    """Split an alias off into an entity of its own."""
    return await memory_of(request).entities(**caller.scope(user, body.agent)).split(name, body.other)


@router.post("/entities/{name:name}/dismiss", status_code=204)
async def dismiss(request: Request, caller: Anyone, user: str, name: str, agent: str | None = None) -> None:
    """Dismiss a name that is not an entity."""
    await memory_of(request).entities(**caller.scope(user, agent)).dismiss(name)


@router.get("/timeline")
async def timeline(view: Viewed, entity: str | None = None, by: By = "week", zone: str | None = None) -> Timeline:
    """Count turns per day, week or month, with bursts and themes, for one entity or all."""
    return await view.entities.timeline(entity, by=by, as_of=view.as_of, zone=zone)


@router.get("/stream")
async def stream(view: Viewed, limit: Limit = 100) -> list[EntityMention]:
    """List the newest mentions: which entity was named, when, and in which turn."""
    return await view.entities.stream(limit=limit, as_of=view.as_of)


@router.get("/graph")
async def graph(
    view: Viewed,
    name: Annotated[list[str] | None, Query()] = None,
    depth: Annotated[int, Query(ge=1, le=MAX_GRAPH_DEPTH)] = MAX_GRAPH_DEPTH,
    top: Annotated[int, Query(ge=1, le=MAX_GRAPH_NODES)] = 50,
) -> EntityGraph:
    """Get the graph of entities that are mentioned together, around the given names or the most frequent ones."""
    return await view.entities.graph(name or (), depth=depth, top=top, as_of=view.as_of)
