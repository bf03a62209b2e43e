"""Processes of ``kill.py`` that are killed, and the findings about what they left."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass

from killing.mutants import Mutant
from killing.stores import Place

from memscope.errors import MemscopeError, StoreBusy, StoreUnavailable
from memscope.records import TurnInsert
from memscope.stores import Store
from memscope_testing.records import turn

Main = Callable[[], Awaitable[None]]
USERS = ("alice", "bob", "carol")
PATIENCE_S = 300.0


@dataclass
class Found:
    """Faults of a store after the kills."""

    lost: int = 0
    doubled: int = 0
    corrupt: int = 0
    unconsolidated: int = 0
    wrong: int = 0  # answers of searches
    leaked: int = 0  # forgotten, and still there or in the bytes
    unfinished: int = 0  # copies left beside the store
    turns: int = 0
    done: int = 0  # acknowledged by processes that were killed; 0 measured nothing
    died: int = 0  # processes that ended with an error instead of by the kill

    @property
    def faults(self) -> int:
        return sum(asdict(self).values()) - self.turns - self.done - self.died

    def plus(self, other: Found) -> Found:
        return Found(**{name: value + getattr(other, name) for name, value in asdict(self).items()})


def start(main: Main) -> int:
    """A child that runs ``main``; its id. Nothing of the parent's is open when it forks."""
    child = os.fork()
    if child:
        return child
    try:
        asyncio.run(main())  # type: ignore[arg-type]
    except MemscopeError:
        os._exit(3)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


def kill(child: int) -> bool:
    """Return whether it had died of an error of its own before."""
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    return not os.WIFSIGNALED(os.waitpid(child, 0)[1])


def kill_at_random(
    place: Place,
    run: Sequence[Main],
    kills: int,
    chance: random.Random,
    *,
    begun: Callable[[], bool] = lambda: True,
    between: Callable[[int], None] | None = None,
    settle: Callable[[], None] | None = None,
) -> int:
    """Run all of ``run`` as children, kill one of them ``kills`` times and start it again; the number that had died.

    The first kill waits until ``begun``, or ``PATIENCE_S``. ``between`` is called with the number of each kill,
    ``settle`` before the last ones are killed.
    """
    children, died = [start(main) for main in run], 0
    deadline = time.monotonic() + PATIENCE_S
    while not begun() and time.monotonic() < deadline:
        time.sleep(0.05)
    for number in range(kills):
        time.sleep(chance.uniform(*place.pauses))
        victim = chance.randrange(len(run))
        died += kill(children[victim])
        place.trouble(number)
        if between:
            between(number)
        children[victim] = start(run[victim])
    if settle:
        settle()
    return died + sum(map(kill, children))


def check_done(done: int) -> None:
    """Fail where the processes were killed before they did anything: zeros would mean nothing."""
    if not done:
        raise SystemExit("no process did anything before it was killed: nothing was measured; is the machine busy?")


async def say(store: Store, mutant: Mutant, user: str, key: str) -> None:
    draft = mutant.draft(TurnInsert(turn(key, f"words of {key}", user=user)))
    while True:
        with suppress(StoreBusy, StoreUnavailable):
            await store.append(user, [draft])
            return
