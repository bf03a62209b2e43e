"""Queries that are sent together, several statements per message.

Sessions without a pooler have them prepared: planning them, with the row policies of their tables, takes the server two
to four times as long as running them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from memscope.stores.local.columns import COUNTERS

USER_COLUMNS = f"terms, {', '.join(COUNTERS)}"
USER_OF = f"SELECT {USER_COLUMNS} FROM users WHERE user_id = "
ROW_COLUMNS = "number, body, unit, units, valid_to_before"


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """A query and the name under which sessions prepare it.

    Attributes:
        text: The statement, with the parameters $1, $2.
        types: Types of the parameters.
    """

    name: str
    text: str
    types: tuple[str, ...] = ()

    def prepare(self) -> str:
        types = f"({', '.join(self.types)})" if self.types else ""
        return f"PREPARE memscope_{self.name}{types} AS {self.text}"

    def call(self, *values: str) -> BoundQuery:
        """Bind the parameters to SQL literals."""
        return BoundQuery(self, values)


class BoundQuery(NamedTuple):
    query: PreparedQuery
    values: tuple[str, ...]

    def statement(self, *, is_prepared: bool) -> str:
        if is_prepared:
            return f"EXECUTE memscope_{self.query.name}" + (f"({', '.join(self.values)})" if self.values else "")
        text = self.query.text
        for n, (value, type) in enumerate(zip(self.values, self.query.types, strict=True), 1):
            text = text.replace(f"${n}", f"{value}::{type}")
        return text


USER = PreparedQuery("user", f"{USER_OF}$1", ("uuid",))
LOCKED_USER = PreparedQuery("locked_user", f"{USER_OF}$1 FOR UPDATE", ("uuid",))
SPACES = PreparedQuery("spaces", "SELECT space, model, dims, active FROM space")
XID = PreparedQuery("xid", "SELECT pg_current_xact_id()::text")  # to ask the server later whether it was committed
FREE_USERS = PreparedQuery(
    "free_users",
    f"SELECT user_id::text, {USER_COLUMNS} FROM users WHERE user_id = ANY($1) FOR UPDATE SKIP LOCKED",
    ("uuid[]",),
)
KNOWN_OF = (
    "SELECT asked.user_id::text, asked.id,"
    " coalesce((SELECT number FROM record WHERE record.user_id = asked.user_id AND record.id = asked.id),"
    " (SELECT 0 FROM tombstone WHERE tombstone.user_id = asked.user_id AND tombstone.id = asked.id))"
    " FROM unnest({users}, {ids}) AS asked(user_id, id)"
)
KNOWN = PreparedQuery("known", KNOWN_OF.format(users="$1", ids="$2"), ("uuid[]", "text[]"))


def for_each(values: str, query: str) -> str:
    """Build a statement that runs a query per value; the query refers to the value as ``asked.value``.

    With ``column = ANY(values)``, a server without statistics would read all rows of the user.
    """
    return f"SELECT found.*, asked.value FROM {values} AS asked(value) CROSS JOIN LATERAL ({query} OFFSET 0) found"


def rows_by(column: str, values: str, user: str) -> str:
    return for_each(values, f"SELECT {ROW_COLUMNS} FROM record WHERE user_id = {user} AND {column} = asked.value")


def links_of(values: str, user: str) -> str:
    return for_each(values, f"SELECT memory FROM source WHERE user_id = {user} AND source = asked.value")


def derived_from(values: str, user: str) -> str:
    return rows_by("number", f"(SELECT DISTINCT memory FROM ({links_of(values, user)}) link)", user)


_OF_NUMBERS = ("uuid", "bigint[]")
FETCH = (
    PreparedQuery("rows", rows_by("number", "unnest($2)", "$1"), _OF_NUMBERS),
    PreparedQuery("links", f"{links_of('unnest($2)', '$1')} ORDER BY memory", _OF_NUMBERS),
    PreparedQuery("derived", derived_from("unnest($2)", "$1"), _OF_NUMBERS),
)
QUERIES = (USER, LOCKED_USER, FREE_USERS, SPACES, XID, KNOWN, *FETCH)


def fetch(id: str, numbers: Iterable[int]) -> list[BoundQuery]:
    """Build the queries for rows by number, the links to memories derived from them, and these memories."""
    return [query.call(quoted(id), quoted_all(map(str, numbers))) for query in FETCH]


def quoted(digest: str) -> str:
    return f"'{digest}'"


def quoted_all(digests: Iterable[str]) -> str:
    return f"'{{{','.join(digests)}}}'"
