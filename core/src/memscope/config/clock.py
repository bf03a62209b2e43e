"""Check of a clock given as an argument."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from memscope.errors import ConfigError

HINT = "give a function that returns a time with its zone, such as lambda: datetime.now(UTC)"
MIN_CLOCK, MAX_CLOCK = datetime(1970, 1, 1, tzinfo=UTC), datetime(3000, 1, 1, tzinfo=UTC)


def utc_now() -> datetime:
    return datetime.now(UTC)


def checked_clock(clock: Callable[[], datetime] | None) -> Callable[[], datetime]:
    """Return the clock, the system's for None. ``ConfigError`` for a time without zone or of another age."""
    if clock is None:
        return utc_now
    value: object = clock
    time: object = value() if callable(value) else None
    if not isinstance(time, datetime):
        raise ConfigError(f"the clock gives no time: {type(time if callable(value) else value).__name__}", hint=HINT)
    if time.utcoffset() is None:
        raise ConfigError("the clock gives a time without a zone", hint=HINT)
    if not MIN_CLOCK <= time < MAX_CLOCK:
        raise ConfigError(f"the clock is in the year {time.year}", hint="set it")
    return clock
