"""Receipts of what was forgotten: a document each in the index of the work."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from memscope.records import Receipt
from memscope.records.serialization import receipt_from_json, receipt_to_json
from memscope_elasticsearch.client import Operation
from memscope_elasticsearch.documents import document_id, scope_hash
from memscope_elasticsearch.session import Session

RECEIPT = "receipt"  # kind of the document
PAGE = 5000


async def read(session: Session, user: str) -> list[Receipt]:
    await session.cluster.refresh(session.names.work)
    scope, after, found = scope_hash(user), -1, list[Receipt]()
    while True:
        query = {"bool": {"filter": [{"term": {"scope": scope}}, {"term": {"kind": RECEIPT}}]}}
        body: dict[str, Any] = {"size": PAGE, "sort": [{"_seq_no": "asc"}], "search_after": [after], "query": query}
        answer = await session.cluster.search(
            session.names.work, body, routing=scope, paths="hits.hits._source,hits.hits.sort"
        )
        hits = answer.get("hits", {}).get("hits", [])
        found += [receipt_from_json(hit["_source"]["state"]) for hit in hits]
        if len(hits) < PAGE:
            return sorted(found, key=lambda receipt: (receipt.at, receipt.id))
        after = hits[-1]["sort"][0]


async def put(session: Session, user: str, receipts: Iterable[Receipt], *, only: bool = False) -> None:
    """Write receipts, again without effect; ``only``: the others go."""
    scope = scope_hash(user)
    known = {one.id: one for one in await read(session, user)} if only else {}
    made = {one.id: one for one in receipts}
    gone = [_write("delete", session, scope, one, None) for id, one in known.items() if id not in made]
    await session.cluster.bulk([*(_write("index", session, scope, one, one) for one in made.values()), *gone])


def _write(action: str, session: Session, scope: str, at: Receipt, made: Receipt | None) -> Operation:
    body = {"scope": scope, "kind": RECEIPT, "state": receipt_to_json(made)} if made is not None else None
    return Operation(action, session.names.work, document_id(scope, RECEIPT, at.id), scope, body)
