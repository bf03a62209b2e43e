"""The spans of OpenTelemetry have the name of an operation and the code of its error, and no words."""

from __future__ import annotations

import pytest

from memscope import AsyncMemoryScope
from memscope.errors import StoreBusy
from memscope.stores.memory import InMemoryStore

SAID = "the boat is green"
TURNS = [{"role": "user", "content": SAID}]


class Failing(InMemoryStore):
    async def append(self, *args, **kwargs):
        raise self.error


@pytest.fixture
def spans(monkeypatch):
    trace = pytest.importorskip("opentelemetry.sdk.trace")
    export = pytest.importorskip("opentelemetry.sdk.trace.export")
    memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    provider, exporter = trace.TracerProvider(), memory.InMemorySpanExporter()
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))
    monkeypatch.setattr("opentelemetry.trace.get_tracer", provider.get_tracer)
    return exporter.get_finished_spans


@pytest.mark.parametrize(("error", "code"), [(KeyError(SAID), "KeyError"), (StoreBusy(SAID), "store_busy")])
async def test_a_span_names_the_error_without_its_message(spans, error, code):
    store = Failing()
    store.error = error
    async with AsyncMemoryScope(store, settings={}) as memory:
        with pytest.raises(type(error)):
            await memory.add_turns(TURNS, user="alice")
    (span,) = spans()
    assert (span.name, span.attributes["error.type"], span.status.status_code.name) == ("create_memory", code, "ERROR")
    assert SAID not in span.to_json() and "alice" not in span.to_json()


async def test_an_operation_is_a_span_without_words(spans):
    async with AsyncMemoryScope(":memory:", settings={}) as memory:
        await memory.add_turns(TURNS, user="alice")
        await memory.retrieve(SAID, user="alice")
        await memory.forget(user="alice", text=SAID)
    names = ["create_memory", "search_memory", "delete_memory"]
    assert [(span.name, dict(span.attributes)) for span in spans()] == [
        (name, {"gen_ai.operation.name": name}) for name in names
    ]
    assert not any("boat" in span.to_json() or "alice" in span.to_json() for span in spans())
