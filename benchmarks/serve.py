"""Attack the HTTP server: clients that request other users' data, send hostile values, or exhaust resources.

    python benchmarks/serve.py --requests 4000 --examples 100

Prints one JSON object:

    leaked      answers to foreign or missing tokens with the user's words, or unlike those about an unknown user
    changed     such requests that were not refused
    failed      5xx answers, to these and to hostile values on every route
    untyped     errors without a code
    schema      5xx answers and untyped errors to requests that schemathesis derives from the OpenAPI document

and for attacks on a separate process, by unknown clients (8 MB forms, incomplete bodies and headers, chunks, long
paths) and by a client with a token (8 MB JSON, a long history):

    wait_unknown_s, wait_known_s        longest time that another client waited for /health meanwhile
    memory_unknown_mb, memory_known_mb  memory that the server used in addition
    unanswered, files_left              requests for /health without an answer; connections left open
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
