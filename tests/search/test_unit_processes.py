"""Units that further processes make are those that this one makes."""

import os
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from memscope import AsyncMemoryScope
from memscope.records import INJECTED, Scope, Turn
from memscope.search import unit_processes
from memscope.search.unit_processes import Makers, make
from memscope.stores import local

TEXTS = (
    "I moved to Berlin last Monday.",
    "我每周三去跑步，明天要见医生。",
    "Choir is every Tuesday, café at 5 \ud83d!",
    " ",
)
ZONES = (UTC, timezone(timedelta(hours=-3, minutes=-30)), ZoneInfo("Europe/Berlin"))


def said(number: int) -> Turn:
    when = datetime(2025, 3, 30, 1, 30, tzinfo=ZONES[number % len(ZONES)])
    scope = Scope("ann", "helper" if number % 2 else None, f"s{number % 5}")
    metadata = {INJECTED: True} if number % 7 == 0 else {}
    role = ("user", "assistant", "person")[number % 3]
    text = TEXTS[number % len(TEXTS)] * (1 + 40 * (number % 4 == 1))
    return Turn(f"k{number}", scope, role, "Ann", text, when, when, metadata, statement=number % 5 == 0)


TURNS = [None if number == 3 else said(number) for number in range(24)]


@pytest.fixture
def makers(monkeypatch):
    monkeypatch.setattr(unit_processes, "IDLE_S", 0.2)
    monkeypatch.setattr(unit_processes, "MAX_PROCESSES", 2)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    makers = Makers()
    yield makers
    for thread in [*makers._threads]:
        thread.join(60)
    assert not makers._threads, "a process ends some time after the last work"


def made_by_process(monkeypatch):
    """Return the answers of processes; one is None that came from this one."""
    answers, ask = [], unit_processes._Process.make
    monkeypatch.setattr(
        unit_processes._Process, "make", lambda self, turns: answers.append(ask(self, turns)) or answers[-1]
    )
    return answers


def test_a_process_makes_the_same_units(makers, monkeypatch):
    answers = made_by_process(monkeypatch)
    assert makers.submit(TURNS).result(60) == make(TURNS) == answers[0]


@pytest.mark.skipif(not hasattr(os, "getpriority"), reason="this system has no niceness")
def test_a_process_lets_the_calls_of_other_users_go_first(makers):
    process = unit_processes._Process.start()
    assert process.make(TURNS) is not None
    niceness = [os.getpriority(os.PRIO_PROCESS, pid) for pid in (0, process._process.pid)]
    process.end()
    assert niceness[1] == min(niceness[0] + unit_processes.NICENESS, 19)


def test_without_its_process_the_units_are_made_here(makers, monkeypatch):
    answers = made_by_process(monkeypatch)
    monkeypatch.setattr(unit_processes, "_COMMAND", (unit_processes.sys.executable, "-c", "raise SystemExit(1)"))
    assert makers.submit(TURNS).result(60) == make(TURNS)
    assert answers == [None]


def test_a_language_that_the_process_does_not_know_is_read_here(makers, monkeypatch):
    answers = made_by_process(monkeypatch)
    known = unit_processes.named_places()
    asked = iter([known])
    monkeypatch.setattr(unit_processes, "named_places", lambda: next(asked, [*known, ("xx", "some.module:XX")]))
    assert makers.submit(TURNS).result(60) == make(TURNS)
    assert answers == [None]


def test_work_that_nobody_waits_for_any_more_is_passed_over(makers, monkeypatch):
    """A stopped import cancels it; an error of the thread would leave its process running."""
    answers, cancelled = made_by_process(monkeypatch), Future()
    cancelled.cancel()
    makers._work.put((TURNS, cancelled))
    assert makers.submit(TURNS).result(60) == make(TURNS)
    assert len(answers) == 1


@pytest.mark.slow
async def test_an_import_by_processes_is_the_same(tmp_path, monkeypatch):
    found = []
    async with AsyncMemoryScope(tmp_path / "first.db", settings={}) as memory:
        told = [{"role": "user", "content": f"{TEXTS[n % 2]} {n}"} for n in range(450)]
        await memory.add_turns(told, user="ann")
        await memory.add_turns(told[:20], user="ben")
        await memory.admin.export(tmp_path / "all.jsonl")
    for least, name in ((1 << 60, "here.db"), (100, "processes.db")):
        monkeypatch.setattr(local, "MIN_BYTES_PREPARED", least)
        async with AsyncMemoryScope(tmp_path / name, settings={}) as memory:
            for _ in range(2):  # the second time all are known
                await memory.admin.import_(tmp_path / "all.jsonl")
            store = memory.admin.runtime.services.store
            changes = {user: await store.changes(user, 0) for user in ("ann", "ben")}
            found.append({user: (bytes(one.columns), bytes(one.terms)) for user, one in changes.items()})
            assert not store._prepared
    assert found[0] == found[1]
