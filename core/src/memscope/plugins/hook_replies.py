"""Validate the reply of a ``before`` hook: memscope's own types, valid values, the same user, agent and session.

Errors are ``InputError``; the caller adds the plugin's name. A reply may narrow a scope: set an unset agent or session.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memscope import validation
from memscope.errors import InputError
from memscope.records import Interval, Observation, Scope, Select, Turn
from memscope.records.serialization import sound
from memscope.stores.rules import record_id
from memscope.transfer.checks import check_record, zoned
from memscope.validation import Limits


def check(operation: str, original: Any, reply: object, limits: Limits) -> None:
    """Raise ``InputError`` unless ``reply`` can replace ``original``."""
    _CHECKS[operation](original, reply, limits)


def _add_turns(original: Sequence[Turn], reply: object, limits: Limits) -> None:
    turns = _records(Turn, reply)
    if original and any(_owner(turn.scope) != _owner(original[0].scope) for turn in turns):
        raise InputError("a turn of another user or agent")
    for turn in turns:
        check_record(sound(turn), limits, keyless=True)


def _batch(kind: type[Turn] | type[Observation]) -> Callable[[Sequence[Any], object, Limits], None]:
    def check_batch(original: Sequence[Any], reply: object, limits: Limits) -> None:
        scopes = {record_id(record): record.scope for record in original}
        records = _records(kind, reply)
        ids = [record_id(record) for record in records]
        if len(set(ids)) < len(ids) or any(scopes.get(record_id(record)) != record.scope for record in records):
            raise InputError("a record that was not given, or one twice")
        for record in records:
            check_record(sound(record), limits)

    return check_batch


def _records(kind: type[Any], reply: object) -> Sequence[Any]:
    if not isinstance(reply, list | tuple) or not all(
        type(record) is kind and type(record.scope) is Scope for record in reply
    ):
        raise InputError(f"{type(reply).__name__} instead of a list of {kind.__name__} objects")
    return reply


def _owner(scope: Scope) -> tuple[str, str | None]:
    return scope.user, scope.agent


def _retrieve(original: Any, reply: Any, limits: Limits) -> None:
    if type(reply) is not type(original) or type(reply.scope) is not Scope:
        raise InputError(f"{type(reply).__name__} instead of a {type(original).__name__}")
    _check_scope(original.scope, reply.scope)
    validation.text("query", reply.text, limits.query)
    validation.count("k", reply.k, limits.k)
    _check_valid("exclude", reply.exclude, frozenset(validation.ids("exclude", reply.exclude)))
    _check_valid("kinds", reply.kinds, validation.kinds(reply.kinds))
    _check_filter(reply.filter)
    for name in ("now", "as_of"):
        _check_time(name, getattr(reply, name))


def _forget(original: Select, reply: Any, limits: Limits) -> None:
    if type(reply) is not Select:
        raise InputError(f"{type(reply).__name__} instead of a Select")
    _check_scope(Scope(original.user, original.agent, original.session), Scope(reply.user, reply.agent, reply.session))
    _check_valid("kinds", reply.kinds, validation.kinds(reply.kinds))
    if reply.ids is not None:
        _check_valid("ids", reply.ids, frozenset(validation.ids("ids", reply.ids)))
    if reply.text is not None:
        validation.text("text", reply.text, limits.query)
    if reply.period is not None:
        _check_valid("period", reply.period, Interval(reply.period.start, reply.period.end))
        validation.period(reply.period, None)
    _check_filter(reply.filter)
    for name in ("name", "namespace"):
        if getattr(reply, name) is not None:
            validation.identifier(name, getattr(reply, name))
    for name in ("expired_by", "live_at"):
        _check_time(name, getattr(reply, name))
    validation.choice("current", reply.current, True, False)


def _check_scope(original: Scope, reply: Scope) -> None:
    pairs = ((original.agent, reply.agent), (original.session, reply.session))
    if reply.user != original.user or any(before is not None and after != before for before, after in pairs):
        raise InputError("another user, agent or session", hint="a scope may only be narrowed")
    validation.scope(reply.user, reply.agent, reply.session)


def _check_valid(name: str, value: object, valid: object) -> None:
    if type(value) is not type(valid) or value != valid:
        raise InputError(f"{name} is no {type(valid).__name__}")


def _check_filter(value: object) -> None:
    if value is not None and not isinstance(value, Mapping):
        raise InputError("filter is no mapping")
    validation.filter(value)


def _check_time(name: str, value: object) -> None:
    if value is not None:
        _check_valid(name, value, zoned(name, value))


_CHECKS: Mapping[str, Callable[[Any, Any, Limits], None]] = {
    "add_turns": _add_turns,
    "consolidate": _batch(Turn),
    "reflect": _batch(Observation),
    "retrieve": _retrieve,
    "forget": _forget,
}
