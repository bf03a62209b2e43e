"""The cascade's rows, read from ``data/rules.txt``, and their actions: functions of the modules named here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from memscope.dates import clocks, compose, days, edges, lunar, numbers, relative, repeated
from memscope.dates.calendar import Now
from memscope.dates.cascade import Build, Row
from memscope.dates.vocabulary import lines

MODULES = {
    module.__name__.rpartition(".")[2]: module
    for module in (clocks, compose, days, edges, lunar, numbers, relative, repeated)
}
_LINES = tuple(lines("rules.txt"))
Part = Callable[[Now, Sequence[Any]], Any]  # part of an action: computes a value from those of the matched tokens


def row(line: str) -> Row:
    kind, pattern, action = re.split(": | -> ", line)
    return Row(pattern, kind, _builder(action))


def _builder(action: str) -> Build:
    """Compile an action such as ``compose.away 1 $1 (compose.coming $2)``, which declines if a part of it does."""
    if re.fullmatch(r"\w+\.\w+", action):
        return _function(action)
    words = iter(re.findall(r"[()]|[^\s()]+", action))
    part = _call(words, all_values="$" not in action) if "." in action else _argument(action)
    return lambda now, *values: part(now, values)


def _function(name: str) -> Build:
    module, _, function = name.partition(".")
    build: Build = getattr(MODULES[module], function)
    return build


def _call(words: Iterator[str], all_values: bool = False) -> Part:
    """Compile a function and its arguments, up to a closing bracket or the end."""
    function = _function(next(words))
    until_closed = iter(lambda: next(words, ")"), ")")
    parts = [_call(words) if word == "(" else _argument(word) for word in until_closed]

    def part(now: Now, values: Sequence[Any]) -> Any:
        arguments = [argument(now, values) for argument in parts]
        return None if None in arguments else function(now, *arguments, *(values if all_values else ()))

    return part


def _argument(word: str) -> Part:
    """Compile an argument: ``$n`` for the n-th value, ``$last`` for the last; a number; a word."""
    if word.startswith("$"):
        at = -1 if word == "$last" else int(word[1:]) - 1
        return lambda now, values: values[at]
    known: dict[str, Any] = {"nothing": True, "0.5": 0.5}
    constant = int(word) if re.fullmatch(r"-?\d+", word) else known.get(word, word)
    return lambda now, values: constant


@cache
def rows() -> Sequence[Row]:
    """Return the rows in order; compiled on first use, as many texts name no time."""
    return [*map(row, _LINES)]
