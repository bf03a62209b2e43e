"""Receipts of ``forget``, one document each in the work index."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

from memscope.records import Receipt
from memscope.records.serialization import receipt_from_json, to_json
from memscope_elasticsearch.client import PAGE_FILTER_PATH, BulkOperation
from memscope_elasticsearch.documents import document_id, scope_hash
from memscope_elasticsearch.session import Session

RECEIPT = "receipt"  # kind of the document
RECEIPTS_PER_PAGE = 5000


async def read(session: Session, user: str) -> list[Receipt]:
    receipts = [receipt_from_json(state) async for state in _stored(session, scope_hash(user))]
    return sorted(receipts, key=lambda receipt: (receipt.at, receipt.id))


async def users(session: Session) -> set[str]:
    return {receipt_from_json(state).scope.user async for state in _stored(session)}


async def _stored(session: Session, scope: str | None = None) -> AsyncIterator[dict[str, Any]]:
    await session.cluster.refresh(session.names.work)
    mine = [{"term": {"scope": scope}}] if scope is not None else []
    query = {"bool": {"filter": [*mine, {"term": {"kind": RECEIPT}}]}}
    begin = ["", -1]  # _seq_no is unique per shard, and a user is in one shard
    body = {"size": RECEIPTS_PER_PAGE, "sort": ["scope", "_seq_no"], "search_after": begin, "query": query}
    async for hits in session.cluster.walk(session.names.work, body, routing=scope, paths=PAGE_FILTER_PATH):
        for hit in hits:
            yield hit["_source"]["state"]


async def put(session: Session, user: str, receipts: Iterable[Receipt], *, only: bool = False) -> None:
    """Write receipts; ``only``: delete the user's other receipts."""
    scope = scope_hash(user)
    known = {receipt.id for receipt in await read(session, user)} if only else set()
    written = {receipt.id: receipt for receipt in receipts}
    writes = [_write("index", session, scope, id, receipt) for id, receipt in written.items()]
    deletes = [_write("delete", session, scope, id) for id in known - written.keys()]
    await session.cluster.bulk([*writes, *deletes])


def _write(action: str, session: Session, scope: str, id: str, receipt: Receipt | None = None) -> BulkOperation:
    body = {"scope": scope, "kind": RECEIPT, "state": to_json(receipt)} if receipt is not None else None
    return BulkOperation(action, session.names.work, document_id(scope, RECEIPT, id), scope, body)
