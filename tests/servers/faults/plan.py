"""The fault of each request, and the time of its reply: all drawn from one seed."""

from __future__ import annotations

import collections
import hashlib
import math
import random
import re
from collections.abc import Callable
from typing import Any

Rule = dict[str, Any]

ENDPOINTS = {"/chat/completions": "chat", "/embeddings": "embeddings", "/rerank": "rerank"}
ANY = frozenset(ENDPOINTS.values())
CHAT, EMBED, RERANK = frozenset({"chat"}), frozenset({"embeddings"}), frozenset({"rerank"})

#: Every fault and the endpoints it can strike. The first two lines break the
#: transport; the others send a well formed HTTP reply with a bad payload.
FAULTS: dict[str, frozenset[str]] = {
    **dict.fromkeys(["rate_limit", "server_error", "hang", "stall", "drip", "disconnect"], ANY),
    **dict.fromkeys(["reset", "short_body", "truncated_json", "html"], ANY),
    **dict.fromkeys(["no_done", "malformed_json", "empty", "null", "no_choices", "refusal"], CHAT),
    **dict.fromkeys(["wrong_language", "fenced", "prose", "think", "cut"], CHAT),
    **dict.fromkeys(["wrong_schema", "content_filter"], CHAT),
    **dict.fromkeys(["wrong_dim", "zero", "shuffled"], EMBED),
    **dict.fromkeys(["nan", "missing"], EMBED | RERANK),
    "bad_index": RERANK,
}
CONDITIONS = {"endpoint", "ratio", "at", "every", "after", "until", "match", "times"}
DETAILS = {"status", "code", "message", "retry_after", "seconds", "interval", "variant", "dimensions", "text"}
RULE_FIELDS = {"fault"} | CONDITIONS | DETAILS


def check_rule(rule: Rule) -> None:
    if rule.get("fault") not in FAULTS:
        raise ValueError(f"unknown fault {rule.get('fault')!r}; one of {', '.join(FAULTS)}")
    if unknown := set(rule) - RULE_FIELDS:
        raise ValueError(f"unknown rule field(s) {', '.join(sorted(unknown))}")
    if rule.get("endpoint", "chat") not in ANY:
        raise ValueError(f"unknown endpoint {rule['endpoint']!r}")
    re.compile(rule.get("match", ""))


class Plan:
    """Chooses the fault, if any, for each request. The first rule that fires wins."""

    def __init__(self, rules: list[Rule], seed: int = 0, draw: str = "order") -> None:
        if draw not in ("order", "content"):
            raise ValueError("draw must be 'order' or 'content'")
        for rule in rules:
            check_rule(rule)
        self.rules, self.seed, self.draw = rules, seed, draw
        self.fired: collections.Counter[int] = collections.Counter()
        self.seen: collections.Counter[str] = collections.Counter()

    def key(self, endpoint: str, number: int, raw: bytes) -> str:
        """The seed of random draws: the arrival number, or what the request says."""
        if self.draw == "order":
            return f"{endpoint}:{number}"
        digest = hashlib.blake2b(raw, digest_size=12).hexdigest()
        self.seen[digest] += 1
        return f"{endpoint}:{digest}:{self.seen[digest]}"

    def choose(self, endpoint: str, number: int, prompt: str, key: str) -> Rule | None:
        for index, rule in enumerate(self.rules):
            if self._applies(rule, endpoint, number, prompt) and self._drawn(index, rule, key):
                self.fired[index] += 1
                return rule
        return None

    def _applies(self, rule: Rule, endpoint: str, number: int, prompt: str) -> bool:
        return (
            endpoint in FAULTS[rule["fault"]]
            and rule.get("endpoint", endpoint) == endpoint
            and ("at" not in rule or number in rule["at"])
            and number % rule.get("every", 1) == 0
            and rule.get("after", 0) < number <= rule.get("until", math.inf)
            and ("match" not in rule or bool(re.search(rule["match"], prompt, re.S)))
        )

    def _drawn(self, index: int, rule: Rule, key: str) -> bool:
        if self.fired[index] >= rule.get("times", math.inf):
            return False
        return random.Random(f"{self.seed}/{index}/{key}").random() < rule.get("ratio", 1.0)


LATENCIES: dict[str, Callable[[dict[str, Any], random.Random], float]] = {
    "constant": lambda spec, rng: spec["seconds"],
    "uniform": lambda spec, rng: rng.uniform(spec["low"], spec["high"]),
    "normal": lambda spec, rng: rng.gauss(spec["mean"], spec["sd"]),
    "exponential": lambda spec, rng: rng.expovariate(1.0 / spec["mean"]),
    "lognormal": lambda spec, rng: spec["median"] * math.exp(rng.gauss(0.0, spec["sigma"])),
}


def sample_latency(spec: dict[str, Any] | None, rng: random.Random) -> float:
    """Seconds to wait, from ``{"dist": ..., ...}``, never below 0 nor above ``max``."""
    if not spec:
        return 0.0
    name = spec.get("dist", "constant")
    if name not in LATENCIES:
        raise ValueError(f"unknown latency distribution {name!r}")
    numbers = {"low": 0.0, "sd": 0.0, "sigma": 0.5, "max": 60.0, **spec}
    try:
        return min(max(LATENCIES[name](numbers, rng), 0.0), numbers["max"])
    except KeyError as error:
        raise ValueError(f"latency {name!r} needs {error}") from None
