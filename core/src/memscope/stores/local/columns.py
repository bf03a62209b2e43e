"""Database columns of a record, on which ``Select`` is evaluated without decoding the body."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from memscope.records import Kind, Observation, Record, Turn
from memscope.search.units import microseconds
from memscope.stores.checksummed import encode

ROW_KINDS: tuple[Kind, ...] = ("turn", "observation", "insight")  # stored as their index
COUNTERS = ("number", "revision", "floor", "turns", "observations", "insights", "units")  # columns of a user's row
ROWS_PER_PAGE = 500
KEEP_DONE_US = timedelta(days=1) // timedelta(microseconds=1)  # how long ``was_done`` remembers batches


def kind_number(record: Record) -> int:
    return 0 if isinstance(record, Turn) else 1 if isinstance(record, Observation) else 2


def record_columns(record: Record) -> dict[str, Any]:
    """Return the body and the columns for selection."""
    shared = {"kind": kind_number(record), "agent": record.scope.agent, "body": encode(record)}
    if isinstance(record, Turn):
        time, session = microseconds(record.time), record.scope.session
        columns = {"id": record.key, "session": session, "time": time, "statement": record.statement, "current": True}
        return {**shared, **columns}
    happened = record.happened
    return {
        **shared,
        "id": record.id,
        "session": None,
        "time": microseconds(record.said),
        "start": microseconds(happened.start) if happened else None,
        "end": microseconds(happened.end) if happened else None,
        "statement": False,
        "current": record.current,
        "expires": microseconds(record.expires) if record.expires else None,
        "name": record.name,
        "namespace": record.namespace,
        "superseded_by": record.superseded_by,
    }
