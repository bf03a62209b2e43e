"""Importer ``langgraph``: import the items of any LangGraph ``BaseStore`` as documents for ``MemoryScopeStore``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC
from typing import Any

from langgraph.store.base import BaseStore, PutOp, SearchItem

from memscope.errors import InputError
from memscope.transfer.importers import ImportedMemory, Item
from memscope_langchain.store import data_of, path, session_of, words_of, written

MESSAGES_PER_PAGE = 200


def read(sources: Sequence[Any]) -> Iterator[Item]:
    """Yield the items of every source: a store, ``(store, namespace prefix)``, or the file of a ``SqliteStore``."""
    for source in sources:
        store, prefix = source if isinstance(source, tuple) else (source, ())
        with ExitStack() as opened:
            if not isinstance(store, BaseStore):
                store = opened.enter_context(_sqlite_store(str(store)))
            yield from map(_memory, _items(store, tuple(prefix)))


def _items(store: BaseStore, prefix: tuple[str, ...]) -> Iterator[SearchItem]:
    offset = 0
    while page := store.search(prefix, limit=MESSAGES_PER_PAGE, offset=offset):
        yield from page
        offset += len(page)


def _memory(item: SearchItem) -> ImportedMemory:
    place = PutOp(item.namespace, item.key, item.value)
    created, updated = (
        time if time.tzinfo else time.replace(tzinfo=UTC) for time in (item.created_at, item.updated_at)
    )
    return ImportedMemory(
        id=f"{path(item.namespace)}/{written(item.key)} {updated.isoformat()}",  # an updated item is imported again
        text=words_of(item.value, ["$"]),
        said=updated,
        session=session_of(place),
        name=written(item.key),
        namespace=path(item.namespace),
        data=data_of(place, {"created": created.isoformat(), "ttl": None}),
    )


def _sqlite_store(place: str) -> Any:
    try:
        from langgraph.store.sqlite import SqliteStore
    except ImportError as error:
        hint = "install langgraph-checkpoint-sqlite, or call import_from with the store itself"
        raise InputError(f"{place[:200]!r} is no BaseStore", hint=hint) from error
    return SqliteStore.from_conn_string(place)
