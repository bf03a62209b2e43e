"""Counters by name, one document each, changed by compare-and-swap on ``_seq_no``."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

from memscope.errors import StoreBusy
from memscope.records import Json
from memscope_elasticsearch.client import Body, BulkOperation
from memscope_elasticsearch.documents import document_id, scope_hash
from memscope_elasticsearch.session import Session

COUNTERS_KIND = "counters"
MAX_NAMED_COUNTER_ATTEMPTS, RETRY_PAUSE_S = 50, 0.05


async def read(session: Session, name: str) -> dict[str, Json]:
    source = (await _document(session, name)).get("_source", {})
    return dict(source.get("state", {}))


async def change(session: Session, name: str, step: Callable[[dict[str, Json]], None]) -> None:
    scope = scope_hash(f"{COUNTERS_KIND} {name}")
    for _ in range(MAX_NAMED_COUNTER_ATTEMPTS):
        document = await _document(session, name)
        state = dict(document.get("_source", {}).get("state", {}))
        step(state)
        body = {"scope": scope, "kind": COUNTERS_KIND, "state": state}
        version = (document["_seq_no"], document["_primary_term"]) if "_source" in document else None
        action = "index" if version else "create"
        operation = BulkOperation(action, session.names.work, document_id(scope, COUNTERS_KIND), scope, body, version)
        if (await session.cluster.bulk([operation]))[0].ok:
            return
        await asyncio.sleep(random.uniform(0, RETRY_PAUSE_S))
    raise StoreBusy("too many processes write the same counters at once", hint="try again")


async def _document(session: Session, name: str) -> Body:
    scope = scope_hash(f"{COUNTERS_KIND} {name}")
    at = {"_index": session.names.work, "_id": document_id(scope, COUNTERS_KIND), "routing": scope}
    (document,) = await session.cluster.documents([at])
    return document
