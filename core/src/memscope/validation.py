"""Validate all arguments of a call, once, before anything is stored."""

from __future__ import annotations

import json
import math
import os
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import compress, pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from memscope.errors import InputError, LimitError, ScopeError
from memscope.records import ROLES, AddReport, AppendResult, Interval, Json, Kind, Role, Scope, Select, Turn
from memscope.records.filters import check
from memscope.records.turn_keys import TIME_KEYS, TURN_KEYS, check_other_keys

if TYPE_CHECKING:
    from pathlib import Path

MAX_IDENTIFIER_BYTES = 256  # UTF-8
INTEGER_BITS = 64
MAX_CLOCK_SKEW = timedelta(days=1)
ALL_TIME = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)
MIN_MILLISECONDS_EPOCH = 100_000_000_000  # as seconds the year 5138, as milliseconds 1973
MAY_BE_SILENT = frozenset({"content", "text", "tool_calls", "function_call"})  # keys of messages that may lack a text
MEMORY_KINDS: frozenset[Kind] = frozenset({"turn", "observation", "insight"})
Zone: TypeAlias = str | tzinfo | None
HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co"})
TIME_EXAMPLE = 'write it as "2026-03-01T10:00+01:00"'
PERIOD_EXAMPLE = 'for example period=("2026-03-01", "2026-03-31")'


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one call, in bytes of UTF-8: a turn's ``text``, a ``memory``'s text, ``metadata`` or data."""

    text: int = 1024 * 1024
    memory: int = 256 * 1024
    turns: int = 10_000
    query: int = 32 * 1024
    k: int = 100
    keys: int = 64
    depth: int = 8


@dataclass(frozen=True, slots=True)
class ValidatedTurns:
    """Turns as they will be stored, with counts of repairs."""

    turns: tuple[Turn, ...]
    timed: tuple[bool, ...]  # the caller gave the time
    kept: tuple[bool, ...]  # per input message; False for dropped ones without text
    repaired: int
    skipped_parts: int
    clock_suspect: int

    def report(self, appended: AppendResult, places: Sequence[int | None]) -> AddReport:
        keys, kept_places = dict(zip(places, appended.keys, strict=True)), iter(range(len(self.turns)))
        return AddReport(
            stored=appended.outcomes.count("stored"),
            duplicates=appended.outcomes.count("duplicate"),
            forgotten=appended.outcomes.count("forgotten"),
            empty=self.kept.count(False),
            repaired=self.repaired,
            skipped_parts=self.skipped_parts,
            clock_suspect=self.clock_suspect,
            keys=tuple(keys.get(next(kept_places), "") if has_text else "" for has_text in self.kept),
        )


# ---------------------------------------------------------------------------------------------------------- identifiers


def identifier(what: str, value: object) -> str:
    """Validate an opaque name: not empty, no surrounding blanks, no invisible characters, at most 256 bytes."""
    if not isinstance(value, str):
        raise ScopeError(f"{what} must be a text that is not empty, got {type(value).__name__}")
    if not value:
        raise ScopeError(f"{what} is empty", hint="give the id of whose memory it is" if what == "user" else "")
    if value != value.strip():
        raise ScopeError(f"{what} has blanks around it: {value!r}", hint="strip it")
    suspicious = () if value.isprintable() else value
    if hidden := next((char for char in suspicious if unicodedata.category(char) in HIDDEN_CATEGORIES), None):
        raise ScopeError(f"{what} has an invisible character U+{ord(hidden):04X}", hint="remove it")
    if len(value.encode()) > MAX_IDENTIFIER_BYTES:
        raise ScopeError(f"{what} is longer than {MAX_IDENTIFIER_BYTES} bytes", hint="use an id, or a digest of it")
    return value


def scope(user: object, agent: object = None, session: object = None) -> Scope:
    return Scope(
        identifier("user", user),
        None if agent is None else identifier("agent", agent),
        None if session is None else identifier("session", session),
    )


def owner(user: object) -> str | None:
    """Validate an optional user; None means every user."""
    return None if user is None else identifier("user", user)


def ids(what: str, value: object) -> tuple[str, ...]:
    """Validate a list of ids; refuse a plain string, which would be read as a list of letters."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise InputError(f"{what} must be a list of ids", hint=f"did you mean [{value!r}]?")
    return tuple(map(str, value))


# --------------------------------------------------------------------------------------------------------------- values


def text(what: str, value: object, limit: int) -> str:
    """Check a text's length in bytes; replace NUL and lone surrogates, which stores cannot hold, by U+FFFD."""
    if not isinstance(value, str):
        raise InputError(f"{what} must be text, got {type(value).__name__}")
    repaired = value.replace("\0", "\ufffd")
    try:
        size = len(repaired.encode())
    except UnicodeEncodeError:
        repaired = "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in repaired)
        size = len(repaired.encode())
    if size > limit:
        raise LimitError(f"bytes in {what}", limit=limit, got=size, hint="split it, or keep the document elsewhere")
    return repaired


def zone(value: Zone) -> tzinfo | None:
    """Look up a time zone by its name; a ``tzinfo`` stays as it is."""
    if not value:
        return None
    if isinstance(value, tzinfo):
        return value
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(str(value))
    except (KeyError, ValueError, OSError, TypeError):
        raise InputError(f"unknown time zone {value!r}", hint="use a name such as 'Europe/Berlin' or 'UTC'") from None


def when(what: str, value: object, default_zone: tzinfo | None = None) -> datetime:
    """Read a time from a datetime or an ISO 8601 text; one without a zone is local to ``default_zone``.

    ``default_zone`` is that of the call, else of the settings; None is the system's.
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise InputError(f"{what} is not an ISO 8601 time: {str(value)[:40]!r}", hint=TIME_EXAMPLE) from None
    if not isinstance(value, datetime):
        raise InputError(f"{what} must be a datetime or an ISO 8601 text, got {type(value).__name__}")
    try:
        if value.utcoffset() is None:
            naive = value.replace(tzinfo=default_zone)
            value = naive if default_zone else naive.astimezone()
        value.astimezone(UTC)
    except (OverflowError, ValueError, OSError):
        raise InputError(f"{what} is out of range") from None
    return value


def period(value: object, default_zone: tzinfo | None) -> Interval | None:
    """Read an interval, or a pair of times or dates; a date at the end includes that day, None leaves a side open."""
    if value is None:
        return None
    if isinstance(value, Interval):
        value = (value.start, value.end)
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise InputError("period must be an Interval or a pair", hint=PERIOD_EXAMPLE)
    if all(edge is None for edge in value):
        return None
    sides = zip(value, (0, 1), ALL_TIME, strict=True)
    start, end = (limit if edge is None else _edge(edge, days, default_zone) for edge, days, limit in sides)
    if start >= end:
        raise InputError("period ends before it starts")
    return Interval(start, end)


def _edge(value: object, days: int, default_zone: tzinfo | None) -> datetime:
    if isinstance(value, str) and len(value) == 10:
        try:
            value = date.fromisoformat(value)
        except ValueError:
            raise InputError(f"period is not a date: {value!r}", hint=PERIOD_EXAMPLE) from None
    if isinstance(value, date) and not isinstance(value, datetime):
        try:
            value = (value + timedelta(days=days)).isoformat()
        except OverflowError:
            raise InputError("period is out of range") from None
    return when("period", value, default_zone)


def json_object(what: str, value: object, limits: Limits) -> dict[str, Json]:
    """Validate a dict of JSON values and return a copy, which the caller cannot change."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InputError(f"{what} must be a dict, got {type(value).__name__}")
    copied: dict[str, Json] = _json(what, value, limits, limits.depth)
    if copied and (size := len(json.dumps(copied, ensure_ascii=False).encode())) > limits.memory:
        raise LimitError(f"bytes in {what}", limit=limits.memory, got=size, hint="keep it elsewhere, and its id here")
    return copied


def _json(path: str, value: object, limits: Limits, depth: int) -> Json:
    if value is None or isinstance(value, bool | int):
        if value is not None and value.bit_length() > INTEGER_BITS:
            raise InputError(f"{path} is an integer of more than {INTEGER_BITS} bits", hint="write it as text")
        return value
    if isinstance(value, str):
        return text(path, value, limits.memory)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InputError(f"{path} is not a finite number")
        return value
    if isinstance(value, Mapping | list | tuple) and depth == 0:
        raise InputError(f"{path} is nested deeper than {limits.depth}")
    if isinstance(value, Mapping):
        return _json_keys(path, value, limits, depth)
    if isinstance(value, list | tuple):
        return [_json(f"{path}[{index}]", item, limits, depth - 1) for index, item in enumerate(value)]
    raise InputError(f"{path} is not JSON: {type(value).__name__}")


def _json_keys(path: str, value: Mapping[Any, Any], limits: Limits, depth: int) -> dict[str, Json]:
    if len(value) > limits.keys:
        raise LimitError(f"keys in {path}", limit=limits.keys, got=len(value))
    strange = next((key for key in value if not isinstance(key, str)), None)
    if strange is not None:
        raise InputError(f"{path} has a key that is not text: {strange!r}")
    return {
        text(f"a key of {path}", key, limits.memory): _json(f"{path}.{key[:40]}", item, limits, depth - 1)
        for key, item in value.items()
    }


def count(what: str, value: object, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise InputError(f"{what} must be a whole number from 1 to {most}, got {value!r}")
    return value


def choice(what: str, value: object, *allowed: str | bool) -> None:
    if not any(type(value) is type(option) and value == option for option in allowed):
        raise InputError(f"{what} must be {' or '.join(map(repr, allowed))}, got {str(value)[:40]!r}")


def path(value: object) -> Path:
    if not isinstance(value, str | os.PathLike) or "\0" in str(value):
        raise InputError(f"not a path of a file: {str(value)[:200]!r}")
    from pathlib import Path  # its import takes a tenth of the package's

    return Path(value)


def filter(value: Mapping[str, Json] | None) -> Mapping[str, Json] | None:
    """Validate a filter; an empty one becomes None."""
    check(value)
    return value or None


def kinds(value: object) -> frozenset[Kind]:
    """Validate kinds of records; None means all."""
    if value is None:
        return MEMORY_KINDS
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InputError(f"kinds must be a list of {', '.join(sorted(MEMORY_KINDS))}")
    asked = list(value)
    for kind in asked:
        choice("an entry of kinds", kind, *sorted(MEMORY_KINDS))
    return frozenset(kind for kind in MEMORY_KINDS if kind in asked)


def select(where: Scope, default_zone: tzinfo | None, **asked: Any) -> Select:
    """Build a ``Select`` from the keywords of ``list`` and ``forget``."""
    chosen, words = asked.pop("ids", None), asked.pop("text", None)
    for label in ("name", "namespace"):
        if asked.get(label) is not None:
            identifier(label, asked[label])
    return Select(
        where.user,
        where.agent,
        where.session,
        kinds=kinds(asked.pop("kinds", None)),
        ids=None if chosen is None else frozenset(ids("ids", chosen)),
        period=period(asked.pop("period", None), default_zone),
        text=None if words is None else text("text", words, Limits().query) or None,
        filter=filter(asked.pop("filter", None)),
        **asked,
    )


# ---------------------------------------------------------------------------------------------------------------- turns


def turns(messages: object, where: Scope, now: datetime, default_zone: tzinfo | None = None,
          limits: Limits | None = None, *, place: str = "turns[{}].", textless: bool = False,
          ) -> ValidatedTurns:  # fmt: skip
    """Validate all turns or raise ``InputError`` with the first invalid one's ``place``; "" names arguments instead."""
    limits = limits or Limits()
    if isinstance(messages, str | bytes | Mapping | Turn) or not isinstance(messages, Sequence):
        raise InputError("turns must be a list of turns", hint='did you mean [{"role": "user", "content": "..."}]?')
    if len(messages) > limits.turns:
        raise LimitError("turns in one call", limit=limits.turns, got=len(messages), hint="import_ takes any number")
    parsed = [_turn(place.format(index), turn, where, now, default_zone, limits) for index, turn in enumerate(messages)]
    has_text = tuple(textless or bool(turn.text.strip()) for turn, *_ in parsed)
    calls = any(MAY_BE_SILENT & set(one) - {"content", "text"} for one in messages if not isinstance(one, Turn))
    if parsed and not (any(has_text) or (place and (calls or any(skipped for *_, skipped in parsed)))):
        error = InputError("turns have no text", hint="give one of them a content that is not empty")
        raise error if place else InputError("the text is empty")
    stored = tuple(turn for turn, *_ in compress(parsed, has_text))
    ahead = sum(turn.time > now + MAX_CLOCK_SKEW for turn in stored)
    return ValidatedTurns(
        stored,
        timed=tuple(timed for _, timed, _, _ in compress(parsed, has_text)),
        kept=has_text,
        repaired=sum(repaired for _, _, repaired, _ in parsed),
        skipped_parts=sum(skipped for *_, skipped in parsed),
        clock_suspect=ahead + sum(after.time < before.time for before, after in pairwise(stored)),
    )


def _turn(
    path: str, message: object, where: Scope, now: datetime, default_zone: tzinfo | None, limits: Limits
) -> tuple[Turn, bool, bool, int]:
    if isinstance(message, Turn):
        message = {"id": message.key or None, "role": message.role, "speaker": message.speaker, "content": message.text,
                 "time": message.time, "session": message.scope.session, "metadata": message.metadata}  # fmt: skip
    if not isinstance(message, Mapping):
        raise InputError(f"{path[:-1]} must be a dict or a Turn, got {type(message).__name__}")
    if not message.keys() <= TURN_KEYS.keys():
        check_other_keys(path[:-1], message, where.user)
    role = _role(path, message.get("role"))
    name = f"{path}content" if path else "text"
    words, skipped = _text_of(name, message)
    content = text(name, words, limits.text)
    time = _time(path, message, default_zone)
    session = message.get("session")
    turn = Turn(
        key="" if message.get("id") is None else identifier(f"{path}id", message["id"]),
        scope=where if session is None else replace(where, session=identifier(f"{path}session", session)),
        role=role,
        speaker=identifier(f"{path}speaker", message.get("speaker") or message.get("name") or role),
        text=content,
        time=now if time is None else time,
        recorded=now,
        metadata=json_object(f"{path}metadata", message.get("metadata"), limits),
    )
    return turn, time is not None, content != words, skipped


def _time(path: str, message: Mapping[Any, Any], default_zone: tzinfo | None) -> datetime | None:
    """Parse the first of ``TIME_KEYS``: a datetime, ISO 8601 text, or seconds since 1970."""
    name = next((key for key in TIME_KEYS if message.get(key) is not None), None)
    if name is None:
        return None
    value = message[name]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _from_seconds(f"{path}{name}", value, default_zone)
    return when(f"{path}{name}", value, default_zone)


def _from_seconds(what: str, value: float, default_zone: tzinfo | None) -> datetime:
    if abs(value) >= MIN_MILLISECONDS_EPOCH:
        raise InputError(f"{what} is not in seconds since 1970", hint="divide milliseconds by 1000")
    try:
        return datetime.fromtimestamp(value, UTC).astimezone(default_zone)
    except (OverflowError, ValueError, OSError):
        raise InputError(f"{what} is out of range: {value!r}") from None


def _role(path: str, value: object) -> Role:
    for role in ROLES:
        if value == role:
            return role
    raise InputError(f"{path}role must be one of {', '.join(ROLES)}, got {type(value).__name__} {str(value)[:20]!r}")


def _text_of(name: str, message: Mapping[Any, Any]) -> tuple[str, int]:
    """Extract a message's text (joined text parts, "" for null) and count its other parts."""
    content = message.get("content", message.get("text"))
    if isinstance(content, str):
        return content, 0
    if content is None and not MAY_BE_SILENT.isdisjoint(message):
        return "", 0
    if not isinstance(content, Sequence) or isinstance(content, bytes):
        raise InputError(f"{name} must be text or a list of parts, got {type(content).__name__}")
    texts = [part if isinstance(part, str) else part.get("text") for part in content if isinstance(part, str | Mapping)]
    plain = [part for part in texts if isinstance(part, str)]
    return "\n".join(plain), len(content) - len(plain)
