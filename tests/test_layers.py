"""The layers of the core, read from its imports: who may know whom, and what nobody may load early.

records errors │ text dates pipeline │ stores │ consolidation reflection retrieval │ memory │ cli
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import memscope

SOURCE = Path(memscope.__file__).parent
FRAMEWORKS = {"autogen_agentchat", "autogen_core", "agentscope", "langchain", "langchain_classic", "langchain_core",
              "langgraph"}  # fmt: skip
WORDS = {"records", "errors", "text", "dates"}
# What consolidation and reflection have in common, so that neither knows the other.
BACK_END = {"intervals", "likeness", "neighbours", "review", "supersession", "work"}
MAY_IMPORT = {
    "errors": set(),
    "records": set(),
    "stemmer": set(),
    "text": {"records", "errors", "stemmer"},
    "dates": {"records", "errors", "text"},
    "filters": {"records", "errors"},
    "codec": {"records", "errors"},
    "pipeline": {"records", "errors"},
    "intervals": {"records"},
    "likeness": {"text"},
    "supersession": {"records", "text"},
    "neighbours": WORDS | {"pipeline"},
    "review": WORDS | {"stores"},
    "work": WORDS | {"pipeline", "models", "embedding"},
    # One filter grammar and one JSON form for every store: beside records, text and errors.
    "stores": {"records", "errors", "text", "filters", "codec"},
    "retrieval": WORDS | {"pipeline"},
    "consolidation": WORDS | BACK_END | {"pipeline", "models", "prompts"},
    "reflection": WORDS | BACK_END | {"pipeline", "models", "prompts"},
}
# Parts of `import memscope` that must not come along (numpy and pydantic cost most of what an import may cost).
NOT_EARLY = ("click", "elasticsearch", "httpx", "httpx2", "jinja2", "numpy", "openai", "pydantic", "rich", "yaml",
             "http.client", "urllib.request")  # fmt: skip


def imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and not node.level:
        inside = [f"{node.module}.{alias.name}" for alias in node.names] if node.module == "memscope" else []
        return inside or [node.module or ""]
    return []


def imports(path: Path, *, typing_too: bool) -> Iterator[tuple[str, int]]:
    """Every module a file names in an import, inside functions as well; those for type checkers if asked for."""
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and not typing_too and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
            continue
        yield from ((name, getattr(node, "lineno", 0)) for name in imported(node))
        waiting += ast.iter_child_nodes(node)


def files(part: str) -> list[Path]:
    single = SOURCE / f"{part}.py"
    return [single] if single.exists() else sorted((SOURCE / part).rglob("*.py"))


@pytest.mark.parametrize("part", MAY_IMPORT)
def test_a_layer_imports_only_what_is_below_it(part):
    wrong = [
        f"{path.relative_to(SOURCE)}:{line} imports {name}"
        for path in files(part)
        for name, line in imports(path, typing_too=False)
        if name.startswith("memscope.") and name.split(".")[1] not in MAY_IMPORT[part] | {part}
    ]
    assert not wrong


def test_nothing_in_core_imports_a_framework():
    wrong = [
        f"{path.relative_to(SOURCE)}:{line} imports {name}"
        for path in SOURCE.rglob("*.py")
        for name, line in imports(path, typing_too=True)
        if name.split(".")[0] in FRAMEWORKS
    ]
    assert not wrong


def test_no_module_is_named_after_nothing():
    empty = {"utils", "util", "common", "base", "manager", "helper", "helpers", "misc"}
    assert not [path for path in SOURCE.rglob("*.py") if path.stem in empty or path.parent.name in empty]


def test_nothing_is_unpickled_or_evaluated():
    """Promise 9: what a store holds is data."""
    banned = {"pickle", "marshal", "shelve", "dill", "joblib"}
    for path in SOURCE.rglob("*.py"):
        assert not banned & {name.split(".")[0] for name, _ in imports(path, typing_too=True)}, path
        called = [node.func.id for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
                  if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]  # fmt: skip
        assert not {"eval", "exec"} & set(called), path


def loaded_by(code: str) -> set[str]:
    """The modules of a fresh interpreter after ``code``."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_import_memscope_loads_nothing_heavy():
    assert not loaded_by("import memscope") & set(NOT_EARLY)


def test_the_reader_sees_what_is_forbidden(tmp_path):
    """The tests above can fail."""
    path = tmp_path / "bad.py"
    path.write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import langchain_core\n"
        "def f():\n    from memscope import stores\n    import pickle, memscope.memory\n"
    )
    names = {name for name, _ in imports(path, typing_too=False)}
    assert names == {"typing", "memscope.stores", "pickle", "memscope.memory"}
    assert "langchain_core" in {name for name, _ in imports(path, typing_too=True)}
    assert "numpy" in loaded_by("import numpy") & set(NOT_EARLY)
