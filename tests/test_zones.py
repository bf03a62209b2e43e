"""Now is the user's: turns, dates of facts and lines are local to the zone of the call, the settings or the system."""

from __future__ import annotations

import inspect
import time
from datetime import UTC, date, datetime, timedelta

import pytest

from memscope import AsyncMemoryScope
from memscope.blocks import AsyncBlocks
from memscope.dates.iso import written
from memscope.entities.operations import AsyncEntities
from memscope.errors import InputError, NotFound
from memscope_testing.models import IdealChat

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
        with pytest.raises(InputError, match="Mars"):
            await memory.add_turns([{"role": "user", "content": SAID}], user="alice", zone="Mars/Olympus")


@pytest.mark.parametrize("edge", [datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)])
@pytest.mark.parametrize("zone", ["Asia/Shanghai", "America/New_York"])
async def test_the_ends_of_the_calendar_are_consolidated_in_any_zone(edge, zone):
    async with opened(timezone=zone) as memory:
        await memory.add_turns([{"role": "user", "content": SAID, "time": edge}], user="alice")
        report = await memory.consolidate(user="alice")
        assert (report.new, report.pending, dict(report.errors)) == (1, 0, {})


@pytest.mark.parametrize("edge", [datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)])
@pytest.mark.parametrize("zone", ["Asia/Shanghai", "America/New_York"])
async def test_the_ends_of_the_calendar_are_read_in_any_zone(edge, zone):
    async with opened(timezone=zone) as memory:
        said = {"role": "user", "content": "I live in Berlin with my sister Kim.", "time": edge}
        await memory.add_turns([said], user="alice")
        await memory.add_memory("The user likes tea.", user="alice", time=edge)
        assert f"[{edge.year}-" in await memory.context("Where do I live?", user="alice")
        assert await memory.profile(user="alice") and (await memory.entities(user="alice").list())[0].first == edge
        for by in ("day", "week", "month"):
            assert [bucket.start.year for bucket in (await memory.entities(user="alice").timeline(by=by)).buckets] == [
                edge.year
            ]


# ------------------------------------------------------------------------------------- times that come without a zone

NOON = datetime.fromisoformat("2026-06-11T12:00")  # without a zone, as in the calls below
SHANGHAI = datetime(2026, 6, 11, 4, 0, tzinfo=UTC)  # what it is there, and in the zone an hour before it:
TOKYO = SHANGHAI - timedelta(hours=1)
MOMENT = SHANGHAI - timedelta(minutes=30)
TIMES = {"as_of", "expires", "time", "since", "period", "turns"}


async def seen(result):
    try:
        return "Berlin" in str(await result)
    except NotFound:
        return False


async def made(result):
    return (await result).expires


async def said(memory, user, **more):
    await memory.add_turns([{"role": "user", "content": "Hello there.", "time": more.pop("time")}], user=user, **more)
    return (await memory.list(user=user))[-1].time


#: Per method that takes a time: a call with that time, and what shows how it was read: it shows whether Anna's move
#: to Berlin, said at half past three in UTC, was known at that time; or the time itself.
READ = {
    ("retrieve", "as_of"): lambda memory, at, **z: seen(memory.retrieve("Anna Berlin", user="anna", as_of=at, **z)),
    ("context", "as_of"): lambda memory, at, **z: seen(memory.context("Anna Berlin", user="anna", as_of=at, **z)),
    ("profile", "as_of"): lambda memory, at, **z: seen(memory.profile("anna", as_of=at, **z)),
    ("entities.list", "as_of"): lambda memory, at: seen(memory.entities("anna").list(as_of=at)),
    ("entities.list", "since"): lambda memory, at: seen(memory.entities("anna").list(since=at)),
    ("entities.get", "as_of"): lambda memory, at: seen(memory.entities("anna").get("Berlin", as_of=at)),
    ("entities.timeline", "as_of"): lambda memory, at, **z: seen(
        memory.entities("anna").timeline("Berlin", as_of=at, **z)),
    ("entities.stream", "as_of"): lambda memory, at: seen(memory.entities("anna").stream(as_of=at)),
    ("entities.graph", "as_of"): lambda memory, at: seen(memory.entities("anna").graph(as_of=at)),
    ("list", "period"): lambda memory, at: seen(memory.list(user="anna", period=(at, None))),
    ("forget", "period"): lambda memory, at: turns(memory.forget(user="anna", period=(at, None), dry_run=True)),
    ("blocks.list", "as_of"): lambda memory, at: seen(memory.blocks("anna").list(as_of=at)),
    ("blocks.get", "as_of"): lambda memory, at: seen(memory.blocks("anna").get("human", as_of=at)),
    ("blocks.text", "as_of"): lambda memory, at: seen(memory.blocks("anna").text(as_of=at)),
    ("add_turns", "turns"): lambda memory, at, **z: said(memory, "bob", time=at, **z),
    ("add_memory", "time"): lambda memory, at, **z: told(memory.add_memory("I moved.", user="bob", time=at, **z)),
    ("add_memory", "expires"): lambda memory, at, **z: made(memory.add_memory("x", user="bob", expires=at, **z)),
    ("update", "expires"): lambda memory, at: updated(memory, at),
}  # fmt: skip


async def turns(result):
    return (await result).turns == 1


async def told(result):
    return (await result).said


async def updated(memory, at):
    fact = await memory.add_memory("y", user="bob")
    return await made(memory.update(fact.id, user="bob", expires=at))


KINDS = {"": AsyncMemoryScope, "blocks.": AsyncBlocks, "entities.": AsyncEntities}


def method_of(place):
    kind, _, name = place.rpartition(".")
    return getattr(KINDS[f"{kind}." if kind else ""], name)


def takes_time():
    for prefix, kind in KINDS.items():
        for name, method in inspect.getmembers(kind, inspect.isfunction):
            if not name.startswith("_"):
                yield from ((prefix + name, one) for one in TIMES & inspect.signature(method).parameters.keys())


def test_every_method_that_takes_a_time_is_read_below():
    assert set(takes_time()) == READ.keys()


@pytest.fixture
def system_zone(monkeypatch):
    """Tokyo: an hour before Shanghai."""
    if not hasattr(time, "tzset"):
        pytest.skip("the system's zone cannot be set here")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("at", [NOON, NOON.isoformat(), NOON.isoformat(" ", "minutes")], ids=["naive", "iso", "space"])
@pytest.mark.parametrize(("method", "argument"), READ)
async def test_a_time_without_a_zone_is_local_to_the_call_the_settings_or_the_system(system_zone, method, argument, at):
    read = READ[method, argument]
    for settings, more, expected in (
        ({}, {}, TOKYO),
        ({"timezone": "Asia/Shanghai"}, {}, SHANGHAI),
        ({"timezone": "America/New_York"}, {"zone": "Asia/Shanghai"}, SHANGHAI),
    ):
        if more and "zone" not in inspect.signature(method_of(method)).parameters:
            continue
        async with AsyncMemoryScope(":memory:", settings=settings, clock=lambda: MOMENT) as memory:
            turn = {"role": "user", "content": "My sister Anna moved to Berlin.", "time": MOMENT}
            await memory.add_turns([turn], user="anna")
            await memory.blocks("anna").create("human", "Anna lives in Berlin.")
            result = await read(memory, at, **more)
        known = MOMENT >= expected if argument in ("since", "period") else MOMENT <= expected
        assert result == (known if isinstance(result, bool) else expected), (settings, more)


async def test_a_date_is_the_midnight_of_its_zone(system_zone):
    async with AsyncMemoryScope(":memory:", settings={}, clock=lambda: NIGHT) as memory:
        fact = await memory.add_memory("x", user="bob", expires="2027-01-01")
        assert fact.expires == datetime(2026, 12, 31, 15, tzinfo=UTC)
        turn = {"role": "user", "content": "Hello.", "time": datetime(2026, 6, 9, 15, tzinfo=UTC)}
        await memory.add_turns([turn], user="bob")
        for day, found in ((date(2026, 6, 9), 0), (date(2026, 6, 10), 1)):
            assert len(await memory.list(user="bob", kinds=["turn"], period=(day, day))) == found


@pytest.mark.parametrize("at", ["0001-01-01", "9999-12-31T23:59:59"])
async def test_a_time_without_a_zone_at_the_ends_of_the_calendar_is_taken_or_refused_by_type(system_zone, at):
    async with opened() as memory:
        for call in (memory.retrieve("Hello?", user="a", as_of=at), memory.add_memory("x", user="a", expires=at)):
            try:
                await call
            except InputError as error:
                assert "out of range" in str(error)
