"""The layers of the core, read from its imports: who may know whom, and what nobody may load early.

A part (a module or package at the top of ``memscope``) imports parts of lower layers, and its own within one folder.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import memscope

SOURCE = Path(memscope.__file__).parent
ROOT = Path(__file__).parents[1]
DISTRIBUTIONS = [ROOT / "cli/src", ROOT / "testing/src", *ROOT.glob("adapters/*/src"), *ROOT.glob("stores/*/src")]
SHIPPED = [path for folder in (SOURCE, *DISTRIBUTIONS) for path in folder.rglob("*.py")]
FRAMEWORKS = {"agent_framework", "agents", "agentscope", "autogen_agentchat", "autogen_core", "google", "langchain",
              "langchain_classic", "langchain_core", "langgraph", "llama_index", "pydantic_ai"}  # fmt: skip
PLUGINS = {
    "elasticsearch": "memscope_elasticsearch",
    "postgres": "memscope_postgres",
}  # distributions of this repository that a stranger could have written
NAMED_TWICE = {
    "Row": "the stores' row of a record; a row of the tables of dates, known in that folder alone",
    "Batch": "the Elasticsearch store's has more fields than the one of the rules, which it inherits",
    "Memory": "the class of both kinds of memory; the union of the two, for type checkers",
    "Values": "columns of numbers, in two files of retrieval",
    "_Table": "two tables of data, each known in its file alone",
}
LAYERS = """
    errors imports
    shared_file
    records
    dates
    text validation
    languages
    models search
    stores config prompts
    services transfer
    pipeline
    retrieval reconciliation jobs entities
    blocks consolidation reflection plugins
    runtime
    chat admin
    memory
    sync
    __init__
    adapters
    builtin
    __main__
"""
LAYER = {part: number for number, row in enumerate(LAYERS.strip().splitlines(), 1) for part in row.split()}
LAYER["__version__"] = 0  # of the package, whatever else it imports
# Parts of `import memscope` that must not come along (numpy and pydantic cost most of what an import may cost).
NOT_EARLY = ("click", "elasticsearch", "httpx", "httpx2", "jinja2", "numpy", "openai", "pydantic", "rich", "yaml",
             "http.client", "pathlib", "urllib.request")  # fmt: skip


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


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_part(name: str) -> str:
    """The part of an imported ``memscope...`` name; a name of the package itself is ``__init__``'s."""
    second = name.split(".")[1] if "." in name else "__init__"
    return second if second in LAYER else "__init__"


def test_every_part_has_a_layer():
    assert {part_of(path) for path in SOURCE.rglob("*.py")} == LAYER.keys() - {"__version__"}


@pytest.mark.parametrize("part", sorted(LAYER))
def test_a_part_imports_only_lower_layers(part):
    wrong = [
        f"{path.relative_to(SOURCE)}:{line} imports {name}"
        for path in SOURCE.rglob("*.py")
        if part_of(path) == part
        for name, line in imports(path, typing_too=False)
        if name.split(".")[0] == "memscope" and (to := imported_part(name)) != part and LAYER[to] >= LAYER[part]
    ]
    assert not wrong


def private_names(path: Path) -> Iterator[str]:
    """Names with a leading underscore that a file takes from another: imported, or of an object that is not its own."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    defined = {node.name for node in ast.walk(tree)
               if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}  # fmt: skip
    defined |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    defined |= {node.attr for node in attributes if isinstance(node.value, ast.Name) and node.value.id == "self"}
    imported_names = [(alias.name, node.lineno) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
                      for alias in node.names]  # fmt: skip
    taken = [
        (node.attr, node.lineno) for node in attributes if node.attr not in defined | {"_replace", "_exit"}
    ]  # namedtuple's, os's
    for name, line in imported_names + taken:
        if name.startswith("_") and not name.endswith("__"):
            yield f"{path.name}:{line} uses {name}"


def test_names_with_an_underscore_stay_in_their_file():
    assert not [name for path in SHIPPED for name in private_names(path)]


def test_no_circle_of_imports():
    """Imports for type checkers and inside functions included."""
    paths = {module_of(path): path for path in SHIPPED}
    graph = {module: imported_modules(path, paths.keys()) - {module} for module, path in paths.items()}
    TopologicalSorter(graph).prepare()


def imported_modules(path: Path, known: Collection[str]) -> set[str]:
    """Of ``from package import name`` the module of that name, where there is one, else the package."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and not node.level:
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (inside & set(known)) or {node.module or ""}
    return found & set(known) - {"memscope"}  # its __version__ is known below as well


def module_of(path: Path) -> str:
    parts = path.parts[len(path.parts) - path.parts[::-1].index("src") :]
    return ".".join(parts).removesuffix(".py").removesuffix(".__init__")


def test_nothing_in_core_imports_a_framework_or_a_plugin():
    wrong = [
        f"{path.relative_to(SOURCE)}:{line} imports {name}"
        for path in SOURCE.rglob("*.py")
        for name, line in imports(path, typing_too=True)
        if name.split(".")[0] in FRAMEWORKS | PLUGINS.keys() | set(PLUGINS.values())
    ]
    assert not wrong


def is_private(name: str) -> bool:
    return any(part.startswith("_") and not part.endswith("__") for part in name.split("."))


def imported_names(path: Path) -> Iterator[str]:
    """Every ``module.name`` that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("folder", sorted(PLUGINS))
def test_a_plugin_imports_nothing_private(folder):
    files = list((ROOT / "stores" / folder / "src").rglob("*.py"))
    wrong = [f"{path.name}: {name}" for path in files for name in imported_names(path)
             if name.startswith("memscope") and is_private(name)]  # fmt: skip
    assert files and not wrong


def test_no_module_is_named_after_nothing():
    empty = {"utils", "util", "common", "base", "manager", "helper", "helpers", "misc"}
    assert not [path for path in SOURCE.rglob("*.py") if path.stem in empty or path.parent.name in empty]


def types() -> dict[str, list[str]]:
    """The places where each class, and each alias of a type at the top of a file, is defined."""
    places: dict[str, list[str]] = {}
    for path in SHIPPED:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        for name in [*names, *filter(None, map(alias_of, tree.body))]:
            places.setdefault(name, []).append(str(path.relative_to(ROOT)))
    return places


def alias_of(node: ast.stmt) -> str | None:
    if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias":
        return ast.unparse(node.target)
    made = node.value if isinstance(node, ast.Assign) else None
    if (
        isinstance(node, ast.Assign)
        and isinstance(made, ast.Subscript)
        and re.match("Literal|Callable|Annotated|Mapping", ast.unparse(made))
    ):
        return ast.unparse(node.targets[0])
    return None


def test_the_name_of_a_type_has_one_meaning():
    """But for the classes that each adapter has for its own framework."""
    several = {name: places for name, places in types().items() if len(places) > 1}
    parallel = {name for name, places in several.items() if all(place.startswith("adapters/") for place in places)}
    assert several.keys() - parallel == NAMED_TWICE.keys()


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
    path.write_text("from memscope import _inner, __version__\nfrom memscope.memory import _Private\n")
    assert [is_private(name) for name in imported_names(path)] == [True, False, True]
