"""Checks of ``doctor`` that need an open memory: models, pending work, clock, memories, secrets."""

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
from memscope.errors import MemscopeError, ModelError, nearest
from memscope.languages.similarity import form
from memscope.models import Message
from memscope.models.endpoint import presets
from memscope.models.http import QUOTA_S
from memscope.plugins.redaction import secrets_in
from memscope.records import Insight, Interval, Memory, Observation, Select, Turn, weaknesses
from memscope.services import Services
from memscope.stores import Store
from memscope.stores.rules import record_id
from memscope_cli.commands.formatting import budget_lines, list_counts
from memscope_cli.commands.language import count_nouns, join, say, say_sentence
from memscope_cli.commands.options import Call, file_of
from memscope_cli.commands.store import list_work

if TYPE_CHECKING:
    from memscope.config.settings import Settings

MAX_CHECKED_RECORDS = 20_000
MAX_ZONE_OFFSET = timedelta(hours=26)  # the largest difference between two time zones
MAX_NAMED_RECORDS = 3
MODEL_OF_STAGE = {"consolidate": "chat", "reflect": "chat", "embed": "embedding"}
ANSWER_DEADLINE_S = 15.0  # doctor waits no longer for a model, even if the settings allow more
DEADLINE_SETTINGS = {"chat": "deadline_s", "embedding": "query_deadline_s", "rerank": "query_deadline_s"}
SLOW_MS = {"chat": 10_000, "embedding": 1_000, "rerank": 1_000}  # a person waits for query embedding and reranking
MODEL_EXIT_CODE = 5
WITHOUT_MODEL = {
    "chat": "chat none (turns are found, not consolidated)",
    "embedding": "embedding none (search by words and dates)",
    "rerank": "rerank none",
}
#: Remedies by error code of a model; {section} is chat, embedding or rerank.
ERROR_REMEDIES: Mapping[str, str] = {
    "model_auth": "set {section}.key, or MEMSCOPE_{upper}__KEY",
    "model_rejected": "check {section}.model and {section}.base_url",
    "model_unavailable": "check {section}.base_url, and that the server is up",
    "model_timeout": "raise {section}.deadline_s, or take a faster model",
    "query_timeout": "raise {section}.query_deadline_s, or take a faster model",
    "slow": "take a faster model",
    "model_rate_limited": "wait, or lower {section}.concurrency",
    "budget_spent": "wait, or raise {section}.budget",
    "model_reply_cut": "raise max_tokens in {section}.parameters",
    "model_reply": "try {section}.structured: json_object, or another model",
    "embedding": "check that {section}.model is an embedding model",
}

#: Remedies for models that often make one kind of mistake; the keys are those of ``records.weaknesses``.
WEAKNESS_REMEDIES: Mapping[str, str] = {
    "facts": "try a larger chat.model; {command} shows them",
    "verdicts": "try a larger chat.model: this one guesses how new facts affect known ones, and may end valid ones",
    "dates": "try a larger chat.model: this one makes up dates that nobody said; such facts are kept without a date",
    "replies": "raise max_tokens in chat.parameters, or try a larger chat.model: its answers are cut off or useless",
}

FindingState = Literal["ok", "warn", "fail"]


@dataclass(frozen=True)
class Finding:
    """Result of a check. ``mend`` is the command or setting that fixes it; ``code`` is the exit code if it failed."""

    check: str
    state: FindingState
    said: str
    mend: str = ""
    code: int = 4


@dataclass
class Examination:
    """State shared by the checks. ``settings`` and ``memory`` are None if they could not be loaded or opened."""

    call: Call
    opened: AsyncExitStack
    settings: Settings | None = None
    memory: AsyncMemoryScope | None = None
    status: Mapping[str, Any] = field(default_factory=dict)

    @property
    def file(self) -> Path | None:
        """The file of a SQLite store, None for other stores."""
        return None if self.location is None else file_of(self.location)

    @property
    def location(self) -> str | None:
        """Path or URL of the store; None if it is in settings that cannot be read."""
        if self.call.store is not None:
            return self.call.store
        return self.settings.store if self.settings else None

    def command(self, words: str) -> str:
        return self.call.command(f"memscope {words}")


Check = Callable[[Examination], AsyncIterator[Finding]]
MemoryCheck = Callable[[Examination, AsyncMemoryScope], AsyncIterator[Finding]]


# --------------------------------------------------------------------------------------------------------------- models


def remedy(exam: Examination, code: str, section: str) -> str:
    """Return the remedy for a model's error code, "" if there is no general one."""
    if code == "embedding_mismatch":
        return exam.command("reembed")
    words = say(ERROR_REMEDIES.get(code, ""), section=section, upper=section.upper())
    variable = _key_variable(exam, section) if code == "model_auth" else ""
    return say("{first}, or {variable}", first=words, variable=variable) if variable else words


async def models(exam: Examination, memory: AsyncMemoryScope) -> AsyncIterator[Finding]:
    ctx = memory.admin.runtime.services
    for section, model in (("chat", ctx.chat), ("embedding", ctx.embedder), ("rerank", ctx.reranker)):
        if model is None:
            yield Finding("models", "ok", say(WITHOUT_MODEL[section]))
            continue
        yield await _probe(exam, section, model)
    for finding in _check_space(exam, ctx):
        yield finding


def _key_variable(exam: Examination, section: str) -> str:
    """Return the variable with the API key of the model's preset, "" if the settings have a key or none is needed."""
    chosen: Any = getattr(exam.settings, section, None)
    if chosen is None or chosen.key is not None or chosen.headers or chosen.base_url is not None:
        return ""
    preset = chosen.preset or ("openai" if chosen.provider == "openai" else "")
    known = presets().get(preset, {})
    variable = str(known.get("key_env", ""))
    return variable if os.environ.get(variable) or not os.environ.get(known.get("base_url_env", "")) else ""


async def _probe(exam: Examination, section: str, model: Any) -> Finding:
    name = model.space.model if section == "embedding" else model.name
    deadline_s = getattr(getattr(model, "endpoint", None), DEADLINE_SETTINGS[section], ANSWER_DEADLINE_S)
    began = time.perf_counter()
    try:
        note = await PROBES[section](model, min(deadline_s, ANSWER_DEADLINE_S))
    except ModelError as error:
        answer = say("{section} {model} does not answer: {reason}", section=section, model=name,
                   reason=say_sentence(error.message)) + await _name_note(name, model, error)  # fmt: skip
        return Finding("models", "fail", answer, _request_remedy(exam, section, error, deadline_s), MODEL_EXIT_CODE)
    took = (time.perf_counter() - began) * 1000
    answer = say("{section} {model} answers in {took} ms", section=section, model=name, took=f"{took:,.0f}") + note
    slow = took > SLOW_MS[section]
    return Finding("models", "warn" if slow else "ok", answer, remedy(exam, "slow", section) if slow else "")


async def _chat(model: Any, deadline_s: float) -> str:
    await model.chat([Message(role="user", content="Answer with one word: ready?")], deadline_s=deadline_s)
    return ""


async def _embedding(model: Any, deadline_s: float) -> str:
    row = await model.embed_query("ready?", deadline_s=deadline_s)
    return say(", vectors of {number}", number=len(row))


async def _rerank(model: Any, deadline_s: float) -> str:
    texts = ["The cat is in the garden.", "2 + 2 = 4"]
    near, far = await model.rerank("Where is the cat?", texts, deadline_s=deadline_s)
    return "" if near > far else say(", but ranks a sum above the answer to a question about a cat")


PROBES: Mapping[str, Callable[..., Awaitable[str]]] = {"chat": _chat, "embedding": _embedding, "rerank": _rerank}


async def _name_note(name: str, model: Any, error: ModelError) -> str:
    """Suggest similar model names if the endpoint does not serve this one; "" otherwise."""
    served = await _served(model) if error.code == "model_rejected" else None
    if served is None or name in served:
        return ""
    return say("; its endpoint has no model of that name ({nearest})", nearest=say_sentence(nearest(name, served)))


def _request_remedy(exam: Examination, section: str, error: ModelError, configured_s: float) -> str:
    """Return the remedy for a failed request; ``configured_s`` is the deadline from the model's settings."""
    provider = getattr(getattr(exam.settings, section, None), "provider", "")
    code = error.code
    if code == "model_timeout" and provider == "openai":
        code = "slow" if configured_s >= ANSWER_DEADLINE_S else code if section == "chat" else "query_timeout"
    elif error.hint and (provider != "openai" or code == "model_reply" or error.retry_after == QUOTA_S):
        return say_sentence(error.hint)  # more specific than the remedy by code
    return remedy(exam, code, section) or say_sentence(error.hint)


async def _served(model: Any) -> list[str] | None:
    """List the models of the endpoint; None if it cannot list them."""
    try:
        names: list[str] | None = await model.served(deadline_s=ANSWER_DEADLINE_S)
    except (MemscopeError, AttributeError):
        return None
    return names


def _check_space(exam: Examination, ctx: Services) -> list[Finding]:
    """Check that the vectors in the store come from the configured embedder."""
    space = exam.status["space"]
    if not space:
        return []
    held = say("the store holds vectors of {model} ({dims} numbers)", model=space["model"], dims=space["dims"])
    if ctx.embedder is None:
        mended = say("set embedding in the settings, or live with search by words")
        return [Finding("models", "warn", held + say(", and no embedder is set"), mended)]
    now = ctx.embedder.space
    if now.model != space["model"] or now.dims not in (0, space["dims"]):
        message = held + say(", the embedder is {model} ({dims})", model=now.model, dims=now.dims)
        return [Finding("models", "fail", message, exam.command("reembed"), MODEL_EXIT_CODE)]
    return []


# ------------------------------------------------------------------------------------------------ work, clock, memories


async def work(exam: Examination, memory: AsyncMemoryScope) -> AsyncIterator[Finding]:
    """Report pending, failed and parked work, used-up budgets, and frequent mistakes of the chat model."""
    waiting = list_work(exam.status["pending"])
    yield Finding("work", "ok", say("waiting: {work}", work=waiting) if waiting else say("nothing is waiting"))
    for one, line in zip(exam.status["budget"], budget_lines(exam.status), strict=True):
        if one["spent"] >= one["most"]:
            yield Finding("work", "warn", line, say("raise chat.budget, or wait"), 5)
    for kind, refused in weaknesses(exam.status["facts"]).items():
        message = f"{exam.status['models']['chat']}: {say_sentence(refused)}"
        mended = say(WEAKNESS_REMEDIES[kind], command=exam.command("consolidate --preview"))
        yield Finding("work", "warn", message, mended, 5)
    errors = exam.status["errors"]
    for state, after in (("failed", ""), ("parked", exam.command("unpark"))):
        stages = [stage for stage, number in exam.status[state].items() if number]
        if stages:
            message = f"{say(state)}: {list_work(exam.status[state])}" + (f"; {list_counts(errors)}" if errors else "")
            yield Finding("work", "warn", message, _work_remedy(exam, stages, errors, after), 5)


def _work_remedy(exam: Examination, stages: Sequence[str], errors: Iterable[str], after: str) -> str:
    sections = dict.fromkeys(MODEL_OF_STAGE[stage] for stage in stages)
    known = dict.fromkeys(one for code in errors for section in sections if (one := remedy(exam, code, section)))
    names = say(" or ").join(sections)
    first = "; ".join(known) or say("fix what the error says, usually in {sections} of the settings", sections=names)
    return say("{first}, then: {after}", first=first, after=after) if after else first


async def clock(exam: Examination, memory: AsyncMemoryScope) -> AsyncIterator[Finding]:
    """Warn if the store's file or turns are dated in the future."""
    now = memory.admin.runtime.services.clock()
    zone = exam.settings.timezone if exam.settings else None
    file = exam.file
    shown = f"{now:%Y-%m-%d %H:%M %Z}"
    if file is not None and file.exists() and file.stat().st_mtime > time.time() + 60:
        message = say("it is {now}, and the store was written later", now=shown)
        yield Finding("clock", "warn", message, say("set the clock of this machine: times would be in the wrong order"))
    ahead = {user: keys async for user, keys in _future_turns(memory.admin.runtime.services.store, now)}
    if ahead:
        message = say("turns dated in the future, of {users}", users=join(map(ascii, ahead)))
        forget = "; ".join(_forget_command(exam, user, keys) for user, keys in ahead.items())
        mended = say("set the clock of the machine that they came from; if their times are wrong: {command}",
                     command=forget)  # fmt: skip
        yield Finding("clock", "warn", message, mended)
    where = zone or say("the system's where none is given")
    yield Finding("clock", "ok", say("{now}, time zone {zone}", now=shown, zone=where))


async def _future_turns(store: Store, now: datetime) -> AsyncIterator[tuple[str, list[str]]]:
    """Yield users with the keys of their turns from the future; facts about future events are not included."""
    future, named = Interval(now + MAX_ZONE_OFFSET, datetime.max.replace(tzinfo=now.tzinfo) - timedelta(days=2)), 0
    for user in await store.users():
        keys = [key.id for key in await store.keys(Select(user, kinds=frozenset({"turn"}), period=future))]
        if keys and named < MAX_NAMED_RECORDS:
            named += 1
            yield user, keys


async def memories(exam: Examination, memory: AsyncMemoryScope) -> AsyncIterator[Finding]:
    """Find duplicates (current memories with the same words) and stale memories (expired, or on superseded sources)."""
    store, looked, wrong = memory.admin.runtime.services.store, 0, False
    for user in await store.users():
        if looked >= MAX_CHECKED_RECORDS:
            break
        select = Select(user, kinds=frozenset({"observation", "insight"}))
        held = [record async for page in store.scan(select) for record in page if not isinstance(record, Turn)]
        looked += len(held)
        for words, mended in [one async for one in _problems(exam, memory, user, held)]:
            wrong = True
            yield Finding("memories", "warn", say("user {user}: {words}", user=ascii(user), words=words), mended)
    if not wrong:
        number = count_nouns(looked, "memory", "memories")
        yield Finding("memories", "ok", say("{memories} checked: no duplicates, none stale", memories=number))


async def secrets(exam: Examination, memory: AsyncMemoryScope) -> AsyncIterator[Finding]:
    """Find records that seem to contain a key or a card number, and report their ids only."""
    store, looked, clean = memory.admin.runtime.services.store, 0, True
    for user in await store.users():
        kinds: dict[str, list[str]] = {}
        async for page in store.scan(Select(user)):
            looked += len(page)
            kinds |= {record_id(record): sorted(held) for record in page if (held := secrets_in(record))}
            if looked >= MAX_CHECKED_RECORDS:
                break
        if kinds:
            clean = False
            yield _secrets_finding(exam, user, kinds)
        if looked >= MAX_CHECKED_RECORDS:
            break
    if clean:
        number = count_nouns(looked, "record")
        yield Finding("secrets", "ok", say("{records} checked: no keys or card numbers", records=number))


def _secrets_finding(exam: Examination, user: str, kinds: Mapping[str, Sequence[str]]) -> Finding:
    names = join(sorted({say(kind.replace("_", " ")) for held in kinds.values() for kind in held}))
    message = say("user {user}: {records} that may hold secrets ({names})", user=ascii(user),
               records=count_nouns(len(kinds), "record"), names=names)  # fmt: skip
    command = _forget_command(exam, user, list(kinds))
    mended = say("{command}; the setting redaction.mask keeps new ones out", command=command)
    return Finding("secrets", "warn", message, mended)


def _forget_command(exam: Examination, user: str, ids: Sequence[str]) -> str:
    """Return a command that forgets the first ``MAX_NAMED_RECORDS`` of these ids."""
    named = " ".join(f"--id {shlex.quote(id)}" for id in ids[:MAX_NAMED_RECORDS])
    return exam.command(f"forget --user {shlex.quote(user)} {named}")


async def _problems(
    exam: Examination, memory: AsyncMemoryScope, user: str, held: Sequence[Observation | Insight]
) -> AsyncIterator[tuple[str, str]]:
    """Yield problems of a user's memories as (description, remedy)."""
    current, now = [one for one in held if one.current], memory.admin.runtime.services.clock()
    quoted = shlex.quote(user)
    if doubles := _duplicates(current):
        show = exam.command(f"show --user {quoted} {shlex.quote(doubles[0])}")
        yield (
            say("{memories} duplicated: the same words as another", memories=_number(doubles)),
            say("{show}, then: {command}", show=show, command=_forget_command(exam, user, doubles)),
        )
    if expired := [one.id for one in current if one.expires is not None and one.expires <= now]:
        message = say("{memories} expired, out of sight and still in the store", memories=_number(expired))
        yield message, exam.command(f"sweep --user {quoted}")
    if resting := _with_superseded_sources(held):
        message = say("{insights} resting on what was superseded", insights=count_nouns(len(resting), "insight"))
        reflect = exam.command(f"reflect --user {quoted}")
        if not (await memory.admin.status(user=user))["pending"]["reflect"]:
            # Without pending work, reflect would not rewrite the insights: they must be forgotten.
            yield message, say("{command}; the facts stay", command=_forget_command(exam, user, resting))
        elif memory.admin.runtime.services.chat is None:
            yield message, say("set chat in the settings, then: {command}", command=reflect)
        else:
            yield message, reflect


def _number(ids: Sequence[str]) -> str:
    return count_nouns(len(ids), "memory", "memories")


def _duplicates(current: Sequence[Observation | Insight]) -> list[str]:
    """Return the ids of duplicates: memories with the words and the time of an earlier one."""
    alike: dict[tuple[object, ...], list[str]] = defaultdict(list)
    for one in current:
        alike[type(one), one.scope.agent, one.name, form(one.text).tokens, one.happened].append(one.id)
    return [id for ids in alike.values() for id in ids[1:]]


def _with_superseded_sources(held: Sequence[Memory]) -> list[str]:
    closed = {one.id for one in held if one.closed is not None}
    return [one.id for one in held if isinstance(one, Insight) and one.current and closed.intersection(one.sources)]
