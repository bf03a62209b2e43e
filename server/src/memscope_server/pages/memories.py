"""Pages of one user's memory: overview, lists, one record, queries."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from memscope.records import Memory, Observation, Record, Retrieval, Turn
from memscope_server.access import proposals_for
from memscope_server.api import listings_of, memory_of
from memscope_server.listing import fetch
from memscope_server.pages.charts import columns, reasons
from memscope_server.pages.rendering import Here, day_start, show

KIND_TABS = ("turn", "observation", "insight")
MEMORIES_PER_PAGE, MAX_NEWEST_RECORDS, MAX_LISTED_ENTITIES = 100, 6, 12
router = APIRouter()


@router.get("/u/{user:name}/")
async def overview(request: Request, here: Here) -> Response:
    memory = memory_of(request)
    newest = await listings_of(request).page(memory, None, MAX_NEWEST_RECORDS, **here.scope)
    weeks = await memory.entities(**here.scope).timeline(by="week")
    return show(
        request, "overview.html", here, kinds=newest.listing.kinds, newest=newest.records,
        chart=columns(weeks.buckets, "week"), profile=(await memory.profile(**here.scope)).splitlines(),
        waiting=len(await proposals_for(memory, here.scope)),
        blocks=[one for one in await memory.blocks(**here.scope).list() if one.value.strip()],
        entities=await memory.entities(**here.scope).list(top=MAX_LISTED_ENTITIES),
    )  # fmt: skip


@router.get("/u/{user:name}/records")
async def records(
    request: Request, here: Here, kind: str = "", q: str = "", as_of: str = "", since: str = "", until: str = "",
    session: str = "", closed: bool = False, after: str = "",
) -> Response:  # fmt: skip
    """List records, newest first. For the next pages the script requests only the rows."""
    memory = memory_of(request)
    page = await listings_of(request).page(
        memory, after, MEMORIES_PER_PAGE, **here.scope, session=session or None, text=q or None, superseded=closed,
        kinds=[kind] if kind in KIND_TABS else None, as_of=day_start(request, as_of, 1),
        period=(day_start(request, since), day_start(request, until, 1)),
    )  # fmt: skip
    asked = {"kind": kind, "q": q, "as_of": as_of, "since": since, "until": until, "session": session,
             "closed": "true" if closed else ""}  # fmt: skip
    return show(
        request, "rows.html" if "x-rows" in request.headers else "records.html", here, asked=asked,
        records=page.records, following=page.next, after=after, number=len(page.listing.keys), first=page.listing.first,
        kinds=KIND_TABS, today=memory.admin.runtime.services.now(),
    )  # fmt: skip


@router.get("/u/{user:name}/records/{id:name}")
async def record(request: Request, here: Here, id: str) -> Response:
    """Show a record with its sources, the quotes highlighted in them, its versions, and the records derived from it."""
    memory = memory_of(request)
    record = await memory.get(id, **here.scope)
    async with memory.admin.runtime.operation("get") as services:
        derived = (await services.store.fetch(here.user, [id])).derived.get(id, ())
    lineage = {} if isinstance(record, Turn) else await _lineage(request, here, record)
    seen = [one for one in derived if here.agent in (None, one.scope.agent)]
    return show(request, "record.html", here, record=record, derived=seen, **lineage)


async def _lineage(request: Request, here: Here, memory: Memory) -> dict[str, Any]:
    """Collect a memory's sources, quotes, other versions, and the memories before and after it by supersession."""
    history = await memory_of(request).history(memory.id, **here.scope)
    quotes = memory.quotes if isinstance(memory, Observation) else ()
    return {
        "sources": await fetch(memory_of(request), here.user, memory.sources),
        "quoted": {quote.turn: quote.text for quote in quotes},
        "versions": [one for one in history if one.id == memory.id and one.version != memory.version],
        "superseded": [one for one in history if one.superseded_by == memory.id],
        "successors": [one for one in history if one.id == memory.superseded_by],
    }


@router.get("/u/{user:name}/ask")
async def ask(request: Request, here: Here, q: str = "", as_of: str = "") -> Response:
    """Show the hits for a query, the reasons for their ranking, and the records that were left out."""
    memory, hits = memory_of(request), Retrieval()
    listing = (await listings_of(request).page(memory, None, 0, **here.scope)).listing
    if q:
        hits = await memory.retrieve(q, **here.scope, explain=True, as_of=day_start(request, as_of, 1))
    why = {out.id: out.why for out in hits.left_out}
    grouped = {hit.id: reasons(hit.features) for hit in hits}
    most = max((abs(group.contribution) for groups in grouped.values() for group in groups), default=0) or 1.0
    left_out: list[Record] = await fetch(memory, here.user, tuple(why))
    return show(request, "ask.html", here, q=q, as_of=as_of, found=hits, grouped=grouped, most=most, left_out=left_out,
                 why=why, today=memory.admin.runtime.services.now(), first=listing.first)  # fmt: skip
