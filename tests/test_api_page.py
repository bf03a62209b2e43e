"""docs/api.md: every argument of every method is explained, and what it says may be raised is raised."""

from __future__ import annotations

import asyncio
import inspect
import re
from pathlib import Path

import pytest

from memscope import AsyncMemoryScope, MemoryScope, errors
from memscope.admin import AsyncAdmin
from memscope.blocks import AsyncBlocks
from memscope.entities.operations import AsyncEntities
from memscope_cli.sqlite_recovery import recover, restore

PAGE = (Path(__file__).parents[1] / "docs" / "api.md").read_text(encoding="utf-8")
CLASSES = (AsyncMemoryScope, AsyncBlocks, AsyncEntities, AsyncAdmin)
NOT_OURS = {"self", "runtime", "host"}  # of objects that a memory makes


def rows(section: str) -> list[list[str]]:
    text = PAGE.partition(f"## {section}\n")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def methods() -> dict[str, inspect.Signature]:
    found = {}
    for cls in CLASSES:
        found |= {f"{cls.__name__}.{name}": inspect.signature(value) for name, value in inspect.getmembers(cls)
                  if callable(value) and (name == "__init__" or not name.startswith("_"))}  # fmt: skip
    return found


def test_every_argument_is_explained():
    explained = {name for row in rows("Arguments") for name in re.findall(r"`(\w+)`", row[0])}
    taken = {name for signature in methods().values() for name in signature.parameters} - NOT_OURS
    assert len(taken) > 50 and taken == explained


def test_every_public_method_has_a_docstring():
    assert len(methods()) > 50
    assert not [f"{cls.__name__}.{name}" for cls in CLASSES for name, value in inspect.getmembers(cls)
                if callable(value) and not name.startswith("_") and not inspect.getdoc(value)]  # fmt: skip


class BrokenChat:
    name = "broken"

    async def chat(self, messages, *, schema=None, deadline_s=None):
        raise errors.ModelUnavailable("no connection")

    async def stream(self, messages, *, deadline_s=None):
        raise errors.ModelUnavailable("no connection")
        yield ""


def note(memory):
    return memory.list(kinds=["observation"], **A)[0].id


A = {"user": "alice"}
TIME = "2026-03-02T09:00Z"
CALLS = {
    "MemoryScope() ConfigError": lambda m: MemoryScope(":memory:", settings={"chats": {}}),
    "add_turns InputError": lambda m: m.add_turns([{"role": "user"}, {"role": "x", "content": "y"}], **A),
    "add_turns LimitError": lambda m: m.add_turns([{"role": "user", "content": "x" * 2**21}], **A),
    "add_memory InputError": lambda m: m.add_memory("x", kind="insight", **A),
    "add_memory Conflict": lambda m: [
        m.add_memory("On that day.", time=TIME, **A),
        m.forget(text="On that day.", **A),
        m.add_memory("On that day.", time=TIME, **A),
    ],
    "update NotFound": lambda m: m.update("nope", text="x", **A),
    "update InputError": lambda m: m.update(m.list(**A)[0].key, text="x", **A),
    "update Conflict": lambda m: [m.update(note(m), text="y", **A), m.update(note(m), text="z", version=1, **A)],
    "retrieve InputError": lambda m: m.retrieve("x", k=0, **A),
    "context InputError": lambda m: m.context("x", kinds=["facts"], **A),
    "retrieve LimitError": lambda m: m.retrieve("x" * 40_000, **A),
    "context LimitError": lambda m: m.context("x" * 40_000, **A),
    "profile InputError": lambda m: m.profile("alice", as_of="once"),
    "get NotFound": lambda m: m.get("nope", **A),
    "history NotFound": lambda m: m.history("nope", **A),
    "list InputError": lambda m: m.list(period="today", **A),
    "forget InputError": lambda m: m.forget(**A),
    "forget NotFound": lambda m: m.forget(ids=["nope"], **A),
    "admin.accept NotFound": lambda m: m.admin.accept(["nope"], **A),
    "admin.reject NotFound": lambda m: m.admin.reject(["nope"], **A),
    "chat InputError": lambda m: "".join(m.chat(" ", **A)),
    "chat ConfigError": lambda m: "".join(MemoryScope(":memory:").chat("hello", **A)),
    "chat ModelError": lambda m: "".join(m.chat("hello", **A)),
    "entities().get NotFound": lambda m: m.entities("alice").get("Nobody"),
    "entities().timeline NotFound": lambda m: m.entities("alice").timeline("Nobody"),
    "entities().graph NotFound": lambda m: m.entities("alice").graph(["Nobody"]),
    "entities().dismiss NotFound": lambda m: m.entities("alice").dismiss("Nobody"),
    "entities().merge NotFound": lambda m: m.entities("alice").merge("Nobody", "Noone"),
    "entities().split NotFound": lambda m: m.entities("alice").split("Nobody", "Noone"),
    "entities().merge InputError": lambda m: m.entities("alice").merge("Berlin", "Berlin"),
    "entities().split InputError": lambda m: m.entities("alice").split("Berlin", "Kim"),
    "admin.reembed ConfigError": lambda m: m.admin.reembed(),
    "admin.import_from ConfigError": lambda m: m.admin.import_from("nope", "x.json"),
    "admin.import_from InputError": lambda m: m.admin.import_from("mem0", "nope.json"),
    "admin.import_ InputError": lambda m: m.admin.import_("nope.jsonl"),
    "admin.export InputError": lambda m: m.admin.export("/nowhere/x.jsonl"),
    "admin.backup InputError": lambda m: [m.admin.backup("copy.db"), m.admin.backup("copy.db")],
    "admin.copy ConfigError": lambda m: m.admin.copy(m),
    "restore InputError": lambda m: asyncio.run(restore("nope.db", "memory.db")),
    "recover InputError": lambda m: asyncio.run(recover("memory.db", "memory.db")),
    "blocks().append LimitError": lambda m: m.blocks("alice").append("human", "x" * 2001),
    "blocks().insert LimitError": lambda m: m.blocks("alice").insert("human", "x" * 2001),
    "blocks().rethink LimitError": lambda m: m.blocks("alice").rethink("human", "x" * 2001),
    "blocks().replace InputError": lambda m: m.blocks("alice").replace("human", "tea", "coffee"),
    "blocks().remove InputError": lambda m: m.blocks("alice").remove("human", "tea"),
    "blocks().get NotFound": lambda m: m.blocks("alice").get("nope"),
    "blocks().append NotFound": lambda m: m.blocks("alice").append("nope", "x"),
    "blocks().configure NotFound": lambda m: m.blocks("alice").configure("nope", limit=5),
    "blocks().erase NotFound": lambda m: m.blocks("alice").erase("project"),
    "blocks().revert NotFound": lambda m: m.blocks("alice").revert("human", 9),
    "blocks().append Conflict": lambda m: m.blocks("alice").append("human", "x", version=7),
    "blocks().replace Conflict": lambda m: m.blocks("alice").replace("human", "Alice", "Bea", version=7),
    "blocks().insert Conflict": lambda m: m.blocks("alice").insert("human", "x", version=7),
    "blocks().remove Conflict": lambda m: m.blocks("alice").remove("human", "Alice", version=7),
    "blocks().rethink Conflict": lambda m: m.blocks("alice").rethink("human", "x", version=7),
    "blocks().create Conflict": lambda m: m.blocks("alice").create("human"),
    "blocks().create LimitError": lambda m: m.blocks("alice").create("project", limit=100_000),
}


def promised() -> list[str]:
    return [f"{name} {error}" for names, error, _ in rows("What a call may raise")
            for name in re.findall(r"`([\w().]+)`", names) for error in re.findall(r"\w+", error)]  # fmt: skip


def test_every_promise_is_tried():
    assert sorted(promised()) == sorted(CALLS)


@pytest.mark.parametrize("promise", CALLS)
def test_what_the_page_says_is_raised(promise, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with MemoryScope(tmp_path / "memory.db", settings={}, chat=BrokenChat()) as memory:
        memory.add_turns([{"role": "user", "content": "I met Kim in Berlin."}], **A)
        memory.add_memory("Alice likes tea.", **A)
        memory.blocks("alice").append("human", "Alice bakes.")
        with pytest.raises(getattr(errors, promise.split()[1])):
            CALLS[promise](memory)
