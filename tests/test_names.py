"""A name of a module constant has one value: it says what it bounds, and values that must agree are written once."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = (
    "core/src",
    "cli/src",
    "testing/src",
    "server/src",
    *(str(path.relative_to(ROOT)) for path in ROOT.glob("*/*/src")),
)
SHIPPED = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]+")
#: Languages stand file by file beside one another, and packages that load their names lazily list them alike.
PARALLEL = re.compile(r"languages/\w+/")
ALIKE = {"_HOMES"}


def constants(path: Path) -> Iterator[str]:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        value = getattr(node, "value", None)
        if not isinstance(node, ast.Assign | ast.AnnAssign) or (
            isinstance(value, ast.Call) and ast.unparse(value.func) in ("TypeVar", "ParamSpec")
        ):
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            names = [one.id for one in ast.walk(target) if isinstance(one, ast.Name)]
            yield from filter(CONSTANT.fullmatch, names)


def places() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in SHIPPED:
        place = PARALLEL.sub("languages/", str(path.relative_to(ROOT)))
        for name in constants(path):
            found.setdefault(name, set()).add(place)
    return found


def test_a_constant_stands_in_one_file():
    several = {name: sorted(files) for name, files in places().items() if len(files) > 1}
    assert several.keys() <= ALIKE, several


def test_the_reader_sees_constants_but_no_type_variables(tmp_path):
    file = tmp_path / "module.py"
    file.write_text(
        "T = TypeVar('T')\nMAX_ITEMS, _FIRST_ITEM = 3, 1\nLIMIT: int = 2\nname = 4\ndef f():\n    LOCAL = 1\n"
    )
    assert list(constants(file)) == ["MAX_ITEMS", "_FIRST_ITEM", "LIMIT"]
