"""The tables of the DuckDB store, and query methods for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb

TABLES = """
CREATE TABLE meta(key TEXT, value BLOB);
CREATE TABLE users(name TEXT, number BIGINT, revision BIGINT, floor BIGINT, terms TEXT);
CREATE TABLE record(user_name TEXT, number BIGINT, id TEXT, kind TEXT, name TEXT, namespace TEXT, current BOOLEAN,
    superseded_by TEXT, unit BIGINT, units BIGINT, valid_to TEXT, body TEXT);
CREATE TABLE source(user_name TEXT, memory BIGINT, source BIGINT);
CREATE TABLE older(user_name TEXT, number BIGINT, version BIGINT, body TEXT);
CREATE TABLE block(user_name TEXT, agent TEXT, label TEXT, version BIGINT, body TEXT);
CREATE TABLE tombstone(user_name TEXT, id TEXT);
CREATE TABLE receipt(user_name TEXT, body TEXT);
CREATE TABLE unit(user_name TEXT, seq BIGINT, number BIGINT, columns BLOB, terms BLOB);
CREATE TABLE gone(user_name TEXT, revision BIGINT, seq BIGINT);
CREATE TABLE space(model TEXT, dims BIGINT, serving BOOLEAN);
CREATE TABLE vector(user_name TEXT, model TEXT, dims BIGINT, seq BIGINT, revision BIGINT, data BLOB);
CREATE TABLE item(user_name TEXT, stage TEXT, item BIGINT, batch TEXT);
CREATE SEQUENCE batches;
CREATE TABLE batch(user_name TEXT, id TEXT, stage TEXT, token TEXT, until BIGINT, attempt BIGINT, code TEXT,
    not_before BIGINT, parked BOOLEAN, reply TEXT, done BOOLEAN);
"""
# Of units in the space that is filled: those that wait, that are parked, that have a vector.
EMBEDDING_STATE = """
SELECT count(*) FILTER (parked IS NOT TRUE), count(*) FILTER (parked),
    (SELECT count(*) FROM vector WHERE (model, dims) IN (SELECT (model, dims) FROM space WHERE NOT serving))
FROM item LEFT JOIN batch ON item.batch = batch.id WHERE item.stage = 'embed'
"""


class Tables:
    """A connection with methods to query and insert."""

    def __init__(self, db: duckdb.DuckDBPyConnection) -> None:
        self.db = db

    def all(self, query: str, *values: Any) -> list[Any]:
        return self.db.execute(query, values).fetchall()

    def column(self, query: str, *values: Any) -> list[Any]:
        return [row[0] for row in self.all(query, *values)]

    def insert(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        """Insert all rows in one statement, so that it is planned only once."""
        if rows:
            marks = f"({', '.join('?' * len(rows[0]))})"
            values = [value for row in rows for value in row]
            self.db.execute(f"INSERT INTO {table} VALUES {', '.join([marks] * len(rows))}", values)
