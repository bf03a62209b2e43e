"""Blocks: one document per user with every version, changed by compare-and-swap on ``_seq_no``."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence, Set

from memscope.errors import Conflict, StoreBusy
from memscope.records import Block, Select
from memscope.records.serialization import block_from_json, to_json
from memscope.stores import block_rules
from memscope.stores.block_rules import BlockRemoval, by_key
from memscope_elasticsearch.client import PAGE_FILTER_PATH, Body, BulkOperation, version_of
from memscope_elasticsearch.documents import GONE, document_at, scope_hash
from memscope_elasticsearch.session import Session

BLOCK_DOCUMENT = "blocks"  # kind of the document
BLOCK_RETRY_PAUSE_S = 0.02
BLOCKS_PER_PAGE = 1000


def _at(session: Session, user: str) -> Body:
    return document_at(session.names.work, scope_hash(user), BLOCK_DOCUMENT)


async def _load(session: Session, user: str, *, versions: bool) -> tuple[list[Block], Body]:
    only = "" if versions else "state.current"
    (document,) = await session.cluster.documents([_at(session, user)], includes=only)
    state = document.get("_source", {}).get("state", {})
    return [block_from_json(block) for block in (*state.get("older", ()), *state.get("current", ()))], document


async def read(session: Session, user: str, *, versions: bool = False) -> list[Block]:
    blocks, _ = await _load(session, user, versions=versions)
    return [block for history in by_key(blocks).values() for block in history]


async def put(session: Session, user: str, versions: Sequence[Block]) -> None:
    sources = {source for block in versions for source in block.sources}
    forgotten = await _forgotten(session, user, sources)

    def step(stored: list[Block]) -> list[Block]:
        present = {block.key: block.version for block in block_rules.current(stored)}
        block_rules.check_next(user, versions, present, forgotten)
        return [*stored, *versions]

    await _change(session, user, step)
    if gone := await _forgotten(session, user, sources):  # forgotten meanwhile, perhaps without seeing this write
        await remove(session, Select(user, ids=frozenset(gone)), sorted(gone))
        raise Conflict("a source of this edit was forgotten meanwhile", hint="the lines from it were removed")


async def _forgotten(session: Session, user: str, ids: Set[str]) -> set[str]:
    return {id for id, kind in (await session.taken(user, ids)).items() if kind == GONE} if ids else set()


async def plan_removal(session: Session, select: Select, gone: Sequence[str]) -> BlockRemoval:
    stored, _ = await _load(session, select.user, versions=True)
    return block_rules.plan_removal(select, gone, stored, session.clock())


async def remove(session: Session, select: Select, gone: Sequence[str]) -> None:
    """Remove forgotten content from the current blocks; idempotent."""

    def step(stored: list[Block]) -> list[Block]:
        removal = block_rules.plan_removal(select, gone, stored, session.clock())
        left = {(block.key, block.version): block for block in stored if block not in removal.dropped}
        return list((left | {(block.key, block.version): block for block in removal.replacements}).values())

    await _change(session, select.user, step)


async def _change(session: Session, user: str, step: Callable[[list[Block]], list[Block]]) -> None:
    """Change the versions by ``step``, which runs again after a lost race; an exception changes nothing."""
    clock = asyncio.get_running_loop().time
    until = clock() + session.cluster.options.deadline_s
    while True:
        stored, document = await _load(session, user, versions=True)
        changed = step(stored)
        if changed == stored or await _save(session, user, changed, document):
            return
        if clock() > until:
            raise StoreBusy("too many processes write blocks of the same user at once", hint="try again")
        await asyncio.sleep(random.uniform(0, BLOCK_RETRY_PAUSE_S))


async def _save(session: Session, user: str, versions: Sequence[Block], document: Body) -> bool:
    histories = by_key(versions).values()
    state = {
        "current": [to_json(history[-1]) for history in histories],
        "older": [to_json(block) for history in histories for block in history[:-1]],
    }
    body = {"scope": scope_hash(user), "kind": BLOCK_DOCUMENT, "user": user, "state": state} if versions else None
    operation = BulkOperation.put(_at(session, user), body, version_of(document))
    (outcome,) = await session.cluster.bulk([operation])
    return outcome.ok


async def counts(session: Session, user: str | None = None) -> dict[str, int]:
    """Count blocks per user; users without blocks are left out."""
    if user is not None:
        mine = await read(session, user)
        return {user: len(mine)} if mine else {}
    return {name: number async for name, number in _counted(session)}


async def _counted(session: Session) -> AsyncIterator[tuple[str, int]]:
    await session.cluster.refresh(session.names.work)
    body = {"size": BLOCKS_PER_PAGE, "query": {"term": {"kind": BLOCK_DOCUMENT}}, "sort": [{"scope": "asc"}],
            "search_after": [""],
            "_source": ["user", "state.current.label"]}  # fmt: skip
    async for hits in session.cluster.walk(session.names.work, body, paths=PAGE_FILTER_PATH):
        for hit in hits:
            yield hit["_source"]["user"], len(hit["_source"].get("state", {}).get("current", ()))
