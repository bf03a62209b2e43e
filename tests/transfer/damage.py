"""Seeded ways to damage a file: mutations of its bytes, of a value (JSON), of a member (zip), of a row (SQLite)."""

from __future__ import annotations

import gzip
import io
import json
import random
import sqlite3
import struct
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

from transfer.samples import TIME, Sample, as_json, conversations

DEEP = "\0deep:"  # stands for lists nested so deep, which json.dumps itself cannot write
DIGITS = "\0digits:"  # and for a number of so many digits


def mutated(sample: Sample, rng: random.Random) -> bytes:
    """Return the sample's content with one to three mutations."""
    content = sample.content
    for _ in range(rng.choice((1, 1, 2, 3))):
        content = _mutated_once(sample, content, rng)
    return content


def _mutated_once(sample: Sample, content: bytes, rng: random.Random) -> bytes:
    if sample.name == "export.zip" and rng.random() < 0.7:
        return _mutated_zip(content, rng)
    if sample.name == "history.db" and rng.random() < 0.5:
        return _mutated_rows(content, rng)
    if not sample.name.endswith((".db", ".zip")) and rng.random() < 0.7:
        return _mutated_json(content, sample.lines, rng)
    return rng.choice(BYTES)(content, rng)


TOKENS = (
    b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"[" * 100_000, b'{"a":' * 3_000, b"9" * 5_000, b'"\\ud800"', b"NaN", b"1e999",
    b"\\u0000", b"\n", b"\r", b"\xe2\x80\xa8", b"\xef\xbb\xbf", b'"', b"}", b"]", b",", b" " * 70_000, b"-",
)  # fmt: skip


def _place(content: bytes, rng: random.Random) -> int:
    return rng.randrange(len(content) + 1)


def _flip(content: bytes, rng: random.Random) -> bytes:
    made = bytearray(content)
    for _ in range(rng.choice((1, 1, 4, 64))):
        if made:
            made[rng.randrange(len(made))] ^= 1 << rng.randrange(8)
    return bytes(made)


def _cut(content: bytes, rng: random.Random) -> bytes:
    return content[: _place(content, rng)]


def _drop(content: bytes, rng: random.Random) -> bytes:
    start = _place(content, rng)
    return content[:start] + content[start + rng.choice((1, 2, 16, 300)) :]


def _insert(content: bytes, rng: random.Random) -> bytes:
    start = _place(content, rng)
    return content[:start] + rng.choice(TOKENS) + content[start:]


def _overwrite(content: bytes, rng: random.Random) -> bytes:
    start, length = _place(content, rng), rng.choice((1, 4, 64, 4096))
    return content[:start] + rng.randbytes(min(length, len(content) - start)) + content[start + length :]


def _repeat(content: bytes, rng: random.Random) -> bytes:
    start = _place(content, rng)
    part = content[start : start + rng.choice((1, 16, 300, 5000))]
    return content[:start] + part * rng.choice((2, 3, 50)) + content[start:]


def _encoded(content: bytes, rng: random.Random) -> bytes:
    how = rng.choice(("utf-16", "utf-16-le", "utf-32", "latin-1", "gbk", "utf-7", "gzip", "zip", "empty", "blank"))
    if how == "gzip":
        return gzip.compress(content)
    if how == "zip":
        return zipped([("readme.txt", content)])
    if how in ("empty", "blank"):
        return b"" if how == "empty" else b" \n\n"
    return content.decode(errors="replace").encode(how, errors="replace")


BYTES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _flip, _cut, _drop, _insert, _overwrite, _repeat, _encoded,
)  # fmt: skip

# ---- values

VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1 << 63, 10**4000, 1e308, float("nan"), float("inf"), -1e18, 1.5, "", " ", "\ud800",
    "a\udfffb", "\0", "\u202e", "x" * 2_000_000, "user", [], {}, [[]], {"": {}}, ["x"] * 300, {"\ud83d": 1},
    "9" * 5_000, "２０２２", "²", "٣", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00",
    "9999-12-31", "2026-02-30", "0000",
    f"{DEEP}50", f"{DEEP}700", f"{DEEP}990", f"{DEEP}100000", f"{DIGITS}5000", f"{DIGITS}300",
    {str(n): n for n in range(99)},
)  # fmt: skip


def dumped(value: Any) -> bytes:
    """JSON with what ``json.dumps`` cannot write: lone surrogates, lists too deep, integers too long."""
    text = json.dumps(value, ensure_ascii=False)
    for mark, written in ((DEEP, lambda n: "[" * n + "]" * n), (DIGITS, lambda n: "9" * n)):
        start = json.dumps(mark)[:-1]
        while start in text:
            before, _, rest = text.partition(start)
            number, _, after = rest.partition('"')
            text = before + written(int(number)) + after
    return "".join(f"\\u{ord(char):04x}" if "\ud800" <= char <= "\udfff" else char for char in text).encode()


def _mutated_json(content: bytes, lines: bool, rng: random.Random) -> bytes:
    try:
        if not lines:
            return dumped(_changed(json.loads(content), rng))
        rows = content.splitlines()
        number = rng.randrange(len(rows))
        rows[number] = dumped(_changed(json.loads(rows[number]), rng))
        return b"\n".join(rows) + b"\n"
    except (ValueError, RecursionError):
        return rng.choice(BYTES)(content, rng)


def _changed(value: Any, rng: random.Random) -> Any:
    if not (places := list(_places(value))):
        return rng.choice(VALUES)
    inside, key = rng.choice(places)
    how = rng.randrange(8)
    if how == 0:
        del inside[key]
    elif how == 1:
        inside[key] = [inside[key]]
    elif how == 2 and isinstance(inside, dict):
        inside[rng.choice(("\ud800", "", "x" * 70, "kind", "memscope", "versions", "id", "time"))] = inside.pop(key)
    elif how == 3:
        other, place = rng.choice(places)
        inside[key], other[place] = json.loads(json.dumps(other[place])), json.loads(json.dumps(inside[key]))
    else:
        inside[key] = rng.choice(VALUES)
    return value


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container inside ``value`` with each of its keys."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in list(pairs):
        yield value, key
        yield from _places(item)


# ---- archives

NAMES = (
    "../../conversations.json", "/etc/conversations.json", "a/conversations.json", "conversations", "conversations/",
    "C:\\conversations.json", "conversations\u202e.json", "conversations.json" * 400,
)  # fmt: skip
METHODS = (1, 6, 8, 9, 12, 14, 93, 99)


def zipped(members: list[tuple[str, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return packed.getvalue()


def _mutated_zip(content: bytes, rng: random.Random) -> bytes:
    said = as_json(conversations())
    how = rng.randrange(9)
    if how == 0:
        return zipped([("conversations.json", _mutated_json(said, False, rng))])
    if how == 1:
        return zipped([("conversations.json", rng.choice(BYTES)(said, rng))])
    if how == 2:
        return zipped([(rng.choice(NAMES), said), ("conversations/x.json", said)])
    if how == 3:
        return zipped([("conversations.json", said)], rng.choice((0, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)))
    if how == 4:
        return zipped([("conversations.json", said), ("conversations-2.json", _cut(said, rng))])
    return _header_changed(content, how, rng)


def _header_changed(content: bytes, how: int, rng: random.Random) -> bytes:
    """Change a field in one of the archive's headers: method, flags, sizes, offsets, numbers of entries."""
    made = bytearray(content)
    marks = [at for mark in (b"PK\1\2", b"PK\3\4", b"PK\5\6") for at in _all(content, mark)]
    if not marks:
        return _flip(content, rng)
    at = rng.choice(marks)
    if how == 5:
        made[at + 6 : at + 8] = struct.pack("<H", rng.choice((1, 8, 0x41, 0x800, 0xFFFF)))
    elif how == 6:
        made[at + 10 : at + 12] = struct.pack("<H", rng.choice(METHODS))
    else:
        field = at + rng.randrange(4, 44)
        made[field : field + 4] = struct.pack("<I", rng.choice((0, 1, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF)))
    return bytes(made)


def _all(content: bytes, mark: bytes) -> Iterator[int]:
    at = content.find(mark)
    while at >= 0:
        yield at
        at = content.find(mark, at + 1)


# ---- databases

ROWS: tuple[Any, ...] = (None, b"\xff\0", 5, 1.5, "", "x" * 2_000_000, "9" * 5000, "0001-01-01T00:00:00+14:00", TIME)
COLUMNS = ("memory_id", "old_memory", "event", "created_at", "updated_at")
SCHEMAS = (
    "DROP TABLE history",
    "ALTER TABLE history DROP COLUMN event",
    "ALTER TABLE history RENAME TO other",
    "UPDATE history SET old_memory = CAST(x'ff00fe' AS TEXT)",
    "ALTER TABLE history RENAME TO h; CREATE VIEW history AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
    "FROM n) SELECT i id, i memory_id, 'x' old_memory, 'y' new_memory, 'UPDATE' event, '2026-01-01' created_at, "
    "'2026-01-01' updated_at FROM n",
    "ALTER TABLE history RENAME TO h; CREATE TABLE history (memory_id, old_memory GENERATED ALWAYS AS "
    "(hex(zeroblob(200000000))), new_memory, event, created_at, updated_at); "
    "INSERT INTO history VALUES ('m1', 'x', 'UPDATE', '2026-01-01', '2026-01-01')",
)


def _mutated_rows(content: bytes, rng: random.Random) -> bytes:
    db = sqlite3.connect(":memory:")
    with closing(db):
        try:
            db.deserialize(content)
            if rng.random() < 0.5:
                db.executescript(rng.choice(SCHEMAS))
            else:
                db.execute(f"UPDATE history SET {rng.choice(COLUMNS)} = ?", (rng.choice(ROWS),))
            db.commit()
            return db.serialize()
        except (sqlite3.Error, MemoryError):  # the latter for an empty file
            return rng.choice(BYTES)(content, rng)


# ---- stores


def damaged_store(content: bytes, rng: random.Random) -> bytes:
    """Return a store's file with one to three pages, headers or bytes that are wrong."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        content = _changed_page(content, rng) if content else content
    return content


def _changed_page(content: bytes, rng: random.Random) -> bytes:
    made, size = bytearray(content), int.from_bytes(content[16:18], "big") or 4096
    page = rng.randrange(max(1, len(content) // size)) * size
    other = rng.randrange(max(1, len(content) // size)) * size
    how = rng.randrange(8)
    if how == 0:
        made[page : page + size] = bytes(size)
    elif how == 1:
        made[page : page + size] = rng.randbytes(size)
    elif how == 2:
        made[page : page + size] = made[other : other + size]
    elif how == 3:
        return content[: _place(content, rng)]
    elif how == 4:
        return rng.choice(BYTES)(content, rng)
    else:
        start, end = ((page, page + 200), (0, 100), (0, len(made)))[how - 5]
        for _ in range(rng.choice((1, 20))):
            made[min(rng.randrange(start, end), len(made) - 1)] = rng.choice((0, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    return bytes(made)
