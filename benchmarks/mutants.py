"""Mutation testing: check that the tests of a folder fail when a heuristic is changed.

    python benchmarks/mutants.py --seed 1 [--count 40] [--limit-s 300] [--room dates]

A mutant is one change in a copy of the core: another constant, an inverted comparison, or a branch that is never taken.
Kinds and rooms (``retrieval``, ``dates``, ``languages``, ``reconciliation``) alternate, the place is chosen at random
by the seed. The tests of the room run until one run_tests; exceeding the time limit counts as caught too. Prints
one line per mutant and one JSON object: ``mutants``, ``caught`` (including ``timed_out``), ``share``, ``survivors``
with file, line and change.
"""

from __future__ import annotations

import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import cycle, product
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "core" / "src"
ROOMS = ("retrieval", "dates", "languages", "reconciliation")
TESTS = {room: (f"tests/{room}",) for room in ROOMS} | {
    "languages": ("tests/languages", "tests/entities/test_names.py", "tests/entities/test_short_forms.py"),
}
KINDS = ("constant", "comparison", "branch")
OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
FAILED_TESTS = 1  # pytest's exit code
INTERRUPTED = 2
USAGE_ERROR = 4  # a conftest cannot be imported


@dataclass(frozen=True)
class Mutant:
    """A change that replaces the bytes from ``start`` to ``end`` of a file by ``after``."""

    file: str
    line: int
    kind: str
    before: str
    after: str
    start: int
    end: int

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.after.encode() + source[self.end :]


# ------------------------------------------------------------------------------------------------------------- places


def places(path: Path) -> Iterator[Mutant]:
    source = path.read_bytes()
    line_starts = [0]
    for line in source.splitlines(keepends=True):
        line_starts.append(line_starts[-1] + len(line))
    for node in expressions(ast.parse(source)):
        for kind, part, after in changes(node):
            assert part.end_lineno is not None and part.end_col_offset is not None
            start = line_starts[part.lineno - 1] + part.col_offset
            end = line_starts[part.end_lineno - 1] + part.end_col_offset
            before = source[start:end].decode()
            yield Mutant(str(path.relative_to(SOURCE)), part.lineno, kind, before, after, start, end)


def expressions(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes except annotations and f-strings, whose positions Python 3.11 does not record."""
    annotations = ("annotation", "returns")
    for name, value in ast.iter_fields(tree):
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.AST) and not isinstance(node, ast.JoinedStr) and name not in annotations:
                yield node
                yield from expressions(node)


def changes(node: ast.AST) -> Iterator[tuple[str, ast.expr, str]]:
    """Yield possible changes at a node: kind, expression, and replacement."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield "constant", node, repr(changed_number(node.value))
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        opposite = ast.Compare(node.left, [OPPOSITE[type(node.ops[0])]()], node.comparators)
        yield "comparison", node, f"({ast.unparse(opposite)})"
    elif isinstance(node, ast.If | ast.IfExp) and "TYPE_CHECKING" not in ast.unparse(node.test):
        yield "branch", node.test, "False"


def changed_number(number: float) -> float:
    """Return a number far enough away to matter: ten times as much; of 0 and 1 the other one."""
    return {0: 1, 1: 0}.get(number, number * 10)


def choose_mutants(seed: int, count: int, rooms: tuple[str, ...]) -> list[Mutant]:
    chooser, groups = random.Random(seed), list(product(rooms, KINDS))
    by_group: dict[tuple[str, str], list[Mutant]] = {group: [] for group in groups}
    for room in rooms:
        for path in sorted((SOURCE / "memscope" / room).rglob("*.py")):
            for mutant in places(path):
                by_group[room, mutant.kind].append(mutant)
    for mutants in by_group.values():
        chooser.shuffle(mutants)
    chooser.shuffle(groups)
    turns = cycle(groups)
    return [by_group[next(turns)].pop() for _ in range(count)]


# ------------------------------------------------------------------------------------------------------------- running


def run_tests(room: str, copy: Path, limit_s: float) -> str:
    """Run the room's tests on a copy of the core. Return "caught" or "timed_out" if they fail, "" if they pass."""
    recorded = [*ROOT.glob(f"tests/{room}/test_recorded_*.py")]  # run first: fast, and they catch most mutants
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *map(str, recorded), *TESTS[room]]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=limit_s)
    except subprocess.TimeoutExpired:
        return "timed_out"
    if ended.returncode not in (0, FAILED_TESTS, INTERRUPTED, USAGE_ERROR):
        raise click.ClickException(f"pytest ended with {ended.returncode}: {ended.stdout[-2000:]}")
    return "caught" if ended.returncode else ""


def try_mutant(mutant: Mutant, copy: Path, limit_s: float) -> str:
    path = copy / mutant.file
    source = path.read_bytes()
    path.write_bytes(mutant.applied(source))
    try:
        return run_tests(room_of(mutant), copy, limit_s)
    finally:
        path.write_bytes(source)


def room_of(mutant: Mutant) -> str:
    return Path(mutant.file).parts[1]


@click.command()
@click.option("--seed", default=1, show_default=True)
@click.option("--count", default=40, show_default=True)
@click.option("--limit-s", default=300.0, show_default=True, help="seconds for the tests of one mutant")
@click.option("--room", "rooms", multiple=True, type=click.Choice(ROOMS), help="only these; by default all four")
def main(seed: int, count: int, limit_s: float, rooms: tuple[str, ...]) -> None:
    mutants, outcomes = choose_mutants(seed, count, rooms or ROOMS), []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        shutil.copytree(SOURCE / "memscope", copy / "memscope")
        for room in sorted({room_of(mutant) for mutant in mutants}):
            if outcome := run_tests(room, copy, limit_s):
                raise click.ClickException(f"the tests of {room} do not pass without a mutant: {outcome}")
        for mutant in mutants:
            outcomes.append(try_mutant(mutant, copy, limit_s))
            change = f"{mutant.before} -> {mutant.after}"
            print(f"{outcomes[-1] or 'survived':9} {mutant.file}:{mutant.line} {mutant.kind}: {change}", flush=True)
    caught = sum(map(bool, outcomes))
    survivors = [
        {name: asdict(mutant)[name] for name in ("file", "line", "kind", "before", "after")}
        for mutant, outcome in zip(mutants, outcomes, strict=True)
        if not outcome
    ]
    result = {"seed": seed, "mutants": count, "caught": caught, "timed_out": outcomes.count("timed_out")}
    print(json.dumps({**result, "share": round(caught / count, 3), "survivors": survivors}))


if __name__ == "__main__":
    main()
