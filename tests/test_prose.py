"""Docstrings begin with the thing or the act, and variables are named after the thing they hold.

"Return the rows", not "Returns the rows" and not a clause about them; ``rows``, not ``found``. What callers use and
plugins implement has a line for each argument and for the result.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

import memscope
from memscope import AsyncMemoryScope, languages
from memscope.admin import AsyncAdmin
from memscope.blocks import AsyncBlocks
from memscope.entities.operations import AsyncEntities
from memscope.jobs.costs import CounterStore
from memscope.models import ChatModel, Embedder, Reranker
from memscope.pipeline import worker
from memscope.plugins import hookspecs
from memscope.stores import Store

SOURCE = Path(memscope.__file__).parent
ROOT = Path(__file__).parents[1]
FORBIDDEN = ("Returns ", "Yields ", "Raises ", "What ", "Where ", "Which ", "Who ", "Whose ", "Whoever ", "Whatever ",
             "How ", "Whether ", "For ", "As ", "It ", "All ")  # fmt: skip
PLACES = [*SOURCE.iterdir(), *ROOT.glob("adapters/*/src"), *ROOT.glob("stores/*/src"),
          ROOT / "cli/src", ROOT / "server/src", ROOT / "testing/src",
          ROOT / "examples", ROOT / "benchmarks", ROOT / "tests"]  # fmt: skip
VAGUE_NAMES = {"found", "told", "made", "said", "given", "own", "kept"}
PLACES = sorted(place for place in PLACES if place.suffix == ".py" or (place.is_dir() and any(place.rglob("*.py"))))


def docstrings(path: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{path.name}:{getattr(node, 'lineno', 1)}", ast.get_docstring(node) or ""


@pytest.mark.parametrize("place", PLACES, ids=lambda place: str(place.relative_to(ROOT)))
def test_docstrings_begin_with_the_thing_or_the_act(place):
    paths = [place] if place.suffix == ".py" else list(place.rglob("*.py"))
    assert not [line for path in paths for line, text in docstrings(path) if text.startswith(FORBIDDEN)]


def variables(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """Yield the names that a function binds, without those of functions within it."""
    for argument in ast.walk(function.args):
        if isinstance(argument, ast.arg):
            yield argument.arg
    nodes: list[ast.AST] = [*function.body]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.arg):
            yield node.arg
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        nodes.extend(ast.iter_child_nodes(node))


def test_variables_are_named_after_the_thing():
    vague = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for place in ("core", "cli", "server", "testing", "adapters", "stores")
        for path in sorted(ROOT.glob(f"{place}/**/src/**/*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and VAGUE_NAMES.intersection(variables(node))
    ]
    assert not vague


CONTRACTS = (
    AsyncMemoryScope, AsyncAdmin, AsyncBlocks, AsyncEntities, Store, CounterStore, ChatModel, Embedder, Reranker,
    languages.Language, languages.Statements, languages.NameRules, languages.FactRules,
)  # fmt: skip
DOCUMENTED = {f"{kind.__name__}.{name}": part for kind in CONTRACTS for name, part in vars(kind).items()}
DOCUMENTED |= {name: part for name, part in vars(hookspecs).items() if name.startswith("memscope_")}
DOCUMENTED |= {"worker": worker}
DOCUMENTED = {name: part for name, part in DOCUMENTED.items()
              if inspect.isfunction(part) and not name.rpartition(".")[2].startswith("_")}  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTED)
def test_a_contract_documents_arguments_and_results(name):
    signature, text = inspect.signature(DOCUMENTED[name]), inspect.getdoc(DOCUMENTED[name]) or ""
    assert not [argument for argument in parameters(name) if argument != "self" and f"\n    {argument}:" not in text]
    assert "\nReturns:\n" in text or signature.return_annotation in ("None", "Maybe[object]")
    assert "\nRaises:\n" in text or not can_raise(name)


def can_raise(name: str) -> bool:
    """Return whether a method of what others implement may raise, or an exception of a hook has a meaning of its own.

    An exception of a hook that registers names means what the module says, and ``close`` of a store raises nothing.
    """
    kind, _, method = name.rpartition(".")
    if kind in {protocol.__name__ for protocol in (Store, CounterStore, ChatModel, Embedder, Reranker)}:
        return name != "Store.close"
    return method.startswith("memscope_") and (not method.startswith("memscope_register_") or "cli" in parameters(name))


def parameters(name: str) -> list[str]:
    return list(inspect.signature(DOCUMENTED[name]).parameters)
