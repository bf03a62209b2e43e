"""Metrics of a memory in the Prometheus text format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fastapi.responses import PlainTextResponse

from memscope import AsyncMemoryScope

COUNT_METRICS = {
    "users": "Users.",
    "turns": "Turns kept.",
    "observations": "Observations, superseded ones too.",
    "insights": "Insights, superseded ones too.",
    "units": "Searchable units.",
    "vectors": "Stored vectors.",
}
STAGE_METRICS = {
    "pending": "Items that wait for a stage.",
    "failed": "Items that failed and will be tried again.",
    "parked": "Items that failed too often.",
}
COST_METRICS = {
    "calls": "Calls of the chat model by the back end, of all processes.",
    "characters": "Characters sent to and received from it.",
    "tokens": "Tokens of these calls, estimated where the server does not count them.",
}
METRICS_MEDIA_TYPE = "text/plain; version=0.0.4"


async def exposition(memory: AsyncMemoryScope) -> PlainTextResponse:
    """Render all metrics of the store, its queues and its models."""
    return PlainTextResponse("\n".join(lines(await memory.admin.status())) + "\n", media_type=METRICS_MEDIA_TYPE)


def lines(status: Mapping[str, Any]) -> Iterator[str]:
    for name, about in COUNT_METRICS.items():
        yield from _metric(name, about, {"": status[name]})
    for name, about in STAGE_METRICS.items():
        yield from _metric(name, about, {f'stage="{stage}"': number for stage, number in status[name].items()})
    errors = {f'code="{_escaped(code)}"': number for code, number in status["errors"].items()}
    yield from _metric("errors", "Failed work by the code of its last error.", errors)
    for name, about in COST_METRICS.items():
        spent = {f'operation="{_escaped(one)}"': amounts[name] for one, amounts in status["costs"].items()}
        yield from _metric(f"chat_{name}_total", about, spent, "counter")
    usage = status["usage"]
    yield from _metric("model_calls_total", "Calls of models by this process.", {"": usage["calls"]}, "counter")


def _metric(name: str, about: str, values: Mapping[str, int], kind: str = "gauge") -> Iterator[str]:
    yield f"# HELP memscope_{name} {about}"
    yield f"# TYPE memscope_{name} {kind}"
    for labels, number in values.items():
        yield f"memscope_{name}{f'{{{labels}}}' if labels else ''} {number}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
