"""Check of a clock given as an argument."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from memscope.errors import ConfigError

HINT = "give a function that returns a time with its zone, such as lambda: datetime.now(UTC)"
EARLIEST, LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(3000, 1, 1, tzinfo=UTC)


def utc_now() -> datetime:
    return datetime.now(UTC)


def checked_clock(clock: Callable[[], datetime] | None) -> Callable[[], datetime]:
    """Returns the clock, the system's for None. ``ConfigError`` for a time without zone or of another age."""
    if clock is None:
        return utc_now
    given: object = clock
    time: object = given() if callable(given) else None
    if not isinstance(time, datetime):
        raise ConfigError(f"the clock gives no time: {type(time if callable(given) else given).__name__}", hint=HINT)
    if time.utcoffset() is None:
        raise ConfigError("the clock gives a time without a zone", hint=HINT)
    if not EARLIEST <= time < LATEST:
        raise ConfigError(f"the clock is in the year {time.year}", hint="set it")
    return clock
