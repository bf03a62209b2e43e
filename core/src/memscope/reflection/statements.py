"""Store statements with their memory, or as a further source of a memory that says the same."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from memscope import validation
from memscope.errors import Conflict, NotFound
from memscope.languages.statements import content_words
from memscope.reconciliation.supersession import MAX_SOURCES, join
from memscope.records import ChangeSet, Insight, Json, Observation, Revision, Scope, Search, Select, Turn, TurnInsert
from memscope.records.filters import matches
from memscope.records.identity import statement
from memscope.reflection.insights import stated_insight
from memscope.stores import Store
from memscope.stores.rules import Memory
from memscope.text.terms import terms
from memscope.text.tokens import fold
from memscope.transfer.checks import document_namespace

if TYPE_CHECKING:
    from memscope.services import MemoryOperations

MAX_SOURCE_ATTEMPTS = 8  # retries while others revise the memory at the same time
MAX_SEARCH_TERMS = 64  # of a statement, used to search for an equal one
_locks: WeakValueDictionary[tuple[int, int, str], asyncio.Lock] = WeakValueDictionary()


async def add(
    runtime: MemoryOperations, message: Mapping[str, Any], where: Scope, *, subject: str, name: str | None,
    namespace: str | None, data: Mapping[str, Json] | None, expires: datetime | str | None, zone: tzinfo | None,
) -> tuple[Memory, bool]:  # fmt: skip
    """Validate a statement and store it; see ``AsyncMemoryScope.add_memory`` for the arguments."""
    services = runtime.services
    turn, timed = await runtime.check_statement(message, where, zone, textless=bool(data))
    draft, memory = statement(
        await runtime.secret(), turn, timed=timed, data=validation.json_object("data", data, services.limits),
        name=None if name is None else validation.identifier("name", name),
        namespace=None if namespace is None else document_namespace(namespace),
        expires=None if expires is None else validation.when("expires", expires, zone or services.zone),
    )  # fmt: skip
    about = validation.text("subject", " ".join(subject.split()), services.limits.query) if subject else ""
    memory, about = services.redact(memory), services.redact(about)  # redact before comparing with stored memories
    return await store_statement(services.store, draft, memory, about, timed=timed)


async def store_statement(
    store: Store, statement: TurnInsert, new: Observation, subject: str, *, timed: bool
) -> tuple[Memory, bool]:
    """Store a statement; return its memory and whether anything was written. With a ``subject`` it becomes an insight.

    ``timed``: its key depends on its time, so it may be stored already. Raise ``Conflict`` if that one was forgotten.
    """
    user, key = new.scope.user, statement.turn.key
    if timed and not subject and (derived := (await store.fetch(user, [key])).derived.get(key)):
        return next((one for one in derived if one.current), derived[0]), False
    # One at a time per user in this event loop, so that concurrent equal statements see each other.
    async with _locks.setdefault((id(store), id(asyncio.get_running_loop()), user), asyncio.Lock()):
        for _ in range(MAX_SOURCE_ATTEMPTS):
            repeated = await _find_repeated(store, new, subject)
            if repeated is None:
                break
            with suppress(Conflict):  # revised meanwhile, or the statement of that time was forgotten
                memory, changes = repeated
                if changes.revised:
                    await store.append(user, [statement], changes)
                return await _stored(store, user, memory.id), bool(changes.revised)
        return await _store_new(store, statement, new, subject)


async def _store_new(store: Store, statement: TurnInsert, new: Observation, subject: str) -> tuple[Memory, bool]:
    user = new.scope.user
    changes = await stated_insight(store, new, subject) if subject else ChangeSet(new=(new,))
    (outcome,) = (await store.append(user, [statement], changes)).outcomes
    if outcome == "forgotten":
        raise Conflict("this statement of that time was forgotten", hint="leave the time out to say it again")
    return await _stored(store, user, changes.new[-1].id), outcome == "stored"


async def _stored(store: Store, user: str, id: str) -> Memory:
    memory = (await store.fetch(user, [id])).records.get(id)
    if memory is None or isinstance(memory, Turn):
        raise NotFound("this statement is here, its memory was forgotten", hint="leave the time out to say it again")
    return memory


# repeated statements


async def _find_repeated(store: Store, new: Observation, subject: str) -> tuple[Memory, ChangeSet] | None:
    """Find the current memory with the same words, agent, data and expiry, and the changes that add the statement to
    its sources, if any; None for a document. ``subject``: of the insight that the statement would become.
    """
    if new.name is not None or not new.text.strip():
        return None
    for fact in sorted(await _with_same_words(store, new), key=lambda one: one.recorded):
        if subject:
            derived = (await store.fetch(new.scope.user, [fact.id])).derived.get(fact.id, ())
            same = [one for one in derived if isinstance(one, Insight) and fold(one.subject) == fold(subject)]
            if known := next((one for one in same if _is_same(one, new)), None):
                return known, await _further_source(store, fact, new)
        elif _is_same(fact, new):
            return fact, await _further_source(store, fact, new)
    return None


async def _with_same_words(store: Store, new: Observation) -> list[Observation]:
    """Return the undated current observations with the same content words."""
    user, agent = new.scope.user, new.scope.agent
    if words := tuple(dict.fromkeys(terms(new.text)))[:MAX_SEARCH_TERMS]:
        handles = list((await store.search(Search(Scope(user, agent), words, required=(words,)))).handle)
        derived = (await store.fetch(user, handles)).derived.values()
        memories = {one.id: one for group in derived for one in group}.values()
        observations = [one for one in memories if isinstance(one, Observation)]
    else:  # an equal text without searchable words, such as an emoji
        select = Select(user, agent, kinds=frozenset({"observation"}), text=new.text.strip(), current=True)
        observations = [one async for page in store.scan(select) for one in page if isinstance(one, Observation)]
    undated = (one for one in observations if one.current and one.happened is None and one.valid_to is None)
    new_words = _compared_words(new.text)
    return [memory for memory in undated if _compared_words(memory.text) == new_words]


def _compared_words(text: str) -> tuple[str, ...]:
    return content_words(text) or (text.strip(),)


def _is_same(memory: Memory, new: Observation) -> bool:
    """Return whether the memory has the new one's scope, data and expiry, and no name."""
    same = (memory.scope, memory.name, memory.expires) == (new.scope, None, new.expires)
    return same and memory.current and matches({"data": {"$eq": new.data}}, {"data": memory.data})


async def _further_source(store: Store, known: Observation, new: Observation) -> ChangeSet:
    """Revise the memory with a further source, earliest first; no change beyond ``MAX_SOURCES``."""
    if len(known.sources) >= MAX_SOURCES or set(new.sources) <= set(known.sources):
        return ChangeSet()
    whole = join(known, new)
    first = (await store.fetch(new.scope.user, [known.sources[0]])).records.get(known.sources[0])
    if isinstance(first, Turn) and new.said < first.time:
        whole = replace(whole, sources=tuple(dict.fromkeys((*new.sources, *whole.sources))))
    return ChangeSet(revised=(Revision(replace(whole, recorded=new.recorded), known.version),))
