"""A clock of one's own: what no clock shows is told where the memory is made."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memscope import MemoryScope
from memscope.errors import ConfigError


@pytest.mark.parametrize(
    ("clock", "said"),
    [
        (lambda: datetime.fromisoformat("2026-01-01"), "without a zone"),
        (lambda: 1767225600.0, "no time: float"),
        (lambda: None, "no time: NoneType"),
        (lambda: datetime(1, 1, 1, tzinfo=UTC), "the year 1"),
        (lambda: datetime(9999, 12, 31, tzinfo=UTC), "the year 9999"),
        (datetime(2026, 1, 1, tzinfo=UTC), "no time: datetime"),
    ],
)
def test_a_time_that_no_clock_shows(clock, said):
    with pytest.raises(ConfigError, match=said):
        MemoryScope(":memory:", settings={}, clock=clock)


def test_a_clock_is_kept_as_it_is():
    def clock():
        return datetime(2026, 1, 1, tzinfo=UTC)

    with MemoryScope(":memory:", settings={}, clock=clock) as memory:
        assert memory.admin.runtime.services.clock is clock
