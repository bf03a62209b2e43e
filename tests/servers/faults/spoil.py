"""Bad payloads in well formed replies."""

from __future__ import annotations

import contextlib
import json
import math
import random
import re
from collections.abc import Callable
from typing import Any

from .plan import Rule
from .replies import Reply, dump


def _map_strings(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {k: _map_strings(v, change) for k, v in value.items()}
    if isinstance(value, list):
        return [_map_strings(v, change) for v in value]
    return change(value) if isinstance(value, str) else value


MALFORMED: dict[str, Callable[[str], str]] = {
    "open": lambda s: s.rstrip()[:-1],
    "single_quotes": lambda s: s.replace('"', "'"),
    "trailing_comma": lambda s: re.sub(r"([}\]])\s*$", r",\1", s),
    "raw_newline": lambda s: s.replace('":', '"\n:', 1).replace(' "', ' "\n', 1),
    "comment": lambda s: s.replace("{", "{ // facts\n", 1),
    "twice": lambda s: s + "\n" + s,
}
WRONG_SHAPES = ('["unexpected", 42, null]', '{"result": {"ok": true}}', '"a string"', "null", "17")
FOREIGN = "对不起，我只会用中文回答这个问题。"


def spoil_reply(reply: Reply, rule: Rule, rng: random.Random) -> Reply:
    """Apply a content fault to a chat reply."""
    fault, content = rule.get("fault"), reply.content or ""
    if fault == "malformed_json":
        if content[:1] not in ("{", "["):
            content = json.dumps({"items": [{"text": content}]})
        return Reply(MALFORMED[rule.get("variant") or rng.choice(sorted(MALFORMED))](content))
    if fault == "empty":
        return Reply(rule.get("text", rng.choice(["", " ", "\n\n"])))
    if fault == "null":
        return Reply(None)
    if fault == "refusal":
        return Reply(None, refusal=rule.get("text", "I'm sorry, I can't help with that."))
    if fault == "content_filter":
        return Reply(content[: len(content) // 3], finish_reason="content_filter")
    if fault == "cut":
        return Reply(content[: max(1, len(content) * 2 // 3)], finish_reason="length")
    if fault == "wrong_schema":
        return Reply(rule.get("text") or rng.choice(WRONG_SHAPES))
    if fault == "wrong_language":
        foreign = rule.get("text", FOREIGN)
        with contextlib.suppress(ValueError):
            return Reply(dump(_map_strings(json.loads(content), lambda _: foreign)))
        return Reply(foreign)
    if fault == "fenced":
        return Reply(f"Sure! Here is the JSON:\n\n```json\n{content}\n```\n\nAnything else?")
    if fault == "prose":
        return Reply(f"Let me think step by step. The answer is: {content} I hope this helps!")
    if fault == "think":
        return Reply(f'<think>\nMaybe {{"items": []}}? No.\n</think>\n\n{content}')
    return reply


def spoil_vectors(vectors: list[list[float]], rule: Rule, rng: random.Random) -> list[tuple[int, list[float]]]:
    """Apply an embedding fault; returns (index, vector) pairs in the order sent."""
    fault, pairs = rule.get("fault"), list(enumerate(vectors))
    victim = rng.randrange(len(pairs)) if pairs else 0
    if fault == "wrong_dim":
        size = rule.get("dimensions", len(vectors[0]) // 2 or 1)
        return [(i, (v + [0.0] * size)[:size]) for i, v in pairs]
    if fault == "nan":
        pairs[victim][1][rng.randrange(len(vectors[0]))] = math.nan
    elif fault == "zero":
        pairs[victim] = (victim, [0.0] * len(vectors[0]))
    elif fault == "missing":
        del pairs[victim]
    elif fault == "shuffled":
        pairs.reverse()
    return pairs
