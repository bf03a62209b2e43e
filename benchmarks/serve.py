"""The HTTP server against clients who want what is another's, send what nobody should, or want it for themselves.

    python benchmarks/serve.py --requests 4000 --examples 100

Prints one JSON object:

    leaked      requests of a foreign token, or of none, that got the user's words, or another answer than about nobody
    changed     those that were no refusal
    failed      answers of 5xx, to these and to hostile values on every route
    untyped     errors without a code
    schema      answers of 5xx and untyped errors to what schemathesis makes of the OpenAPI document

and of attacks on a process of its own, by unknown clients (forms of 8 MB, unfinished bodies and heads, chunks, long
paths) and by one with a token (JSON of 8 MB, a long history):

    wait_unknown_s, wait_known_s        the longest that another client waited for /health meanwhile
    memory_unknown_mb, memory_known_mb  the memory that it took
    unanswered, files_left              questions for /health without an answer; connections that stayed
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import tempfile
from pathlib import Path

import click
from serving import attacks
from serving.requests import ask, ask_by_schema

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from servers.faults import FaultServer


@click.command(help=__doc__)
@click.option("--requests", default=4000, show_default=True)
@click.option("--examples", default=100, show_default=True, help="Of each operation, by schemathesis.")
def main(requests: int, examples: int) -> None:
    logging.disable(logging.CRITICAL)
    with FaultServer() as model, tempfile.TemporaryDirectory() as folder:
        settings = {"chat": {"base_url": model.base_url, "model": "scripted"}, "timezone": "Asia/Tokyo"}
        result = asyncio.run(ask(Path(folder), settings, requests))
    with attacks.attacked() as server:
        result["schema"] = ask_by_schema(f"http://127.0.0.1:{server.port}", server.operator, examples)
    print(json.dumps(result | attacks.run()))


if __name__ == "__main__":
    main()
