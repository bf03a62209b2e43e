"""Records as JSON and back, for the stores, the export and the command line; and the keys of turns.

The JSON of a record is an object with ``"kind"`` and the record's fields by name, without fields at their default.
Times are ISO 8601 with offset. Nothing is lost. ``RECORD_FORMAT`` rises when old readers could no longer read the new
JSON; a reader refuses unknown formats and kinds. Nothing is ever executed or unpickled.
"""

from __future__ import annotations

from array import array
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from datetime import datetime
from hashlib import blake2b
from sys import byteorder
from typing import Any, TypeAlias, TypeVar

from memscope.errors import InputError
from memscope.records import (
    AUTHORS,
    ROLES,
    Block,
    ChangeSet,
    Insight,
    Interval,
    Json,
    Observation,
    Quote,
    Receipt,
    Record,
    Revision,
    Scope,
    Sentence,
    Supersession,
    Turn,
)

RECORD_FORMAT = 1
Object: TypeAlias = dict[str, Json]
Coder: TypeAlias = Callable[[Any], Any]
Stored = TypeVar("Stored", Turn | Observation | Insight, Block, Receipt)

_RECORD_TYPES: dict[str, type[Turn | Observation | Insight]] = {
    "turn": Turn,
    "observation": Observation,
    "insight": Insight,
}
_TYPE_NAMES: dict[type, str] = {made: name for name, made in _RECORD_TYPES.items()}


def turn_key(base: bytes, n: int) -> str:
    """Derive the key of the ``n``-th turn (from 0) with the same ``base``: 32 hex digits."""
    return blake2b(base + n.to_bytes(8, "big"), digest_size=16).hexdigest()


# -------------------------------------------------------------------------------------------------------------- records


def to_json(record: Record | Block | Receipt) -> Object:
    """Convert a record, block or receipt for ``json.dumps``; a record's object has its ``kind``."""
    result: Object = {"kind": _TYPE_NAMES[type(record)]} if type(record) in _TYPE_NAMES else {}
    for name, default, encode, _ in _PLANS[type(record)]:
        value = getattr(record, name)
        if value is not None and value != default:
            result[name] = encode(value) if encode is not None else value
    return result


def from_json(content: Mapping[str, Json]) -> Record:
    """Convert an object of ``to_json`` back. Raise ``InputError`` for anything else, or a missing or wrong field."""
    values = dict(content)
    kind = values.pop("kind", None)
    if not isinstance(kind, str) or kind not in _RECORD_TYPES:
        raise InputError(f"not a record: kind {kind!r}", hint=f"known kinds are {', '.join(_RECORD_TYPES)}")
    return _build(kind, _RECORD_TYPES[kind], values)


def block_from_json(content: Mapping[str, Json]) -> Block:
    """Convert an object of ``to_json`` back to a block; errors as in ``from_json``."""
    return _build("block", Block, content)


def receipt_from_json(content: Mapping[str, Json]) -> Receipt:
    return _build("receipt", Receipt, content)


def _build(kind: str, cls: type[Stored], content: Mapping[str, Json]) -> Stored:
    decoders = _DECODERS[cls]
    if not decoders.keys() >= content.keys():
        unknown = min(content.keys() - decoders.keys())
        raise InputError(f"a {kind} has no field {unknown!r}", hint="a newer memscope may have written it")
    try:
        return cls(**{name: decode(value) if (decode := decoders[name]) else value for name, value in content.items()})
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise InputError(f"a {kind} that cannot be read: {type(error).__name__}") from None


def sound(record: Record) -> Record:
    """Normalize a plugin's record by a round trip through JSON; ``InputError`` for values of wrong types."""
    try:
        return from_json(to_json(record))
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"a {type(record).__name__} with values of wrong types: {type(error).__name__}") from None


def _to_scope(value: list[Any]) -> Scope:
    user, agent, session = value
    optional = (agent is None or isinstance(agent, str)) and (session is None or isinstance(session, str))
    if type(value) is not list or not isinstance(user, str) or not optional:
        raise TypeError("not a scope")
    return Scope(user, agent, session)


def _time(value: str) -> datetime:
    when = datetime.fromisoformat(value)
    if when.tzinfo is None:
        raise ValueError("a time without a zone")
    return when


def _to_interval(value: list[str]) -> Interval:
    start, end = value
    return Interval(_time(start), _time(end))


def _exactly(cls: type) -> Coder:
    def check(value: Json) -> Json:
        if type(value) is not cls:
            raise TypeError(f"not {cls.__name__}")
        return value

    return check


def _among(known: Sequence[str]) -> Coder:
    def check(value: Json) -> Json:
        if value not in known:
            raise ValueError("not one of those known")
        return value

    return check


def _texts(value: Json) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError("not a list of texts")
    return tuple(value)


_TEXT_CODER = _exactly(str)
_TIME_CODER: tuple[Coder, Coder] = (datetime.isoformat, _time)
_BY_TYPE: dict[str, tuple[Coder | None, Coder | None]] = {
    "str": (None, _TEXT_CODER),
    "str | None": (None, _TEXT_CODER),
    "int": (None, _exactly(int)),
    "bool": (None, _exactly(bool)),
    "Role": (None, _among(ROLES)),
    "Author": (None, _among(AUTHORS)),
    "datetime": _TIME_CODER,
    "datetime | None": _TIME_CODER,
    "Scope": (lambda scope: [scope.user, scope.agent, scope.session], _to_scope),
    "Interval | None": (lambda interval: [interval.start.isoformat(), interval.end.isoformat()], _to_interval),
    "tuple[str, ...]": (list, _texts),
    "tuple[Quote, ...]": (
        lambda quotes: [[quote.turn, quote.text] for quote in quotes],
        lambda value: tuple(Quote(_TEXT_CODER(turn), _TEXT_CODER(text)) for turn, text in value),
    ),
    "tuple[Sentence, ...]": (
        lambda sentences: [[one.text, list(one.sources)] for one in sentences],
        lambda value: tuple(Sentence(_TEXT_CODER(text), _texts(sources)) for text, sources in value),
    ),
    "Mapping[str, Json]": (dict, lambda value: dict(value.items())),
}


def _plan_of(cls: type) -> list[tuple[str, Json, Coder | None, Coder | None]]:
    """List each field's name, omitted default, and converters to and from JSON (None: unchanged)."""
    rows: list[tuple[str, Json, Coder | None, Coder | None]] = []
    for spec in fields(cls):
        default = {} if spec.default_factory is not MISSING else spec.default
        rows.append((spec.name, default, *_BY_TYPE.get(str(spec.type), (None, None))))
    return rows


_PLANS = {cls: _plan_of(cls) for cls in (*_RECORD_TYPES.values(), Block, Receipt)}
_DECODERS = {cls: {name: decode for name, _, _, decode in rows} for cls, rows in _PLANS.items()}


# ---------------------------------------------------------------------------------------------------------- change sets


def change_set_to_json(change_set: ChangeSet) -> Object:
    """Convert a change set to JSON, with vectors as base64 of little-endian float32."""
    return {
        "format": RECORD_FORMAT,
        "new": [to_json(memory) for memory in change_set.new],
        "closed": [_closing(closing) for closing in change_set.closed],
        "revised": [[to_json(revision.memory), revision.expected] for revision in change_set.revised],
        "done": list(change_set.done),
        "vectors": {unit: _pack(vector) for unit, vector in change_set.vectors.items()},
        "report": dict(change_set.report),
        "expected": dict(change_set.expected),
    }


def change_set_from_json(content: Mapping[str, Json]) -> ChangeSet:
    """Invert ``change_set_to_json``; ``InputError`` as in ``from_json``."""
    if content.get("format") != RECORD_FORMAT:
        hint = f"this memscope knows format {RECORD_FORMAT}"
        raise InputError(f"a change set of format {content.get('format')!r}", hint=hint)
    try:
        return ChangeSet(
            new=tuple(_memory(memory) for memory in content["new"]),
            closed=tuple(_to_closing(closing) for closing in content["closed"]),
            revised=tuple(Revision(_memory(memory), expected) for memory, expected in content["revised"]),
            done=tuple(content["done"]),
            vectors={unit: _unpack(vector) for unit, vector in content["vectors"].items()},
            report=content["report"],
            expected=content.get("expected", {}),  # earlier versions wrote none
        )
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise InputError(f"a change set that cannot be read: {type(error).__name__}") from None


def _memory(content: Mapping[str, Json]) -> Observation | Insight:
    record = from_json(content)
    if isinstance(record, Turn):
        raise InputError("a turn in the place of a memory")
    return record


def _closing(closing: Supersession) -> list[str | None]:
    valid_to = None if closing.valid_to is None else closing.valid_to.isoformat()
    return [closing.id, closing.by, closing.at.isoformat(), closing.said.isoformat(), valid_to]


def _to_closing(value: list[Any]) -> Supersession:
    id, by, at, closed_said, valid_to = value
    return Supersession(id, by, _time(at), _time(closed_said), None if valid_to is None else _time(valid_to))


def _pack(vector: Iterable[float]) -> str:
    floats = array("f", vector)
    if byteorder == "big":
        floats.byteswap()
    return b64encode(floats.tobytes()).decode()


def _unpack(text: str) -> tuple[float, ...]:
    floats = array("f", b64decode(text, validate=True))
    if byteorder == "big":
        floats.byteswap()
    return tuple(floats)
