"""Measure the time to first token with memory and without: ``python benchmarks/chat_overhead.py``.

The user has ``--size`` turns with vectors in a SQLite file; chat model and embedder are servers on loopback. Answers
with and without memory alternate, so that machine load affects both. Prints one JSON object. ``ttft_extra_ms_*`` are
differences of medians for models that answer instantly (0), both after 200 ms (of which 200 ms are the question's
embedding), and only the chat model after 200 ms. ``embedding_calls`` is the usual number of calls before the first
piece (on a busy machine the turn's own embedding may start early), ``embedding_calls_after`` those for both turns.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from measuring.stalls import counted

from memscope import AsyncMemoryScope
from memscope.models import Message
from memscope.models.clients import OpenAIChat, OpenAIEmbedder
from memscope.models.endpoint import Endpoint

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from servers.faults import FaultServer

USER = "alice"
TOPICS = ("boat", "garden", "sister", "violin", "bakery", "train", "cat", "novel", "mountain", "kitchen")
SLOW_S = 0.2


async def fill(memory: AsyncMemoryScope, size: int) -> None:
    start_of_all = datetime.now(UTC) - timedelta(days=1, minutes=10 * size)
    turns = [
        {
            "role": ("user", "assistant")[number % 2],
            "content": f"About the {TOPICS[number % 10]}: remark {number}.",
            "time": start_of_all + timedelta(minutes=10 * number),
        }
        for number in range(size)
    ]
    for start in range(0, size, 1000):
        await memory.add_turns(turns[start : start + 1000], user=USER, session=f"past {start}")
    await memory.flush()


async def first(pieces: AsyncIterator[str], began: float) -> float:
    """Return the milliseconds from ``began`` to the first piece, and read the rest."""
    await anext(pieces)
    took = (time.perf_counter() - began) * 1000
    async for _ in pieces:
        pass
    return took


@dataclass
class Measured:
    """Milliseconds to the first piece, and embedding requests, of each answer."""

    bare: list[float] = field(default_factory=list)
    with_memory: list[float] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    calls_after: list[int] = field(default_factory=list)

    @property
    def extra(self) -> float:
        return round(statistics.median(self.with_memory) - statistics.median(self.bare), 2)


async def measure(memory: AsyncMemoryScope, chat: OpenAIChat, embeddings: FaultServer, rounds: range) -> Measured:
    found = Measured()
    for number in rounds:  # every question is new, so that no vector is cached
        text = f"What did I say about the {TOPICS[number % 10]}, remark {number}?"
        began = time.perf_counter()
        found.bare.append(await first(chat.stream([Message(role="user", content=text)]), began))
        sent, began = embeddings.counts["embeddings"], time.perf_counter()
        answer = memory.chat(text, user=USER, session=f"chat {number // 10}")
        await anext(answer)
        found.with_memory.append((time.perf_counter() - began) * 1000)
        found.calls.append(embeddings.counts["embeddings"] - sent)
        await answer
        assert answer.memories and not answer.notes, answer.notes
        await memory.flush()
        found.calls_after.append(embeddings.counts["embeddings"] - sent - found.calls[-1])
    return found


def delay(seconds: float, *servers: FaultServer) -> None:
    for server in servers:
        server.latency = {"dist": "constant", "seconds": seconds}


async def benchmark(size: int, rounds: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder, FaultServer() as talking, FaultServer() as embedding:
        chat = OpenAIChat(Endpoint(model="chat", base_url=talking.base_url))
        embedder = OpenAIEmbedder(Endpoint(model="embed", base_url=embedding.base_url))
        async with AsyncMemoryScope(Path(folder, "m.db"), settings={}, chat=chat, embedder=embedder) as memory:
            await fill(memory, size)
            await measure(memory, chat, embedding, range(3))  # warm-up: load lazy imports
            at_once = await measure(memory, chat, embedding, range(100, 100 + rounds))
            delay(SLOW_S, talking)
            slow_chat = await measure(memory, chat, embedding, range(300, 300 + rounds))
            delay(SLOW_S, talking, embedding)
            slow = await measure(memory, chat, embedding, range(500, 500 + rounds))
    every = (at_once, slow_chat, slow)
    return {
        "ttft_bare_ms_0": round(statistics.median(at_once.bare), 2),
        "ttft_extra_ms_0": at_once.extra,
        "ttft_extra_ms_200": slow.extra,
        "ttft_extra_ms_200_chat_only": slow_chat.extra,
        "embedding_calls": max(statistics.median_high(one.calls) for one in every),
        "embedding_calls_after": max(max(one.calls_after) for one in every),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1000, help="turns of the user")
    parser.add_argument("--rounds", type=int, default=20, help="answers of each kind")
    given = parser.parse_args()
    print(json.dumps(asyncio.run(counted(benchmark(given.size, given.rounds)))))


if __name__ == "__main__":
    main()
