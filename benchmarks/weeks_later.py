"""Measure whether a line told in passing is shown for what its person asks weeks later, mostly in other words.

    python benchmarks/weeks_later.py PAIRS --noise FILE [--embedder URL] [--show]

PAIRS (``unseen/pairs_*.jsonl``): what ten people each tell an assistant and what they ask it later (JSON lines:
``person``, ``line``, ``questions``), by authors who saw no code. Each person tells their lines, in their order, among
``NOISE_TURNS`` turns of the noise within half a year, and asks two weeks after. A question may be answered by another
line as well, so 100 is out of reach.

Prints one JSON object: ``shown``, the percentage of questions whose line is in ``context()``; ``tokens`` shown;
``recall_at_10`` of ``retrieve``; ``recall_at_10_words`` of keyword search (``task_requests.Words``).
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import click
from everyday import Clock, Said, Setup, opened, say, tokens
from measuring.datasets import read
from measuring.recall import settings
from task_requests import Words

NOISE_TURNS = 110
START, SPAN, LATER = datetime(2026, 2, 3, 8, tzinfo=UTC), timedelta(days=180), timedelta(days=14)
K = 10


class Answer(NamedTuple):
    shown: bool
    tokens: float
    retrieved: bool
    by_words: bool


def history(lines: Sequence[Mapping[str, Any]], noise: Sequence[Mapping[str, Any]], seed: str) -> list[Said]:
    """Return a person's lines and some turns of the noise in order of time."""
    chance = random.Random(seed)
    turns: list[Said] = [
        (START + SPAN * at / len(lines), {"role": "user", "text": one["line"], "session": f"line-{at}"})
        for at, one in enumerate(lines)
    ]
    for at, turn in enumerate(chance.sample(noise, min(NOISE_TURNS, len(noise)))):
        turns.append((START + SPAN * chance.random(), {**turn, "session": f"noise-{at}"}))
    return sorted(turns, key=lambda pair: pair[0])


async def answers(
    lines: Sequence[Mapping[str, Any]], turns: Sequence[Said], setup: Setup, *, show: bool
) -> list[Answer]:
    """Tell everything, and ask all questions of one person."""
    words, clock = Words(), Clock(START)
    for _, turn in turns:
        words.add([{**turn, "id": turn["text"]}])
    async with opened(setup, "UTC", clock, None) as memory:
        await say(memory, turns, "someone", clock, consolidate=False)
        clock.now = START + SPAN + LATER
        every = []
        for line, question in [(one["line"], question) for one in lines for question in one["questions"]]:
            shown = await memory.context(question, user="someone")
            hits = await memory.retrieve(question, user="someone", k=K)
            if show:
                print(question, line, *shown.split("\n"), sep="\n    ")
            stands = " ".join(line.split()).casefold() in " ".join(shown.split()).casefold()
            by_words = line in words.ask(question)
            every.append(Answer(stands, tokens(shown), any(hit.text == line for hit in hits), by_words))
        return every


def figures(every: Sequence[Answer]) -> dict[str, float]:
    return {
        "questions": len(every),
        "shown": round(100 * statistics.mean(one.shown for one in every), 1),
        "tokens": round(statistics.mean(one.tokens for one in every)),
        "recall_at_10": round(100 * statistics.mean(one.retrieved for one in every), 1),
        "recall_at_10_words": round(100 * statistics.mean(one.by_words for one in every), 1),
    }


async def measure(pairs: Path, noise: Path, embedder: str | None, *, show: bool) -> dict[str, float]:
    told, others = read(pairs), read(noise)
    setup = Setup(others, NOISE_TURNS, settings(embedder, "en"), None)
    every = []
    for person in sorted({one["person"] for one in told}):
        lines = [one for one in told if one["person"] == person]
        every += await answers(lines, history(lines, others, f"{pairs.stem} {person}"), setup, show=show)
    return figures(every)


@click.command()
@click.argument("pairs", type=click.Path(exists=True, path_type=Path))
@click.option("--noise", required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--embedder", help="URL of an OpenAI-compatible endpoint (…/v1)")
@click.option("--show", is_flag=True, help="print each question, its line and what is shown")
def main(pairs: Path, noise: Path, embedder: str | None, show: bool) -> None:
    print(json.dumps(asyncio.run(measure(pairs, noise, embedder, show=show))))


if __name__ == "__main__":
    main()
