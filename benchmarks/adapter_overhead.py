"""Measure an agent's turn with memory, compared with the same agent without memory and with the framework's own.

    python benchmarks/adapter_overhead.py --adapter autogen [--blocks]

The model answers instantly, so the time is that of framework and memory. The user has ``--size`` turns in a SQLite
file. One run alternates between the variants, with conversations of ``--turns`` turns. The variants of an adapter are
in ``benchmarks/overhead/ADAPTER.py``: ``variants(core)`` maps names, among them "none" and "memscope", to functions
that create conversations. ``uncached_tokens``: tokens of a request after its common prefix with the previous one.
``--blocks`` adds a user with three blocks of 1,000 characters and reports their cost. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any, Protocol

from measuring.stalls import counted

from memscope import AsyncMemoryScope
from memscope.prompts.memory_block import CLOSE_MARK, OPEN_MARK
from memscope.text.tokens import estimate_tokens

USER = "alice"
WITH_BLOCKS = "memscope_with_blocks"
TOPICS = ("boat", "garden", "sister", "violin", "bakery", "train", "cat", "novel", "mountain", "kitchen")


class Talk(Protocol):
    """One conversation. ``shown``: the text of each request to the model."""

    shown: list[str]

    async def say(self, text: str) -> None: ...


async def fill(core: AsyncMemoryScope, size: int) -> None:
    turns = [
        {"role": ("user", "assistant")[number % 2], "content": f"About the {TOPICS[number % 10]}: remark {number}."}
        for number in range(size)
    ]
    for start in range(0, size, 1000):
        await core.add_turns(turns[start : start + 1000], user=USER, session=f"past {start}")


async def fill_blocks(core: AsyncMemoryScope) -> None:
    blocks, words = core.blocks(USER), " ".join(f"The {topic} matters to Alice." for topic in TOPICS * 4)[:1000]
    await blocks.append("human", words)
    for label in ("project", "notes"):
        await blocks.create(label, words)


async def converse(talk: Talk, number: int, turns: int) -> list[float]:
    """Return the milliseconds of each turn."""
    took = []
    for turn in range(turns):
        begin = time.perf_counter()
        await talk.say(f"What did I say about the {TOPICS[(number + turn) % 10]}, number {number}?")
        took.append((time.perf_counter() - begin) * 1000)
    return took


async def measure(make: dict[str, Callable[[int], Talk]], repeats: int, turns: int) -> dict[str, Any]:
    took: dict[str, list[float]] = defaultdict(list)
    shown: dict[str, list[str]] = defaultdict(list)
    fresh: dict[str, list[int]] = defaultdict(list)
    for number in range(repeats + 1):
        for name, variant in make.items():
            talk = variant(number)
            times = await converse(talk, number, turns)
            if number:  # the first round is warm-up
                took[name] += times
                shown[name] += talk.shown
                fresh[name] += [uncached(before, after) for before, after in pairwise(talk.shown)]
    p50 = {name: statistics.median(times) for name, times in took.items()}
    tokens = {name: round(statistics.mean(map(injected, texts)), 1) for name, texts in shown.items()}
    costs = {
        "ms_p50": round(p50.get(WITH_BLOCKS, 0) - p50["memscope"], 3),
        "ratio": round(p50.get(WITH_BLOCKS, 0) / p50["memscope"], 3),
        "tokens": round(tokens.get(WITH_BLOCKS, 0) - tokens["memscope"], 1),
    }
    return {
        "overhead_ms_p50": round(p50["memscope"] - p50["none"], 3),
        "model_calls_extra": len(shown["memscope"]) - len(shown["none"]),
        "injected_tokens": tokens["memscope"],
        "uncached_tokens": {name: round(statistics.mean(fresh[name]), 1) for name in ("none", "memscope")},
        **({"blocks": costs} if WITH_BLOCKS in p50 else {}),
        "turn_ms_p50": {name: round(value, 3) for name, value in p50.items()},
        "turns": len(took["memscope"]),
    }


def uncached(before: str, after: str) -> int:
    """Count the tokens of a request after its common prefix with the previous request."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
    return estimate_tokens(after[same:])


def injected(request: str) -> int:
    """Count the tokens of the memory block in a request."""
    return (
        estimate_tokens(request[request.find(OPEN_MARK) : request.find(CLOSE_MARK) + len(CLOSE_MARK)])
        if OPEN_MARK in request
        else 0
    )


async def run(adapter: str, size: int, repeats: int, turns: int, *, blocks: bool = False) -> dict[str, Any]:
    variants = importlib.import_module(f"overhead.{adapter}").variants
    with tempfile.TemporaryDirectory() as folder:
        async with AsyncMemoryScope(Path(folder) / "memory.db", settings={}) as core:
            await fill(core, size)
            if not blocks:
                return {"adapter": adapter, "size": size, **await measure(variants(core), repeats, turns)}
            async with AsyncMemoryScope(Path(folder) / "blocks.db", settings={}) as other:
                await fill(other, size)
                await fill_blocks(other)
                make = {**variants(core), WITH_BLOCKS: variants(other)["memscope"]}
                return {"adapter": adapter, "size": size, **await measure(make, repeats, turns)}


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--adapter", required=True, choices=[p.stem for p in Path(__file__).parent.glob("overhead/*.py")]
    )
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--turns", type=int, default=10, help="turns of a conversation")
    parser.add_argument("--blocks", action="store_true")
    chosen = parser.parse_args()
    work = run(chosen.adapter, chosen.size, chosen.repeats, chosen.turns, blocks=chosen.blocks)
    print(json.dumps(asyncio.run(counted(work))))
