"""The built-in redactor: masks secrets before anything is stored. The setting ``redaction.mask`` turns it on.

Turns are masked before their keys are made of them, everything that is written once more on its way into the store
(``RedactingStore``), so that no way of writing goes past it. An id is never changed: under another one nothing would
be found, two sessions might become one, and a digest could be guessed by whoever has the file. A write whose ids hold a
secret is refused instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from memscope.errors import InputError
from memscope.records import (
    AppendResult,
    Block,
    ChangeSet,
    Claim,
    ForgetReport,
    Json,
    Quote,
    Receipt,
    Revision,
    Scope,
    Select,
    Sentence,
    Turn,
    TurnInsert,
)
from memscope.records.identity import digest
from memscope.text.secrets import SECRET_KINDS, UUID, Tag, find, mask
from memscope.transfer.checks import StoredType

if TYPE_CHECKING:
    from memscope.stores import Store

IDS = frozenset({"key", "id", "ids", "name", "namespace", "label", "origin", "superseded_by", "sources"})
PLAIN = frozenset({"role", "author", "kind", "scope", "speaker"})  # not ids, and no texts either
#: Parts of ids that are no secrets: UUIDs, digests, and numbers in one piece, as messengers give to users and threads.
NUMBERING = re.compile(rf"{UUID}|(?<!\d)\d{{13,}}(?!\d)")
OFTEN_USERS = frozenset({"email"})  # applications name users by their addresses


class Redaction:
    """Masks these kinds of secrets in records. A ``tag`` tells speakers apart whose names are masked."""

    def __init__(self, kinds: frozenset[str]) -> None:
        self.kinds = kinds
        self._behind: Store | None = None

    @property
    def hooks(self) -> tuple[Redaction, ...]:
        """The plugin, registered before all others: its hook sees what they made of the turns."""
        return (self,) if self.kinds else ()

    async def memscope_before_add_turns(self, turns: Sequence[Turn]) -> list[Turn]:
        tag = await self.tag()
        return [self.texts(turn, tag) for turn in turns]

    def redact(self, value: Any) -> Any:
        """Mask a record, or any other value."""
        if not self.kinds:
            return value
        return self.value(value) if isinstance(value, str) else self.record(value)

    def record(self, record: StoredType, tag: Tag | None = None) -> StoredType:
        """Return a new record with its texts masked. ``InputError`` for an id with a secret."""
        self.check_scope(record.scope)
        for column in fields(record):
            if column.name in IDS:
                self.check(column.name, getattr(record, column.name))
        return self.texts(record, tag)

    def check_scope(self, scope: Scope) -> None:
        self.check("user", scope.user, self.kinds - OFTEN_USERS)
        self.check("agent", scope.agent)
        self.check("session", scope.session)

    def check(self, what: str, ids: str | Sequence[str] | None, kinds: frozenset[str] | None = None) -> None:
        """Raise ``InputError`` if one of the ids contains a secret."""
        for id in (ids,) if isinstance(ids, str) else ids or ():
            if kind := next(find(NUMBERING.sub("", id), self.kinds if kinds is None else kinds), None):
                message = f"{what} seems to contain a secret: {kind.replace('_', ' ')}"
                raise InputError(message, hint="ids are stored unmasked; choose another one, or change redaction.mask")

    def texts(self, record: StoredType, tag: Tag | None = None) -> StoredType:
        """Mask the texts of a record, but not its ids."""
        values = {column.name: getattr(record, column.name) for column in fields(record)}
        masked: dict[str, Any] = {name: self.value(value) for name, value in values.items() if name not in IDS | PLAIN}
        if isinstance(record, Turn) and tag is not None:
            masked["speaker"] = mask(record.speaker, self.kinds, tag)
        changes = {name: value for name, value in masked.items() if value != values[name]}
        return replace(record, **changes) if changes else record

    def store(self, store: Store) -> Store:
        """Return the store behind this redactor, or as it is where there is nothing to mask."""
        self._behind = store
        return cast("Store", RedactingStore(store, self)) if self.kinds else store

    async def tag(self) -> Tag:
        """Return what tells masked names apart: four digits under the store's secret, too few to find the name by."""
        assert self._behind is not None
        secret = await self._behind.secret()
        return lambda name: digest(secret, "redacted", name).hex()[:4]

    def value(self, value: Any) -> Any:
        """Return a text, a quote, a sentence or a JSON object with its secrets masked; anything else as it is."""
        if isinstance(value, str):
            return mask(value, self.kinds)
        if isinstance(value, Quote | Sentence):
            return replace(value, text=mask(value.text, self.kinds))
        if isinstance(value, tuple):
            return tuple(map(self.value, value))
        return self.json(value) if isinstance(value, Mapping) else value

    def json(self, value: Json) -> Json:
        """Return a JSON value with its secrets masked, in keys and whole numbers too."""
        if isinstance(value, Mapping):
            return dict(self._items(value))
        if isinstance(value, list | tuple):
            return list(map(self.json, value))
        if isinstance(value, int) and not isinstance(value, bool):
            masked = mask(str(value), self.kinds)
            return value if masked == str(value) else masked
        return mask(value, self.kinds) if isinstance(value, str) else value

    def _items(self, mapping: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
        """Yield masked keys and values; keys that would become one are numbered, so that none is lost."""
        taken = set(mapping)
        for key, inner in mapping.items():
            name, number = mask(key, self.kinds), 1
            while name != key and name in taken:
                number += 1
                name = f"{mask(key, self.kinds)} {number}"
            taken.add(name)
            yield name, self.json(inner)

    def new(self, change_set: ChangeSet) -> ChangeSet:
        """Return a change set that brings records in: its new ones are checked."""
        return self.work(replace(change_set, new=tuple(map(self.record, change_set.new))))

    def work(self, change_set: ChangeSet) -> ChangeSet:
        """Return a change set that was made of records of the store: its ids are the store's already."""
        revised = tuple(Revision(self.texts(revision.memory), revision.expected) for revision in change_set.revised)
        return replace(
            change_set, new=tuple(map(self.texts, change_set.new)), revised=revised, report=self.json(change_set.report)
        )


def secrets_in(value: Any, kinds: Set[str] = frozenset(SECRET_KINDS)) -> set[str]:
    """Return the kinds of secrets in a record, in its ids too."""
    if isinstance(value, str):
        return set(find(value, kinds))
    if is_dataclass(value):
        columns = [(part.name in IDS or isinstance(value, Scope), getattr(value, part.name)) for part in fields(value)]
        return set().union(*(_in_ids(inner, kinds) if ids else secrets_in(inner, kinds) for ids, inner in columns))
    inner = (*value.keys(), *value.values()) if isinstance(value, Mapping) else value
    if isinstance(inner, list | tuple):
        return set().union(*(secrets_in(part, kinds) for part in inner))
    return secrets_in(str(value), kinds) if isinstance(value, int) else set()


def _in_ids(ids: str | Sequence[str] | None, kinds: Set[str]) -> set[str]:
    several = (ids,) if isinstance(ids, str) else ids or ()
    return set().union(*(find(NUMBERING.sub("", id), kinds) for id in several))


class RedactingStore:
    """A store behind a redactor: what is written to it is masked, everything else is the store's own."""

    def __init__(self, store: Store, redaction: Redaction) -> None:
        self._store, self._redaction = store, redaction
        for name in dir(store):  # found by isinstance with a protocol too, which __getattr__ is not
            if (
                not name.startswith("_")
                and not hasattr(type(self), name)
                and callable(getattr(type(store), name, None))
            ):
                setattr(self, name, getattr(store, name))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def append(
        self, user: str, inserts: Sequence[TurnInsert], change_set: ChangeSet | None = None
    ) -> AppendResult:
        tag = await self._redaction.tag()
        masked = [replace(insert, turn=self._redaction.record(insert.turn, tag)) for insert in inserts]
        return await self._store.append(user, masked, change_set and self._redaction.new(change_set))

    async def apply(self, user: str, change_set: ChangeSet) -> int:
        return await self._store.apply(user, self._redaction.new(change_set))

    async def add_tombstones(self, user: str, ids: Sequence[str], receipts: Sequence[Receipt] = ()) -> None:
        self._redaction.check_scope(Scope(user))
        self._redaction.check("forgotten", ids)
        await self._store.add_tombstones(user, ids, [self._redaction.record(receipt) for receipt in receipts])

    async def forget(self, select: Select, *, dry_run: bool = False) -> ForgetReport:
        """Name what goes by its ids where the session would stand in the receipt."""
        if select.session and any(find(select.session, self._redaction.kinds)):
            ids = frozenset(key.id for key in await self._store.keys(select))
            select = replace(select, session=None, ids=ids)
        return await self._store.forget(select, dry_run=dry_run)

    async def put_blocks(self, user: str, versions: Sequence[Block]) -> None:
        await self._store.put_blocks(user, [self._redaction.record(block) for block in versions])

    async def save_reply(self, claim: Claim, change_set: ChangeSet) -> None:
        await self._store.save_reply(claim, self._redaction.work(change_set))

    async def complete(self, claim: Claim, change_set: ChangeSet | None = None) -> int:
        return await self._store.complete(claim, change_set and self._redaction.work(change_set))
