"""Measure recall of evidence on conversations with questions, without a chat model, with one configuration for all.

    python benchmarks/retrieval.py DATA [DATA ...] [--embedder URL] [--store URL]

Prints one row per file and one JSON object: recall of turns in percent, over all but adversarial questions.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from measuring.datasets import conversations
from measuring.recall import NOW, ask, figures, ingest, place, settings
from measuring.stalls import counted

from memscope import AsyncMemoryScope


async def measure(path: str, store: str | None, configured: Mapping[str, Any]) -> dict[str, Any]:
    with place(store) as location:
        async with AsyncMemoryScope(location, settings=configured, clock=lambda: NOW) as memory:
            asked = []
            for conversation in conversations(path):
                await ingest(memory, conversation)
                asked += await ask(memory, conversation)
            return {"asked": asked}


@click.command()
@click.argument("data", nargs=-1, required=True)
@click.option("--embedder", help="URL of an OpenAI-compatible endpoint (…/v1)")
@click.option("--languages", default="en", show_default=True, help="what the embedder understands")
@click.option("--store", help="a store's URL or path; by default a file that goes away")
def main(data: tuple[str, ...], embedder: str | None, languages: str, store: str | None) -> None:
    everything, stalls = [], 0
    for path in (path for given in data for path in given.split(",")):
        measured = asyncio.run(counted(measure(path, store, settings(embedder, languages))))
        asked, stalls = measured["asked"], stalls + measured["stalls"]
        everything += asked
        print(Path(path).stem, json.dumps(figures(asked)))
    print(json.dumps({**figures(everything), "stalls": stalls}))


if __name__ == "__main__":
    main()
