"""Stage ``upkeep`` of ``kill.py``: clients add and forget while other processes maintain the store.

The latter back up, copy, compact, unpark and sweep. A client logs each acknowledged turn, and each forget before it
starts and when its receipt says "wiped". When all are dead, added turns must be stored once (``lost``, ``doubled``),
forgotten ones must be gone from the store and from the bytes of its file (``leaked``), every backup must be intact
(``corrupt``), and after ``compact`` no temporary files may remain.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from killing.mutants import AnswersFirst, Mutant, use
from killing.processes import USERS, Faults, kill_at_random, say
from killing.stores import Place, SQLitePlace

from memscope.errors import MemscopeError, StoreBusy
from memscope.records import ForgetReport, Select
from memscope.stores import Store, part_files
from memscope.stores.sqlite import SQLiteStore, secure_erase
from memscope.transfer.copy import copy

CLIENTS, KEEPERS = 3, 2
FORGET_SHARE = 0.4  # share of the turns


async def client(place: Place, mutant: Mutant, log: int) -> None:
    """Add turns for three users at once, and forget some of them."""
    mutant.break_promise()
    name = os.urandom(6).hex()
    store, chance = await place.open(), random.Random(name)

    async def line(user: str) -> None:
        for number in range(100_000):
            key = f"{name}-{user}-{number}-"
            await say(store, mutant, user, key)
            os.write(log, f"added {key}\n".encode())
            if chance.random() < FORGET_SHARE:
                os.write(log, f"forgetting {key}\n".encode())
                with suppress(StoreBusy):
                    receipt = await store.forget(Select(user, ids=frozenset({key})))
                    os.write(log, f"{receipt.physical} {key}\n".encode())

    await asyncio.gather(*map(line, USERS))


async def keeper(place: Place, target: Place, mutant: Mutant) -> None:
    mutant.break_promise()
    name = os.urandom(6).hex()
    store, other, chance = await place.open(), await target.open(), random.Random(name)
    for number in range(100_000):
        tasks: tuple[Callable[[], Awaitable[object]], ...] = (
            lambda number=number: store.backup(place.folder / f"{name}-{number}.backup"),  # type: ignore[misc]
            store.compact,
            store.unpark,
            lambda: store.forget(Select(USERS[0], expired_by=datetime.now(UTC))),
            lambda: copy(store, other),
        )
        with suppress(StoreBusy):
            await chance.choice(tasks)()
        await asyncio.sleep(0.01)


def upkeep_stage(place: Place, kills: int, chance: random.Random, mutant: Mutant) -> Faults:
    target = SQLitePlace(place.folder / "copy")
    target.folder.mkdir()
    log = os.open(place.folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    place.pauses = (0.02, 0.4)
    run = [lambda: client(place, mutant, log)] * CLIENTS + [lambda: keeper(place, target, mutant)] * KEEPERS
    died = kill_at_random(place, run, kills, chance)
    os.close(log)
    return replace(asyncio.run(check(place)), died=died)


async def check(place: Place) -> Faults:
    said: dict[str, set[str]] = {word: set() for word in ("added", "forgetting", "wiped", "pending", "none")}
    for line in (place.folder / "log").read_text().splitlines():
        word, _, key = line.partition(" ")
        said[word].add(key)
    faults = Faults(leaked=sum(_in_bytes(place.folder, said["wiped"])), done=len(said["added"]))
    with suppress(MemscopeError):
        store = await place.open()
        kept = await _texts(store)
        faults.turns, faults.doubled = len(kept), kept.total() - len(kept)
        faults.lost = sum(not kept[f"words of {key}"] for key in said["added"] - said["forgetting"])
        faults.leaked += sum(kept[f"words of {key}"] for key in said["wiped"] | said["pending"])
        await store.compact()
        await store.close()
    faults.unfinished = len(list(place.folder.glob(f"*{part_files.PART_SUFFIX}*")))
    faults.corrupt = await place.damage() + sum([await _is_broken(path) for path in place.folder.glob("*.backup")])
    return faults


def _in_bytes(folder: Path, keys: set[str]) -> list[bool]:
    files = b"".join(path.read_bytes() for path in folder.glob("*.db*") if not path.name.endswith("-lock"))
    return [f"words of {key}".encode() in files for key in keys]


async def _texts(store: Store) -> Counter[str]:
    texts: Counter[str] = Counter()
    for user in USERS:
        async for page in store.scan(Select(user)):
            texts.update(record.text for record in page)
    return texts


async def _is_broken(path: Path) -> bool:
    try:
        store = SQLiteStore(path)
        await _texts(store)
        await store.close()
    except MemscopeError:
        return True
    return False


# ---- stores that break one promise


def wipe_nothing() -> None:
    for name in ("wipe", "rebuild"):
        setattr(secure_erase, name, lambda *_: ForgetReport(physical="wiped"))


UPKEEP_MUTANTS = (
    Mutant("says wiped without wiping", break_promise=wipe_nothing),
    Mutant("acknowledges before the commit", break_promise=use(AnswersFirst)),
)
