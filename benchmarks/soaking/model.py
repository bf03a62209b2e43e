"""The model of ``soak.py`` behind an HTTP endpoint: it extracts one fact per item, and at times fails or hangs."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from servers.faults import FaultServer, Plan
from servers.faults.replies import Reply

ITEM = re.compile(r"item-\d+-\w+-\d+")
MAX_ITEMS = 10  # maximum number of items in an insight
FAULTS: list[dict[str, Any]] = [
    {"fault": fault, "endpoint": endpoint, "ratio": ratio}
    for endpoint, ratios in {
        "chat": {"server_error": 0.05, "disconnect": 0.03, "malformed_json": 0.03, "cut": 0.03, "hang": 0.02},
        "embeddings": {"server_error": 0.03, "hang": 0.01, "nan": 0.01},
    }.items()
    for fault, ratio in ratios.items()
]


class Notes:
    """Replies computed from the prompt, in place of the server's script."""

    def answer(self, body: Mapping[str, Any]) -> Reply | None:
        lines = str(body["messages"][-1]["content"]).split("\n")
        shown = next((json.loads(line) for line in lines if line[:1] in ("[", "{")), None)
        if not isinstance(shown, dict):
            return None
        return _reply(_extraction(shown["turns"]) if "turns" in shown else _reflection(shown))


def server() -> FaultServer:
    made = FaultServer(faults=FAULTS, seed=1, latency={"dist": "uniform", "low": 0.0, "high": 0.05})
    made.script = Notes()  # type: ignore[assignment]
    return made


def heal(running: FaultServer) -> None:
    """Stop all faults of the model."""
    running.plan = Plan([])


def _reply(value: Any) -> Reply:
    return Reply(json.dumps(value))


def _extraction(lines: Sequence[Mapping[str, Any]]) -> Any:
    heard = [line for line in lines if not line.get("context")]
    facts = [
        {"text": f"The user keeps {item}.", "about": "user", "level": 3, "when": "", "keywords": ["things"],
         "quotes": [{"turn": line["n"], "words": item}]}
        for line in heard for item in dict.fromkeys(ITEM.findall(line["text"]))
    ]  # fmt: skip
    return {"turns": [{"turn": line["n"], "level": 3} for line in heard], "facts": facts}


def _reflection(shown: Mapping[str, Any]) -> Any:
    """Reply with one insight, "things", whose sentence names the latest items and replaces earlier sentences."""
    facts = [one["n"] for one in shown["facts"]]
    known = next((one for one in shown["insights"] if one["subject"] == "things"), {})
    items = list(dict.fromkeys(ITEM.findall(json.dumps(shown["facts"]))))[-MAX_ITEMS:]
    if not items or (len(facts) < 2 and not known):
        return {"sentences": [], "alone": facts, "relations": []}
    text, old = f"The user keeps {', '.join(items)}.", [number for number, _ in known.get("sentences", ())]
    placed = {"insight": known.get("n", 0), "subject": "things", "text": text, "facts": facts, "replaces": old}
    return {"sentences": [placed], "alone": [], "relations": []}
