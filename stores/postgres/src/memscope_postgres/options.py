"""Address of the server and options of the store, from a location and the settings' section ``postgres``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg import conninfo

from memscope.errors import ConfigError, nearest

DEFAULT_SCHEMA = "memscope"
MAX_SCHEMA_CHARS = 63
_SCHEMA_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_NUMERIC_OPTIONS: Mapping[str, type] = {"connections": int, "statement_timeout_s": float, "deadline_s": float}
_LIBPQ_SETTINGS = ("user", "password", "sslmode", "sslrootcert")


@dataclass(frozen=True)
class PostgresOptions:
    """Options of the store.

    Attributes:
        client: Parameters of libpq, including the password.
        schema_name: Schema of the tables; stores in one database need different ones.
        connections: Maximum number of connections of this process; each runs one transaction at a time.
        statement_timeout_s: Seconds after which the server cancels a statement.
        deadline_s: Seconds for which a call tries to reach an unavailable server.
    """

    client: Mapping[str, Any] = field(repr=False, default_factory=dict)
    schema_name: str = DEFAULT_SCHEMA
    connections: int = 8
    statement_timeout_s: float = 30.0
    deadline_s: float = 10.0

    @property
    def address(self) -> str:
        """Host and database, without user and password."""
        host, port = self.client.get("host", "localhost"), self.client.get("port", 5432)
        return f"{host}:{port}/{self.client.get('dbname', '')}"


def parse_location(location: str, configured: Mapping[str, Any] | None = None) -> PostgresOptions:
    """Parse a URI of libpq, ``postgresql://[user[:password]@][host][:port][/database][?name=value]``.

    The parameters may include the store's own options.

    Args:
        location: The URI.
        configured: The section ``postgres`` of the settings, overridden by the location.

    Raises:
        ConfigError: Names the fault, never a password.
    """
    options: dict[str, Any] = {name: value for name, value in (configured or {}).items() if value is not None}
    try:
        parts = urlsplit(location)
        parameters = dict(parse_qsl(parts.query, keep_blank_values=True))
        for name in ("schema_name", *_NUMERIC_OPTIONS):
            if name in parameters:
                options[name] = parameters.pop(name)
        query = urlencode(parameters, quote_via=quote)
        client = conninfo.conninfo_to_dict(urlunsplit(parts._replace(scheme="postgresql", query=query)))
    except (psycopg.Error, ValueError):
        hint = "postgresql://user@host:5432/database"
        raise ConfigError("the address of the store is no PostgreSQL URI", hint=hint) from None
    if parts.netloc.count("@") > 1:  # libpq takes the rest of the password for the host, which errors name
        raise ConfigError("the address of the store has two @", hint="write %40 for an @ in user or password")
    client = {**{name: options.pop(name) for name in _LIBPQ_SETTINGS if name in options}, **client}
    unknown = options.keys() - _NUMERIC_OPTIONS.keys() - {"schema_name"}
    if unknown:
        known = ["schema_name", *_NUMERIC_OPTIONS, *_LIBPQ_SETTINGS]
        raise ConfigError(f"postgres has no setting {min(unknown)!r}", hint=nearest(min(unknown), known))
    schema = _schema(options.pop("schema_name", DEFAULT_SCHEMA))
    return PostgresOptions(client, schema, **{name: _number(name, value) for name, value in options.items()})


def _schema(name: str) -> str:
    if not _SCHEMA_NAME.fullmatch(name) or len(name) > MAX_SCHEMA_CHARS:
        raise ConfigError(f"{name!r} is not a name for the schema", hint="lower-case letters, digits and _")
    return name


def _number(name: str, value: Any) -> Any:
    try:
        number = _NUMERIC_OPTIONS[name](value)
    except (TypeError, ValueError):
        raise ConfigError(f"postgres: {name} is not a number") from None
    if not 0 < number < 1e6:
        raise ConfigError(f"postgres: {name} is out of range")
    return number
