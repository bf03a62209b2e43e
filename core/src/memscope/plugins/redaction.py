"""The built-in redactor: masks secrets before anything is stored. The setting ``redaction.mask`` turns it on.

Turns are masked before their keys are computed. ``RedactingStore`` masks every write again, so that none bypasses the
redactor. Ids are never changed: records would not be found under a masked id, two sessions might collide, and a digest
could be guessed from the file. A write whose ids contain a secret is refused instead.
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

IDS = frozenset("key id ids name namespace label origin superseded_by sources announces announced_by".split())
PLAIN = frozenset({"role", "author", "kind", "scope", "speaker"})  # neither ids nor free text
#: Parts of ids that are not secrets: UUIDs, and long numbers such as messengers use for users and threads.
NOT_SECRET = re.compile(rf"{UUID}|(?<!\d)\d{{13,}}(?!\d)")
KINDS_ALLOWED_IN_USERS = frozenset({"email"})  # many applications use e-mail addresses as user ids


class Redaction:
    """Masks the given kinds of secrets in records. A ``tag`` distinguishes speakers whose names are masked."""

    def __init__(self, kinds: frozenset[str]) -> None:
        self.kinds = kinds
        self._store: Store | None = None

    @property
    def hooks(self) -> tuple[Redaction, ...]:
        """This object as a plugin. It is registered first, so that its hook runs last, on the other plugins' turns."""
        return (self,) if self.kinds else ()

    async def memscope_before_add_turns(self, turns: Sequence[Turn]) -> list[Turn]:
        tag = await self.tag()
        return [self.texts(turn, tag) for turn in turns]

    def redact(self, value: Any) -> Any:
        """Mask a text or a record."""
        if not self.kinds:
            return value
        return self.value(value) if isinstance(value, str) else self.record(value)

    def record(self, record: StoredType, tag: Tag | None = None) -> StoredType:
        """Mask the texts of a new record. Raise ``InputError`` if one of its ids contains a secret."""
        self.check_scope(record.scope)
        for column in fields(record):
            if column.name in IDS:
                self.check(column.name, getattr(record, column.name))
        return self.texts(record, tag)

    def check_scope(self, scope: Scope) -> None:
        self.check("user", scope.user, self.kinds - KINDS_ALLOWED_IN_USERS)
        self.check("agent", scope.agent)
        self.check("session", scope.session)

    def check(self, what: str, ids: str | Sequence[str] | None, kinds: frozenset[str] | None = None) -> None:
        """Raise ``InputError`` if one of the ids contains a secret."""
        if kind := next(_in_ids(ids, self.kinds if kinds is None else kinds), None):
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
        """Wrap the store in a ``RedactingStore``, unless there is nothing to mask."""
        self._store = store
        return cast("Store", RedactingStore(store, self)) if self.kinds else store

    async def tag(self) -> Tag:
        """Return a function from name to tag: 4 hex digits keyed with the store's secret, too few to recover a name."""
        assert self._store is not None
        secret = await self._store.secret()
        return lambda name: digest(secret, "redacted", name).hex()[:4]

    def value(self, value: Any) -> Any:
        """Mask secrets in a text, quote, sentence, tuple or JSON object; return anything else unchanged."""
        if isinstance(value, str):
            return mask(value, self.kinds)
        if isinstance(value, Quote | Sentence):
            return replace(value, text=mask(value.text, self.kinds))
        if isinstance(value, tuple):
            return tuple(map(self.value, value))
        return self.json(value) if isinstance(value, Mapping) else value

    def json(self, value: Json) -> Json:
        """Mask secrets in a JSON value, including its keys and integers."""
        if isinstance(value, Mapping):
            return dict(self._items(value))
        if isinstance(value, list | tuple):
            return list(map(self.json, value))
        if isinstance(value, int) and not isinstance(value, bool):
            masked = mask(str(value), self.kinds)
            return value if masked == str(value) else masked
        return mask(value, self.kinds) if isinstance(value, str) else value

    def _items(self, mapping: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
        """Yield masked keys and values. Number keys that become equal by masking, so that none is lost."""
        taken = set(mapping)
        for key, inner in mapping.items():
            name, number = mask(key, self.kinds), 1
            while name != key and name in taken:
                number += 1
                name = f"{mask(key, self.kinds)} {number}"
            taken.add(name)
            yield name, self.json(inner)

    def new(self, change_set: ChangeSet) -> ChangeSet:
        """Mask a change set that adds records from outside, and check the ids of the new ones."""
        return self.work(replace(change_set, new=tuple(map(self.record, change_set.new))))

    def work(self, change_set: ChangeSet) -> ChangeSet:
        """Mask a change set derived from stored records, whose ids need no check."""
        revised = tuple(Revision(self.texts(revision.memory), revision.expected) for revision in change_set.revised)
        return replace(
            change_set, new=tuple(map(self.texts, change_set.new)), revised=revised, report=self.json(change_set.report)
        )


def secrets_in(value: Any, kinds: Set[str] = frozenset(SECRET_KINDS)) -> set[str]:
    """Return the kinds of secrets in a record, including its ids."""
    if isinstance(value, str):
        return set(find(value, kinds))
    if is_dataclass(value):
        columns = [(part.name in IDS or isinstance(value, Scope), getattr(value, part.name)) for part in fields(value)]
        return set().union(*(_in_ids(inner, kinds) if ids else secrets_in(inner, kinds) for ids, inner in columns))
    inner = (*value.keys(), *value.values()) if isinstance(value, Mapping) else value
    if isinstance(inner, list | tuple):
        return set().union(*(secrets_in(part, kinds) for part in inner))
    return secrets_in(str(value), kinds) if isinstance(value, int) else set()


def _in_ids(ids: str | Sequence[str] | None, kinds: Set[str]) -> Iterator[str]:
    for id in (ids,) if isinstance(ids, str) else ids or ():
        yield from find(NOT_SECRET.sub("", id), kinds)


class RedactingStore:
    """Wraps a store and masks everything that is written to it; all other calls pass through."""

    def __init__(self, store: Store, redaction: Redaction) -> None:
        self._store, self._redaction = store, redaction
        others = (name for name in dir(store) if not name.startswith("_") and not hasattr(type(self), name))
        for name in others:  # attributes, because isinstance with a protocol ignores __getattr__
            if callable(getattr(type(store), name, None)):
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
        """Select by ids if the session contains a secret: the receipt would store the session."""
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
