"""The shape of the shipped code: small functions, short files. Exceptions are listed, and may only become smaller."""

from __future__ import annotations

import ast
import re
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SHIPPED = [
    path
    for folder in ("core/src", "cli", "testing", "adapters", "stores", "server")
    for path in (ROOT / folder).rglob("*.py")
]
BESIDE = [path for folder in ("tests", "benchmarks", "examples") for path in (ROOT / folder).rglob("*.py")]
MAX_FILE, MAX_FUNCTION = 400, 60  # lines; docstrings with Args, Returns and Raises do not count
LONGER_FILES = {
    "core/src/memscope/stores/rules.py": 450,  # one place for what every store decides
    "core/src/memscope/search/snapshot.py": 430,  # one data structure
}


def lines(node: ast.AST) -> int:
    return getattr(node, "end_lineno", 0) - getattr(node, "lineno", 0) + 1


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Name and lines of each function; its docstring and the classes it makes do not count, their methods do."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            beside = [part for part in ast.walk(node) if isinstance(part, ast.ClassDef)]
            beside += node.body[:1] if ast.get_docstring(node) else []
            yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", lines(node) - sum(map(lines, beside))


@pytest.fixture(scope="module")
def sizes() -> dict[str, int]:
    return {name: count for path in SHIPPED for name, count in functions(path)}


def length(path: Path) -> int:
    """Lines of a file without the docstrings that document arguments, results and errors one by one."""
    text = path.read_text(encoding="utf-8")
    documented = [node.body[0] for node in ast.walk(ast.parse(text))
                  if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
                  and re.search(r"^(Args|Returns|Raises):$", ast.get_docstring(node) or "", re.MULTILINE)]  # fmt: skip
    return len(text.splitlines()) - sum(map(lines, documented))


def test_no_file_is_longer_than_a_reader_likes():
    long = {str(path.relative_to(ROOT)): length(path) for path in SHIPPED + BESIDE}
    assert not {name: count for name, count in long.items() if count > LONGER_FILES.get(name, MAX_FILE)}


def test_half_of_the_functions_have_at_most_8_lines_and_nine_of_ten_30(sizes):
    assert statistics.median(sizes.values()) <= 8
    assert statistics.quantiles(sizes.values(), n=10)[-1] <= 30


def test_no_function_is_a_program(sizes):
    assert not {name: count for name, count in sizes.items() if count > MAX_FUNCTION}


def test_the_walk_of_the_readme_is_an_afternoon():
    walk = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Read it")[2].partition("[docs/]")[0]
    files = re.findall(r"\]\((core/src/[^)]+\.py)\)", walk)
    assert len(files) >= 6
    assert sum(length(ROOT / file) for file in files) <= 1_831  # 260 of them document arguments and results
