"""The cascade's rows, read from ``data/rules.txt``, and their actions: functions of the modules named here."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from memscope.dates import clocks, compose, days, edges, numbers, relative, repeated, stretches
from memscope.dates.cascade import Build, Row
from memscope.dates.vocabulary import lines

MODULES = {
    module.__name__.rpartition(".")[2]: module
    for module in (clocks, compose, days, edges, numbers, relative, repeated, stretches)
}
_CONSTANTS = {"nothing": True}  # the words are taken, and name no time


def rows(text: Sequence[str]) -> list[Row]:
    """Returns the rows of the lines of a file; its names are written out in the patterns."""
    names: dict[str, str] = {}
    found = []
    for line in text:
        if " -> " in line:
            kind, pattern, action = re.split(": | -> ", line)
            found.append(Row(_written_out(pattern, names), kind, _builder(action)))
        else:
            name, piece = line.split(" = ")
            names[name] = _written_out(piece, names)
    return found


def _written_out(pattern: str, names: Mapping[str, str]) -> str:
    return re.sub("[A-Z][A-Z_]*", lambda name: names[name[0]], pattern)


def _builder(action: str) -> Build:
    """Returns the builder of ``compose.away -1 $2 $1``: of the function named, with the arguments named.

    After constants alone, or nothing, come all values. Without a function the one argument is what is built.
    """
    first, *given = action.split()
    if "." not in first:
        return lambda now, *values: _argument(first, values)
    module, _, name = first.partition(".")
    function: Build = getattr(MODULES[module], name)
    if any(one.startswith("$") for one in given):
        return lambda now, *values: function(now, *[_argument(one, values) for one in given])
    constants = [_argument(one, ()) for one in given]
    return lambda now, *values: function(now, *constants, *values)


def _argument(text: str, values: Sequence[Any]) -> Any:
    """Returns the n-th value for ``$n``, the last for ``$last``; a number; a word."""
    if text.startswith("$"):
        return values[-1 if text == "$last" else int(text[1:]) - 1]
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    return 0.5 if text == "0.5" else _CONSTANTS.get(text, text)


ROWS = rows(list(lines("rules.txt")))
