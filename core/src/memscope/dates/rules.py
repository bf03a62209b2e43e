"""The cascade's rows, read from ``data/rules.txt``, and their actions: functions of the modules named here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from memscope.dates import clocks, compose, days, edges, numbers, relative, repeated
from memscope.dates.calendar import Now
from memscope.dates.cascade import Build, Row
from memscope.dates.vocabulary import lines

MODULES = {
    module.__name__.rpartition(".")[2]: module for module in (clocks, compose, days, edges, numbers, relative, repeated)
}
Part = Callable[[Now, Sequence[Any]], Any]  # of an action: from the values of the matched tokens


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
    """Returns the builder of ``compose.away 1 $1 (compose.coming $2)``: it declines where a part of it does."""
    words = iter(re.findall(r"[()]|[^\s()]+", action))
    part = _call(words, all_values="$" not in action) if "." in action else _argument(action)
    return lambda now, *values: part(now, values)


def _call(words: Iterator[str], all_values: bool = False) -> Part:
    """Reads a function and its arguments, up to a closing bracket or the end."""
    module, _, name = next(words).partition(".")
    function: Build = getattr(MODULES[module], name)
    until_closed = iter(lambda: next(words, ")"), ")")
    given = [_call(words) if word == "(" else _argument(word) for word in until_closed]

    def part(now: Now, values: Sequence[Any]) -> Any:
        arguments = [one(now, values) for one in given]
        return None if None in arguments else function(now, *arguments, *(values if all_values else ()))

    return part


def _argument(word: str) -> Part:
    """Returns the n-th value for ``$n``, the last for ``$last``; a number; a word."""
    if word.startswith("$"):
        at = -1 if word == "$last" else int(word[1:]) - 1
        return lambda now, values: values[at]
    known: dict[str, Any] = {"nothing": True, "0.5": 0.5}
    constant = int(word) if re.fullmatch(r"-?\d+", word) else known.get(word, word)
    return lambda now, values: constant


ROWS = rows(list(lines("rules.txt")))
