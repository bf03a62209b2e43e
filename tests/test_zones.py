"""Now is the user's: turns, dates of facts and lines are local to the zone of the call, the settings or the system."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from memscope import AsyncMemoryScope
from memscope.dates.iso import written
from memscope.errors import ConfigError
from memscope.testing.models import IdealChat

NIGHT = datetime(2026, 6, 11, 17, 0, tzinfo=UTC)  # one o'clock on Friday, 12 June, in Shanghai
SAID = "我明天去上海"
FACT = {"turns": [0], "text": "用户明天去上海。", "about": "user", "when": "2026-06-13", "keywords": [],
        "level": 3, "quote": SAID}  # fmt: skip


def opened(clock=lambda: NIGHT, **settings):
    return AsyncMemoryScope(":memory:", settings=settings, chat=IdealChat([{"text": SAID}], [FACT]), clock=clock)


async def noted(memory, **scope):
    await memory.consolidate(user="alice", **scope)
    (observation,) = await memory.list(user="alice", kinds=["observation"])
    return written(observation.happened)


async def test_what_is_said_at_night_is_said_on_the_users_day():
    async with opened(timezone="Asia/Shanghai") as memory:
        await memory.add_turns([{"role": "user", "content": SAID}], user="alice")
        (turn,) = await memory.list(user="alice")
        assert (turn.time, turn.time.utcoffset()) == (NIGHT, timedelta(hours=8))
        assert await noted(memory) == "2026-06-13"
        assert "2026-06-12 01:00 星期五" in await memory.context("上海", user="alice", lines="turns")


async def test_the_zone_of_a_call_stands_before_that_of_the_settings():
    async with opened(timezone="America/New_York") as memory:
        await memory.add_turns([{"role": "user", "content": SAID}], user="alice", zone="Asia/Shanghai")
        (turn,) = await memory.list(user="alice")
        assert turn.time.utcoffset() == timedelta(hours=8)
        assert await noted(memory, zone="Asia/Shanghai") == "2026-06-13"


async def test_a_time_in_utc_is_read_in_the_users_zone():
    async with opened(timezone="Asia/Shanghai") as memory:
        await memory.add_turns([{"role": "user", "content": SAID, "time": NIGHT}], user="alice")
        assert await noted(memory) == "2026-06-13"


async def test_today_in_a_question_is_that_of_its_zone():
    async with opened() as memory:
        day = {"time": "2026-06-11T12:00+08:00"}
        await memory.add_turns([{"role": "user", "content": "The boiler broke.", **day}], user="alice")
        for zone, found in (("UTC", True), ("Asia/Shanghai", False)):
            hits = await memory.retrieve("What broke today?", user="alice", zone=zone)
            assert ("period" in hits.hits[0].found_by) is found, zone


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the system's zone cannot be set here")
async def test_without_a_zone_the_systems_is_meant(monkeypatch):
    try:
        with monkeypatch.context() as patched:
            patched.setenv("TZ", "Asia/Shanghai")
            time.tzset()
            async with opened() as memory:
                await memory.add_turns([{"role": "user", "content": SAID}], user="alice")
                assert await noted(memory) == "2026-06-13"
    finally:
        time.tzset()


async def test_a_zone_that_does_not_exist_is_refused():
    async with opened() as memory:
        with pytest.raises(ConfigError, match="Mars"):
            await memory.add_turns([{"role": "user", "content": SAID}], user="alice", zone="Mars/Olympus")


@pytest.mark.parametrize("edge", [datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)])
@pytest.mark.parametrize("zone", ["Asia/Shanghai", "America/New_York"])
async def test_the_ends_of_the_calendar_are_consolidated_in_any_zone(edge, zone):
    async with opened(timezone=zone) as memory:
        await memory.add_turns([{"role": "user", "content": SAID, "time": edge}], user="alice")
        report = await memory.consolidate(user="alice")
        assert (report.new, report.pending, dict(report.errors)) == (1, 0, {})
