"""Docstrings begin with the thing or the act, not with a clause about it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import memscope

SOURCE = Path(memscope.__file__).parent
ROOT = Path(__file__).parents[1]
PRONOUNS = ("What ", "Where ", "Which ", "Who ", "Whose ", "Whoever ", "Whatever ")
# Parts that are written so; the others follow.
PARTS = ("adapters", "administration.py", "blocks", "builtin.py", "chat", "cli.py", "commands", "config",
         "consolidation", "dates", "demo", "jobs", "memory.py", "models", "pipeline.py", "plugins", "prompts",
         "reconciliation", "records", "retrieval", "runtime.py", "search", "stores", "sync.py", "telemetry.py",
         "testing", "text", "transfer", "validation.py")  # fmt: skip
OUTSIDE = (
    "adapters/autogen/src",
    "adapters/langchain/src",
    "examples/duckdb_store",
    "server/src",
    "stores/elasticsearch/src",
)


def docstrings(path: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{path.name}:{getattr(node, 'lineno', 1)}", ast.get_docstring(node) or ""


@pytest.mark.parametrize(
    "place", [*(SOURCE / part for part in PARTS), *(ROOT / part for part in OUTSIDE)], ids=[*PARTS, *OUTSIDE]
)
def test_docstrings_begin_with_the_thing_or_the_act(place):
    paths = [place] if place.suffix == ".py" else list(place.rglob("*.py"))
    assert paths and all(path.exists() for path in paths)
    assert not [place for path in paths for place, text in docstrings(path) if text.startswith(PRONOUNS)]
