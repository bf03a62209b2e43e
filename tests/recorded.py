"""Readings of many texts as the program makes them, kept in a file, so that a change of a rule is seen in review.

Delete the file and run its test to write it again; then read the difference.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from memscope.text.language import has_cjk

UNSEEN = Path(__file__).parents[1] / "benchmarks" / "unseen"


def read(name: str) -> list[dict[str, Any]]:
    lines = (UNSEEN / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line]


def remarks(text: str, noise: str = "noise3") -> list[str]:
    """The user's turns of a noise, in the language of a text."""
    spoken = read(f"{noise}_{'zh' if has_cjk(text) else 'en'}")
    return [one["text"] for one in spoken if one.get("role", "user") == "user"]


def turns(name: str, step: int = 1) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the zone and the turn of every ``step``-th scenario of a file."""
    yield from ((one["zone"], turn) for one in read(name)[::step] for turn in one["turns"])


def questions(name: str) -> list[str]:
    return [one["question"]["text"] for one in read(name)]


def line(text: str, values: Mapping[str, object]) -> str:
    """Return a text and what was read from it; what is empty is left out."""
    shown = "; ".join(f"{name}={value}" for name, value in values.items() if value not in (None, "", (), [], 0, False))
    return f"{json.dumps(text, ensure_ascii=False)}: {shown}"


def check(path: Path, lines: Iterable[str]) -> None:
    made = list(lines)
    if not path.exists():
        path.write_text("\n".join([*made, ""]), encoding="utf-8")
        pytest.fail(f"{path.name} was written: read it, and run the test again")
    assert made == path.read_text(encoding="utf-8").splitlines()


def rounded(values: Sequence[float]) -> list[float]:
    return [round(value, 2) for value in values]
