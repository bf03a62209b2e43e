"""The bodies of good replies, in the shapes that the common providers share."""

from __future__ import annotations

import base64
import math
import operator
import random
import struct
from collections.abc import Iterator
from typing import Any

from .plan import Rule
from .replies import Reply, dump, embed, text_of
from .spoil import spoil_vectors
from .wire import BadRequest

Body = dict[str, Any]
Row = dict[str, Any]

PIECE = 16  # characters of a streamed chunk


def usage(row: Row) -> dict[str, int]:
    given, made = -(-row["prompt_chars"] // 4), -(-row["reply_chars"] // 4)
    return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}


def tool_calls(reply: Reply, row: Row) -> list[dict[str, Any]]:
    calls = []
    for i, call in enumerate(reply.tool_calls):
        text = call["arguments"] if isinstance(call["arguments"], str) else dump(call["arguments"])
        function = {"name": call["name"], "arguments": text}
        calls.append({"id": call.get("id", f"call_{row['n']}_{i}"), "type": "function", "function": function})
    return calls


def envelope(row: Row, model: str, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{row['n']}", "object": kind, "created": 1_700_000_000, "model": model}


def completion(model: str, reply: Reply, row: Row) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.content, "refusal": reply.refusal}
    if reply.tool_calls:
        message["tool_calls"] = tool_calls(reply, row)
    choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason}
    return {**envelope(row, model, "chat.completion"), "choices": [choice], "usage": usage(row)}


def pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), PIECE):
        yield text[start : start + PIECE]


def deltas(reply: Reply, row: Row) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": ""}
    for piece in pieces(reply.content or ""):
        yield {"content": piece}
    for i, call in enumerate(tool_calls(reply, row)):
        text, call["function"]["arguments"] = call["function"]["arguments"], ""
        yield {"tool_calls": [{**call, "index": i}]}
        for piece in pieces(text):
            yield {"tool_calls": [{"index": i, "function": {"arguments": piece}}]}
    if reply.refusal:
        yield {"refusal": reply.refusal}


def chunks(body: Body, model: str, reply: Reply, row: Row) -> Iterator[dict[str, Any]]:
    base = envelope(row, model, "chat.completion.chunk")
    for delta in deltas(reply, row):
        yield {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": reply.finish_reason}]}
    if (body.get("stream_options") or {}).get("include_usage"):
        yield {**base, "choices": [], "usage": usage(row)}


def inputs(body: Body) -> list[str]:
    """The texts to embed; a list of numbers stands for the tokens of one text."""
    given = body.get("input")
    if isinstance(given, str) or (given and isinstance(given, list) and isinstance(given[0], int)):
        given = [given]
    if not isinstance(given, list) or not given:
        raise BadRequest("'input' must be a string or a non-empty array")
    texts = [" ".join(map(str, item)) if isinstance(item, list) else item for item in given]
    if not all(isinstance(text, str) and text for text in texts):
        raise BadRequest("'input' holds an empty or non-text item")
    return texts


def embeddings(body: Body, model: str, size: Any, rule: Rule, rng: random.Random, row: Row) -> dict[str, Any]:
    if not isinstance(size, int) or not 1 <= size <= 8192:
        raise BadRequest("'dimensions' must be between 1 and 8192")
    data = []
    for index, vector in spoil_vectors([embed(text, size) for text in inputs(body)], rule, rng):
        coded: Any = vector
        if body.get("encoding_format") == "base64":
            coded = base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
        data.append({"object": "embedding", "index": index, "embedding": coded})
    tokens = usage(row)["prompt_tokens"]
    return {
        "object": "list",
        "data": data,
        "model": model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def rerank(body: Body, rule: Rule, rng: random.Random) -> dict[str, Any]:
    """The shape shared by the common rerank services: index and relevance_score, best first."""
    documents = [text_of([document]) for document in body["documents"]]
    results = ranked(str(body.get("query", "")), documents)[: body.get("top_n") or len(documents)]
    if body.get("return_documents"):
        results = [{**result, "document": {"text": documents[result["index"]]}} for result in results]
    if results and rule:
        spoil_results(results, rule["fault"], rng.randrange(len(results)), len(documents))
    return {"id": "rerank-1", "model": body.get("model"), "results": results}


def ranked(query: str, documents: list[str]) -> list[dict[str, Any]]:
    wanted = embed(query, 512)
    scores = [sum(map(operator.mul, wanted, embed(document, 512))) for document in documents]
    results = [{"index": i, "relevance_score": round(max(0.0, score), 6)} for i, score in enumerate(scores)]
    return sorted(results, key=lambda result: (-result["relevance_score"], result["index"]))


def spoil_results(results: list[dict[str, Any]], fault: str, victim: int, documents: int) -> None:
    if fault == "bad_index":
        results[victim]["index"] = documents + 5
    elif fault == "missing":
        del results[victim]
    elif fault == "nan":
        results[victim]["relevance_score"] = math.nan
