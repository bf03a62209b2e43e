"""``kill.py --stage migrate``: kill processes while they migrate the units of an older store.

A process simulates an older version, with other terms, and leaves a store. Two processes of the current version open
it, search, add turns and are killed before, during and after the migration. Each search must find exactly one turn.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from killing.mutants import Mutant
from killing.processes import USERS, Faults, kill, say, start
from killing.stores import Place

from memscope.errors import StoreBusy
from memscope.records import Scope, Search, Select, Turn, TurnInsert
from memscope.stores import Store
from memscope.text.language import add_rules, usual_rules
from memscope.text.terms import terms
from memscope_testing.records import turn

MIGRATORS = 2
SEARCHES_PER_ADD = 5  # searches of a process before it adds a turn
AGED_EVERY = 4  # kills between two returns to the older version


def word(key: str) -> str:
    """Return a word of letters that only this turn contains."""
    return "zq" + "".join(chr(ord("a") + ord(char) % 26) + "q" for char in key)


def older(place: Place) -> None:
    """Make this process an older version, whose stemmer gives other terms."""
    present = terms(word(""))
    add_rules(replace(usual_rules("latin"), stem=lambda known: known[::-1]))
    assert terms(word("")) != present
    place.older()


async def age(place: Place, keys: list[str]) -> None:
    """Add missing turns, and derive every unit as the older version does."""
    older(place)
    store = await place.open()
    for user in USERS:
        inserts = [TurnInsert(turn(f"{user}-{key}", word(f"{user}{key}"), user=user)) for key in keys]
        await store.append(user, inserts)
        await store.searchable(user)
        for key in keys[:SEARCHES_PER_ADD]:
            assert await answers(store, user, key) == [f"{user}-{key}"]
    await store.close()


async def answers(store: Store, user: str, key: str) -> list[str]:
    """Return the keys of the turns that contain the word, without their neighbours."""
    candidates = await store.search(Search(Scope(user), tuple(terms(word(f"{user}{key}")))))
    handles = [candidates.handle[row] for row in candidates.tf.any(axis=1).nonzero()[0]]
    return [record.key for record in (await store.fetch(user, handles)).records.values() if isinstance(record, Turn)]


async def migrate(place: Place, mutant: Mutant, name: str, keys: list[str], notes: Path, times: int = 100_000) -> None:
    """Search and add turns. Log wrong answers and acknowledged turns."""
    mutant.break_promise()
    store, chance = await place.open(), random.Random(name)
    log = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in range(times):
        for user in chance.choices(USERS, k=SEARCHES_PER_ADD) if number else USERS:
            key = chance.choice(keys)
            with suppress(StoreBusy):
                keys_found = await answers(store, user, key)
                if keys_found != [f"{user}-{key}"]:
                    os.write(log, f"wrong {user}-{key}\n".encode())
        key = f"{name}-{number}"
        await say(store, mutant, USERS[0], key)
        os.write(log, f"said {key}\n".encode())


def migrate_stage(place: Place, kills: int, chance: random.Random, mutant: Mutant) -> Faults:
    keys, notes, died = [str(number) for number in range(place.old_turns)], place.folder / "notes", 0
    for first in range(0, kills, AGED_EVERY):
        died += os.waitpid(start(lambda: age(place, keys)), 0)[1] != 0
        for number in range(first, min(first + AGED_EVERY, kills), MIGRATORS):
            run = [lambda name=f"{number}-{n}": migrate(place, mutant, name, keys, notes) for n in range(MIGRATORS)]
            for child in [start(main) for main in run]:
                time.sleep(chance.uniform(*place.migrations))
                died += kill(child)
            place.trouble(number)
    last = start(lambda: migrate(place, mutant, "last", keys, notes, times=1))  # not killed: searches for every user
    died += os.waitpid(last, 0)[1] != 0
    return replace(asyncio.run(_check(place, keys, notes)), died=died)


async def _check(place: Place, keys: list[str], notes: Path) -> Faults:
    lines = [line.split(" ", 1) for line in notes.read_text().splitlines()] if notes.exists() else []
    said = {text for kind, text in lines if kind == "said"}
    wrong = sum(kind == "wrong" for kind, _ in lines)
    store = await place.open()
    await store.searchable(USERS[0])
    known, doubled = set[str](), 0
    for user in USERS:
        for key in keys:
            wrong += await answers(store, user, key) != [f"{user}-{key}"]
        async for page in store.scan(Select(user)):
            texts = [record.text for record in page]
            doubled += len(texts) - len(set(texts)) + len(known.intersection(texts))
            known.update(texts)
    await store.close()
    wanted = {f"words of {key}" for key in said} | {word(f"{user}{key}") for user in USERS for key in keys}
    lost = len(wanted - known)
    damage = await place.damage()
    return Faults(lost=lost, doubled=doubled, corrupt=damage, wrong=wrong, turns=len(known), done=len(said))
