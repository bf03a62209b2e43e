"""Row builders for "every": the rule of "every other Tuesday", "on the 5th of each month", 每年五月."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from memscope.dates.calendar import Length, Now, Period, look, number_of
from memscope.dates.numbers import ordinal

Frequency = Literal["day", "week", "month", "year"]


@dataclass(frozen=True, slots=True)
class Rule:
    """Every ``interval``-th day, week, month or year, and the named days in it: FREQ, INTERVAL and BYDAY of RFC 5545.

    ``weekdays``: Monday is 0. ``month`` and ``day``: of a yearly or monthly rule; without a day it is the whole month.
    """

    freq: Frequency
    interval: int = 1
    weekdays: tuple[int, ...] = ()
    month: int | None = None
    day: int | None = None


_RULE_OF_UNIT: dict[str, Rule] = {
    "day": Rule("day"),
    "workday": Rule("week", 1, (0, 1, 2, 3, 4)),
    "weekend": Rule("week", 1, (5, 6)),
    "week": Rule("week"),
    "fortnight": Rule("week", 2),
    "month": Rule("month"),
    "quarter": Rule("month", 3),
    "half": Rule("month", 6),
    "year": Rule("year"),
    "decade": Rule("year", 10),
}
GAP_ROLE, SEVERAL_ROLE = "gap", "several"


def repeated(now: Now, *values: Any) -> Rule | bool | None:
    """Return the rule that the tokens around "every" name; True if it cannot be expressed; None if there is none."""
    values = tuple(part for item in values for part in (_counted(item) if isinstance(item, Length) else (item,)))
    periods = [item for item in values if isinstance(item, Period)]
    units = [item for item in values if isinstance(item, str) and item in _RULE_OF_UNIT]
    before = values[: next((i for i, item in enumerate(values) if isinstance(item, Period) or item in units), 0)]
    counts = [ordinal(item) for item in before if isinstance(item, int) or item == "second"]
    if SEVERAL_ROLE in values or len(counts) > 1 or len(units) > 1 or not (units or periods):
        return True
    rule = _merged(units, [_of_period(now, period) for period in periods])
    every = max([2 if GAP_ROLE in values else 1, *counts])
    return replace(rule, interval=rule.interval * every) if rule else True


def _counted(length: Length) -> tuple[Any, ...]:
    """Return the number and the unit of a length; a fraction, or several units, are no interval of a rule."""
    ((amount, unit), *rest) = length.parts
    return (int(amount), unit) if amount == int(amount) and not rest else (SEVERAL_ROLE,)


def named_before(now: Now, first: Any, *values: Any) -> Rule | bool | None:
    """On Monday each week; but "May 5th, every year" stays a date."""
    if isinstance(first, Period) and first.cycle not in ("week", "month"):
        return None
    return repeated(now, *values, first)


def _merged(units: list[str], named: list[Rule | None]) -> Rule | None:
    """Merge the rules of a unit and of its days: every two weeks on Wednesday, Tuesday and Thursday."""
    rules = [_RULE_OF_UNIT[unit] for unit in units] + [rule for rule in named if rule]
    if None in named or len({rule.freq for rule in rules}) != 1 or (len(named) > 1 and rules[-1].freq != "week"):
        return None
    weekdays = tuple(sorted({day for rule in rules for day in rule.weekdays}))
    return replace(rules[-1], interval=rules[0].interval, weekdays=weekdays)


def _of_period(now: Now, period: Period) -> Rule | None:
    """Return the rule of a recurring period: Monday, the 5th, May, May 5th; none for a moving feast or a season."""
    here = number_of(period.cycle, now.local)
    spans = [span for n in range(here, here + 3) if period.cycle and (span := look(period, n))]
    if not spans or any(span.shape != "point" for span in spans):
        return None
    first = spans[0]
    if period.cycle == "week" and first.grain != "week":
        return Rule("week", 1, (first.start.weekday(),))
    if period.cycle == "month" and period.grain == "day":
        return Rule("month", day=first.start.day)
    if period.cycle == "year" and len({(span.start.month, span.start.day) for span in spans}) == 1:
        whole = {"month": None, "day": first.start.day}
        return Rule("year", month=first.start.month, day=whole[first.grain]) if first.grain in whole else None
    return None


def day_of_repeated(now: Now, *values: Any) -> Rule | bool:
    """The 19th of every month, May 5th of each year."""
    *named, rule = values
    days = [ordinal(item) for item in named if isinstance(item, int | str)]
    if days and isinstance(rule, Rule) and rule == Rule("month", rule.interval):
        return replace(rule, day=days[0])
    rules = [repeated(now, item) for item in named if isinstance(item, Period)]
    return next((item for item in rules if isinstance(item, Rule)), True)


def on_units(now: Now, unit: str) -> Rule | None:
    """On weekends, on weekdays."""
    return _RULE_OF_UNIT[unit] if unit in ("weekend", "workday") else None


def any_of(now: Now, count: int, weekday: int) -> bool | None:
    """A Friday, one Sunday: no definite day."""
    return True if count == 1 else None


def on_weekdays(now: Now, *values: Any) -> Rule:
    """Tuesdays, or Tuesdays and Thursdays."""
    days = {day for item in values for day in (item if isinstance(item, tuple) else (item,)) if isinstance(day, int)}
    return Rule("week", 1, tuple(sorted(days)))


def on_scattered_weekdays(now: Now, *values: Any) -> Rule | None:
    """Monday, Wednesday and Friday, but not three days in a row, nor days that are over."""
    rule = on_weekdays(now, *values)
    first, last = min(rule.weekdays), max(rule.weekdays)
    return None if now.past or last - first < len(rule.weekdays) else rule


def weekdays_between(now: Now, first: int, last: int) -> tuple[int, ...]:
    """Mondays to Fridays."""
    return tuple((first + n) % 7 for n in range((last - first) % 7 + 1))
