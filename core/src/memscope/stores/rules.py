"""Rules that every store decides alike. Times are microseconds since 1970."""

from __future__ import annotations

from memscope.records import LONGEST_WAIT_S

CLOCKS_APART_S = 60.0  # between the clocks of two hosts


def furthest(now: int, granted_s: float = LONGEST_WAIT_S) -> int:
    """Returns the latest end of a lease granted by now; a later one was written by a clock that ran ahead."""
    return now + int((granted_s + CLOCKS_APART_S) * 1e6)


def holds(until: int, now: int, granted_s: float = LONGEST_WAIT_S) -> bool:
    """Returns whether a lease, or a pause before the next attempt, that ends at ``until`` is still to be respected."""
    return now < until <= furthest(now, granted_s)
