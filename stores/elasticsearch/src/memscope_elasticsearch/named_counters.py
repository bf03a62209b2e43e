"""Counters by name, one document each, changed by compare-and-swap on ``_seq_no``."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

from memscope.errors import StoreBusy
from memscope.records import Json
from memscope_elasticsearch.client import Body, BulkOperation, version_of
from memscope_elasticsearch.documents import document_at, scope_hash
from memscope_elasticsearch.session import Session

COUNTERS_KIND = "counters"
MAX_NAMED_COUNTER_ATTEMPTS, RETRY_PAUSE_S = 50, 0.05


async def read(session: Session, name: str) -> dict[str, Json]:
    (document,) = await session.cluster.documents([_at(session, name)])
    return _state(document)


async def change(session: Session, name: str, step: Callable[[dict[str, Json]], None]) -> None:
    at = _at(session, name)
    for _ in range(MAX_NAMED_COUNTER_ATTEMPTS):
        (document,) = await session.cluster.documents([at])
        state = _state(document)
        step(state)
        body = {"scope": at["routing"], "kind": COUNTERS_KIND, "state": state}
        if (await session.cluster.bulk([BulkOperation.put(at, body, version_of(document))]))[0].ok:
            return
        await asyncio.sleep(random.uniform(0, RETRY_PAUSE_S))
    raise StoreBusy("too many processes write the same counters at once", hint="try again")


def _at(session: Session, name: str) -> Body:
    return document_at(session.names.work, scope_hash(f"{COUNTERS_KIND} {name}"), COUNTERS_KIND)


def _state(document: Body) -> dict[str, Json]:
    return dict(document.get("_source", {}).get("state", {}))
