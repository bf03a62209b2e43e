"""Spans of OpenTelemetry's GenAI memory conventions, for applications that use OpenTelemetry; nothing otherwise.

memscope neither depends on it nor imports it: a span is made only where the application has loaded the API. Spans hold
the operation's name and the error's code, never text.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

METRIC_NAMES = {
    "add_turns": "create_memory",
    "add_memory": "create_memory",
    "import": "create_memory",
    "update": "update_memory",
    "consolidate": "upsert_memory",
    "reflect": "upsert_memory",
    "retrieve": "search_memory",
    "forget": "delete_memory",
    "sweep": "delete_memory",
}


@contextmanager
def span(operation: str) -> Iterator[None]:
    """Around one operation. Those without a name in the conventions have no span."""
    trace = sys.modules.get("opentelemetry.trace")
    name = METRIC_NAMES.get(operation)
    if trace is None or name is None:
        yield
        return
    with trace.get_tracer("memscope").start_as_current_span(name, record_exception=False) as current:
        current.set_attribute("gen_ai.operation.name", name)
        try:
            yield
        except Exception as error:
            current.set_attribute("error.type", getattr(error, "code", type(error).__name__))
            raise
