"""Known names: given names, places, organisations and products, in ``data/names.txt``, and the type of a found name."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

NameKind: TypeAlias = Literal["person", "place", "organisation", "thing", "topic"]
NAME_KINDS: tuple[NameKind, ...] = ("person", "place", "organisation", "thing", "topic")

_ENTRY = re.compile(r'"([^"]+)"|(\S+)')
_KINDS: dict[str, NameKind] = {
    "given": "person", "place": "place", "organisation": "organisation", "thing": "thing",
    "placezh": "place", "organisationzh": "organisation", "thingzh": "thing",
}  # fmt: skip


class FoundName(NamedTuple):
    """A name in a text: ``start`` in characters.

    ``weight``: 3 the words beside it tell its kind, 2 it is in the table, 1 a guess, 0 no name unless it is one
    elsewhere. ``role``: who the person is to the user ("sister").
    """

    text: str
    kind: NameKind
    start: int
    weight: int
    role: str = ""


class Lexicon(NamedTuple):
    english: dict[str, NameKind]  # casefolded
    chinese: dict[str, NameKind]
    chinese_by_first: dict[str, tuple[str, ...]]  # the longest first
    surnames: frozenset[str]
    compound_surnames: frozenset[str]
    given_characters: frozenset[str]


_DATA = Path(__file__).parent / "data"


@lru_cache(maxsize=1)
def _word_sets() -> dict[str, frozenset[str]]:
    lines = (_DATA / "name_words.txt").read_text(encoding="utf-8").splitlines()
    return {head: frozenset(body.split()) for head, _, body in (line.partition(": ") for line in lines)}


def word_set(name: str) -> frozenset[str]:
    """Returns a list of ``data/name_words.txt``: words that stand beside, before or inside names, or are none."""
    return _word_sets()[name]


@lru_cache(maxsize=1)
def lexicon() -> Lexicon:
    """Read the table, once per process."""
    lines = (_DATA / "names.txt").read_text(encoding="utf-8").splitlines()
    entries = {head: [quoted or word for quoted, word in _ENTRY.findall(body)]
               for head, _, body in (line.partition(": ") for line in lines)}  # fmt: skip
    chinese = {name: _KINDS[head] for head in ("placezh", "organisationzh", "thingzh") for name in entries[head]}
    first: dict[str, list[str]] = {}
    for name in sorted(chinese, key=len, reverse=True):
        first.setdefault(name[0], []).append(name)
    return Lexicon(
        english={name: _KINDS[head] for head in ("given", "organisation", "thing", "place") for name in entries[head]},
        chinese=chinese,
        chinese_by_first={key: tuple(names) for key, names in first.items()},
        surnames=frozenset(entries["surname"][0]),
        compound_surnames=frozenset(entries["compound"]),
        given_characters=frozenset(entries["givenzh"][0]),
    )
