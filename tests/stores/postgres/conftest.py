"""Fixtures of the tests of PostgreSQL: one server for all of them, a schema for each."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import replace

import pytest

from memscope_postgres import PostgresOptions, parse_location

from servers.postgres import Missing, PostgresServer


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    try:
        running = PostgresServer()
        running.__enter__()
    except Missing as missing:
        pytest.skip(f"no PostgreSQL: {missing}")
    with running:
        yield running


@pytest.fixture
def place(server: PostgresServer) -> Iterator[PostgresOptions]:
    """PostgresOptions of a store of its own."""
    options = replace(parse_location(server.url()), schema_name=f"test_{secrets.token_hex(4)}")
    yield options
    names = f"SELECT nspname FROM pg_namespace WHERE nspname LIKE '{options.schema_name}%'"
    for name in server.sql(names, database="memscope").split():
        server.sql(f"DROP SCHEMA {name} CASCADE", database="memscope")
