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
PLACES = [*SOURCE.iterdir(), *ROOT.glob("adapters/*/src"), *ROOT.glob("stores/*/src"), ROOT / "server/src",
          ROOT / "examples", ROOT / "benchmarks", ROOT / "tests"]  # fmt: skip
PLACES = sorted(place for place in PLACES if place.suffix == ".py" or (place.is_dir() and any(place.rglob("*.py"))))


def docstrings(path: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{path.name}:{getattr(node, 'lineno', 1)}", ast.get_docstring(node) or ""


@pytest.mark.parametrize("place", PLACES, ids=lambda place: str(place.relative_to(ROOT)))
def test_docstrings_begin_with_the_thing_or_the_act(place):
    paths = [place] if place.suffix == ".py" else list(place.rglob("*.py"))
    assert not [found for path in paths for found, text in docstrings(path) if text.startswith(PRONOUNS)]
