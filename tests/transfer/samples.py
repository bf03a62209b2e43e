"""Small valid files of every format that is imported."""

from __future__ import annotations

import io
import json
import sqlite3
import zipfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memscope import AsyncMemoryScope

CANARY = "Zephyrquartz"  # said in every sample, and never to be said in an error
TIME = "2026-03-01T10:00:00+01:00"


@dataclass(frozen=True)
class Sample:
    """A valid file. ``system`` is the importer's name, "" for an export of memscope."""

    name: str
    system: str
    content: bytes
    lines: bool = False


def _node(number: int, role: str, text: str) -> dict[str, Any]:
    message = {"id": f"m{number}", "author": {"role": role}, "create_time": 1.7e9 + number,
               "content": {"content_type": "text", "parts": [text]}, "metadata": {}, "recipient": "all"}  # fmt: skip
    return {"id": f"m{number}", "parent": f"m{number - 1}" if number else None, "message": message, "children": []}


def conversations(count: int = 2) -> list[dict[str, Any]]:
    said = [("user", f"My sister {CANARY} is a nurse. 😀"), ("assistant", "很好！"), ("user", "我住在柏林。")]
    nodes = {f"m{number}": _node(number, role, text) for number, (role, text) in enumerate(said)}
    return [
        {"title": "t", "conversation_id": f"c{n}", "create_time": 1.7e9, "current_node": "m2", "mapping": nodes}
        for n in range(count)
    ]


MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": f"I live in {CANARY}."}], "name": "alice", "id": "a1"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c1"}]},
    {"role": "assistant", "content": "很好。", "time": TIME, "metadata": {"topic": "home", "score": 0.5}},
]
FOUND = {
    "results": [
        {"id": "m1", "memory": f"Lives in {CANARY}", "user_id": "alice", "created_at": TIME, "updated_at": TIME,
         "metadata": {"source": "chat"}, "categories": ["home"], "expiration_date": "2036-01-01"},
        {"id": "m2", "memory": "喜欢爬山", "user_id": "bob", "agent_id": "a", "run_id": "r", "created_at": TIME},
    ],
    "relations": [{"source": "alice", "target": "lisbon"}],
}  # fmt: skip
BLOCKS = [
    {"id": "b1", "label": "human", "value": f"{CANARY} sails.", "limit": 500, "description": "the user"},
    {"id": "b2", "label": "persona", "value": "A sailor.", "limit": 9000, "read_only": True},
]
SAID = [
    {"id": "s1", "role": "user", "content": json.dumps({"type": "user_message", "message": f"{CANARY}!"}),
     "created_at": TIME},
    {"id": "s2", "role": "assistant", "created_at": TIME, "tool_calls": [
        {"function": {"name": "send_message", "arguments": json.dumps({"message": "Hello Alice!"})}}]},
]  # fmt: skip
OLD_AGENT = {"name": "crew", "core_memory": BLOCKS, "messages": SAID, "tools": [{}, {}]}
AGENT = {
    "agents": [{"name": "crew", "block_ids": ["b1", "b2"], "messages": SAID,
                "passages": [{"id": "p1", "text": f"The boat is called {CANARY}.", "created_at": TIME}]}],
    "blocks": BLOCKS, "tools": [{}],
}  # fmt: skip


def _document(id: str, content: str, kind: str, **about: Any) -> dict[str, Any]:
    node = {"memory_id": id, "user_name": "AI", "target_name": "alice", "content": content, "memory_type": kind,
            "key": "home", "store_status": "valid", "timestamp": 1_721_000_000, "meta_data": about}  # fmt: skip
    return {"_id": id, "_source": {"content": content, "metadata": node}}


DOCUMENTS = [
    _document("o1", f"alice moved to {CANARY}", "observation", conversation=f"I moved to {CANARY} in May 2022",
              event_year="2022", event_month="May", event_day="-1"),
    _document("o2", "用户在阿里工作", "observation", event_year="2024", event_month="12月", event_day="3日"),
    _document("i1", "The home of alice", "insight"),
]  # fmt: skip


def history(path: Path) -> bytes:
    """Write the history.db of mem0."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            "CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT, "
            "created_at DATETIME, updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT)"
        )
        rows = [(str(n), "m1", f"Lived in {CANARY} {n}", "then", "UPDATE", TIME, TIME, 0, None, None) for n in range(9)]
        rows.append(("x", "m9", "Has a cat", None, "DELETE", TIME, None, 1, None, None))
        db.executemany("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    return path.read_bytes()


async def exported(path: Path) -> bytes:
    """Write an export that has every kind of line."""
    async with AsyncMemoryScope(":memory:", settings={}) as memory:
        said = [{"role": "user", "content": f"{word} {CANARY}", "id": word, "time": TIME} for word in ("tea", "茶")]
        await memory.add_turns(said, user="alice", session="s")
        fact = await memory.add_memory(f"Likes {CANARY}.", user="alice", data={"a": [1.5, None]}, name="n", time=TIME)
        await memory.update(fact.id, user="alice", text=f"Likes {CANARY} a lot.")
        await memory.add_memory("Berlin", user="alice", kind="insight", subject="home", time=TIME)
        gone = await memory.add_memory("Gone.", user="bob", expires="2100-01-01T00:00Z")
        await memory.forget(user="bob", ids=[gone.id])
        await memory.blocks("alice").append("human", f"{CANARY} sails.")
        await memory.admin.export(path)
    return path.read_bytes()


async def samples(folder: Path) -> list[Sample]:
    """Return a valid file of every format."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("chat.html", "<html>" * 50)
        archive.writestr("conversations.json", json.dumps(conversations()))
    return [
        Sample("messages.json", "openai", as_json(MESSAGES)),
        Sample("messages.jsonl", "openai", _lines([{"messages": MESSAGES}, {"id": "2", "messages": MESSAGES}]), True),
        Sample("conversations.json", "chatgpt", as_json(conversations())),
        Sample("export.zip", "chatgpt", packed.getvalue()),
        Sample("all.json", "mem0", as_json(FOUND)),
        Sample("history.db", "mem0", history(folder / "history.db")),
        Sample("old.af", "letta", as_json(OLD_AGENT)),
        Sample("agent.af", "letta", as_json(AGENT)),
        Sample("dump.jsonl", "memoryscope", _lines(DOCUMENTS), True),
        Sample("export.jsonl", "", await exported(folder / "sample.jsonl"), True),
    ]


def as_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _lines(values: list[Any]) -> bytes:
    return b"".join(as_json(value) + b"\n" for value in values)
