"""Docstrings begin with the thing or the act, not with a clause about it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import memscope

SOURCE = Path(memscope.__file__).parent
PRONOUNS = ("What ", "Where ", "Which ", "Who ", "Whose ", "Whoever ", "Whatever ")
# Parts that are written so; the others follow.
PARTS = ("adapters", "administration.py", "builtin.py", "chat", "cli.py", "commands", "config", "consolidation",
         "dates", "demo", "jobs", "memory.py", "models", "pipeline.py", "plugins", "prompts", "reconciliation",
         "records", "retrieval", "runtime.py", "search", "stores", "sync.py", "telemetry.py", "testing", "text",
         "transfer", "validation.py")  # fmt: skip


def docstrings(path: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{path.name}:{getattr(node, 'lineno', 1)}", ast.get_docstring(node) or ""


@pytest.mark.parametrize("part", PARTS)
def test_docstrings_begin_with_the_thing_or_the_act(part):
    paths = [SOURCE / part] if part.endswith(".py") else list((SOURCE / part).rglob("*.py"))
    assert paths and all(path.exists() for path in paths)
    assert not [place for path in paths for place, text in docstrings(path) if text.startswith(PRONOUNS)]
