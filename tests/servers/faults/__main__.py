"""``python -m servers.faults`` with the folder ``tests`` on the path; see README.md."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any

from .plan import FAULTS, Rule
from .replies import dump
from .server import LOOPBACK, FaultServer


def read_arguments(argv: list[str] | None) -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    parser = argparse.ArgumentParser(description="A loopback OpenAI-compatible server that injects faults.")
    add = parser.add_argument
    add("--host", default="127.0.0.1", choices=LOOPBACK)
    add("--port", type=int, default=8099, help="0 picks a free port")
    add("--script", help="JSON file of scripted replies")
    add("--plan", help="JSON file: a list of fault rules, or {faults, latency, seed, draw}")
    add("--fault", action="append", default=[], metavar="NAME=RATIO", help="a rule; repeatable")
    add("--record", help="JSONL file to append one line per request to")
    add("--bodies", action="store_true", help="record request bodies and reply texts too")
    add("--dimensions", type=int, default=256)
    add("--seed", type=int)
    add("--draw", choices=("order", "content"))
    add("--require-key", help="answer 401 unless this key is sent")
    add("--list-faults", action="store_true")
    return parser, parser.parse_args(argv)


def load(path: str | None) -> Any:
    return json.loads(Path(path).read_text(encoding="utf-8")) if path else None


def rule_of(item: str) -> Rule:
    name, _, ratio = item.partition("=")
    return {"fault": name, "ratio": float(ratio or 1)}


def build(chosen: argparse.Namespace) -> FaultServer:
    plan = load(chosen.plan) or {}
    plan = {"faults": plan} if isinstance(plan, list) else plan
    return FaultServer(
        script=load(chosen.script),
        faults=[*plan.get("faults", []), *map(rule_of, chosen.fault)],
        latency=plan.get("latency"),
        seed=chosen.seed if chosen.seed is not None else plan.get("seed", 0),
        draw=chosen.draw or plan.get("draw", "order"),
        record=chosen.record,
        bodies=chosen.bodies,
        dimensions=chosen.dimensions,
        require_key=chosen.require_key,
        host=chosen.host,
        port=chosen.port,
    )


async def serve(server: FaultServer) -> None:
    async with server:
        print(f"listening on {server.base_url}  seed {server.seed}", flush=True)
        await asyncio.Event().wait()


def main(argv: list[str] | None = None) -> int:
    parser, chosen = read_arguments(argv)
    if chosen.list_faults:
        for name, ends in FAULTS.items():
            print(f"{name:16} {', '.join(sorted(ends))}")
        return 0
    try:
        server = build(chosen)
    except (OSError, ValueError, re.error) as error:
        parser.error(str(error))
    try:
        asyncio.run(serve(server))
    except KeyboardInterrupt:
        print(dump(server.stats()), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
