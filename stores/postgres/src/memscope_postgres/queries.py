"""Queries of messages that hold several statements.

A session of this process's own has them prepared: planning them anew, with the policies of their tables, takes the
server two to four times as long as running them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from memscope.stores.local.columns import COUNTERS

USER_OF = f"SELECT terms, {', '.join(COUNTERS)} FROM users WHERE user_id = "
ROW_COLUMNS = "number, body, unit, units, valid_to_before"


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """A query by the name under which sessions prepare it.

    Attributes:
        text: Its statement, with the parameters $1, $2.
        types: Of the parameters.
    """

    name: str
    text: str
    types: tuple[str, ...] = ()

    def prepare(self) -> str:
        types = f"({', '.join(self.types)})" if self.types else ""
        return f"PREPARE memscope_{self.name}{types} AS {self.text}"

    def call(self, *values: str) -> BoundQuery:
        """Bind literals."""
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
XID = PreparedQuery("xid", "SELECT pg_current_xact_id()::text")  # later the server can be asked what became of it
KNOWN_OF = (
    "SELECT id, number FROM record WHERE user_id = {id} AND id = ANY({ids})"
    " UNION ALL SELECT id, 0 FROM tombstone WHERE user_id = {id} AND id = ANY({ids})"
)
KNOWN = PreparedQuery("known", KNOWN_OF.format(id="$1", ids="$2"), ("uuid", "text[]"))

_OF_NUMBERS = ("uuid", "bigint[]")
_ROWS_WHERE = f"SELECT {ROW_COLUMNS} FROM record WHERE user_id = $1 AND number"
_LINKS = "FROM source WHERE user_id = $1 AND source = ANY($2)"
FETCH = (
    PreparedQuery("rows", f"{_ROWS_WHERE} = ANY($2)", _OF_NUMBERS),
    PreparedQuery("links", f"SELECT memory, source {_LINKS} ORDER BY memory", _OF_NUMBERS),
    PreparedQuery("derived", f"{_ROWS_WHERE} IN (SELECT memory {_LINKS})", _OF_NUMBERS),
)
QUERIES = (USER, LOCKED_USER, SPACES, XID, KNOWN, *FETCH)


def fetch(id: str, numbers: Iterable[int]) -> list[BoundQuery]:
    """Fetch by numbers: the rows, the links to memories derived from them, and those memories."""
    among = f"'{{{','.join(map(str, numbers))}}}'"
    return [query.call(quoted(id), among) for query in FETCH]


def quoted(digest: str) -> str:
    return f"'{digest}'"
