"""Word lists of a language, read from files in its ``data`` folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from memscope.imports import pattern

if TYPE_CHECKING:
    from pathlib import Path

_ENTRY = pattern(r'"([^"]+)"|(\S+)')


def read_lists(file: Path) -> Mapping[str, tuple[str, ...]]:
    """Read a file with one list per line, "name: entries"; an entry of several words is quoted."""
    lines = (line.partition(": ") for line in file.read_text(encoding="utf-8").splitlines() if line)
    return {name: entries(words) for name, _, words in lines}


def read_sets(file: Path) -> Mapping[str, frozenset[str]]:
    """Read the lists of a file as sets."""
    return {name: frozenset(words) for name, words in read_lists(file).items()}


def entries(text: str) -> tuple[str, ...]:
    """Split a list at its spaces; an entry of several words is quoted."""
    return tuple(quoted or word for quoted, word in _ENTRY.findall(text))


def read_alternatives(folder: Path, name: str) -> str:
    """Join the lines of a file as alternatives of a pattern."""
    return f"(?:{'|'.join((folder / f'{name}.txt').read_text(encoding='utf-8').splitlines())})"


def read_spellings(file: Path) -> Mapping[str, str]:
    """Read a file with a line "usual spelling: other spellings" per word; map the others to the usual one."""
    lines = (line.partition(": ") for line in file.read_text(encoding="utf-8").splitlines())
    return {other.strip(): usual for usual, _, others in lines for other in others.split(",")}
