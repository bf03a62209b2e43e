"""The two rerank formats, as functions: request from (model, query, documents), scores from the reply.

``flat`` is the ``/rerank`` of Jina, Cohere, SiliconFlow and vLLM; ``dashscope`` nests it in ``input``, ``output``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memscope.errors import ModelReplyError
from memscope.records import Json


def flat_body(query: str, documents: Sequence[str], parameters: Mapping[str, Json]) -> dict[str, Json]:
    return {"query": query, "documents": list(documents), **parameters}


def dashscope_body(query: str, documents: Sequence[str], parameters: Mapping[str, Json]) -> dict[str, Json]:
    wanted = {"return_documents": False, "top_n": len(documents), **parameters}
    return {"input": {"query": query, "documents": list(documents)}, "parameters": wanted}


BODIES: Mapping[str, Callable[[str, Sequence[str], Mapping[str, Json]], dict[str, Json]]] = {
    "flat": flat_body,
    "dashscope": dashscope_body,
}


def read_scores(payload: Mapping[str, Any], count: int) -> list[float]:
    """Return scores in the order of the documents. ``ModelReplyError`` unless each has exactly one, and finite."""
    output = payload.get("output", payload)
    results = output.get("results") if isinstance(output, dict) else None
    if not isinstance(results, list) or not all(isinstance(result, dict) for result in results):
        raise ModelReplyError("the reply holds no results", hint="is this a rerank model?")
    scores = {r.get("index"): r.get("relevance_score") for r in results if type(r.get("index")) is int}
    if len(results) != count or scores.keys() != set(range(count)):
        raise ModelReplyError(f"{count} documents were sent and the {len(results)} results are not about each of them")
    if not all(isinstance(s, int | float) and not isinstance(s, bool) and math.isfinite(s) for s in scores.values()):
        raise ModelReplyError("a relevance score is not a finite number")
    return [float(scores[index]) for index in range(count)]
