"""``MemoryScopeStore``: LangGraph's ``BaseStore`` over the documents of one user's memory.

put(namespace, key, value)  ──▶  a document: name = key, namespace, data = value, text = the value's text
search(prefix, query=...)   ──▶  retrieve, then the rest of the namespace, newest first
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import blake2b
from itertools import accumulate
from typing import Any, TypeAlias
from urllib.parse import quote, unquote

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
)

from memscope import AsyncMemoryScope, validation
from memscope.adapters.instances import MemoryLike, wait_for
from memscope.adapters.session import MemorySession, SessionPool
from memscope.errors import InputError
from memscope.records import ROLES, ForgetReport, Hit, Json, Observation, Role

try:
    from langgraph.store.base import validate_op_namespace
except ImportError:  # before langgraph-checkpoint 4.3

    def validate_op_namespace(op: Op) -> None:
        """Do nothing: in these versions only a store's methods check labels, not ``batch``."""


Namespace: TypeAlias = tuple[str, ...]
PREFIX = "langgraph:"  # prefix of the adapter's keys in a document's data, which are not part of the value
ITEM_KEY = "langgraph:item"
ESCAPE = "langgraph::"  # replaces PREFIX at the start of a key in the value
MAX_HITS = 100
TTL_RENEWAL_SHARE = 0.1  # a read renews the time to live once this share of it has passed
MAX_TRANSLATED_NESTING = 8  # the core refuses filters that are nested deeper


def utc_now() -> datetime:
    return datetime.now(UTC)


class MemoryScopeStore(BaseStore):
    """A store of one ``user``, or of the user that the function ``user`` returns, such as ``user_of_run``.

    Items are memories: ``search`` finds them, and ``MemoryScopeMiddleware`` recalls them. ``role`` is the role of their
    author: by default "assistant", whose notes appear in no profile; use "user" if a program only puts statements of
    the user. ``agent`` and ``memory`` work as in the middleware. ``fields`` are the paths in a value whose text is
    searchable ("$": everything), unless ``put(index=...)`` names others. ``ttl`` is LangGraph's configuration: expired
    items are hidden at once, and ``sweep_ttl`` deletes them. Deleting an item forgets it.

    Filters are those of the core, with LangGraph's semantics for objects and null: for a dict without operators each
    key must match, and a missing value equals null.
    """

    supports_ttl = True

    def __init__(
        self,
        *,
        user: str | Callable[[], str],
        agent: str | None = None,
        memory: MemoryLike = None,
        fields: Sequence[str] = ("$",),
        ttl: TTLConfig | None = None,
        role: Role = "assistant",
    ) -> None:
        self._user, self._fields = user, list(fields)
        if role not in ROLES:
            raise InputError(f"role must be one of {', '.join(ROLES)}, got {role!r}")
        self._role = role
        self._sessions = SessionPool(memory, agent=agent)
        self.ttl_config = ttl
        if not callable(user):
            self._sessions.to(user)  # raise for invalid ids now

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return wait_for(self._batch(self._session(), list(ops)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await self._batch(self._session(), list(ops))

    def sweep_ttl(self) -> int:
        """Permanently delete expired documents and return their number."""
        return wait_for(self.asweep_ttl())

    async def asweep_ttl(self) -> int:
        session = self._session()
        report: ForgetReport = await session.do(lambda memory: memory.admin.sweep(user=session.user))
        return report.observations

    async def aclose(self) -> None:
        """Release the memory; the last release closes it. The next use reopens it."""
        await self._sessions.close()

    def close(self) -> None:
        wait_for(self.aclose())

    def _session(self) -> MemorySession:
        return self._sessions.to(self._user() if callable(self._user) else self._user)

    async def _batch(self, session: MemorySession, ops: Sequence[Op]) -> list[Result]:
        """Run all reads before the writes. The last of several writes to a key wins. Nothing is written if any
        operation is invalid.
        """
        for op in ops:
            validate_op_namespace(op)
        await session.do(partial(check, ops))
        results = [None if isinstance(op, PutOp) else await self._read(session, op) for op in ops]
        writes = {(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}
        for op in writes.values():
            await (delete(session, op) if op.value is None else self._put(session, op, op.value))
        return results

    async def _read(self, session: MemorySession, op: Op) -> Result:
        if isinstance(op, GetOp):
            document = await get(session, op)
            return None if document is None else item(document)
        if isinstance(op, SearchOp):
            return await search(session, op)
        if isinstance(op, ListNamespacesOp):
            return await namespaces(session, op)
        raise TypeError(f"not an operation of a store: {type(op).__name__}")

    async def _put(self, session: MemorySession, op: PutOp, value: Mapping[str, Any]) -> None:
        now = utc_now()
        old = await named(session, op.namespace, op.key)
        created = _item_metadata(old).get("created") if old else None
        about = {"created": created or now.isoformat(), "ttl": op.ttl}
        paths = [] if op.index is False else op.index or self._fields
        own_session = self._sessions.to(session.user, session_of(op))
        await own_session.remember(
            words_of(value, paths),
            name=written(op.key),
            namespace=path(op.namespace),
            data=data_of(op, about),
            role=self._role,
            expires=None if op.ttl is None else now + timedelta(minutes=op.ttl),
        )


# ------------------------------------------------------------------------------------------------------- operations


async def check(ops: Sequence[Op], memory: AsyncMemoryScope) -> None:
    """Validate writes before any of them is executed."""
    for op in ops:
        if isinstance(op, PutOp):
            validation.identifier("key", written(op.key))
            validation.identifier("namespace", path(op.namespace))
            if op.value is not None and not isinstance(op.value, Mapping):
                raise InputError(f"a value must be a dict, got {type(op.value).__name__}")
            validation.json_object("value", data_of(op, {}), memory.admin.runtime.services.limits)


async def named(session: MemorySession, namespace: Namespace, key: str) -> Observation | None:
    documents = await _documents(session, name=written(key), namespace=path(namespace))
    return documents[-1] if documents else None


async def get(session: MemorySession, op: GetOp) -> Observation | None:
    document = await named(session, op.namespace, op.key)
    if document is not None and op.refresh_ttl:
        await renew(session, document)
    return document


async def delete(session: MemorySession, op: PutOp) -> None:
    scope = {"user": session.user, "agent": session.agent}
    await session.do(lambda memory: memory.forget(**scope, name=written(op.key), namespace=path(op.namespace)))  # type: ignore[arg-type]


async def search(session: MemorySession, op: SearchOp) -> list[SearchItem]:
    """Return matches of the query, best first, then the rest of the namespace, as a vector store would."""
    conditions = {**condition(op.filter or {}), **prefix(op.namespace_prefix)}
    hits = await session.search(op.query, k=MAX_HITS, filter=conditions) if op.query else ()
    lowest = accumulate((hit.score for hit in hits), min)  # keep the ranking's order with non-increasing scores
    scored = {_place(one): (one, score) for hit, score in zip(hits, lowest, strict=True) for one in _matching(hit, op)}
    results: list[tuple[Observation, float | None]] = list(scored.values())
    if len(results) < op.offset + op.limit:
        rest = {_place(document): document for document in reversed(await _documents(session, filter=conditions))}
        # show a document that was updated since the search in its new version, at its old place
        results = [(rest.pop(place, document), score) for place, (document, score) in scored.items()]
        results += [(document, None) for document in rest.values()]
    page = results[op.offset : op.offset + op.limit]
    if op.refresh_ttl:
        for document, _ in page:
            await renew(session, document)
    return [SearchItem(**_item(document), score=score) for document, score in page]


async def namespaces(session: MemorySession, op: ListNamespacesOp) -> list[Namespace]:
    documents = await _documents(session, filter=prefix(()))
    known = {labels(document.namespace or "") for document in documents}
    chosen = {one for one in known if all(_fits(one, condition) for condition in op.match_conditions or ())}
    cut = {one[: op.max_depth] for one in chosen}
    return sorted(cut)[op.offset : op.offset + op.limit]


async def renew(session: MemorySession, document: Observation) -> None:
    """Extend a document's time to live after a read."""
    minutes = _item_metadata(document).get("ttl")
    if minutes is None or document.expires is None:
        return
    life, until = timedelta(minutes=minutes), utc_now() + timedelta(minutes=minutes)
    if until - document.expires >= life * TTL_RENEWAL_SHARE:
        await session.do(
            lambda memory: memory.update(document.id, user=session.user, agent=session.agent, expires=until)
        )


async def _documents(session: MemorySession, **conditions: Any) -> list[Observation]:
    scope = {"user": session.user, "agent": session.agent}
    records = await session.do(lambda memory: memory.list(**scope, kinds=["observation"], **conditions))  # type: ignore[arg-type]
    observations = [record for record in records if isinstance(record, Observation)]
    return [one for one in observations if one.name is not None and one.namespace is not None]


def _matching(hit: Hit, op: SearchOp) -> list[Observation]:
    """Return the documents of a hit that are in the namespace searched."""
    wanted = op.namespace_prefix
    documents = [one for one in hit.observations if one.name is not None and ITEM_KEY in one.data]
    return [document for document in documents if labels(document.namespace or "")[: len(wanted)] == tuple(wanted)]


def _place(document: Observation) -> tuple[str | None, str | None]:
    return document.namespace, document.name


def _fits(namespace: Namespace, condition: MatchCondition) -> bool:
    """Match a namespace. ``*`` matches any single label."""
    wanted, length = tuple(condition.path), len(condition.path)
    if length > len(namespace):
        return False
    part = namespace[:length] if condition.match_type == "prefix" else namespace[len(namespace) - length :]
    return all(label in ("*", have) for label, have in zip(wanted, part, strict=True))


# -------------------------------------------------------------------------------------------------------- filters


def condition(filter: Any, nesting: int = MAX_TRANSLATED_NESTING) -> Mapping[str, Any]:
    """Convert LangGraph's filter to one of the core. Pass invalid filters on, which the core then refuses."""
    if not isinstance(filter, Mapping) or not filter or nesting == 0:
        return validation.filter(filter) or {}
    parts = list(_parts(filter, "", nesting))
    return parts[0] if len(parts) == 1 else {"$and": parts}


def _parts(filter: Mapping[str, Any], path: str, nesting: int) -> Iterator[dict[str, Any]]:
    for key, wanted in filter.items():
        name = f"{path}.{key}" if path else _escaped(key)
        if not path and key in ("$and", "$or") and isinstance(wanted, list | tuple):
            yield {key: [condition(part, nesting - 1) for part in wanted]}
        elif not path and key == "$not":
            yield {key: condition(wanted, nesting - 1)}
        elif _is_object(wanted) and nesting > 1:
            yield {name: {"$exists": True}}
            yield from _parts(wanted, name, nesting - 1)
        else:
            yield from _compared(name, wanted)


def _is_object(wanted: Any) -> bool:
    """Check for an object without operators, whose keys are matched one by one."""
    return isinstance(wanted, Mapping) and bool(wanted) and not any(str(key).startswith("$") for key in wanted)


def _compared(name: str, wanted: Any) -> Iterator[dict[str, Any]]:
    operators = isinstance(wanted, Mapping) and bool(wanted) and all(str(key).startswith("$") for key in wanted)
    for operator, value in (wanted if operators else {"$eq": wanted}).items():
        if value is None and operator == "$eq":
            yield {"$or": [{name: None}, {name: {"$exists": False}}]}
        elif value is None and operator == "$ne":
            yield {name: {"$exists": True, "$ne": None}}
        else:
            yield {name: {operator: value} if operators else wanted}


# ------------------------------------------------------------------------------------------------ stored format


def written(label: str) -> str:
    """Convert a label or key to an identifier of the core, by escaping ambiguous characters only."""
    return "".join(char if _plain(char) else quote(char, safe="", errors="surrogatepass") for char in label)


def _plain(char: str) -> bool:
    return char.isprintable() and char not in "%/ "


def escaped(value: Mapping[str, Any]) -> dict[str, Any]:
    """Escape keys of a value that look like the adapter's. ``unescaped`` is the inverse."""
    return {_escaped(name): one for name, one in value.items()}


def _escaped(name: Any) -> Any:
    return ESCAPE + name[len(PREFIX) :] if isinstance(name, str) and name.startswith(PREFIX) else name


def unescaped(data: Mapping[str, Any]) -> dict[str, Any]:
    """Restore the value that was put, without the adapter's keys."""
    user_keys = {name: one for name, one in data.items() if name.startswith(ESCAPE) or not name.startswith(PREFIX)}
    return {PREFIX + name[len(ESCAPE) :] if name.startswith(ESCAPE) else name: one for name, one in user_keys.items()}


def data_of(op: PutOp, about: Mapping[str, Json]) -> dict[str, Any]:
    """Combine a value with the adapter's keys."""
    return {**escaped(op.value or {}), ITEM_KEY: about, **prefixes(op.namespace)}


def session_of(op: PutOp) -> str:
    """Return a session for this document alone, so that other documents do not count as its conversation."""
    return PREFIX + blake2b(f"{path(op.namespace)}/{written(op.key)}".encode(), digest_size=16).hexdigest()


def path(namespace: Namespace) -> str:
    return "/".join(map(written, namespace))


def labels(path: str) -> Namespace:
    return tuple(unquote(part, errors="surrogatepass") for part in path.split("/"))


def prefixes(namespace: Namespace) -> dict[str, Json]:
    """Return a key per prefix of a namespace, so that an equality filter matches everything below the prefix."""
    return {f"{PREFIX}{depth}": path(namespace[:depth]) for depth in range(len(namespace) + 1)}


def prefix(namespace: Sequence[str]) -> dict[str, Json]:
    return {f"{PREFIX}{len(namespace)}": path(tuple(namespace))}


def words_of(value: Mapping[str, Any], paths: Iterable[str]) -> str:
    """Return the searchable text of a value."""
    texts = (text for one in paths for text in ([_text_of(value)] if one == "$" else get_text_at_path(value, one)))
    return "\n".join(filter(None, texts))


def _text_of(value: Any) -> str:
    """Return all text in a value, with field names if there are several fields."""
    if isinstance(value, Mapping):
        if len(value) == 1:
            return _text_of(next(iter(value.values())))
        return "; ".join(f"{name}: {text}" for name, one in value.items() if (text := _text_of(one)))
    if isinstance(value, list | tuple):
        return ", ".join(filter(None, map(_text_of, value)))
    return "" if value is None else str(value)


def _item_metadata(document: Observation) -> Mapping[str, Json]:
    about: Mapping[str, Json] = document.data.get(ITEM_KEY) or {}
    return about


def _item(document: Observation) -> dict[str, Any]:
    created = _item_metadata(document).get("created")
    return {
        "namespace": labels(document.namespace or ""),
        "key": unquote(document.name or "", errors="surrogatepass"),
        "value": unescaped(document.data),
        "created_at": datetime.fromisoformat(created) if created else document.said,
        "updated_at": document.said,
    }


def item(document: Observation) -> Item:
    return Item(**_item(document))
