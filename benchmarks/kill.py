"""Kill concurrent processes on one store with SIGKILL at random: what is lost, doubled, corrupt?

    python benchmarks/kill.py --kills 40                        writers that add turns
    python benchmarks/kill.py --kills 60 --stage consolidate    workers, two at a time, with short leases
    python benchmarks/kill.py --kills 60 --stage reflect        workers of reflect, with nondeterministic replies
    python benchmarks/kill.py --kills 40 --stage transfer       workers, and movers that export and import
    python benchmarks/kill.py --kills 100 --stage migrate       processes that open a store of an older version
    python benchmarks/kill.py --kills 200 --stage blocks        writers that edit one block of core memory
    python benchmarks/kill.py --kills 60 --stage upkeep         add and forget during backup, copy, compact, sweep
    python benchmarks/kill.py --store elasticsearch ...         on a node that is sometimes killed too
    python benchmarks/kill.py --store postgres ...              on a server that sometimes crashes too

A client logs each acknowledged turn, and after a crash resends the others. The same harness then runs stores that each
break one promise (``mutants``); unless it catches all of them, the result proves nothing.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

import click
from killing.blocks import BLOCK_MUTANTS, blocks_stage
from killing.migrate import migrate_stage
from killing.mutants import ADD_MUTANTS, CONSOLIDATE_MUTANTS, MIGRATE_MUTANTS, TRANSFER_MUTANTS, Mutant, sound
from killing.processes import PATIENCE_S, USERS, Faults, Main, check_done, kill_at_random, say, start
from killing.reflect import REFLECT_MUTANTS, reflect_stage
from killing.stores import STORES, Place, SQLitePlace
from killing.upkeep import UPKEEP_MUTANTS, upkeep_stage

from memscope.errors import LeaseLost, MemscopeError, StoreBusy, StoreUnavailable
from memscope.languages import load_tables
from memscope.records import ChangeSet, Claim, Observation, Select, Turn, TurnInsert
from memscope.stores import Store
from memscope.stores.memory import InMemoryStore
from memscope.transfer import jsonl
from memscope_testing.records import observation, turn

WRITERS, WORKERS, MOVERS = 4, 2, 2
TURNS_TO_WARM_UP = 100  # turns acknowledged before the first kill, since a freshly started server is slow
TURNS_PER_ROUND = 40  # turns added per user when nothing is left to consolidate


# ---- writers


async def write(place: Place, mutant: Mutant, name: str, path: Path) -> None:
    """Add numbered turns, three users at once, continuing after the last acknowledged turn."""
    mutant.break_promise()
    store = await place.open()
    done = set(acknowledged([path]))
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    async def line(user: str) -> None:
        for number in range(100_000):
            key = f"{name}-{user}-{number}"
            if key not in done:
                await say(store, mutant, user, key)
                os.write(log, f"{key}\n".encode())

    await asyncio.gather(*map(line, USERS))


def add_stage(place: Place, kills: int, chance: random.Random, mutant: Mutant) -> Faults:
    logs = [place.folder / f"acknowledged-{number}" for number in range(WRITERS)]
    run = [lambda number=number: write(place, mutant, str(number), logs[number]) for number in range(WRITERS)]
    died = kill_at_random(place, run, kills, chance, begun=lambda: len(acknowledged(logs)) >= TURNS_TO_WARM_UP)
    said = acknowledged(logs)
    return replace(asyncio.run(check_turns(place, said)), done=len(said), died=died)


def acknowledged(logs: Sequence[Path]) -> list[str]:
    return [key for log in logs if log.exists() for key in log.read_text().split()]


async def check_turns(place: Place, said: list[str]) -> Faults:
    texts: Counter[str] = Counter()
    corrupt = await place.damage()
    with suppress(MemscopeError):
        store = await place.open()
        for user in USERS:
            async for page in store.scan(Select(user)):
                texts.update(record.text for record in page)
        await store.close()
    missing = sum(not texts[f"words of {key}"] for key in said)
    return Faults(lost=missing, doubled=texts.total() - len(texts), corrupt=corrupt, turns=len(texts))


# ---- workers


async def work(place: Place, mutant: Mutant) -> None:
    """Consolidate pending turns. Model replies take up to twice as long as a lease and differ each time."""
    mutant.break_promise()
    store, chance = await place.open(), random.Random(os.urandom(8))
    while True:
        claims: list[Claim] = []
        with suppress(StoreBusy, StoreUnavailable):
            claims = await store.claim("consolidate", 5, place.lease_s)
        for claim in claims:
            with suppress(LeaseLost, StoreBusy, StoreUnavailable):
                await consolidate(store, mutant, claim, chance, 2 * place.lease_s)
        await asyncio.sleep(0.002)


async def consolidate(store: Store, mutant: Mutant, claim: Claim, chance: random.Random, slowest_s: float) -> None:
    change_set = claim.change_set
    if change_set is None:
        await asyncio.sleep(chance.uniform(0, slowest_s) if chance.random() < 0.3 else 0.001)
        change_set = ChangeSet(new=tuple(answer(claim.user, key) for key in claim.items), done=claim.items)
        await mutant.save(store, claim, change_set)
    await mutant.complete(store, claim, change_set)


def answer(user: str, key: str) -> Observation:
    return observation(os.urandom(8).hex(), key, user=user, text=f"fact of {key}")


async def say_more(place: Place, round: int) -> None:
    store = await place.open()
    if not (await store.stats()).pending["consolidate"]:
        for user in USERS:
            keys = [f"{round}-{number}" for number in range(TURNS_PER_ROUND)]
            await store.append(user, [TurnInsert(turn(key, f"words of {key}", user=user)) for key in keys])
    await store.close()


async def waiting(place: Place) -> int:
    store = await place.open()
    stats = await store.stats()
    await store.close()
    return sum(counts["consolidate"] for counts in (stats.pending, stats.failed, stats.parked))


def consolidate_stage(
    place: Place, kills: int, chance: random.Random, mutant: Mutant, movers: Sequence[Main] = ()
) -> Faults:
    """Run two workers and the movers."""
    asyncio.run(say_more(place, 0))
    died = kill_at_random(
        place,
        [*[lambda: work(place, mutant)] * WORKERS, *movers],
        kills,
        chance,
        between=lambda number: asyncio.run(say_more(place, number + 1)),
        settle=lambda: wait_until_done(place),
    )
    return replace(asyncio.run(check_place(place)), died=died)


def wait_until_done(place: Place) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while asyncio.run(waiting(place)) and time.monotonic() < deadline:
        time.sleep(0.05)


async def check_place(place: Place) -> Faults:
    damage = await place.damage()
    store = await place.open()
    faults = replace(await check_facts(store), corrupt=damage)
    await store.close()
    return faults


async def check_facts(store: Store) -> Faults:
    """Check that every turn has exactly one fact, or is pending."""
    faults = Faults()
    for user in USERS:
        records = [record async for page in store.scan(Select(user)) for record in page]
        turns = {record.key for record in records if isinstance(record, Turn)}
        facts = Counter(memory.text for memory in records if isinstance(memory, Observation))
        pending = {record.key async for page in store.scan(Select(user, pending="consolidate")) for record in page}
        faults.turns += len(turns)
        faults.done += facts.total()
        faults.doubled += facts.total() - len(facts)
        faults.unconsolidated += len(pending)
        faults.lost += sum(not facts[f"fact of {key}"] and key not in pending for key in turns)
    return faults


# ---- exports


async def move(place: Place, copy: Place, mutant: Mutant, path: Path, times: int = 100_000) -> None:
    """Repeatedly export a store that is in use and import it into another one."""
    mutant.break_promise()
    source, target = await place.open(), await copy.open()
    for _ in range(times):
        with suppress(StoreBusy, StoreUnavailable):
            await jsonl.export(source, path, user=None, progress=None)
            await read(target, path)


async def read(store: Store, path: Path) -> None:
    await jsonl.import_(store, path, user=None, strict=True, progress=None, limits=jsonl.UNLIMITED)


def transfer_stage(place: Place, kills: int, chance: random.Random, mutant: Mutant) -> Faults:
    """Run two workers and two movers. At the end import the remaining exports into new stores."""
    copy = SQLitePlace(place.folder / "copy")
    copy.folder.mkdir()
    paths = [place.folder / f"{number}.jsonl" for number in range(MOVERS)]
    movers = [lambda path=path: move(place, copy, mutant, path) for path in paths]
    faults = consolidate_stage(place, kills, chance, mutant, movers)
    os.waitpid(start(lambda: move(place, copy, mutant, place.folder / "last.jsonl", times=1)), 0)
    return asyncio.run(check_copies(faults, copy, paths))


async def check_copies(faults: Faults, copy: Place, paths: list[Path]) -> Faults:
    turns, exported = faults.turns, 0
    for path in filter(Path.exists, paths):
        exported += 1
        alone = InMemoryStore()
        await read(alone, path)
        faults = faults.plus(Faults(lost=(await check_facts(alone)).lost))
    copied = await check_place(copy)
    both = faults.plus(copied).plus(Faults(lost=turns - copied.turns))
    return replace(both, done=faults.done and exported)


# ---- running all stages

STAGES = {
    "add": (add_stage, ADD_MUTANTS),
    "consolidate": (consolidate_stage, CONSOLIDATE_MUTANTS),
    "reflect": (reflect_stage, REFLECT_MUTANTS),
    "transfer": (transfer_stage, TRANSFER_MUTANTS),
    "migrate": (migrate_stage, MIGRATE_MUTANTS),
    "blocks": (blocks_stage, BLOCK_MUTANTS),
    "upkeep": (upkeep_stage, UPKEEP_MUTANTS),
}


def mutants_of(store: str, stage: str) -> tuple[Mutant, ...]:
    if store == "elasticsearch" and stage != "transfer":
        from killing.elasticsearch import MUTANTS

        return MUTANTS.get(stage, ())
    return STAGES[stage][1]


def measure(store: str, stage: str, kills: int, seed: int, mutant: Mutant) -> Faults:
    run, _ = STAGES[stage]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        place = STORES[store](Path(folder))
        asyncio.run(place.create())
        load_tables()  # once, for all processes
        return run(place, kills, random.Random(seed), mutant)


def caught(store: str, stage: str, kills: int, seed: int, mutant: Mutant) -> bool:
    """Check that the harness catches the mutant within ``kills`` kills, in short rounds."""
    few = 1 if stage == "migrate" else 15
    return any(measure(store, stage, few, seed + done, mutant).total for done in range(0, kills, few))


@click.command()
@click.option("--kills", type=int, default=40)
@click.option("--stage", type=click.Choice(sorted(STAGES)), default="add")
@click.option("--store", type=click.Choice(sorted(STORES)), default="sqlite")
@click.option("--seed", type=int, default=1)
@click.option(
    "--mutant-kills", type=int, default=300, help="Within which a broken store must be noticed; 0: not asked."
)
def main(kills: int, stage: str, store: str, seed: int, mutant_kills: int) -> None:
    begin = time.monotonic()
    faults = measure(store, stage, kills, seed, sound)
    check_done(faults.done)
    seconds = time.monotonic() - begin
    limit = max(mutant_kills, kills) if mutant_kills else 0
    mutants = {mutant.name: caught(store, stage, limit, seed, mutant) for mutant in mutants_of(store, stage)}
    result = asdict(faults) | {"mutants_caught": sum(mutants.values()), "mutants": len(mutants), "kills": kills}
    print(
        json.dumps(
            result | {"missed": [name for name, known in mutants.items() if not known], "seconds": round(seconds, 1)}
        )
    )


if __name__ == "__main__":
    main()
