"""Checks of ``doctor``: pending work and its errors, the clock, duplicate and stale memories; no model is asked."""

from __future__ import annotations

import shlex
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from memscope import AsyncMemoryScope
from memscope.commands.doctor.examination import Examination, Finding
from memscope.commands.doctor.model_checks import mend
from memscope.commands.formatting import budget_lines, list_counts
from memscope.commands.language import count_nouns, join, say, say_sentence
from memscope.commands.store import list_work
from memscope.reconciliation.similarity import form
from memscope.records import Insight, Interval, Memory, Observation, Select, Turn
from memscope.stores import Store
from memscope.text.secrets import find

MOST = 20_000  # records that are looked at
AHEAD = timedelta(hours=26)  # further than any two time zones are apart
NAMED = 3
SECTIONS = {"consolidate": "chat", "reflect": "chat", "embed": "embedding"}


async def work(exam: Examination, memory: AsyncMemoryScope) -> AsyncIterator[Finding]:
    """Pending, failed and parked work."""
    waiting = list_work(exam.status["pending"])
    yield Finding("work", "ok", say("waiting: {work}", work=waiting) if waiting else say("nothing is waiting"))
    for one, line in zip(exam.status["budget"], budget_lines(exam.status), strict=True):
        if one["spent"] >= one["most"]:
            yield Finding("work", "warn", line, say("raise chat.budget, or wait"), 5)
    if refused := exam.status["refused"]:
        mended = say("try a larger chat.model; memscope consolidate --preview shows them")
        yield Finding("work", "warn", say_sentence(refused), mended, 5)
    errors = exam.status["errors"]
    for state, after in (("failed", ""), ("parked", "memscope unpark")):
        stages = [stage for stage, number in exam.status[state].items() if number]
        if stages:
            told = f"{say(state)}: {list_work(exam.status[state])}" + (f"; {list_counts(errors)}" if errors else "")
            yield Finding("work", "warn", told, _mend_work(stages, errors, after), 5)


def _mend_work(stages: Sequence[str], errors: Iterable[str], after: str) -> str:
    sections = dict.fromkeys(SECTIONS[stage] for stage in stages)
    known = dict.fromkeys(one for code in errors for section in sections if (one := mend(code, section)))
    names = say(" or ").join(sections)
    first = "; ".join(known) or say("mend what the error says, usually in {sections} of the settings", sections=names)
    return say("{first}, then: {after}", first=first, after=after) if after else first


async def clock(exam: Examination, memory: AsyncMemoryScope) -> AsyncIterator[Finding]:
    """Times in the future: of the store's file, and of turns."""
    now = memory.runtime.clock()
    zone = exam.settings.timezone if exam.settings else None
    file = exam.file
    shown = f"{now:%Y-%m-%d %H:%M %Z}"
    if file is not None and file.exists() and file.stat().st_mtime > time.time() + 60:
        told = say("it is {now}, and the store was written later", now=shown)
        yield Finding("clock", "warn", told, say("set the clock of this machine: times would be in the wrong order"))
    ahead = [user async for user in _users_ahead(memory.runtime.store, now)]
    if ahead:
        told = say("turns from the future, of {users}", users=join(map(ascii, ahead[:NAMED])))
        mended = say("give times with their zone, and set the clock; forget --since finds them")
        yield Finding("clock", "warn", told, mended)
    where = zone or say("UTC where none is given")
    yield Finding("clock", "ok", say("{now}, time zone {zone}", now=shown, zone=where))


async def _users_ahead(store: Store, now: datetime) -> AsyncIterator[str]:
    future = Interval(now + AHEAD, datetime.max.replace(tzinfo=now.tzinfo) - timedelta(days=2))
    for user in await store.users():
        async for _ in store.scan(Select(user, kinds=frozenset({"turn"}), period=future)):
            yield user
            break


async def memories(exam: Examination, memory: AsyncMemoryScope) -> AsyncIterator[Finding]:
    """Doubled: current memories of the same words. Stale: expired, or resting on what was superseded."""
    store, now = memory.runtime.store, memory.runtime.clock()
    looked, wrong = 0, False
    for user in await store.users():
        if looked >= MOST:
            break
        select = Select(user, kinds=frozenset({"observation", "insight"}))
        held = [one async for page in store.scan(select) for one in page if not isinstance(one, Turn)]
        looked += len(held)
        for words, mended in _problems(held, now):
            wrong = True
            told = say("user {user}: {words}", user=ascii(user), words=words)
            yield Finding("memories", "warn", told, mended.replace("{user}", shlex.quote(user)))
    if not wrong:
        number = count_nouns(looked, "memory", "memories")
        yield Finding("memories", "ok", say("{memories} looked at: none doubled, none stale", memories=number))


async def secrets(exam: Examination, memory: AsyncMemoryScope) -> AsyncIterator[Finding]:
    """Turns that look as if they held a key or a card number. Only their ids are named."""
    store, looked, clean = memory.runtime.store, 0, True
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
        number = count_nouns(looked, "turn")
        yield Finding("secrets", "ok", say("{turns} looked at: no keys or card numbers", turns=number))


def _revealing(user: str, kinds: Mapping[str, Sequence[str]]) -> Finding:
    names = join(sorted({say(kind.replace("_", " ")) for held in kinds.values() for kind in held}))
    told = say("user {user}: {turns} that may hold secrets ({names})", user=ascii(user),
               turns=count_nouns(len(kinds), "turn"), names=names)  # fmt: skip
    forget = f"memscope forget --user {shlex.quote(user)} {_ids(list(kinds))}"
    mended = say("{command}; the setting redaction.mask keeps new ones out", command=forget)
    return Finding("secrets", "warn", told, mended)


def _ids(ids: Sequence[str]) -> str:
    return " ".join(f"--id {shlex.quote(id)}" for id in ids[:NAMED])


def _problems(held: Sequence[Observation | Insight], now: datetime) -> Iterable[tuple[str, str]]:
    """Returns problems of a user's memories, each with its remedy for ``{user}``."""
    current = [one for one in held if one.current]
    if doubles := _doubles(current):
        number = count_nouns(len(doubles), "memory", "memories")
        forget = f"memscope forget --user {{user}} {_ids(doubles)}"
        yield (
            say("{memories} doubled, with the words of another", memories=number),
            say("memscope show, then: {command}", command=forget),
        )
    if expired := [one.id for one in current if one.expires is not None and one.expires <= now]:
        number = count_nouns(len(expired), "memory", "memories")
        yield (
            say("{memories} expired, out of sight and still in the store", memories=number),
            "memscope sweep --user {user}",
        )
    if resting := _resting_on_what_is_over(held):
        number = count_nouns(len(resting), "insight")
        yield (say("{insights} resting on what was superseded", insights=number), "memscope reflect --user {user}")


def _doubles(current: Sequence[Observation | Insight]) -> list[str]:
    """The ids of all but the first of those that have the same words and are about the same time."""
    alike: dict[tuple[object, ...], list[str]] = defaultdict(list)
    for one in current:
        alike[type(one), one.scope.agent, one.name, form(one.text).tokens, one.happened].append(one.id)
    return [id for ids in alike.values() for id in ids[1:]]


def _resting_on_what_is_over(held: Sequence[Memory]) -> list[str]:
    closed = {one.id for one in held if one.closed is not None}
    return [one.id for one in held if isinstance(one, Insight) and one.current and closed.intersection(one.sources)]
