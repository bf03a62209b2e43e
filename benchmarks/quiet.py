"""Measure how much memory is shown for messages that need none, and whether it is shown for those that do.

    python benchmarks/quiet.py [REQUESTS SCENARIOS --noise FILE] [--speak always] [--show]

One user has the history of SCENARIOS and of the noise; each line of REQUESTS is a message ("text") for ``context()``.
For messages that need no memory ("needs": false): ``tokens_LANGUAGE``, the mean number shown, and ``spoke_LANGUAGE``,
the percentage for which anything is shown. For the others: ``right_LANGUAGE``, the percentage for which a line contains
"want". The default is the sets of both languages in ``unseen/``, written by somebody who had not read the code; they
are among the messages to which ``fit_need_score.py`` fits. ``needs_judged_en.tsv`` and ``needs_judged_zh.tsv`` are not.

``quiet3_en`` and ``quiet3_zh`` are newer requests, in case the rules become fitted to the first ones, for the histories
``en7`` and ``zh7`` with the noise ``noise3_en`` and ``noise3_zh``, which contains no wanted word.

Prints one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import statistics
from collections.abc import Mapping, Sequence
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import click
from everyday import OWN_NOISE, Clock, Setup, history, opened, say, tokens
from measuring.datasets import read

from memscope import AsyncMemoryScope

SETS = {"en": ("quiet_en", "en6", "noise2_en"), "zh": ("quiet_zh", "zh3", "noise2_zh")}
NOISE_PER_SCENARIO = 5


async def figures(
    language: str, requests: Path, scenarios: Path, noise: Path, *, speak: str, show: bool
) -> dict[str, float]:
    """Fill a memory and send every request to it."""
    told = read(scenarios)
    setup = Setup(noise=read(noise), others=NOISE_PER_SCENARIO, settings={}, where=None)
    turns = sorted((pair for one in told for pair in history(one, setup)[0]), key=lambda pair: pair[0])
    clock = Clock(turns[0][0])
    async with opened(setup, told[0]["zone"], clock, None) as memory:
        await say(memory, turns, "someone", clock, consolidate=False)
        clock.now = (turns[-1][0] + timedelta(hours=1)).astimezone(UTC)
        shown = [(one, await _shown(memory, one, speak, show)) for one in read(requests)]
    return summary(language, shown)


async def _shown(memory: AsyncMemoryScope, request: Mapping[str, Any], speak: str, show: bool) -> str:
    text = await memory.context(request["text"], user="someone", speak=speak)
    if show:
        print(request["needs"], request["text"], *text.split("\n")[:3], sep="\n    ")
    return text


def summary(language: str, shown: Sequence[tuple[Mapping[str, Any], str]]) -> dict[str, float]:
    needless = [text for request, text in shown if not request["needs"]]
    right = [request["want"].casefold() in text.casefold() for request, text in shown if "want" in request]
    return {
        f"tokens_{language}": round(statistics.mean(sum(map(tokens, text.split("\n"))) for text in needless), 1),
        f"spoke_{language}": round(100 * statistics.mean(map(bool, needless)), 1),
        f"right_{language}": round(100 * statistics.mean(right or [False]), 1),
    }


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--noise", type=click.Path(exists=True, path_type=Path))
@click.option("--speak", default="when_needed", show_default=True)
@click.option("--show", is_flag=True)
def main(paths: tuple[Path, ...], noise: Path | None, speak: str, show: bool) -> None:
    if paths and (len(paths) != 2 or noise is None):
        raise click.UsageError("give REQUESTS, SCENARIOS and --noise, or nothing")
    chosen = {"given": (*paths, noise)} if paths else {
        language: tuple(OWN_NOISE / f"{name}.jsonl" for name in names) for language, names in SETS.items()
    }  # fmt: skip
    measured = [asyncio.run(figures(name, *files, speak=speak, show=show)) for name, files in chosen.items()]
    print(json.dumps({name: value for part in measured for name, value in part.items()}))


if __name__ == "__main__":
    main()
