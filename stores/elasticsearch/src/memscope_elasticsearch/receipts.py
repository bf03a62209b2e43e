"""Receipts of what was forgotten: a document each in the index of the work."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

from memscope.records import Receipt
from memscope.records.serialization import receipt_from_json, to_json
from memscope_elasticsearch.client import LEAN, BulkOperation
from memscope_elasticsearch.documents import document_id, scope_hash
from memscope_elasticsearch.session import Session

RECEIPT = "receipt"  # kind of the document
PAGE = 5000


async def read(session: Session, user: str) -> list[Receipt]:
    found = [receipt_from_json(made) async for made in _stored(session, scope_hash(user))]
    return sorted(found, key=lambda receipt: (receipt.at, receipt.id))


async def users(session: Session) -> set[str]:
    return {receipt_from_json(made).scope.user async for made in _stored(session)}


async def _stored(session: Session, scope: str | None = None) -> AsyncIterator[dict[str, Any]]:
    await session.cluster.refresh(session.names.work)
    mine = [{"term": {"scope": scope}}] if scope is not None else []
    query = {"bool": {"filter": [*mine, {"term": {"kind": RECEIPT}}]}}
    begin = ["", -1]  # a number is given once in a shard, and a user is in one shard
    body = {"size": PAGE, "sort": ["scope", "_seq_no"], "search_after": begin, "query": query}
    async for hits in session.cluster.walk(session.names.work, body, routing=scope, paths=LEAN):
        for hit in hits:
            yield hit["_source"]["state"]


async def put(session: Session, user: str, receipts: Iterable[Receipt], *, only: bool = False) -> None:
    """Write receipts, again without effect; ``only``: the others go."""
    scope = scope_hash(user)
    known = {one.id: one for one in await read(session, user)} if only else {}
    made = {one.id: one for one in receipts}
    gone = [_write("delete", session, scope, one, None) for id, one in known.items() if id not in made]
    await session.cluster.bulk([*(_write("index", session, scope, one, one) for one in made.values()), *gone])


def _write(action: str, session: Session, scope: str, at: Receipt, made: Receipt | None) -> BulkOperation:
    body = {"scope": scope, "kind": RECEIPT, "state": to_json(made)} if made is not None else None
    return BulkOperation(action, session.names.work, document_id(scope, RECEIPT, at.id), scope, body)
