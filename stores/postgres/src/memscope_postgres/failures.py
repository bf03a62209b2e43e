"""Convert errors of PostgreSQL and psycopg to typed errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import psycopg

from memscope.errors import (
    ConfigError,
    InputError,
    MemscopeError,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreGone,
    StoreReadOnly,
    StoreUnavailable,
)

RETRIED_CODES = ("40001", "40P01")  # serialization failure, deadlock: retry the transaction
MISSING_TABLE_CODES = ("42P01", "3F000")  # undefined table, schema
SERVER_AWAY_CODES = ("57P01", "57P02", "57P03", "57P05", "25P03")  # shutdown, crash, startup, session timeouts
NUL_CODES = ("22021", "22P05")  # NUL in a text, in JSON
DAMAGED_CODES = ("XX001", "XX002")  # corrupted data, corrupted index
CONNECTION_CLASS = "08"
# libpq gives no code for a refused login. Any other failure to connect is retried.
REFUSED_LOGIN = re.compile(
    r"authentication failed|no password supplied|role .* does not exist|no pg_hba.conf entry|not permitted to log in"
    r"|no such user|permission denied|certificate|does not support SSL|invalid .*value"
)
TOO_MANY_CONNECTIONS = re.compile(r"too many (clients|connections)|connection slots are reserved|no more connections")
FATAL_CODES = ("3D000", "28000")
MISSING_DATABASE = re.compile(r"database .* does not exist|no such database")


class OutcomeUnknown(StoreUnavailable):
    """The connection was lost during a commit, and it cannot be found out whether it succeeded."""


def is_lost(error: BaseException, db: psycopg.Connection[object] | None) -> bool:
    """Decide whether the connection is gone, so that the call may retry on another."""
    if db is None and _code_of_message(str(error)) in FATAL_CODES:
        return False
    code = getattr(error, "sqlstate", None) or ""
    return _is_away(code) or (isinstance(error, psycopg.OperationalError) and (db is None or db.closed or db.broken))


def typed(error: BaseException, address: str) -> BaseException:
    """Convert an error of the server or client; return other errors unchanged."""
    if not isinstance(error, psycopg.Error):
        return error
    code = error.sqlstate or _code_of_message(str(error))
    for prefix, make in _KINDS.items():
        if code.startswith(prefix):
            return make(address)
    if _is_away(code) or (isinstance(error, psycopg.OperationalError) and not error.sqlstate):
        return unavailable(address, code)
    if isinstance(error, psycopg.DataError) and not code:
        return InputError("PostgreSQL's texts hold no NUL character", hint="remove it")
    return StoreError(f"PostgreSQL refused a statement ({code or type(error).__name__})", hint="see the server's log")


def _is_away(code: str) -> bool:
    return code in SERVER_AWAY_CODES or code.startswith(CONNECTION_CLASS)


def _code_of_message(message: str) -> str:
    codes = {"3D000": MISSING_DATABASE, "28000": REFUSED_LOGIN, "53300": TOO_MANY_CONNECTIONS}
    return next((code for code, pattern in codes.items() if pattern.search(message)), "")


def unavailable(address: str, code: str = "") -> StoreUnavailable:
    reason = f"PostgreSQL at {address} cannot be reached"
    if code:
        reason = f"PostgreSQL at {address} cannot be reached ({code})"
    return StoreUnavailable(reason, hint="see 'memscope doctor'", retry_after=1.0)


def outcome_unknown(address: str) -> OutcomeUnknown:
    hint = "it may have been done: read before you try again"
    return OutcomeUnknown(f"PostgreSQL at {address} was lost while it committed", hint=hint, retry_after=1.0)


def _refused(address: str) -> MemscopeError:
    return ConfigError(
        f"PostgreSQL at {address} refuses the login", hint="user and password: MEMSCOPE_POSTGRES__PASSWORD"
    )


def _standby(address: str) -> MemscopeError:
    hint = "it is a standby: name the primary, or target_session_attrs=read-write"
    return StoreReadOnly(f"PostgreSQL at {address} takes no writes", hint=hint)


_KINDS: Mapping[str, Callable[[str], MemscopeError]] = {
    "28": _refused,
    "3D": lambda address: ConfigError(f"there is no database {address}", hint="create it: CREATE DATABASE ..."),
    "42501": lambda address: StoreReadOnly(
        f"PostgreSQL at {address}: this user may not do that", hint="see docs/postgres.md for the rights it needs"
    ),
    **{
        code: lambda address: StoreGone(f"the tables at {address} are gone", hint="restore a backup")
        for code in MISSING_TABLE_CODES
    },
    "0A000": _standby,  # answer of a standby to BEGIN READ WRITE
    "25006": _standby,
    "53100": lambda address: StoreFull(f"no room left at {address}", hint="make room and try again"),
    "53300": lambda address: StoreBusy(
        f"PostgreSQL at {address} has too many connections", hint="lower postgres.connections", retry_after=1.0
    ),
    "57014": lambda address: StoreBusy(
        f"PostgreSQL at {address} took too long for a statement",
        hint="raise postgres.statement_timeout_s",
        retry_after=1.0,
    ),
    "55P03": lambda address: StoreBusy(f"PostgreSQL at {address}: a lock is held", retry_after=1.0),
    **{
        code: lambda address: StoreBusy(f"PostgreSQL at {address} is contended", retry_after=0.5)
        for code in RETRIED_CODES
    },
    **dict.fromkeys(
        NUL_CODES, lambda address: InputError("text with a NUL character or half a surrogate pair", hint="remove it")
    ),
    **{
        code: lambda address: StoreCorrupt(f"PostgreSQL at {address} read a damaged page", hint="restore a backup")
        for code in DAMAGED_CODES
    },
}
