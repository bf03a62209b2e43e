"""docs/public.md: distributions beside the core import what the page names, and nothing else."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import memscope

ROOT = Path(__file__).parents[1]
CORE = ROOT / "core" / "src"
PAGE = (ROOT / "docs" / "public.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(memscope[\w.]*)` \| (.*) \|$", re.MULTILINE)
PUBLIC = {module: set(re.findall(r"`(\w+)`", names)) for module, names in ROW.findall(PAGE)}
OUTSIDE = ["cli/src", "server/src", "testing/src", "examples"]
OUTSIDE += [str(path.relative_to(ROOT)) for folder in ("adapters", "stores") for path in (ROOT / folder).glob("*/src")]


def is_module(name: str) -> bool:
    path = CORE.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def names_of(path: Path) -> Iterator[tuple[str, str]]:
    """Every module of the core and name in it that a file imports or takes from an imported module.

    ``memscope.adapters.NAME`` is the distribution ``memscope_NAME``, unless the core has it.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and is_module(node.module or "-"):
            for alias in node.names:
                if is_module(f"{node.module}.{alias.name}"):
                    modules[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                else:
                    yield node.module or "", alias.name
        elif isinstance(node, ast.Import):
            modules |= {alias.asname or alias.name: alias.name for alias in node.names if is_module(alias.name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in modules:
            yield modules[ast.unparse(node.value)], node.attr


@pytest.mark.parametrize("folder", OUTSIDE)
def test_a_distribution_imports_public_names_only(folder):
    names = {name for path in (ROOT / folder).rglob("*.py") for name in names_of(path)}
    wrong = {f"{module}.{name}" for module, name in names if name not in PUBLIC.get(module, ())}
    assert not {name for name in wrong if not is_module(name)}


@pytest.mark.parametrize("module", PUBLIC)
def test_a_public_name_exists(module):
    loaded = importlib.import_module(module)
    assert PUBLIC[module] and not [name for name in PUBLIC[module] if not hasattr(loaded, name)]


def test_one_object_holds_store_settings_clock_and_zone():
    services = {"store", "settings", "clock", "zone"}
    holders = {
        node.name
        for path in (CORE / "memscope").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
        and len(services & {ast.unparse(part.target) for part in node.body if isinstance(part, ast.AnnAssign)}) > 1
    }
    assert holders == {"Services"}


def test_the_names_of_the_package_are_public():
    assert set(importlib.import_module("memscope").__all__) <= PUBLIC["memscope"]


def test_the_reader_sees_every_way_to_import(tmp_path):
    path = tmp_path / "file.py"
    path.write_text(
        "import memscope.errors\nfrom memscope.stores import rules as r, Store\n"
        "def f():\n    from memscope import admin\n    return admin.AsyncAdmin, r.holds, memscope.errors.InputError\n"
    )
    assert set(names_of(path)) == {
        ("memscope.stores", "Store"), ("memscope.admin", "AsyncAdmin"), ("memscope.stores.rules", "holds"),
        ("memscope.errors", "InputError"),
    }  # fmt: skip


def test_the_face_of_a_memory_is_small():
    names = {name for kind in (memscope.AsyncMemoryScope, memscope.MemoryScope) for name in vars(kind)}
    assert len([name for name in names if not name.startswith("_")]) <= 18
