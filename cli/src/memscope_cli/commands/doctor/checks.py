"""Checks of ``doctor`` in an open memory: its models, pending work, the clock, the memories, secrets."""

from __future__ import annotations

import os
import shlex
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from memscope import AsyncMemoryScope
from memscope.commands.formatting import budget_lines, list_counts
from memscope.commands.language import count_nouns, join, say, say_sentence
from memscope.commands.options import Call, file_of
from memscope.commands.store import list_work
from memscope.errors import MemscopeError, ModelError, nearest
from memscope.models import Message
from memscope.models.endpoint import presets
from memscope.pipeline import WorkerContext
from memscope.reconciliation.similarity import form
from memscope.records import Insight, Interval, Memory, Observation, Select, Turn
from memscope.stores import Store
from memscope.text.secrets import find

if TYPE_CHECKING:
    from memscope.config.settings import Settings

MOST = 20_000  # records that are looked at
AHEAD = timedelta(hours=26)  # further than any two time zones are apart
NAMED = 3
SECTIONS = {"consolidate": "chat", "reflect": "chat", "embed": "embedding"}
DEADLINE_S = 15.0
SLOW_MS = {"chat": 10_000, "embedding": 1_000, "rerank": 1_000}  # what waits for a person is to be quicker
MODEL = 5  # exit code
WITHOUT = {
    "chat": "chat none (turns are found, not consolidated)",
    "embedding": "embedding none (search by words and dates)",
    "rerank": "rerank none",
}
#: Remedies by the code of a model's error; {section} is chat, embedding or rerank.
MENDS: Mapping[str, str] = {
    "model_auth": "set {section}.key, or MEMSCOPE_{upper}__KEY, or the variable of the preset (docs/models.md)",
    "model_rejected": "check {section}.model and {section}.base_url",
    "model_unavailable": "check {section}.base_url, and that the server is up",
    "model_timeout": "raise {section}.deadline_s, or take a faster model",
    "model_rate_limited": "wait, or lower {section}.concurrency",
    "budget_spent": "wait, or raise {section}.budget",
    "model_reply_cut": "raise max_tokens in {section}.parameters",
    "model_reply": "try {section}.structured: json_object, or another model",
    "embedding": "check that {section}.model is an embedding model",
    "embedding_mismatch": "memscope reembed",
}


FindingState = Literal["ok", "warn", "fail"]


@dataclass(frozen=True)
class Finding:
    """``mend`` is the command or setting that helps; ``code`` the exit code if this fails."""

    check: str
    state: FindingState
    said: str
    mend: str = ""
    code: int = 4


@dataclass
class Examination:
    """State shared by the checks; a field is None where it could not be opened."""

    call: Call
    opened: AsyncExitStack
    settings: Settings | None = None
    memory: AsyncMemoryScope | None = None
    status: Mapping[str, Any] = field(default_factory=dict)

    @property
    def file(self) -> Path | None:
        """The file of the store, if that is what it is."""
        return file_of(self.location)

    @property
    def location(self) -> str:
        return self.call.store or (self.settings.store if self.settings else "")


Check = Callable[[Examination], AsyncIterator[Finding]]
MemoryCheck = Callable[[Examination, AsyncMemoryScope], AsyncIterator[Finding]]


# --------------------------------------------- models: does each answer, under its name, how fast, in the store's space


def mend(code: str, section: str) -> str:
    return say(MENDS.get(code, ""), section=section, upper=section.upper())


async def models(exam: Examination, memory: AsyncMemoryScope) -> AsyncIterator[Finding]:
    ctx = memory.runtime.ctx
    for section, model in (("chat", ctx.chat), ("embedding", ctx.embedder), ("rerank", ctx.reranker)):
        if model is None:
            yield Finding("models", "ok", say(WITHOUT[section]))
            continue
        if variable := _unset_key(exam, section):
            told = say("{section}: no key is set; its preset takes it from {variable}", section=section,
                       variable=variable)  # fmt: skip
            yield Finding("models", "warn", told, f"export {variable}=...")
        yield await _asked(section, model, ctx)
    for finding in _space(exam, ctx):
        yield finding


def _unset_key(exam: Examination, section: str) -> str:
    """Returns the variable that a preset takes its key from, where neither it nor the settings have one."""
    chosen: Any = getattr(exam.settings, section, None)
    if chosen is None or chosen.key is not None or chosen.base_url is not None:
        return ""
    preset = chosen.preset or ("openai" if chosen.provider == "openai" else "")
    known = presets().get(preset, {})
    variable = str(known.get("key_env", ""))
    return "" if os.environ.get(variable) or os.environ.get(known.get("base_url_env", "")) else variable


async def _asked(section: str, model: Any, ctx: WorkerContext) -> Finding:
    name = model.space.model if section == "embedding" else model.name
    began = time.perf_counter()
    try:
        note = await ASK[section](model)
    except ModelError as error:
        return await _failed(section, name, model, error)
    took = (time.perf_counter() - began) * 1000
    told = say("{section} {model} answers in {took} ms", section=section, model=name, took=f"{took:,.0f}") + note
    slow = took > SLOW_MS[section]
    return Finding("models", "warn" if slow else "ok", told, mend("model_timeout", section) if slow else "")


async def _chat(model: Any) -> str:
    await model.chat([Message(role="user", content="Answer with one word: ready?")], deadline_s=DEADLINE_S)
    return ""


async def _embedding(model: Any) -> str:
    row = await model.embed_query("ready?", deadline_s=DEADLINE_S)
    return say(", vectors of {number}", number=len(row))


async def _rerank(model: Any) -> str:
    texts = ["The cat is in the garden.", "2 + 2 = 4"]
    near, far = await model.rerank("Where is the cat?", texts, deadline_s=DEADLINE_S)
    return "" if near > far else say(", and finds a sum nearer to a question about a cat than its answer")


ASK: Mapping[str, Callable[[Any], Awaitable[str]]] = {"chat": _chat, "embedding": _embedding, "rerank": _rerank}


async def _failed(section: str, name: str, model: Any, error: ModelError) -> Finding:
    told = say("{section} {model} does not answer: {reason}", section=section, model=name, reason=error.message)
    served = await _served(model) if error.code == "model_rejected" else None
    if served is not None and name not in served:
        told += say("; its endpoint has no model of that name ({nearest})", nearest=nearest(name, served))
    return Finding("models", "fail", told, mend(error.code, section) or error.hint, MODEL)


async def _served(model: Any) -> list[str] | None:
    """Returns the models of the endpoint; None where it does not list them."""
    try:
        names: list[str] | None = await model.served(deadline_s=DEADLINE_S)
    except (MemscopeError, AttributeError):
        return None
    return names


def _space(exam: Examination, ctx: WorkerContext) -> list[Finding]:
    """Whether the vectors in the store are those of the embedder."""
    space = exam.status["space"]
    if not space:
        return []
    held = say("the store holds vectors of {model} ({dims} numbers)", model=space["model"], dims=space["dims"])
    if ctx.embedder is None:
        mended = say("set embedding in the settings, or live with search by words")
        return [Finding("models", "warn", held + say(", and no embedder is set"), mended)]
    now = ctx.embedder.space
    if now.model != space["model"] or now.dims not in (0, space["dims"]):
        told = held + say(", the embedder is {model} ({dims})", model=now.model, dims=now.dims)
        return [Finding("models", "fail", told, "memscope reembed", MODEL)]
    return []


# ------------------------------------------------------------------------------------------------ work, clock, memories


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
