"""The shape of the shipped code: small functions, short files. Exceptions are listed, and may only become smaller."""

from __future__ import annotations

import ast
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SHIPPED = [
    path for folder in ("core/src", "adapters") for path in (ROOT / folder).rglob("*.py") if "tests" not in path.parts
]
BESIDE = [path for folder in ("tests", "benchmarks", "examples") for path in (ROOT / folder).rglob("*.py")]
MAX_FILE, MAX_FUNCTION = 400, 60
LONGER_FILES: dict[str, int] = {}


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Name and lines of each function, decorators and docstring not counted."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            said = node.body[0] if ast.get_docstring(node) else None
            documented = (said.end_lineno or 0) - said.lineno + 1 if said else 0
            yield (
                f"{path.relative_to(ROOT)}:{node.lineno} {node.name}",
                (node.end_lineno or 0) - node.lineno + 1 - documented,
            )


@pytest.fixture(scope="module")
def sizes() -> dict[str, int]:
    return {name: lines for path in SHIPPED for name, lines in functions(path)}


def test_no_file_is_longer_than_a_reader_likes():
    long = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in SHIPPED + BESIDE
    }
    assert not {name: lines for name, lines in long.items() if lines > LONGER_FILES.get(name, MAX_FILE)}


def test_half_of_the_functions_have_at_most_8_lines_and_nine_of_ten_30(sizes):
    assert statistics.median(sizes.values()) <= 8
    assert statistics.quantiles(sizes.values(), n=10)[-1] <= 30


def test_no_function_is_a_program(sizes):
    assert not {name: lines for name, lines in sizes.items() if lines > MAX_FUNCTION}
