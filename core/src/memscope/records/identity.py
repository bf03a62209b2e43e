"""Identity of records: keys of turns, ids of memories."""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict, deque
from collections.abc import MutableMapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from memscope.records import MACHINE_ROLES, Insight, Observation, Quote, Turn, TurnInsert
from memscope.records.serialization import turn_key


def digest(secret: bytes, *parts: str) -> bytes:
    """Hash the parts with BLAKE2, keyed with the store's secret, so that a key reveals nothing about the text."""
    hasher = hashlib.blake2b(key=secret, digest_size=16)
    for part in parts:
        encoded = part.encode()
        hasher.update(len(encoded).to_bytes(4, "big") + encoded)
    return hasher.digest()


def base(secret: bytes, turn: Turn, *, timed: bool) -> bytes:
    """Digest user, agent, session, speaker, text, and the time if the caller set one."""
    where = turn.scope
    time = turn.time.astimezone(UTC).isoformat() if timed else ""
    return digest(secret, where.user, where.agent or "", where.session or "", turn.speaker, turn.text, time)


def match(turns: Sequence[Turn], timed: Sequence[bool], hooked: Sequence[Turn]) -> tuple[list[int | None], list[bool]]:
    """Find the place among ``turns`` of each turn that hooks left, by its words: None for one that was rewritten.

    The second value says of each whether the caller gave its time.
    """
    left = defaultdict[tuple[str, str, datetime], deque[int]](deque)
    for place, turn in enumerate(turns):
        left[turn.role, turn.text, turn.time].append(place)
    same = [left[turn.role, turn.text, turn.time] for turn in hooked]
    places = [alike.popleft() if alike else None for alike in same]
    known = zip(places, hooked, strict=True)
    return places, [turn.time != turn.recorded if place is None else timed[place] for place, turn in known]


def inserts(
    secret: bytes, turns: Sequence[Turn], timed: Sequence[bool], *, replay: bool,
    seen: MutableMapping[bytes, int] | None = None,
) -> list[TurnInsert]:  # fmt: skip
    """Prepare turns for the store.

    An id becomes the key. With a time, equal text at that time is the same turn. Otherwise the turn is new: the store
    takes the first free n, so that "ok" twice is two turns. In a replay, n counts equal turns of the history, from
    those in ``seen`` on if it comes in parts; they are added there.
    """
    counts: MutableMapping[bytes, int] = {} if seen is None else seen
    result = []
    for turn, has_time in zip(turns, timed, strict=True):
        if turn.key:
            result.append(TurnInsert(turn))
            continue
        basis = base(secret, turn, timed=has_time)
        if replay or has_time:
            result.append(TurnInsert(replace(turn, key=turn_key(basis, counts.get(basis, 0) if replay else 0))))
        else:
            result.append(TurnInsert(turn, basis))
        counts[basis] = counts.get(basis, 0) + 1
    return result


def memory_id(batch: str, part: int | str) -> str:
    """Derive an id from the batch, so that a repeated batch gets the same ids."""
    return hashlib.blake2b(f"{batch}/{part}".encode(), digest_size=16).hexdigest()


def fingerprint(text: str, size: int) -> str:
    """Hash a text to ``size`` bytes in hexadecimal. Without a key it may reveal a short text: see ``digest``."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()


def stated_fact(insight: Insight) -> str | None:
    """Return the id of the fact of a stated insight; None for one that was derived."""
    fact = insight.sources[0]
    return fact if insight.id == memory_id(fact, 0) else None


def statement(secret: bytes, turn: Turn, *, timed: bool, **more: Any) -> tuple[TurnInsert, Observation]:
    """Make a statement and the memory that quotes it; ``more``: fields of the memory."""
    key = turn.key or (turn_key(base(secret, turn, timed=True), 0) if timed else os.urandom(16).hex())
    memory = Observation(
        id=digest(secret, "statement", turn.scope.user, key).hex(),
        scope=replace(turn.scope, session=None),
        text=turn.text,
        sources=(key,),
        quotes=(Quote(key, turn.text),),
        said=turn.time,
        recorded=turn.recorded,
        origin=turn.role if turn.role in MACHINE_ROLES else "statement",
        **more,
    )
    return TurnInsert(replace(turn, key=key, statement=True)), memory
