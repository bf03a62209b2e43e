"""Pages about people and things: the most frequent ones, details of each, their graph, the timeline."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response
from markupsafe import Markup

from memscope.entities.graph import EntityGraph
from memscope.entities.operations import ENTITY_KINDS
from memscope.entities.results import By
from memscope.errors import InputError
from memscope_server.api import memory_of
from memscope_server.pages.charts import columns
from memscope_server.pages.rendering import MAX_LIST_ITEMS, Here, UserPage, back, show

TIMELINE_STEPS: tuple[By, ...] = ("day", "week", "month")
MAX_DRAWN_NODES, MAX_THEMES = 18, 12
router = APIRouter()


@router.get("/u/{user:name}/entities")
async def entities(request: Request, here: Here, kind: str = "") -> Response:
    """Show the most frequent entities and their graph."""
    known = memory_of(request).entities(**here.scope)
    listed = await known.list(top=MAX_LIST_ITEMS, kind=kind if kind in ENTITY_KINDS else None)
    graph = await known.graph(top=MAX_DRAWN_NODES)
    return show(
        request, "entities.html", here, entities=listed, kind=kind, kinds=ENTITY_KINDS, graph=picture(graph, here)
    )


@router.get("/u/{user:name}/entities/{name:name}")
async def entity(request: Request, here: Here, name: str) -> Response:
    """Show an entity with its facts, turns, timeline and graph."""
    known = memory_of(request).entities(**here.scope)
    details = await known.get(name, top=MAX_DRAWN_NODES)
    weeks = await known.timeline(name, by="week")
    graph = await known.graph([name], depth=1, top=MAX_DRAWN_NODES)
    return show(
        request, "entity.html", here, found=details, entity=details.entity, chart=columns(weeks.buckets, "week"),
        graph=picture(graph, here),
    )  # fmt: skip


@router.post("/u/{user:name}/entities/{name:name}/{step}")
async def correct(request: Request, here: Here, name: str, step: str) -> Response:
    """Merge another name into an entity, split an alias off, or dismiss the name."""
    known, other = memory_of(request).entities(**here.scope), request.state.form.get("other", "")
    correction = {"merge": known.merge, "split": known.split}.get(step)
    if step == "dismiss":
        await known.dismiss(name)
        return back(here, "entities")
    if correction is None:
        raise InputError("entities are merged, split or dismissed")
    corrected = await correction(name, other)
    return back(here, "entities", corrected.name)


@router.get("/u/{user:name}/timeline")
async def timeline(request: Request, here: Here, by: str = "week") -> Response:
    """Show the number of turns over time, with the entities and themes of each period."""
    step: By = next((one for one in TIMELINE_STEPS if one == by), "week")
    line = await memory_of(request).entities(**here.scope).timeline(by=step)
    themes = sorted(line.themes, key=lambda theme: -theme.count)[:MAX_THEMES]
    return show(
        request, "timeline.html", here, chart=columns(line.buckets, step), themes=themes, by=step, steps=TIMELINE_STEPS
    )


def picture(graph: EntityGraph, here: UserPage) -> Markup | None:
    """Render the graph as SVG with a link on each name, or None if it has no edges."""
    return Markup(graph.svg(lambda name: here.at("entities", name))) if graph.edges else None  # svg() escapes names
