"""Stage ``blocks`` of ``kill.py``: writers each increment their own counter in one block, and are killed.

A writer logs its count after each acknowledged edit. At the end the block must have all logged counts, and each version
must increment one counter of the previous version by one: else an edit was lost, doubled or half done.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from killing.mutants import AnswersFirst, Mutant, NoTransaction, use
from killing.processes import Faults, kill_at_random
from killing.stores import Place

from memscope.errors import Conflict, StoreBusy
from memscope.records import Block
from memscope.stores import Store, block_rules
from memscope.stores.sqlite.small_tables import BlockTable
from memscope_testing.records import block

WRITERS, USER = 4, "alice"


async def count(place: Place, mutant: Mutant, name: str, acknowledged: Path) -> None:
    """Repeatedly increment the writer's counter in the block."""
    mutant.break_promise()
    store = await place.open()
    log = os.open(acknowledged, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    while True:
        with suppress(Conflict, StoreBusy):
            number = await _raise(store, name)
            os.write(log, f"{number}\n".encode())


async def _raise(store: Store, name: str) -> int:
    (old,) = await store.blocks(USER)
    counts = json.loads(old.value)
    counts[name] = counts.get(name, 0) + 1
    await store.put_blocks(USER, [replace(old, value=json.dumps(counts), version=old.version + 1)])
    return int(counts[name])


def blocks_stage(place: Place, kills: int, chance: random.Random, mutant: Mutant) -> Faults:
    asyncio.run(_begin(place))
    logs = [place.folder / f"acknowledged-{number}" for number in range(WRITERS)]
    run = [lambda number=number: count(place, mutant, str(number), logs[number]) for number in range(WRITERS)]
    died = kill_at_random(place, run, kills, chance)
    noted = {str(number): log.read_text().split() for number, log in enumerate(logs) if log.exists()}
    return replace(asyncio.run(_check(place, noted)), died=died)


async def _begin(place: Place) -> None:
    store = await place.open()
    await store.put_blocks(USER, [block("human", "{}")])
    await store.close()


async def _check(place: Place, noted: dict[str, list[str]]) -> Faults:
    corrupt = await place.damage()
    store = await place.open()
    versions, present = await store.blocks(USER, versions=True), await store.blocks(USER)
    await store.close()
    final = json.loads(versions[-1].value)
    said = {name: [int(line) for line in lines] for name, lines in noted.items()}
    return Faults(
        lost=sum(max(0, max(counts, default=0) - final.get(name, 0)) for name, counts in said.items()),
        doubled=sum(len(counts) - len(set(counts)) for counts in said.values()),
        corrupt=corrupt + half_done(versions) + (present != versions[-1:]),
        turns=len(versions),
        done=sum(map(len, said.values())),
    )


def half_done(versions: Sequence[Block]) -> int:
    """Count versions that do not increment one counter of the previous version by one."""
    values = [json.loads(one.value) for one in versions]
    steps = [sum(after.values()) - sum(before.values()) for before, after in pairwise(values)]
    gaps = sum(after.version != before.version + 1 for before, after in pairwise(versions))
    return gaps + sum(step != 1 for step in steps)


# ---- stores that break one promise


def _overwrites() -> None:
    """Accept every version as the next one, without compare-and-swap."""
    BlockTable.put_block = _put_last(BlockTable.put_block)  # type: ignore[method-assign]
    block_rules.check_next = lambda *_: None


def _put_last(put):  # type: ignore[no-untyped-def]
    def put_block(self: BlockTable, written: Block) -> None:
        newest = max((one.version for one in self.blocks()), default=0)
        put(self, replace(written, version=newest + 1))

    return put_block


BLOCK_MUTANTS = (
    Mutant("answers before the commit", use(AnswersFirst)),
    Mutant("no transaction", use(NoTransaction)),
    Mutant("no compare-and-swap", _overwrites),
)
