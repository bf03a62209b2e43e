"""Tombstones of core memory: a block that was erased with its history does not come back with an older export.

The tombstone names the history, not the label: a block that is made again under the label has another one.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC

from memscope.records import Block, Select
from memscope.records.identity import digest, fingerprint
from memscope.stores import Store
from memscope.stores.block_rules import by_key, selected

TOMBSTONE_PREFIX = "block:"


def tombstone(first: Block) -> str:
    """Return the tombstone of a history by its first version: a digest, without the label."""
    parts = (first.scope.agent or "", first.label, first.recorded.astimezone(UTC).isoformat())
    return TOMBSTONE_PREFIX + fingerprint("\0".join(parts), 16)


def import_tombstone(secret: bytes, first: Block) -> str:
    """Return the tombstone by which an importer, whose blocks have no time of their own, knows a history again."""
    parts = (first.scope.user, first.scope.agent or "", first.label, first.value)
    return TOMBSTONE_PREFIX + digest(secret, "imported block", *parts).hex()


async def mark(store: Store, select: Select) -> None:
    """Leave the tombstones of each block that a forget is about to take as a whole."""
    histories = by_key(await store.blocks(select.user, versions=True)).values()
    if first := [history[0] for history in histories if selected(select, history[0])]:
        secret = await store.secret()
        ids = [id for block in first for id in (tombstone(block), import_tombstone(secret, block))]
        await store.add_tombstones(select.user, ids)


async def erase(store: Store, user: str, ids: Collection[str]) -> None:
    """Erase the blocks that have a tombstone among ``ids``, which another store left."""
    marks = {id for id in ids if id.startswith(TOMBSTONE_PREFIX)}
    for (agent, label), history in by_key(await store.blocks(user, versions=True)).items() if marks else ():
        if tombstone(history[0]) in marks:
            await store.forget(Select(user, agent, block=label))
