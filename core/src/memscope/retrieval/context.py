"""Hits as dated lines for a prompt, within a budget of tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal

from memscope import dates
from memscope.records import Hit
from memscope.text.language import language
from memscope.text.tokens import estimate_tokens
from memscope.text.units import chunks

Lines = Literal["memories", "turns"]
_BREAK = re.compile(r"\s*\n\s*")
_CHANGED = {"zh": "（后来有变：{}）", "en": " (changed later: {})"}


def context(
    found: Sequence[Hit],
    *,
    tokens: int,
    lines: Lines = "memories",
    estimate: Callable[[str], int] = estimate_tokens,
) -> str:
    """The best hits that fit into ``tokens``, one line each, oldest first.

    "memories" prints the observations that matched and of a long turn the part that did; "turns" always the whole turn.
    """
    kept: list[tuple[Hit, str]] = []
    left = tokens
    for hit in found:
        text = line(hit, lines)
        cost = estimate(text + "\n")
        if not kept and cost > left:
            text, cost = _shortened(text, left, estimate), left
        if text and cost <= left:
            kept.append((hit, text))
            left -= cost
    kept.sort(key=lambda pair: pair[0].time)
    return "\n".join(text for _, text in kept)


def line(hit: Hit, lines: Lines = "memories") -> str:
    """``[2023-05-08 13:56 Monday] Caroline: ...``, the weekday in the language of the text."""
    who, words = _printed(hit, lines)
    words = _BREAK.sub(" ", words).strip()
    lang = language(words)
    changed = _CHANGED.get(lang, _CHANGED["en"]).format(f"{hit.changed:%Y-%m-%d}") if who and hit.changed else ""
    return f"[{hit.time:%Y-%m-%d %H:%M} {dates.weekday(hit.time, lang)}] {who}{words}{changed}"


def _printed(hit: Hit, lines: Lines) -> tuple[str, str]:
    """Who is named as the speaker, and the words: a memory speaks for itself."""
    if hit.turn is None or (hit.matched and lines == "memories"):
        return "", hit.text
    return f"{hit.turn.speaker}: ", hit.turn.text if lines == "turns" else _part(hit)


def _part(hit: Hit) -> str:
    parts = chunks(hit.turn.text) if hit.turn else [""]
    part = min(hit.part, len(parts) - 1)
    before, after = "… " if part else "", " …" if part + 1 < len(parts) else ""
    return f"{before}{parts[part].strip()}{after}"


def _shortened(text: str, tokens: int, estimate: Callable[[str], int]) -> str:
    """The longest beginning that fits, by halving."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if estimate(text[:middle] + "…\n") <= tokens else (low, middle - 1)
    return text[:low] + "…" if low > len("[2023-05-08 13:56 ") else ""
