"""Count the code that one warm call of each operation executes: files, functions and lines of memscope.

    python benchmarks/path.py [--names]

A user has three sessions in a SQLite file, with a scripted chat model. The first two warm up all operations, the second
with the kinds of sentences of the third, during which ``sys.setprofile`` counts the calls in all threads. Prints one
JSON object: for each of ``add_turns``, ``retrieve``, ``context``, ``consolidate``, ``reflect`` and ``forget`` the
``files``, ``functions`` (without lambdas and comprehensions) and ``lines`` (of these functions). ``--names`` also lists
the functions.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import click

import memscope
from memscope import AsyncMemoryScope
from memscope.models import Message
from memscope_testing.models import IdealChat, ScriptedChat, data

SOURCE = str(Path(memscope.__file__).parent)
NOW = datetime(2026, 5, 4, 9, tzinfo=UTC)
USER = "alice"
SITTINGS = (
    ("I live in Berlin.", "My flat in Berlin has a balcony.", "I work at Foster as an engineer."),
    ("I live in Lisbon now.", "My flat in Lisbon is near the river.", "My sister Anna visits me every Tuesday."),
    ("I live in Porto now.", "My flat in Porto is near the harbour.", "My brother Ben visits me every Friday."),
)
HOME = ("Berlin", "Lisbon", "Porto")  # words of the facts on the user's home


class Tracer:
    """Context manager that collects the functions of memscope called within it."""

    def __init__(self) -> None:
        self.codes: set[CodeType] = set()
        self.active = False

    def install(self) -> None:
        threading.setprofile(self._called)
        sys.setprofile(self._called)

    def _called(self, frame: FrameType, event: str, argument: object) -> None:
        if self.active and event == "call":
            self.codes.add(frame.f_code)

    async def of(self, call: Callable[[], Awaitable[object]]) -> frozenset[CodeType]:
        self.codes, self.active = set(), True
        try:
            await call()
        finally:
            self.active = False
        return frozenset(code for code in self.codes if code.co_filename.startswith(SOURCE) and is_function(code))


def is_function(code: CodeType) -> bool:
    """Distinguish functions from lambdas, comprehensions, and bodies of modules and classes."""
    return bool(code.co_flags & inspect.CO_OPTIMIZED) and not code.co_name.startswith("<")


def figures(codes: frozenset[CodeType]) -> dict[str, int]:
    lines = {(code.co_filename, line) for code in codes for _, _, line in code.co_lines() if line}
    return {"files": len({code.co_filename for code in codes}), "functions": len(codes), "lines": len(lines)}


# ----------------------------------------------------------------------------------------------------------- the model


def model() -> ScriptedChat:
    """Extract each turn as a fact. Each home ends the previous one, and all belong to one insight."""
    texts = [text for sitting in SITTINGS for text in sitting]
    facts = [
        {"turns": [at], "quote": text, "text": text, "about": "user", "when": "", "level": 2, "keywords": []}
        for at, text in enumerate(texts)
    ]
    noting = IdealChat([{"text": text} for text in texts], facts, [(0, 3, "ends"), (3, 6, "ends")])

    async def reply(messages: Sequence[Message]) -> Any:
        shown = data(messages)
        if "facts" in shown:
            return placed(shown)
        return (await noting.chat(messages)).text

    return ScriptedChat(reply)


def placed(shown: Mapping[str, Any]) -> Mapping[str, Any]:
    about_home = [one["n"] for one in shown["facts"] if any(word in one["text"] for word in HOME)]
    known = next((one for one in shown["insights"] if one["subject"] == "home"), {"n": 0})
    told = [
        {"insight": known["n"], "subject": "home", "text": one["text"], "facts": [one["n"]], "replaces": []}
        for one in shown["facts"] if one["n"] in about_home
    ]  # fmt: skip
    alone = [one["n"] for one in shown["facts"] if one["n"] not in about_home]
    return {"sentences": told, "alone": alone, "relations": []}


# ------------------------------------------------------------------------------------------------------------- running


def turns(sitting: int) -> list[dict[str, str]]:
    return [{"role": "user", "content": text, "id": f"{sitting}-{at}"} for at, text in enumerate(SITTINGS[sitting])]


async def measure(folder: Path, tracer: Tracer) -> dict[str, frozenset[CodeType]]:
    settings = {"background": False}
    async with AsyncMemoryScope(folder / "memory.db", settings=settings, chat=model(), clock=lambda: NOW) as memory:
        operations: dict[str, Callable[[int], Awaitable[object]]] = {
            "add_turns": lambda sitting: memory.add_turns(turns(sitting), user=USER, session=f"s{sitting}"),
            "retrieve": lambda sitting: memory.retrieve("Where do I live?", user=USER),
            "context": lambda sitting: memory.context("Where do I live?", user=USER),
            "consolidate": lambda sitting: memory.consolidate(user=USER),
            "reflect": lambda sitting: memory.reflect(user=USER),
            "forget": lambda sitting: memory.forget(user=USER, session=f"s{sitting}"),
        }
        passed: dict[str, frozenset[CodeType]] = {}
        for sitting in range(len(SITTINGS)):
            for name in ("add_turns", "retrieve", "retrieve", "context", "consolidate", "reflect"):
                passed[name] = await tracer.of(partial(operations[name], sitting))
        assert await memory.list(user=USER, kinds=["insight"]), "reflect placed no fact: its path is not the usual one"
        for sitting in range(len(SITTINGS)):
            passed["forget"] = await tracer.of(partial(operations["forget"], sitting))
    return passed


@click.command()
@click.option("--names", is_flag=True, help="list the functions of each operation")
def main(names: bool) -> None:
    tracer = Tracer()
    tracer.install()
    with tempfile.TemporaryDirectory() as folder:
        passed = asyncio.run(measure(Path(folder), tracer))
    sys.setprofile(None)
    for name, codes in passed.items() if names else ():
        listed = sorted(f"{Path(code.co_filename).relative_to(SOURCE)}:{code.co_qualname}" for code in codes)
        print(name, *listed, sep="\n    ")
    print(json.dumps({name: figures(codes) for name, codes in passed.items()}))


if __name__ == "__main__":
    main()
