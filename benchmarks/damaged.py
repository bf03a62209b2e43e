"""Fuzz imports and stores with damaged files: ``python benchmarks/damaged.py --mutations N``.

Imports N seeded mutations of small valid files of all import formats, each into a new memory, which is then read,
searched and exported. Restores, recovers, copies, backs up and exports N / 5 damaged stores. Each must be accepted, or
refused with a typed error that names the file and the remedy without quoting the conversation. ``faults`` and
``store_faults`` count other outcomes; ``slowest_s`` is the longest time for one mutation.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from transfer import damage
from transfer.samples import samples
from transfer.verdict import filled, store_verdicts, verdict


async def measure(mutations: int, seed: int) -> dict[str, object]:
    faults: Counter[str] = Counter()
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        sound = await samples(Path(folder))
        for number in range(mutations):
            sample = sound[number % len(sound)]
            content = damage.mutated(sample, random.Random(f"{seed} {number}"))
            begin = time.monotonic()
            place = Path(folder, f"{number}.db") if number % 7 == 0 else ":memory:"
            if reason := await verdict(sample, content, Path(folder), place):
                faults[f"{number} {sample.name}: {reason}"] += 1
            slowest = max(slowest, time.monotonic() - begin)
    return {"mutations": mutations, "faults": len(faults), "slowest_s": round(slowest, 1), "examples": list(faults)[:5]}


async def measure_stores(count: int, seed: int) -> dict[str, object]:
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        sound = await filled(Path(folder, "sound.db"))
    for number in range(count):
        with tempfile.TemporaryDirectory() as folder:
            damaged = damage.damaged_store(sound, random.Random(f"{seed} {number}"))
            found = await store_verdicts(damaged, sound, Path(folder))
            faults += [f"{number} {name}: {reason}" for name, reason in found.items() if reason]
    return {"stores": count, "store_faults": len(faults), "store_examples": faults[:5]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutations", type=int, default=2500)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    result = asyncio.run(measure(asked.mutations, asked.seed))
    result |= asyncio.run(measure_stores(asked.mutations // 5, asked.seed))
    print(json.dumps(result))


if __name__ == "__main__":
    main()
