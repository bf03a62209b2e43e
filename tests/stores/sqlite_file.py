"""A SQLite store for the length of a block, and files to open."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from memscope.stores.sqlite import SQLiteStore, files
from memscope_testing.records import inserts

needs_posix = pytest.mark.skipif(os.name == "nt", reason="needs a POSIX system")


@asynccontextmanager
async def opened(path: Path, **options: object) -> AsyncIterator[SQLiteStore]:
    store = SQLiteStore(path, **options)  # type: ignore[arg-type]
    try:
        await store.open()
        yield store
    finally:
        await store.close()


async def made(path: Path, *keys: str) -> Path:
    async with opened(path) as store:
        await store.append("alice", inserts(*keys or ("a", "b")))
    return path


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def impatient(path: Path, mode: files.OpenMode) -> sqlite3.Connection:
    db = files.connect(path, mode)
    db.execute("PRAGMA busy_timeout = 20")
    return db
