"""``kill.py`` on a real Elasticsearch node, which is also killed and restarted with its data.

One node serves the whole run; each store on it has its own indices.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from killing.mutants import Mutant, done_then_memories, keyless, memories_then_done, no_reply_kept

from memscope.records import AppendResult
from memscope_elasticsearch import (
    ElasticsearchStore,
    Options,
    append,
    blocks,
    documents,
    jobs,
    mapping,
    migrate,
    user_lock,
)
from memscope_elasticsearch.append import GroupCommitter
from memscope_elasticsearch.client import BulkOperation

NODE = Path(__file__).parents[2] / "tests" / "servers" / "elasticsearch" / "node.py"
PORT = 19_300 + os.getpid() % 600  # several runs may be concurrent, each with a node; below the ephemeral ports
URL = f"http://127.0.0.1:{PORT}"
NODE_EVERY = 25  # kills of processes per kill of the node
_started: list[tempfile.TemporaryDirectory[str]] = []


def node(what: str, *more: str) -> None:
    command = [sys.executable, str(NODE), what, "--port", str(PORT), *more]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def start_node() -> None:
    if not _started:
        _started.append(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        atexit.register(lambda: node("stop"))
    node("start", "--data", _started[0].name, "--heap", "512m")


class ElasticsearchPlace:
    lease_s = 0.5
    pauses = (0.2, 1.0)  # a process needs half a second to start
    migrations = (0.3, 3.0)
    old_turns = 150

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        prefix = f"kill-{uuid4().hex[:8]}"
        self.options = Options(client={"hosts": [URL]}, prefix=prefix, lease_s=1.0, deadline_s=60.0)

    async def create(self) -> None:
        start_node()
        await (await self.open()).close()

    async def open(self) -> ElasticsearchStore:
        store = ElasticsearchStore(self.options)
        await store.open()
        return store

    def older(self) -> None:
        for module in (documents, mapping, migrate):
            module.DERIVED_VERSION = "older"  # type: ignore[attr-defined]

    def trouble(self, number: int) -> None:
        """Kill and restart the node after every ``NODE_EVERY`` kills of processes."""
        if number % NODE_EVERY == NODE_EVERY - 1:
            node("kill")
            start_node()

    async def damage(self) -> int:
        """Count records with missing units, units without a record, and duplicate numbers, over plain HTTP."""
        post(f"/{self.options.prefix}-mem/_refresh", None)
        unit_rows = units(f"{self.options.prefix}-mem")
        records = {(unit["scope"], unit["rid"]): unit for unit in unit_rows if unit["part"] == 0}
        parts: dict[tuple[str, str], int] = defaultdict(int)
        for unit in unit_rows:
            parts[unit["scope"], unit["rid"]] += 1
        torn = sum(parts[key] != record["parts"] for key, record in records.items()) + len(
            parts.keys() - records.keys()
        )
        numbers = Counter((record["scope"], record["number"]) for record in records.values())
        return torn + sum(count - 1 for count in numbers.values())


def units(index: str) -> list[Mapping[str, Any]]:
    sources: list[Mapping[str, Any]] = []
    fields = ["scope", "rid", "part", "parts", "number"]
    body: dict[str, Any] = {"size": 5000, "sort": [{"scope": "asc"}, {"seq": "asc"}], "_source": fields}
    body["query"] = {"terms": {"kind": ["turn", "observation", "insight"]}}
    while hits := post(f"/{index}/_search", body)["hits"]["hits"]:
        sources += [hit["_source"] for hit in hits]
        body["search_after"] = hits[-1]["sort"]
    return sources


def post(path: str, body: Mapping[str, Any] | None) -> Any:
    data = b"" if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as reply:
        return json.load(reply)


# ---- stores that break one promise


def answer_first() -> None:
    """Acknowledge turns before they are written."""

    async def write(self: GroupCommitter, group: list[append.AppendRequest]) -> None:
        for request in group:
            keys = tuple(draft.turn.key for draft in request.inserts)
            request.answer.set_result(AppendResult(keys, ("stored",) * len(keys)))
        await append._Group(self._session, group, self._heads).write()

    GroupCommitter._write = write  # type: ignore[method-assign]


def drop_what_was_begun() -> None:
    """Discard a dead writer's unfinished write instead of completing it."""

    async def redo(session: Any, user: str, intent: user_lock.WriteIntent) -> None:
        await user_lock.clear(session, user, intent, lambda state: None)

    jobs.redo = redo


def renewed_in_name() -> None:
    """Mark units as being of the current version without deriving their terms."""
    migrate.FIELDS = ("terms",)


def edit_later() -> None:
    """Acknowledge an edit of a block before it is written."""
    put, writing = blocks.put, set[asyncio.Task[None]]()

    async def put_later(session: Any, user: str, versions: Any) -> None:
        writing.add(asyncio.create_task(put(session, user, versions)))

    blocks.put = put_later


def overwrite_blocks() -> None:
    """Write a user's blocks without checking for concurrent edits."""

    def whatever_is_there(action: str, *place: Any) -> BulkOperation:
        return BulkOperation("index" if action == "create" else action, *place[:4])

    blocks.BulkOperation = whatever_is_there  # type: ignore[assignment,misc]


MUTANTS = {
    "migrate": (Mutant("renewed in name", renewed_in_name),),
    "blocks": (
        Mutant("acknowledges before the write", edit_later),
        Mutant("no compare-and-swap", overwrite_blocks),
    ),
    "add": (Mutant("acknowledges before the write", answer_first), Mutant("keys are not the caller's", draft=keyless)),
    "consolidate": (
        Mutant("nobody finishes what was begun", drop_what_was_begun, save=no_reply_kept),
        Mutant("memories, then done", save=no_reply_kept, complete=memories_then_done),
        Mutant("done, then memories", save=no_reply_kept, complete=done_then_memories),
    ),
}
