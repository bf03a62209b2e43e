"""Render hits as dated lines for a prompt, within a budget of tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from memscope import languages
from memscope.languages.insight_text import past_plan
from memscope.records import FACT_SEPARATOR, Hit, Interval, Observation, Retrieval, Turn, in_zone
from memscope.retrieval.ages import age_mark
from memscope.retrieval.events import may_mean, with_dates, with_event
from memscope.search.units import chunks
from memscope.text.tokens import estimate_tokens

Lines = Literal["memories", "turns"]
MAX_PROFILE_TOKENS = 200  # of the profile; beside hits at most half of the budget
_BREAK = re.compile(r"\s*\n\s*")


def context(
    hits: Sequence[Hit],
    *,
    tokens: int,
    lines: Lines = "memories",
    estimate: Callable[[str], int] = estimate_tokens,
    profile: Sequence[Hit] = (),
    core: str = "",
) -> str:
    """Render core memory, the profile and the best hits that fit into ``tokens``, one line per hit, oldest first.

    ``core`` has its own budget. ``lines``: "memories" prints the observations that matched, and the matching part of a
    long turn; "turns" always prints the whole turn.
    """
    profile = hits.profile if isinstance(hits, Retrieval) else profile
    profile_part = profile_lines(profile, min(MAX_PROFILE_TOKENS, tokens // 2 if hits else tokens), estimate)
    fitting: list[tuple[Hit, str]] = []
    left = tokens - sum(estimate(text + "\n") for text in profile_part)
    for hit in hits:
        text = line(hit, lines)
        cost = estimate(text + "\n")
        if not fitting and cost > left:
            text, cost = _shortened(text, left, estimate), left
        if text and hit.text.strip() and cost <= left:  # a corrected statement of data alone has no words
            fitting.append((hit, text))
            left -= cost
    fitting.sort(key=lambda pair: pair[0].time)
    memories = "\n".join([*profile_part, *(text for _, text in fitting)])
    return "\n\n".join(part for part in (core, memories) if part)


def profile_lines(profile: Sequence[Hit], tokens: int, estimate: Callable[[str], int] = estimate_tokens) -> list[str]:
    """Return the entries that fit, like ``[2023-05-08] Caroline: ...``, recent ones below a heading."""
    lines: list[str] = []
    parted = False
    for hit in profile:
        head = [languages.main(hit.text).phrases.lately] if hit.recent and not parted else []
        text = [*head, profile_line(hit)]
        cost = estimate("\n".join((*text, "")))
        if cost <= tokens:
            lines += text
            tokens -= cost
            parted = parted or hit.recent
    return lines


def profile_line(hit: Hit) -> str:
    return f"[{hit.time:%Y-%m-%d}] {_line_text(hit, 'memories')}"


def line(hit: Hit, lines: Lines = "memories") -> str:
    """``[2023-05-08 13:56 Monday] Caroline: ...``, the weekday in the language of the text."""
    weekday = languages.main(hit.text).phrases.weekdays[hit.time.weekday()]
    return f"[{hit.time:%Y-%m-%d %H:%M} {weekday}] {_line_text(hit, lines)}"


def _line_text(hit: Hit, lines: Lines) -> str:
    """Return speaker and words of a turn, or only the text of a memory."""
    facts = " ".join(_memory(hit, memory) for memory in hit.matched)
    if hit.turn and hit.matched and all(memory.by_machine for memory in hit.matched):
        facts = f"{hit.turn.speaker}: {facts}"
    if hit.turn is None or (hit.matched and not hit.beside and (lines == "memories" or hit.words)):
        return facts or _one_line(hit.text) + (
            age_mark(hit.insight, hit.insight.said, hit.asked) if hit.insight else ""
        )
    words = _one_line(hit.turn.text if lines == "turns" else hit.words or _part(hit))
    more = f"{FACT_SEPARATOR}{facts}" if hit.beside and facts and lines == "memories" else ""
    dated = with_dates(words, hit.time, dict(_quote_dates(hit, hit.turn)))
    return f"{hit.turn.speaker}: {dated}{more}{_mark(hit, words)}"


def _quote_dates(hit: Hit, turn: Turn) -> Iterator[tuple[str, Interval]]:
    """Yield the turn's words that a dated fact quotes, with its date unless another source turn may be dated so."""
    dated = [(fact.happened, fact.quotes) for fact in hit.observations if fact.happened]
    for time, quotes in dated:
        alone = len({quote.turn for quote in quotes}) == 1
        for quote in quotes:
            if quote.turn == turn.key and (alone or may_mean(quote.text, hit.time, time)):
                yield quote.text, time


def _mark(hit: Hit, words: str) -> str:
    return languages.main(words).phrases.changed.format(date=f"{hit.changed:%Y-%m-%d}") if hit.changed else ""


def _memory(hit: Hit, memory: Observation) -> str:
    words = with_event(_one_line(memory.text), memory.happened, hit.time)
    again = hit.repeats.get(memory.id)
    if hit.asked and past_plan(memory, hit.asked):
        words += languages.main(words).phrases.past
    else:
        words += age_mark(memory, max(memory.said, again.last) if again else memory.said, hit.asked)
    if again is None or again.times < 2:
        return words
    last = in_zone(again.last, hit.zone) if hit.zone else again.last
    return words + languages.main(words).phrases.repeated.format(times=again.times, date=f"{last:%Y-%m-%d}")


def _one_line(text: str) -> str:
    return _BREAK.sub(" ", text).strip()


def _part(hit: Hit) -> str:
    parts = chunks(hit.turn.text) if hit.turn else [""]
    part = min(hit.part, len(parts) - 1)
    before, after = "… " if part else "", " …" if part + 1 < len(parts) else ""
    return f"{before}{parts[part].strip()}{after}"


def _shortened(text: str, tokens: int, estimate: Callable[[str], int]) -> str:
    """Return the longest beginning that fits, found by bisection."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if estimate(text[:middle] + "…\n") <= tokens else (low, middle - 1)
    return text[:low] + "…" if low > len("[2023-05-08 13:56 ") else ""
