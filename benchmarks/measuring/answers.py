"""Measure the share of a gold answer's words in a context. This rates the lines shown, not a reader's conclusions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memscope import languages
from memscope.text.tokens import words

_ISO = re.compile(r"\b(\d{4})-(\d\d)(?:-(\d\d))?\b")
_DAY_FIRST = re.compile(r"\b(?:(\d{1,2})(?:st|nd|rd|th)?\s+)?([A-Z][a-z]+),?\s+(\d{4})\b")
_MONTH_FIRST = re.compile(r"\b([A-Z][a-z]+)\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})\b")
_YEARLESS_DAY_FIRST = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)?(?: of)? ([A-Z][a-z]+)\b(?!,?\s+\d{4})")
_YEARLESS_MONTH_FIRST = re.compile(r"\b([A-Z][a-z]+) (\d{1,2})(?:st|nd|rd|th)?\b(?!,?\s+\d{4})")
_CHINESE = re.compile(r"(?:(\d{4})年)(\d{1,2})月(?:(\d{1,2})日)?")


def answer_words(answer: str, context: str) -> float:
    """Return the share of the answer's words and dates that the context contains; 1 if the answer has none."""
    wanted, shown = _items(answer), _items(context)
    dates = [item for item in shown if _ISO.fullmatch(item)]
    known = {*shown, *(part for item in dates for part in (item[:4], item[:7], item[5:]))}
    return len(wanted & known) / len(wanted) if wanted else 1.0


def _items(text: str) -> set[str]:
    """Return the stemmed words of a text, and its full or partial dates: "2023-05-07", "2023-05", "05-07"."""
    dates = dict(_dates(text))
    for written in sorted(dates, key=len, reverse=True):
        text = text.replace(written, " ")
    return {*words(text), *dates.values()}


def _dates(text: str) -> Iterator[tuple[str, str]]:
    months = {name.casefold(): n for n, name in enumerate(languages.get("en").phrases.months, 1)}
    for found in _ISO.finditer(text):
        yield found[0], found[0]
    for pattern, (year, month, day) in ((_DAY_FIRST, (3, 2, 1)), (_MONTH_FIRST, (3, 1, 2)), (_CHINESE, (1, 2, 3))):
        for found in pattern.finditer(text):
            number = months.get(found[month].casefold(), int(found[month]) if found[month].isdigit() else 0)
            if number:
                yield found[0], f"{found[year]}-{number:02}" + (f"-{int(found[day]):02}" if found[day] else "")
    for pattern, (month, day) in ((_YEARLESS_DAY_FIRST, (2, 1)), (_YEARLESS_MONTH_FIRST, (1, 2))):
        for found in pattern.finditer(text):
            if number := months.get(found[month].casefold()):
                yield found[0], f"{number:02}-{int(found[day]):02}"
