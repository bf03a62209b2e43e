"""JSON lines out of a store and into one: lossless, idempotent, a page at a time.

The first line is the header with the secret of the turn keys; then turns, observations, insights, tombstones. A line is
``{"turn": {...}, "pending": true}``; a memory's line has its earlier ``versions``.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from memscope import intake
from memscope.codec import from_json, to_json
from memscope.errors import Conflict, InputError
from memscope.records import Draft, Insight, Kind, Observation, Plan, Record, Revision, Scope, Select, Stage, Turn
from memscope.stores import Store

Progress = Callable[[int, int | None], None]
FORMAT = 1
BATCH = 500
SECRET_BYTES = range(16, 65)
KINDS: tuple[Kind, ...] = ("turn", "observation", "insight")
WAITS: dict[str, Stage] = {"turn": "consolidate", "observation": "reflect"}
Line = dict[str, Any]


async def export(store: Store, path: Path, *, user: str | None, progress: Progress | None) -> Mapping[str, int]:
    """Write to a new file beside ``path`` and put it in its place when it is whole; mode 0600."""
    part = path.with_name(path.name + ".part")
    with usable(path):
        try:
            counts = await _write_lines(store, part, user, progress)
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)  # it holds what was said
            raise
    del counts["header"]
    return dict(counts)


async def _write_lines(store: Store, part: Path, user: str | None, progress: Progress | None) -> Counter[str]:
    counts: Counter[str] = Counter()
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        async for kind, line in lines(store, user):
            file.write(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")
            counts[kind] += 1
            if progress and counts.total() % BATCH == 0:
                progress(counts.total(), None)
        file.flush()
        os.fsync(file.fileno())
    return counts


@contextmanager
def usable(path: Path) -> Iterator[None]:
    """What the system says against a file, as an ``InputError``."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{str(path)!r}: {error.strerror}", hint="see the path and its rights") from error


async def lines(store: Store, user: str | None) -> AsyncIterator[tuple[str, Line]]:
    """Every line of an export with its kind."""
    yield "header", {"memscope": FORMAT, "secret": (await store.secret()).hex()}
    for name in [user] if user is not None else await store.users():
        for kind in KINDS:
            waiting = await _waiting(store, name, kind)
            async for page in store.scan(Select(name, kinds=frozenset({kind}))):
                for record in page:
                    yield kind, await _line(store, kind, record, waiting)
        for id in await store.tombstones(name):
            yield "forgotten", {"forgotten": id, "user": name}


async def _waiting(store: Store, user: str, kind: Kind) -> set[str]:
    if kind not in WAITS:
        return set()
    select = Select(user, kinds=frozenset({kind}), pending=WAITS[kind])
    return {_id(record) async for page in store.scan(select) for record in page}


async def _line(store: Store, kind: Kind, record: Record, waiting: set[str]) -> Line:
    line: Line = {kind: to_json(record), "pending": _id(record) in waiting}
    if not isinstance(record, Turn) and record.version > 1:
        versions = await store.history(record.scope.user, record.id)
        line["versions"] = [to_json(old) for old in versions if old.id == record.id and old.version < record.version]
    return line


def _id(record: Record) -> str:
    return record.key if isinstance(record, Turn) else record.id


# --------------------------------------------------------------------------------------------------------------- import


@dataclass
class Bundle:
    """Lines of one user and one kind, to be written together."""

    user: str = ""
    kind: str = ""
    records: list[Any] = field(default_factory=list)
    versions: list[list[Record]] = field(default_factory=list)
    done: list[str] = field(default_factory=list)


async def import_(
    store: Store, path: Path, *, user: str | None, strict: bool, progress: Progress | None
) -> Mapping[str, int]:
    """``strict``: every line is read before the first is written. Raises ``InputError`` naming the line."""
    counts: Counter[str] = Counter()
    if strict:
        for _ in _parsed(path, strict=True, counts=Counter()):
            pass
    bundle = Bundle()
    for number, line in _parsed(path, strict=strict, counts=counts):
        kind, record = _record(line)
        if kind == "header":
            counts["secret_adopted"] = int(await store.adopt_secret(bytes.fromhex(record)))
            continue
        owner = line["user"] if kind == "forgotten" else record.scope.user
        if user not in (None, owner):
            continue
        if (owner, kind) != (bundle.user, bundle.kind) or len(bundle.records) >= BATCH:
            await _write(store, bundle, counts)
            bundle = Bundle(owner, kind)
        bundle.records.append(record)
        bundle.versions.append([from_json(old) for old in line.get("versions", ())])
        if kind in WAITS and not line.get("pending"):
            bundle.done.append(_id(record))
        if progress and number % BATCH == 0:
            progress(number, None)
    await _write(store, bundle, counts)
    return dict(counts)


def _parsed(path: Path, *, strict: bool, counts: Counter[str]) -> Iterator[tuple[int, Line]]:
    with usable(path), open(path, encoding="utf-8-sig", errors="replace") as file:
        for number, text in enumerate(file, 1):
            if not text.strip():
                continue
            try:
                line = json.loads(text)
                if "\\ud" in text.lower():
                    json.dumps(line, ensure_ascii=False).encode()  # a lone surrogate is no text
                kind, _ = _record(line)
                if (number == 1) != (kind == "header"):
                    raise InputError("the first line must be the header of an export, and only that")
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                if strict or number == 1:
                    raise InputError(f"line {number} of {path.name!r} is not a line of an export") from error
                counts["broken"] += 1
                counts["first_broken_line"] = counts["first_broken_line"] or number
                continue
            yield number, line


def _record(line: Line) -> tuple[str, Any]:
    if "memscope" in line:
        if line["memscope"] != FORMAT:
            raise InputError(f"an export of format {line['memscope']!r}; this memscope reads {FORMAT}")
        if len(bytes.fromhex(line["secret"])) not in SECRET_BYTES:
            raise InputError("a secret that is none")
        return "header", line["secret"]
    if "forgotten" in line:
        intake.identifier("user", line["user"])
        return "forgotten", intake.identifier("forgotten", line["forgotten"])
    kind = next(kind for kind in (*KINDS, None) if kind is None or kind in line)
    if kind is None or line[kind]["kind"] != kind:
        raise InputError("a line without a record")
    record = _checked(from_json(line[kind]))
    for old in line.get("versions", ()):
        if type(version := from_json(old)) is not type(record) or _owned(version) != _owned(record):
            raise InputError("a version of something else")
    return kind, record


def _checked(record: Record) -> Record:
    """Whose it is and its id, as they would be taken from a caller."""
    intake.scope(*_parts(record.scope))
    intake.identifier("id", _id(record))
    return record


def _parts(scope: Scope) -> tuple[str, str | None, str | None]:
    return scope.user, scope.agent, scope.session


def _owned(record: Record) -> tuple[str, str]:
    return record.scope.user, _id(record)


async def _write(store: Store, bundle: Bundle, counts: Counter[str]) -> None:
    if not bundle.records:
        return
    if bundle.kind == "forgotten":
        await store.bury(bundle.user, bundle.records)
        counts["forgotten"] += len(bundle.records)
    elif bundle.kind == "turn":
        drafts = [Draft(turn) for turn in bundle.records]
        appended = await store.append(bundle.user, drafts, Plan(done=tuple(bundle.done)))
        counts.update(f"turn_{outcome}" for outcome in appended.outcomes)
    else:
        await _write_memories(store, bundle, counts)


async def _write_memories(store: Store, bundle: Bundle, counts: Counter[str]) -> None:
    first = tuple(versions[0] if versions else memory for memory, versions in _pairs(bundle))
    counts[bundle.kind] += await store.apply(bundle.user, Plan(new=first, done=tuple(bundle.done)))
    for memory, versions in _pairs(bundle):
        for before, after in pairwise([*versions, memory]):
            try:
                await store.apply(
                    bundle.user, Plan(revised=(Revision(after, before.version),), done=tuple(bundle.done))
                )
            except Conflict:  # here already
                continue


def _pairs(bundle: Bundle) -> Iterator[tuple[Observation | Insight, list[Observation | Insight]]]:
    for memory, versions in zip(bundle.records, bundle.versions, strict=True):
        yield memory, [old for old in versions if not isinstance(old, Turn)]
