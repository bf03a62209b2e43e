"""Validate records from files, plugins and workers by the rules for arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeVar

from memscope import validation
from memscope.errors import InputError
from memscope.records import (
    BLOCK_ORDERS,
    CORRECTIONS,
    SUMMARY_NAMESPACE,
    Block,
    Insight,
    Interval,
    Observation,
    Quote,
    Receipt,
    Record,
    Scope,
    Sentence,
    Turn,
)
from memscope.validation import Limits

StoredType = TypeVar("StoredType", bound=Record | Block | Receipt)
SEQ_RANGE = range(1 << 63)
NOT_TEXT_REMEDY = "remove control characters and lone surrogates"
FIELD_RANGES = {"level": range(4), "version": range(1, 1 << 31), "order": BLOCK_ORDERS}
NAME_FIELDS = frozenset(
    {"label", "id", "key", "speaker", "name", "namespace", "origin", "superseded_by", "announced_by"}
)
_CHECKED_COLUMNS: Mapping[type, Sequence[str]] = {
    stored: [column.name for column in fields(stored) if column.name != "scope"]
    for stored in (Turn, Observation, Insight, Block, Receipt)
}


def document_namespace(value: object) -> str:
    """Validate the namespace of a document; refuse those of memscope's own records, which no search returns."""
    if value in (CORRECTIONS, SUMMARY_NAMESPACE):
        raise InputError(f"namespace {value!r} is memscope's own", hint="use another; own records are never searched")
    return validation.identifier("namespace", value)


def check_record(record: StoredType, limits: Limits, *, keyless: bool = False) -> StoredType:
    """Return the record, or raise ``InputError`` if a value would be refused as an argument."""
    _check_scope(record.scope)
    limits = limits if isinstance(record, Turn) else replace(limits, text=limits.memory)
    for name in _CHECKED_COLUMNS[type(record)]:
        value = getattr(record, name)
        if name not in NAME_FIELDS:
            if value or type(value) is int:  # any other empty value is valid
                _check(name, value, limits)
        elif value is not None and not (keyless and name == "key" and value == ""):
            validation.identifier(name, value)
    if isinstance(record, Insight) and not {id for one in record.sentences for id in one.sources} <= {*record.sources}:
        raise InputError("a sentence rests on what is no source of its insight")
    return record


@lru_cache(maxsize=64)  # consecutive lines mostly share a session
def _check_scope(scope: Scope) -> None:
    validation.scope(scope.user, scope.agent, scope.session)


def _check(name: str, value: Any, limits: Limits) -> None:
    if isinstance(value, str):
        if validation.text(name, value, limits.text) != value:
            raise InputError(f"{name} has characters that are not text", hint=NOT_TEXT_REMEDY)
    elif isinstance(value, datetime):
        zoned(name, value)
    elif isinstance(value, int):
        if value not in FIELD_RANGES.get(name, SEQ_RANGE):
            raise InputError(f"{name} is out of range")
    elif isinstance(value, Mapping):
        if validation.json_object(name, value, limits) != value:
            raise InputError(f"{name} has characters that are not text", hint=NOT_TEXT_REMEDY)
    elif isinstance(value, Interval):
        if zoned(name, value.start) > zoned(name, value.end):
            raise InputError(f"{name} ends before it starts")
    elif isinstance(value, Quote):
        _check(name, (value.turn, value.text), limits)
    elif isinstance(value, Sentence):
        _check(name, (value.text, *value.sources), limits)
    elif isinstance(value, tuple):
        for item in value:
            _check(name, item, limits)


def zoned(what: str, value: object) -> datetime:
    """Check that a value is a time with a zone."""
    if isinstance(value, datetime) and value.utcoffset() is None:
        raise InputError(f"{what} has no time zone", hint=validation.TIME_EXAMPLE)
    return validation.when(what, value)
