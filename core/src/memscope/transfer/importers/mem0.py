"""Importer ``mem0``: what its ``get_all`` returned, as JSON, and its history, ``history.db``.

A memory becomes an observation with its id in ``data``; an earlier wording, which only the history has, one that the
next wording superseded. What mem0 deleted stays deleted.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from memscope.errors import InputError
from memscope.transfer.importers import ImportedMemory, Item, NotTaken, time_of
from memscope.transfer.importers.files import mapping, read_json, sequence

SQLITE = b"SQLite format 3\0"
COLUMNS = "memory_id, old_memory, new_memory, event, created_at, updated_at"
History = dict[str, list[tuple[str, Any]]]  # by memory: earlier wordings, each with the time it was replaced


def read(sources: Sequence[Any]) -> Iterator[Item]:
    """Yield the memories of every JSON file, with the earlier wordings that a ``history.db`` among them has."""
    histories = [str(source) for source in sources if _is_sqlite(source)]
    earlier, deleted = _history(histories)
    for source in sources:
        if str(source) in histories:
            continue
        for value in read_json(source):
            page = mapping(value)
            for result in sequence(page["results"]) if "results" in page else [value]:
                yield from _memory(mapping(result), earlier)
            if relations := sequence(page.get("relations")):
                yield NotTaken("a relation of mem0's graph", len(relations))
    if deleted:
        yield NotTaken("a memory that was deleted in mem0", deleted)


def _memory(found: Mapping[str, Any], earlier: History) -> Iterator[Item]:
    said = time_of(found.get("created_at"))
    if said is None or not isinstance(found.get("memory"), str) or not found.get("id"):
        yield NotTaken("a result without id, memory or created_at")
        return
    id = str(found["id"])
    changed = time_of(found.get("updated_at")) or said
    kept = {name: found[name] for name in ("metadata", "categories", "actor_id", "role") if found.get(name)}
    memory = ImportedMemory(
        id=id,
        text=found["memory"],
        said=changed,
        user=found.get("user_id"),
        agent=found.get("agent_id"),
        session=found.get("run_id"),
        data={"mem0": {"id": id, **kept}},
        expires=time_of(found.get("expiration_date")),
    )
    wordings = earlier.get(id, [])
    for number, (text, replaced) in enumerate(wordings, 1):
        following = f"{id}#{number + 1}" if number < len(wordings) else id
        yield replace(memory, id=f"{id}#{number}", text=text, said=said, closed=replaced, superseded_by=following)
        said = replaced
    yield memory


def _history(paths: Sequence[str]) -> tuple[History, int]:
    """Return the earlier wordings, oldest first, and the number of deleted memories."""
    earlier: History = {}
    deleted = 0
    for path in paths:
        for id, old, _, event, created, updated in _rows(path):
            deleted += event == "DELETE"
            time = time_of(updated) or time_of(created)
            if event == "UPDATE" and old and time:
                earlier.setdefault(id, []).append((old, time))
    return {id: sorted(wordings, key=lambda one: one[1]) for id, wordings in earlier.items()}, deleted


def _rows(path: str) -> list[tuple[Any, ...]]:
    try:
        with closing(sqlite3.connect(f"file:{Path(path).absolute()}?mode=ro", uri=True)) as db:
            return db.execute(f"SELECT {COLUMNS} FROM history").fetchall()
    except sqlite3.Error as error:
        raise InputError(f"{path!r} is no history of mem0: {error}") from error


def _is_sqlite(source: Any) -> bool:
    path = Path(str(source))
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(SQLITE)) == SQLITE
