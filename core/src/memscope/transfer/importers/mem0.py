"""Importer ``mem0``: the JSON that its ``get_all`` returned, and its history, ``history.db``.

A memory becomes an observation with its id in ``data``. Earlier wordings, which only the history has, become superseded
observations. Memories deleted in mem0 are not imported.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from memscope.errors import InputError, LimitError
from memscope.records import ROLES
from memscope.stores.sqlite.files import MAGIC, wal_bytes
from memscope.transfer import accessible
from memscope.transfer.importers import ImportedMemory, Item, NotTaken, time_of
from memscope.transfer.importers.files import EXPORT_AGAIN, MIB, mapping, path_of, read_json, sequence, word

HISTORY_QUERY = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'history' AND rootpage > 0"
HISTORY_COLUMNS = "memory_id, old_memory, event, created_at, updated_at"
MAX_TEXT_BYTES = 16 * MIB  # per text in the history
MAX_HISTORY_CHARS = 64 * MIB  # total of all earlier wordings, which are held in memory
WORDING_CHARS = 100  # overhead per wording in memory, beside its text
History = dict[str, list[tuple[str, datetime]]]  # by memory id: earlier wordings and when each was replaced


def read(sources: Sequence[Any]) -> Iterator[Item]:
    """Yield the memories of every JSON file, with their earlier wordings from ``history.db`` files."""
    paths = [path_of(source) for source in sources]
    histories = list(filter(_is_sqlite, paths))
    earlier, deleted = _history(histories)
    for path in paths:
        if path in histories:
            continue
        for _, value in read_json(path):
            page = mapping(value)
            for result in sequence(page["results"]) if "results" in page else [value]:
                yield from _memory(mapping(result), earlier)
            if relations := sequence(page.get("relations")):
                yield NotTaken("a relation of mem0's graph", len(relations))
    if deleted:
        yield NotTaken("a memory that was deleted in mem0", deleted)


def _memory(result: Mapping[str, Any], earlier: History) -> Iterator[Item]:
    created, id = time_of(result.get("created_at")), word(result.get("id"))
    if created is None or not isinstance(result.get("memory"), str) or not id:
        yield NotTaken("a result without id, memory or created_at")
        return
    changed = time_of(result.get("updated_at")) or created
    extra = {name: result[name] for name in ("metadata", "categories", "actor_id", "role") if result.get(name)}
    memory = ImportedMemory(
        id=id,
        text=result["memory"],
        said=changed,
        user=result.get("user_id"),
        agent=result.get("agent_id"),
        session=result.get("run_id"),
        data={"mem0": {"id": id, **extra}},
        expires=time_of(result.get("expiration_date")),
        role=role if (role := result.get("role")) in ROLES else "user",
    )
    wordings = earlier.get(id, [])
    for number, (text, replaced) in enumerate(wordings, 1):
        following = f"{id}#{number + 1}" if number < len(wordings) else id
        yield replace(memory, id=f"{id}#{number}", text=text, said=created, closed=replaced, superseded_by=following)
        created = replaced
    yield memory


def _history(paths: Sequence[Path]) -> tuple[History, int]:
    """Read the earlier wordings, oldest first, and count the deleted memories."""
    earlier: History = {}
    deleted = size = 0
    for path in paths:
        for id, old, event, created, updated in _rows(path):
            deleted += event == "DELETE"
            time = time_of(updated) or time_of(created)
            if event != "UPDATE" or not time or not isinstance(old, str) or not old:
                continue
            size += len(old) + WORDING_CHARS
            if size > MAX_HISTORY_CHARS:
                hint = "leave the history out: the memories are in the JSON"
                raise LimitError(f"earlier wordings in {path.name!r}", limit=MAX_HISTORY_CHARS, got=size, hint=hint)
            earlier.setdefault(word(id), []).append((old, time))
    return {id: sorted(wordings, key=lambda wording: wording[1]) for id, wordings in earlier.items()}, deleted


def _rows(path: Path) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the table ``history``; refuse a view, and more rows than the file has bytes for."""
    name, hint = f"{str(path)!r}", f"copy history.db again while mem0 is stopped, or {EXPORT_AGAIN}"
    try:
        left = path.stat().st_size + wal_bytes(path)
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_TEXT_BYTES)
            if not db.execute(HISTORY_QUERY).fetchone():
                raise InputError(
                    f"{name} is not a history of mem0: it has no such table", hint="give mem0's history.db"
                )
            for row in db.execute(f"SELECT {HISTORY_COLUMNS} FROM history"):
                left -= 1 + sum(len(value) for value in row if isinstance(value, str))
                if left < 0:
                    raise InputError(f"{name} is damaged: it has more rows than bytes", hint=hint)
                yield row
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:  # its message may quote a text
        reason = getattr(error, "sqlite_errorname", type(error).__name__)
        raise InputError(f"{name} is not a history of mem0, or damaged: {reason}", hint=hint) from None


def _is_sqlite(path: Path) -> bool:
    with accessible(path):
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
