"""Row builders for number words: numbers, ordinals, lengths. Any row builder declines its match by returning None."""

from __future__ import annotations

from typing import Any

from memscope.dates.calendar import Length, Now


def compound(now: Now, tens: int, ones: int | str) -> int | None:
    small = ordinal(ones)
    return tens + small if tens in range(20, 100, 10) and small < 10 else None


def times(now: Now, count: int, factor: int, rest: int = 0) -> int:
    return count * factor + rest


def spoken_year(now: Now, high: int, low: int) -> int | None:
    """Nineteen seventy-two."""
    return high * 100 + low if 15 <= high <= 20 and 10 <= low <= 99 else None


def as_year(now: Now, number: int) -> int | None:
    return number if 1500 <= number <= 2100 else None


def ordinal(number: int | str) -> int:
    """ "second" is an ordinal, too."""
    return 2 if number == "second" else int(number)


def length(now: Now, *values: Any) -> Length | None:
    """Numbers and units in turn; a number after a unit is a fraction of it ("one hour and a half")."""
    parts: list[tuple[float, str]] = []
    amount = 0.0
    for item in values:
        if isinstance(item, str) and not item[0].isdigit():
            parts.append((amount, item))
            amount = 0.0
        else:
            amount += float(item)
    if amount and parts:
        parts.append((amount, parts[-1][1]))
    return Length(tuple(parts)) if parts and all(amount > 0 for amount, _ in parts) else None


def joined_lengths(now: Now, *lengths: Length) -> Length:
    return Length(tuple(part for each in lengths for part in each.parts))
