"""Checks of ``doctor``: pending work and its errors, the clock, duplicate and stale memories; no model is asked."""

from __future__ import annotations

import shlex
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from memscope.commands.doctor.examination import Examination, Finding
from memscope.commands.doctor.model_checks import mend
from memscope.commands.formatting import budget_lines
from memscope.commands.output import count_nouns
from memscope.reconciliation.similarity import form
from memscope.records import Insight, Interval, Memory, Observation, Select, Turn
from memscope.stores import Store
from memscope.text.secrets import find

MOST = 20_000  # memories that are looked at
AHEAD = timedelta(hours=26)  # further than any two time zones are apart
NAMED = 3
SECTIONS = {"consolidate": "chat", "reflect": "chat", "embed": "embedding"}


async def work(exam: Examination) -> AsyncIterator[Finding]:
    """Pending, failed and parked work."""
    if exam.memory is None:
        return
    waiting = _items(exam.status["pending"])
    yield Finding("work", "ok", f"waiting: {waiting}" if waiting else "nothing is waiting")
    spent = [line for line in budget_lines(exam.status) if "used up" in line]
    for said in filter(None, (*spent, exam.status["refused"])):
        mended = (
            "raise chat.budget, or wait"
            if said in spent
            else "try a larger chat.model; memscope consolidate --preview shows them"
        )
        yield Finding("work", "warn", said, mended, 5)
    errors = exam.status["errors"]
    told = ", ".join(f"{code} ({number})" for code, number in errors.items())
    for state, after in (("failed", ""), ("parked", "memscope unpark")):
        stages = [stage for stage, number in exam.status[state].items() if number]
        if stages:
            said = f"{state}: {_items(exam.status[state])}" + (f"; {told}" if told else "")
            yield Finding("work", "warn", said, _mended(stages, errors, after), 5)


def _items(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} to {stage}" for stage, number in counts.items() if number)


def _mended(stages: Sequence[str], errors: Iterable[str], after: str) -> str:
    sections = dict.fromkeys(SECTIONS[stage] for stage in stages)
    known = dict.fromkeys(one for code in errors for section in sections if (one := mend(code, section)))
    first = "; ".join(known) or f"mend what the error says, usually in {' or '.join(sections)} of the settings"
    return f"{first}, then: {after}" if after else first


async def clock(exam: Examination) -> AsyncIterator[Finding]:
    """Times in the future: of the store's file, and of turns."""
    if exam.memory is None:
        return
    now = exam.memory.runtime.clock()
    zone = exam.settings.timezone if exam.settings else None
    file = exam.file
    if file is not None and file.exists() and file.stat().st_mtime > time.time() + 60:
        mended = "set the clock of this machine: times would be in the wrong order"
        yield Finding("clock", "warn", f"it is {now:%Y-%m-%d %H:%M %Z}, and the store was written later", mended)
    ahead = [user async for user in _users_ahead(exam.memory.runtime.store, now)]
    if ahead:
        said = f"turns from the future, of {', '.join(map(ascii, ahead[:NAMED]))}"
        yield Finding("clock", "warn", said, "give times with their zone, and set the clock; forget --since finds them")
    yield Finding("clock", "ok", f"{now:%Y-%m-%d %H:%M %Z}, time zone {zone or 'UTC where none is given'}")


async def _users_ahead(store: Store, now: datetime) -> AsyncIterator[str]:
    future = Interval(now + AHEAD, datetime.max.replace(tzinfo=now.tzinfo) - timedelta(days=2))
    for user in await store.users():
        async for _ in store.scan(Select(user, kinds=frozenset({"turn"}), period=future)):
            yield user
            break


async def memories(exam: Examination) -> AsyncIterator[Finding]:
    """Doubled: current memories of the same words. Stale: expired, or resting on what was superseded."""
    if exam.memory is None:
        return
    store, now = exam.memory.runtime.store, exam.memory.runtime.clock()
    looked, wrong = 0, False
    for user in await store.users():
        if looked >= MOST:
            break
        held = [one async for page in store.scan(_held(user)) for one in page if not isinstance(one, Turn)]
        looked += len(held)
        for said, mended in _of(user, held, now):
            wrong = True
            yield Finding("memories", "warn", said, mended)
    if not wrong:
        some = " of the first users" if looked >= MOST else ""
        yield Finding(
            "memories", "ok", f"{count_nouns(looked, 'memory', 'memories')}{some} looked at: none doubled, none stale"
        )


async def secrets(exam: Examination) -> AsyncIterator[Finding]:
    """Turns that look as if they held a key or a card number. Only their ids are named."""
    if exam.memory is None:
        return
    store, looked, clean = exam.memory.runtime.store, 0, True
    for user in await store.users():
        kinds: dict[str, list[str]] = {}
        async for page in store.scan(Select(user, kinds=frozenset({"turn"}))):
            looked += len(page)
            kinds |= {one.key: held for one in page if isinstance(one, Turn) and (held := [*find(one.text)])}
            if looked >= MOST:
                break
        if kinds:
            clean = False
            yield _revealing(user, kinds)
        if looked >= MOST:
            break
    if clean:
        yield Finding("secrets", "ok", f"{count_nouns(looked, 'turn')} looked at: no keys or card numbers")


def _revealing(user: str, kinds: Mapping[str, Sequence[str]]) -> Finding:
    told = ", ".join(sorted({kind.replace("_", " ") for held in kinds.values() for kind in held}))
    forget = " ".join(f"--id {shlex.quote(key)}" for key in list(kinds)[:NAMED])
    said = f"user {user!a}: {count_nouns(len(kinds), 'turn')} that may hold secrets ({told})"
    mend = f"memscope forget --user {shlex.quote(user)} {forget}; the setting redaction.mask keeps new ones out"
    return Finding("secrets", "warn", said, mend)


def _held(user: str) -> Select:
    return Select(user, kinds=frozenset({"observation", "insight"}))


def _of(user: str, held: Sequence[Observation | Insight], now: datetime) -> Iterable[tuple[str, str]]:
    """Returns problems of a user's memories, each with its remedy."""
    whose, current = f"user {user!a}", [one for one in held if one.current]
    if doubles := _doubles(current):
        forget = " ".join(f"--id {id}" for id in doubles[:NAMED])
        said = f"{whose}: {count_nouns(len(doubles), 'memory', 'memories')} doubled, with the words of another"
        yield said, f"memscope show, then: memscope forget --user {user!a} {forget}"
    if expired := [one.id for one in current if one.expires is not None and one.expires <= now]:
        said = (
            f"{whose}: {count_nouns(len(expired), 'memory', 'memories')} expired, out of sight and still in the store"
        )
        yield said, f"memscope sweep --user {user!a}"
    if resting := _resting_on_what_is_over(held):
        said = f"{whose}: {count_nouns(len(resting), 'insight')} resting on what was superseded"
        yield said, f"memscope reflect --user {user!a}"


def _doubles(current: Sequence[Observation | Insight]) -> list[str]:
    """The ids of all but the first of those that have the same words and are about the same time."""
    alike: dict[tuple[object, ...], list[str]] = defaultdict(list)
    for one in current:
        alike[type(one), one.scope.agent, one.name, form(one.text).tokens, one.happened].append(one.id)
    return [id for ids in alike.values() for id in ids[1:]]


def _resting_on_what_is_over(held: Sequence[Memory]) -> list[str]:
    closed = {one.id for one in held if one.closed is not None}
    return [one.id for one in held if isinstance(one, Insight) and one.current and closed.intersection(one.sources)]
