"""The HTTP API of who and what is spoken of: entities, timeline, stream, graph."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from memscope.entities.graph import EntityGraph
from memscope.entities.operations import MOST_DEPTH, MOST_NODES
from memscope.entities.results import By, Entity, EntityMention, Timeline
from memscope_server import schemas
from memscope_server.access import Anyone
from memscope_server.api import Limit, memory_of
from memscope_server.schemas import record_of

router = APIRouter(prefix="/api/v1/users/{user:path}", tags=["entities"])


class View:
    """Keywords of every operation on entities, checked against the token."""

    def __init__(
        self, caller: Anyone, user: str, agent: str | None = None, session: str | None = None,
        as_of: datetime | None = None,
    ) -> None:  # fmt: skip
        self.asked = {**caller.scope(user, agent), "session": session, "as_of": as_of}


Viewed = Annotated[View, Depends(View)]


@router.get("/entities")
async def entities(
    request: Request,
    view: Viewed,
    top: Limit = 20,
    since: datetime | None = None,
    kind: schemas.EntityKind | None = None,
) -> list[Entity]:
    """Return who and what is named most and most lately."""
    return await memory_of(request).entities(**view.asked, top=top, since=since, kind=kind)


@router.get("/entities/{name:path}")
async def entity(request: Request, view: Viewed, name: str, top: Limit = 20) -> schemas.EntityOut:
    """Return everything about one, by its name or an alias."""
    found = await memory_of(request).entity(name=name, **view.asked, top=top)
    return schemas.EntityOut(
        entity=found.entity, neighbours=list(found.neighbours), facts=list(map(record_of, found.facts)),
        turns=list(map(record_of, found.turns)), insights=list(map(record_of, found.insights)),
    )  # fmt: skip


@router.post("/entities/{name:path}/merge")
async def merge(request: Request, caller: Anyone, user: str, name: str, given: schemas.OtherName) -> Entity:
    """Say that the other name is this one as well; undone by split."""
    return await memory_of(request).merge_entities(name=name, other=given.other, **caller.scope(user, given.agent))


@router.post("/entities/{name:path}/split")
async def split(request: Request, caller: Anyone, user: str, name: str, given: schemas.OtherName) -> Entity:
    """Say that the alias is somebody or something else."""
    return await memory_of(request).split_entities(name=name, other=given.other, **caller.scope(user, given.agent))


@router.get("/timeline")
async def timeline(
    request: Request, view: Viewed, entity: str | None = None, by: By = "week", zone: str | None = None
) -> Timeline:
    """Return turns per day, week or month, with bursts and themes; of one entity or of all."""
    return await memory_of(request).timeline(**view.asked, entity=entity, by=by, zone=zone)


@router.get("/stream")
async def stream(request: Request, view: Viewed, limit: Limit = 100) -> list[EntityMention]:
    """Return the newest mentions: which entity was named when and in which turn."""
    return await memory_of(request).stream(**view.asked, limit=limit)


@router.get("/graph")
async def graph(
    request: Request,
    view: Viewed,
    name: Annotated[list[str] | None, Query()] = None,
    depth: Annotated[int, Query(ge=1, le=MOST_DEPTH)] = MOST_DEPTH,
    top: Annotated[int, Query(ge=1, le=MOST_NODES)] = 50,
) -> EntityGraph:
    """Return entities and how they hang together, around these names or of those named most."""
    return await memory_of(request).graph(**view.asked, names=name or (), depth=depth, top=top)
