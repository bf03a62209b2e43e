"""One user's part of a transaction: ``UserTransaction`` of a local store in SQL. Statements see no other user."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from memscope.records import Handle, Interval, Record, Select, Turn, VectorSpace
from memscope.search.units import Unit, microseconds
from memscope.stores import RecordKey
from memscope.stores.checksummed import decode, encode, words_in_body
from memscope.stores.local import Row
from memscope.stores.local.columns import COUNTERS, ROW_KINDS, ROWS_PER_PAGE, kind_number, record_columns
from memscope.stores.rules import Memory, folded, in_words, record_id
from memscope_postgres.queries import KNOWN_OF, ROW_COLUMNS, derived_from, for_each, links_of, rows_by
from memscope_postgres.tables import COLUMNS, SmallTables, UserStatements, user_id

ROWS_PER_INDEX_PAGE = 5_000  # units or vectors read at once
MAX_BIGINT = (1 << 63) - 1
_RECORD_FIELDS = tuple(name.strip('"') for name in COLUMNS["record"])
_SELECT_KNOWN = KNOWN_OF.format(users="%s::uuid[]", ids="%s::text[]")
_NUMBERS = "unnest(%s::bigint[])"
_ROWS_BY_ID, _ROWS_BY_NUMBER = rows_by("id", "unnest(%s::text[])", "%s"), rows_by("number", _NUMBERS, "%s")
_LINKS, _DERIVED = f"{links_of(_NUMBERS, '%s')} ORDER BY memory", derived_from(_NUMBERS, "%s")
_NUMBERS_OF_UNITS = for_each(_NUMBERS, "SELECT number FROM unit WHERE user_id = %s AND seq = asked.value")
_ROWS_OF_UNITS = (
    f"{rows_by('number', f'(SELECT DISTINCT number FROM ({_NUMBERS_OF_UNITS}) one)', '%s')} ORDER BY number"
)
_CHANGES = ", ".join(f"{name} = %s" for name in list(COLUMNS["record"])[1:])
_UPDATE_RECORD = f"UPDATE record SET {_CHANGES} WHERE user_id = %s AND number = %s"


class PostgresUser(SmallTables):
    """``UserTransaction`` in SQL."""

    number: int
    revision: int
    floor: int
    turns: int
    observations: int
    insights: int
    units: int

    def __init__(
        self, tx: UserStatements, name: str, terms: str, counters: Sequence[int], known: dict[str, int | None]
    ) -> None:
        super().__init__(tx, user_id(name))
        self.name, self.terms = name, terms
        self._known = known  # record numbers by id; None for an unknown id
        for counter, value in zip(COUNTERS, counters, strict=True):
            setattr(self, counter, value)
        self._stored = self._state()
        self._inserted = self.number  # highest number in the table

    def _state(self) -> tuple[Any, ...]:
        return (self.terms, *(getattr(self, name) for name in COUNTERS))

    def save_counters(self) -> None:
        state = self._state()
        if state == self._stored:
            return
        self.add("users", [(self.name, *state)])
        if self.floor > self._stored[1 + COUNTERS.index("floor")]:  # no index needs earlier removals
            self.mine("DELETE FROM gone WHERE user_id = %s AND revision <= %s", self.floor)
        self._stored = state

    @property
    def space(self) -> VectorSpace | None:
        return self.tx.spaces().target

    # ---- records

    def find(self, handles: Iterable[Handle]) -> dict[Handle, Row]:
        asked = list(handles)
        ids, numbers = storable(asked), [one for one in asked if isinstance(one, int) and abs(one) <= MAX_BIGINT]
        self.tx.flush()
        sent = [self.send(_ROWS_BY_ID, ids, self.id)] if ids else []
        sent += [self.send(_ROWS_BY_NUMBER, numbers, self.id)] if numbers else []
        return {handle: _row(row) for cursor in sent for *row, handle in cursor}

    def known(self, ids: Iterable[str]) -> dict[str, int]:
        asked = storable(ids)
        if unread := [id for id in asked if id not in self._known]:
            cursor = self.send(_SELECT_KNOWN, [self.id] * len(unread), unread)
            self._known.update((id, number) for _, id, number in cursor)
        return {id: number for id in asked if (number := self._known[id]) is not None}

    def derived(self, numbers: Iterable[int]) -> list[tuple[int, Row]]:
        if not (asked := list(numbers)):
            return []
        self.tx.flush()
        pairs = self.send(_LINKS, asked, self.id)
        rows = {row[0]: _row(row) for row in self.send(_DERIVED, asked, self.id, self.id)}
        return [(source, rows[memory]) for memory, source in pairs if memory in rows]

    def superseded(self, ids: Iterable[str]) -> list[Row]:
        return self._rows("superseded_by = ANY(%s) ORDER BY number", storable(ids))

    def holders(self, name: str, namespace: str | None) -> list[Row]:
        return self._rows("name = %s AND namespace IS NOT DISTINCT FROM %s AND current", name, namespace)

    def _rows(self, condition: str, *values: Any) -> list[Row]:
        cursor = self.mine(f"SELECT {ROW_COLUMNS} FROM record WHERE user_id = %s AND {condition}", *values)
        return [_row(row) for row in cursor]

    def select(self, select: Select, after: int) -> tuple[list[Row], int | None]:
        """Check conditions on text and metadata here, all others in SQL."""
        where, values = _where(select, self.id)
        rows = self._rows(f"number > %s AND {where} ORDER BY number LIMIT {ROWS_PER_PAGE}", after, *values)
        fitting = [row for row in rows if in_words(select, row.record)]
        return fitting, rows[-1].number if len(rows) == ROWS_PER_PAGE else None

    def keys(self, select: Select) -> list[RecordKey]:
        """Decode only records that may meet a condition on text or metadata."""
        where, values = _where(select, self.id)
        body = "NULL" if select.text is None and select.filter is None else "body"
        query = f"SELECT number, id, kind, time, {body} FROM record WHERE user_id = %s AND {where} ORDER BY number"
        return [
            RecordKey(number, id, ROW_KINDS[kind], time)
            for number, id, kind, time, body in self.mine(query, *values)
            if body is None or (words_in_body(select.text) in folded(body) and in_words(select, decode(body)))
        ]

    def put(self, row: Row, sources: Sequence[int], units: Sequence[Unit]) -> None:
        fields = {**record_columns(row.record), "number": row.number, "unit": row.unit, "units": row.units}
        fields["valid_to_before"] = row.valid_to.isoformat() if row.valid_to is not None else None
        values = [fields.get(name) for name in _RECORD_FIELDS]
        if row.number > self._inserted:
            self.add("record", [values])
            self._known[record_id(row.record)] = row.number
            self._inserted = row.number
            self._count(row.record, 1)
        else:
            self.tx.flush()
            self.send(_UPDATE_RECORD, *values[1:], self.id, row.number)
            self.mine("DELETE FROM source WHERE user_id = %s AND memory = %s", row.number)
        self.add("source", [(row.number, source) for source in sources])
        self.add("unit", [(unit.seq, row.number, unit.columns, unit.terms) for unit in units])
        self.units += len(units)

    def _count(self, record: Record, more: int) -> None:
        name = f"{ROW_KINDS[kind_number(record)]}s"
        setattr(self, name, getattr(self, name) + more)

    def remove(self, row: Row) -> None:
        for condition in ("record WHERE user_id = %s AND number", "source WHERE user_id = %s AND memory",
                          "history WHERE user_id = %s AND number",
                          "item WHERE user_id = %s AND stage IN ('consolidate', 'reflect') AND item"):  # fmt: skip
            self.mine(f"DELETE FROM {condition} = %s", row.number)
        self._known.pop(record_id(row.record), None)
        self._count(row.record, -1)

    def older(self, number: int) -> list[Memory]:
        query = "SELECT body FROM history WHERE user_id = %s AND number = %s ORDER BY version"
        records = (decode(body) for (body,) in self.mine(query, number))
        return [record for record in records if not isinstance(record, Turn)]

    def keep_older(self, number: int, memory: Memory) -> None:
        self.mine("INSERT INTO history VALUES (%s, %s, %s, %s)", number, memory.version, encode(memory))

    def add_tombstones(self, ids: Iterable[str]) -> None:
        forgotten = list(ids)
        self.add("tombstone", [(id,) for id in forgotten])
        self._known.update(dict.fromkeys(forgotten, 0))

    def tombstones(self) -> list[str]:
        return [id for (id,) in self.mine("SELECT id FROM tombstone WHERE user_id = %s ORDER BY id")]

    # ---- units and vectors

    def drop_units(self, row: Row) -> None:
        first, last = row.unit, row.unit + row.units - 1
        for table, column in (("unit", "seq"), ("vector", "seq"), ("item", "stage = 'embed' AND item")):
            which = "space = ANY(%s) AND " if table == "vector" else ""
            values = ([*self.tx.space_ids().values()], first, last) if table == "vector" else (first, last)
            self.mine(f"DELETE FROM {table} WHERE user_id = %s AND {which}{column} BETWEEN %s AND %s", *values)
        self.add("gone", [(self.revision, unit) for unit in range(first, last + 1)])
        self.units -= row.units

    def units_since(self, revision: int) -> Iterator[tuple[bytes, bytes]]:
        query = "SELECT seq, columns, terms FROM unit WHERE user_id = %s AND seq > %s ORDER BY seq LIMIT %s"
        after: int | None = revision
        while after is not None:
            rows = self.mine(query, after, ROWS_PER_INDEX_PAGE).fetchall()
            yield from ((columns, terms) for _, columns, terms in rows)
            after = rows[-1][0] if len(rows) == ROWS_PER_INDEX_PAGE else None

    def gone_since(self, revision: int) -> list[int]:
        return [unit for (unit,) in self.mine("SELECT seq FROM gone WHERE user_id = %s AND revision > %s", revision)]

    def rows_of(self, units: Iterable[int]) -> list[Row]:
        self.tx.flush()
        return [_row(row) for row in self.send(_ROWS_OF_UNITS, list(units), self.id, self.id)]

    def vectors(self, row: Row) -> list[tuple[VectorSpace, int, bytes]]:
        spaces = {id: space for space, id in self.tx.space_ids().items()}
        query = "SELECT space, seq, data FROM vector WHERE user_id = %s AND space = ANY(%s) AND seq BETWEEN %s AND %s"
        cursor = self.mine(query, list(spaces), row.unit, row.unit + row.units - 1) if spaces else ()
        return [(spaces[space], unit, data) for space, unit, data in cursor]

    def put_vector(self, space: VectorSpace, unit: int, data: bytes) -> None:
        query = (
            "INSERT INTO vector SELECT user_id, %s, seq, %s, %b FROM unit WHERE user_id = %s AND seq = %s"
            " ON CONFLICT (user_id, space, seq) DO UPDATE SET revision = excluded.revision, data = excluded.data"
        )
        self.tx.flush()
        self.send(query, self.tx.space_ids()[space], self.revision, data, self.id, unit)

    def vectors_since(self, space: VectorSpace, revision: int) -> Iterator[tuple[int, bytes]]:
        newer = "AND revision > %s" if revision else ""
        query = (
            f"SELECT seq, data FROM vector WHERE user_id = %s AND space = %s AND seq > %s {newer} ORDER BY seq LIMIT %s"
        )
        after: int | None = -1
        while after is not None:
            values = (after, revision) if revision else (after,)
            rows = self.mine(query, self.tx.space_ids()[space], *values, ROWS_PER_INDEX_PAGE).fetchall()
            yield from rows
            after = rows[-1][0] if len(rows) == ROWS_PER_INDEX_PAGE else None


# ---- rows


def storable(handles: Iterable[Handle]) -> list[str]:
    """Drop ids with a NUL, which PostgreSQL refuses and no stored id contains."""
    return [one for one in handles if isinstance(one, str) and "\0" not in one]


def _row(row: Sequence[Any]) -> Row:
    number, body, unit, units, valid_to, *_ = row
    return Row(number, decode(body), unit, units, datetime.fromisoformat(valid_to) if valid_to else None)


class FetchedRows:
    """The answers to ``queries.fetch``, readable like ``UserTransaction``."""

    def __init__(self, rows: Iterable[Sequence[Any]], links: Sequence[tuple[int, int]], derived: Iterable[Any]) -> None:
        self._rows, self._links = {row[0]: _row(row) for row in rows}, links
        self._derived = {row[0]: _row(row) for row in derived}

    def find(self, handles: Iterable[Handle]) -> dict[Handle, Row]:
        return {handle: self._rows[handle] for handle in handles if handle in self._rows}

    def derived(self, numbers: Iterable[int]) -> list[tuple[int, Row]]:
        asked = set(numbers)
        return [(source, self._derived[memory]) for memory, source in self._links if source in asked]


# ---- conditions

_OF_SESSION = """number IN (
    WITH RECURSIVE here(n) AS (
        SELECT number FROM record WHERE user_id = %s AND session = %s
        UNION SELECT memory FROM here JOIN source ON source.user_id = %s AND source.source = here.n)
    SELECT n FROM here)"""
_LIVE_AT = """(expires IS NULL OR expires > %s) AND NOT (statement AND EXISTS (
    SELECT 1 FROM source JOIN record AS made ON made.user_id = %s AND made.number = source.memory
    WHERE source.user_id = %s AND source.source = record.number AND made.expires <= %s))"""
_WAITS_FOR = "number IN (SELECT item FROM item WHERE user_id = %s AND stage = %s AND stage != 'embed')"
_IN_PERIOD = """(time >= %s AND time < %s OR "start" < %s AND "end" > %s)"""


def _period(period: Interval) -> tuple[int, ...]:
    start, end = microseconds(period.start), microseconds(period.end)
    return start, end, end, start


def _live(when: datetime, user: str) -> tuple[Any, ...]:
    return microseconds(when), user, user, microseconds(when)


_SELECT_CONDITIONS: tuple[tuple[str, str, Callable[[Any, str], tuple[Any, ...]]], ...] = (
    ("agent", "agent = %s", lambda value, user: (value,)),
    ("session", _OF_SESSION, lambda value, user: (user, value, user)),
    ("ids", "id = ANY(%s)", lambda ids, user: (sorted(storable(ids)),)),
    ("period", _IN_PERIOD, lambda value, user: _period(value)),
    ("name", "name = %s", lambda value, user: (value,)),
    ("namespace", "namespace = %s", lambda value, user: (value,)),
    ("pending", _WAITS_FOR, lambda value, user: (user, value)),
    ("expired_by", "expires <= %s", lambda value, user: (microseconds(value),)),
    ("live_at", _LIVE_AT, _live),
)


def _where(select: Select, user: str) -> tuple[str, list[Any]]:
    """Build the WHERE conditions for a selection, with their values."""
    parts, values = list[str](), list[Any]()
    for name, condition, bind in _SELECT_CONDITIONS:
        value = getattr(select, name)
        if value is not None:
            parts.append(condition)
            values += bind(value, user)
    if select.current:
        parts.append("current")
    return " AND ".join([*parts, "kind = ANY(%s)"]), [*values, [ROW_KINDS.index(kind) for kind in sorted(select.kinds)]]
