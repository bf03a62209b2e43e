"""The tables of the SQLite store, and the upgrade of older files.

    users ─┬─ record ── source          texts, and the links of memories to sources
           │     └───── history         earlier versions of memories that were revised
           ├─ unit ──── vector          search index: columns and terms; int8 rows
           ├─ block                     core memory: every version of every block
           ├─ gone, tombstone           units an index must drop; keys and ids that must not come back
           ├─ receipt                   what was forgotten when: counts and ids
           └─ item ──── batch ── lane   items waiting for a stage; leased batches; users with work due

Every row has the integer ``user``. Units, removals and vectors of a user share one sequence of revisions, so that an
index's changes since a revision are one range of the primary key. Times are microseconds since 1970.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable, Mapping
from types import MappingProxyType

from memscope.errors import StoreCorrupt, StoreTooNew
from memscope.search.units import units_version

APPLICATION_ID = 0x6D736370  # "mscp"
SCHEMA_VERSION = 3

BLOCK_TABLES = """
CREATE TABLE block(
    user INTEGER NOT NULL, agent TEXT NOT NULL, label TEXT NOT NULL, version INTEGER NOT NULL, current INTEGER NOT NULL,
    body TEXT NOT NULL, PRIMARY KEY(user, agent, label, version));
CREATE INDEX block_current ON block(user, agent, label) WHERE current = 1;
"""
RECEIPT_TABLES = """
CREATE TABLE receipt(user INTEGER NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY(user, id)) WITHOUT ROWID;
"""
TABLES = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;

CREATE TABLE users(
    user INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, terms TEXT NOT NULL,
    number INTEGER NOT NULL DEFAULT 0, revision INTEGER NOT NULL DEFAULT 0, floor INTEGER NOT NULL DEFAULT 0,
    turns INTEGER NOT NULL DEFAULT 0, observations INTEGER NOT NULL DEFAULT 0, insights INTEGER NOT NULL DEFAULT 0,
    units INTEGER NOT NULL DEFAULT 0);

CREATE TABLE record(
    user INTEGER NOT NULL, number INTEGER NOT NULL, kind INTEGER NOT NULL, id TEXT NOT NULL,
    agent TEXT, session TEXT, time INTEGER NOT NULL, start INTEGER, "end" INTEGER,
    statement INTEGER NOT NULL, current INTEGER NOT NULL, expires INTEGER, name TEXT, namespace TEXT,
    superseded_by TEXT, valid_to_before TEXT, unit INTEGER NOT NULL, units INTEGER NOT NULL, body TEXT NOT NULL);
CREATE UNIQUE INDEX record_number ON record(user, number);
CREATE UNIQUE INDEX record_id ON record(user, id);
CREATE INDEX record_name ON record(user, name) WHERE name IS NOT NULL;
CREATE INDEX record_superseded ON record(user, superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX record_expires ON record(user, expires) WHERE expires IS NOT NULL;

CREATE TABLE source(
    user INTEGER NOT NULL, memory INTEGER NOT NULL, source INTEGER NOT NULL,
    PRIMARY KEY(user, memory, source)) WITHOUT ROWID;
CREATE INDEX source_of ON source(user, source);

CREATE TABLE history(
    user INTEGER NOT NULL, number INTEGER NOT NULL, version INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY(user, number, version));

CREATE TABLE tombstone(user INTEGER NOT NULL, id TEXT NOT NULL, PRIMARY KEY(user, id)) WITHOUT ROWID;

CREATE TABLE unit(
    user INTEGER NOT NULL, seq INTEGER NOT NULL, number INTEGER NOT NULL, columns BLOB NOT NULL, terms BLOB NOT NULL,
    PRIMARY KEY(user, seq)) WITHOUT ROWID;

CREATE TABLE gone(
    user INTEGER NOT NULL, revision INTEGER NOT NULL, seq INTEGER NOT NULL,
    PRIMARY KEY(user, revision, seq)) WITHOUT ROWID;

CREATE TABLE space(space INTEGER PRIMARY KEY, model TEXT NOT NULL, dims INTEGER NOT NULL, active INTEGER NOT NULL);

CREATE TABLE vector(
    user INTEGER NOT NULL, space INTEGER NOT NULL, seq INTEGER NOT NULL, revision INTEGER NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY(user, space, seq)) WITHOUT ROWID;
CREATE INDEX vector_revision ON vector(user, space, revision);

CREATE TABLE item(
    user INTEGER NOT NULL, stage TEXT NOT NULL, item INTEGER NOT NULL, batch INTEGER,
    PRIMARY KEY(user, stage, item)) WITHOUT ROWID;

CREATE TABLE batch(
    batch INTEGER PRIMARY KEY AUTOINCREMENT, user INTEGER NOT NULL, stage TEXT NOT NULL,
    first INTEGER NOT NULL, last INTEGER NOT NULL, attempt INTEGER NOT NULL DEFAULT 0,
    token TEXT, until INTEGER, code TEXT, not_before INTEGER, parked INTEGER NOT NULL DEFAULT 0, plan TEXT,
    done INTEGER);
CREATE INDEX batch_user ON batch(user, stage, done, parked);
CREATE INDEX batch_parked ON batch(stage) WHERE parked = 1;

CREATE TABLE lane(
    stage TEXT NOT NULL, user INTEGER NOT NULL, due INTEGER NOT NULL,
    PRIMARY KEY(stage, user)) WITHOUT ROWID;
CREATE INDEX lane_due ON lane(stage, due);
"""


def run(db: sqlite3.Connection, script: str) -> None:
    for statement in script.split(";\n"):
        db.execute(statement)


Step = Callable[[sqlite3.Connection], None]
MIGRATIONS: Mapping[int, Step] = MappingProxyType(
    {1: lambda db: run(db, BLOCK_TABLES), 2: lambda db: run(db, RECEIPT_TABLES)}
)  # upgrade from this version to the next


def create(db: sqlite3.Connection) -> None:
    """Create a store in an empty file, with pages of 8 kB, which hold several units or vectors."""
    db.execute("PRAGMA page_size = 8192")
    db.execute("PRAGMA secure_delete = ON")
    db.execute("BEGIN IMMEDIATE")
    run(db, TABLES + BLOCK_TABLES + RECEIPT_TABLES)
    meta = {"schema": SCHEMA_VERSION, "units_version": units_version, "secret": secrets.token_bytes(32)}
    db.executemany("INSERT INTO meta VALUES (?, ?)", list(meta.items()))
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    db.execute("COMMIT")
    db.execute("PRAGMA journal_mode = WAL")


def version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def refuse_newer(stored: int, path: object) -> None:
    if stored > SCHEMA_VERSION:
        raise StoreTooNew(
            f"{str(path)!r} has schema {stored}, newer than this memscope's {SCHEMA_VERSION}",
            hint="update memscope; nothing was changed",
        )
    if stored < min(MIGRATIONS):
        hint = "nothing was changed; restore a backup, or save what is readable with 'memscope recover'"
        raise StoreCorrupt(f"{str(path)!r} has schema {stored}, known are 1 to {SCHEMA_VERSION}", hint=hint)


def upgrade(db: sqlite3.Connection) -> None:
    """Run all steps to the current schema in one transaction."""
    db.execute("BEGIN IMMEDIATE")
    try:
        for step in range(version(db), SCHEMA_VERSION):
            MIGRATIONS[step](db)
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        db.execute("UPDATE meta SET value = ? WHERE key = 'schema'", (SCHEMA_VERSION,))
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
