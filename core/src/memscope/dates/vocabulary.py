"""The words of time, read from ``data/en.txt`` and ``data/zh.txt``: a kind, a value and words in each line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, product
from pathlib import Path
from typing import Any

from memscope.dates import lunar
from memscope.dates.clocks import hours
from memscope.dates.days import easter_feast, feast, moving_feast, solar_term
from memscope.dates.relative import CalendarStep
from memscope.dates.repeated import Rule

_VALUES: tuple[tuple[str, Callable[..., Any]], ...] = (  # the most frequent ones first
    (r"(-?\d+)", int),
    (r"-", lambda: None),
    (r"(-?\d+)w", CalendarStep),
    (r"(?!qingming)([a-z]+)", str),
    (r"(\d\.\d)", float),
    (r"(\d+)-(\d+)h", lambda start, end: hours(int(start), int(end))),
    (r"(\d\d)-(\d\d)", lambda month, day: feast(int(month), int(day))),
    (r"(\d\d)/(\d)/(-?\d)\+?(\d?)", lambda *rule: moving_feast(*(int(part or 0) for part in rule))),
    (r"lunar(\d\d)-(\d\d)(-1)?", lambda *day: lunar.feast(*(int(part or 0) for part in day))),
    (r"qingming()", lambda _: lunar.qingming()),
    (r"solar(\d\d)/(\d+\.\d+)", lambda month, day: solar_term(int(month), float(day))),
    (r"easter([+-]\d+)", lambda days: easter_feast(int(days))),
    (r"on/(\d),(\d)", lambda *days: Rule("week", 1, tuple(map(int, days)))),
    (r"(.+)/(.+)", lambda *parts: tuple(map(_value, parts))),
)
_COMMENT = re.compile("(?:^|  )#")
_REFERENCE = re.compile("{([A-Z_]+)}")
_DEFINITION = re.compile("([A-Z_]+) = (.+)")


def lines(name: str | Path, **extra: str) -> Iterator[str]:
    """Yield the lines of a file, by its path or its name in ``data/``, without comments and with definitions replaced.

    ``{NAME}`` is replaced by the text that a line ``NAME = ...`` defines.
    """
    pieces = dict(extra)
    for line in (Path(__file__).parent / "data" / name).read_text(encoding="utf-8").splitlines():
        content = _COMMENT.split(line)[0].strip() if "#" in line else line.strip()
        if "{" in content:
            content = _REFERENCE.sub(lambda piece: pieces[piece[1]], content)
        if " = " in content and (piece := _DEFINITION.fullmatch(content)):
            pieces[piece[1]] = piece[2]
        elif content:
            yield content


ARROW = " -> "  # in lines that are rules, not words


def words(lines: Iterable[str]) -> Iterator[tuple[str, tuple[str, Any]]]:
    """Yield each word with its kind and its value; the kind "" is ignored."""
    for line in (line for line in lines if ARROW not in line):
        kind, value, spellings = line.split(maxsplit=2)
        meaning = kind.strip("-"), _value(value)
        yield from ((word, meaning) for word in _spelled(spellings))


def _value(text: str) -> Any:
    return next(read(*match.groups()) for pattern, read in _VALUES if (match := re.fullmatch(pattern, text)))


def _spelled(text: str) -> Iterator[str]:
    """Yield "a b" and "a c" for ``a (b|c)``."""
    if "(" not in text:
        yield from text.split("|")
        return
    for word in re.split(r"\|(?![^(]*\))", text):
        yield from map("".join, product(*(part.split("|") for part in re.split("[()]", word))))


VOCABULARY: Mapping[str, tuple[str, Any]] = dict(words(chain(lines("en.txt"), lines("zh.txt"))))
