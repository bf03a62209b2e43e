"""Restore, recover, copy, backup and export of damaged stores: a typed error or what is readable, in bounded time."""

from __future__ import annotations

import random
import sqlite3
import struct
from contextlib import closing
from pathlib import Path

import pytest

from memscope import AsyncMemoryScope
from memscope.errors import StoreCorrupt
from memscope_cli import page_reader
from memscope_cli.sqlite_recovery import recover, restore
from transfer import damage
from transfer.verdict import filled, store_verdicts

PAGE = 8192


@pytest.mark.parametrize("seed", range(24))
async def test_a_damaged_store_is_refused_by_a_typed_error(tmp_path, seed):
    sound = await filled(tmp_path / "sound.db")
    damaged = damage.damaged_store(sound, random.Random(seed))
    found = await store_verdicts(damaged, sound, tmp_path)
    assert not {name: reason for name, reason in found.items() if reason}


async def test_a_schema_that_is_no_utf8_is_damage(tmp_path):
    """SQLite quotes the name of a table in its error, which Python then cannot decode."""
    sound = await filled(tmp_path / "sound.db")
    (tmp_path / "backup.db").write_bytes(sound.replace(b"CREATE TABLE users", b"CREATE TABLE \x80\x80\x80rs", 1))
    with pytest.raises(StoreCorrupt):
        await restore(tmp_path / "backup.db", tmp_path / "sound.db")
    assert (tmp_path / "sound.db").read_bytes() == sound


async def test_a_store_of_a_version_before_the_first_is_damaged(tmp_path):
    sound = bytearray(await filled(tmp_path / "a.db"))
    sound[60:64] = bytes(4)
    (tmp_path / "a.db").write_bytes(sound)
    with pytest.raises(StoreCorrupt, match="schema 0"):
        async with AsyncMemoryScope(tmp_path / "a.db", settings={}):
            pass
    assert (tmp_path / "a.db").read_bytes() == sound


async def test_a_store_without_its_secret_is_damaged(tmp_path):
    await filled(tmp_path / "a.db")
    with closing(sqlite3.connect(tmp_path / "a.db")) as db, db:
        db.execute("DELETE FROM meta WHERE key = 'secret'")
    async with AsyncMemoryScope(tmp_path / "a.db", settings={}) as memory:
        with pytest.raises(StoreCorrupt, match=r"secret .*backup"):
            await memory.admin.export(tmp_path / "out.jsonl")


def varint(number: int) -> bytes:
    parts = [number & 0x7F]
    while number := number >> 7:
        parts.append(0x80 | (number & 0x7F))
    return bytes(reversed(parts))


def circle(path: Path, pages: int, length: int) -> None:
    """Write a page whose 400 cells all claim ``length`` bytes from a chain of pages that runs in a circle."""
    least, most = (PAGE - 12) * 32 // 255 - 23, PAGE - 35
    here = least + (length - least) % (PAGE - 4)
    cell = varint(length) + varint(1) + bytes(here if here <= most else least) + struct.pack(">I", 3)
    leaf = bytearray(PAGE)
    leaf[0], leaf[3:5] = 0x0D, struct.pack(">H", 400)
    leaf[8:808] = struct.pack(">H", PAGE - len(cell)) * 400
    leaf[PAGE - len(cell) :] = cell
    following = [*range(4, pages + 1), 3]
    path.write_bytes(bytes(PAGE) + leaf + b"".join(struct.pack(">I", next) + bytes(PAGE - 4) for next in following))


@pytest.mark.parametrize(("pages", "length"), [(4, 1 << 30), (4, 20_000), (300, 300 * PAGE)])
async def test_overflow_pages_in_a_circle_are_read_a_few_times(tmp_path, monkeypatch, pages, length):
    circle(tmp_path / "damaged.db", pages, length)
    read, page = [], page_reader.Pages.page
    monkeypatch.setattr(page_reader.Pages, "page", lambda self, number: read.append(number) or page(self, number))
    report = await recover(tmp_path / "damaged.db", tmp_path / "new.db")
    assert report["unreadable_rows"] == 400 and len(read) <= pages * (page_reader.MAX_OVERFLOW_READS + 1)


async def test_a_page_that_no_file_could_hold_in_the_wal(tmp_path):
    await filled(tmp_path / "damaged.db")
    salt = bytes(8)
    head = struct.pack(">4I", 0x377F0682, 3007000, PAGE, 0) + salt + bytes(8)
    frame = struct.pack(">2I", 0xFFFFFFFF, 0xFFFFFFFF) + salt + bytes(8) + bytes(PAGE)
    (tmp_path / "damaged.db-wal").write_bytes(head + frame)
    report = await recover(tmp_path / "damaged.db", tmp_path / "new.db")
    assert report["turns"] == 61  # with the statement of the fact
