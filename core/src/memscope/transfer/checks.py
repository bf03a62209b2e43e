"""Check of a record that did not come in as arguments: from a file, a plugin or a worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import datetime
from typing import Any, TypeVar

from memscope import validation
from memscope.errors import InputError
from memscope.records import BLOCK_ORDERS, Block, Interval, Quote, Receipt, Record, Turn
from memscope.validation import Limits

R = TypeVar("R", bound=Record | Block | Receipt)
NUMBERS = range(1 << 63)
RANGES = {"level": range(4), "version": range(1, 1 << 31), "order": BLOCK_ORDERS}
NAMES = frozenset({"label", "id", "key", "speaker", "name", "namespace", "origin", "superseded_by"})


def check_record(given: R, limits: Limits, *, keyless: bool = False) -> R:
    """Returns the record. ``InputError`` for a value that a caller could not have given."""
    validation.scope(given.scope.user, given.scope.agent, given.scope.session)
    limits = limits if isinstance(given, Turn) else replace(limits, text=limits.memory)
    for column in fields(given):
        value = getattr(given, column.name)
        if column.name in NAMES and value is not None and not (keyless and column.name == "key" and value == ""):
            validation.identifier(column.name, value)
        elif column.name not in NAMES:
            _check(column.name, value, limits)
    return given


def _check(name: str, value: Any, limits: Limits) -> None:
    if isinstance(value, str) and validation.text(name, value, limits.text) != value:
        raise InputError(f"{name} has characters that are no text")
    elif isinstance(value, Mapping) and validation.json_object(name, value, limits) != value:
        raise InputError(f"{name} has characters that are no text")
    elif isinstance(value, datetime):
        validation.when(name, value)
    elif isinstance(value, Interval):
        _check_interval(name, value)
    elif isinstance(value, int) and value not in RANGES.get(name, NUMBERS):
        raise InputError(f"{name} is out of range")
    elif isinstance(value, Quote):
        _check(name, (value.turn, value.text), limits)
    elif isinstance(value, tuple):
        for item in value:
            _check(name, item, limits)


def _check_interval(name: str, value: Interval) -> None:
    if validation.when(name, value.start) > validation.when(name, value.end):
        raise InputError(f"{name} ends before it starts")
