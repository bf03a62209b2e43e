"""The processes that ``kill.py`` kills, and the faults in the stores that they leave."""

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
class Faults:
    """Numbers of faults in a store after the kills."""

    lost: int = 0
    doubled: int = 0
    corrupt: int = 0
    unconsolidated: int = 0
    wrong: int = 0  # wrong search results
    leaked: int = 0  # forgotten turns that are still stored, or whose bytes are
    unfinished: int = 0  # temporary copies left next to the store
    turns: int = 0
    done: int = 0  # operations acknowledged by killed processes; with 0 nothing was measured
    died: int = 0  # processes that failed before they were killed

    @property
    def total(self) -> int:
        return sum(asdict(self).values()) - self.turns - self.done - self.died

    def plus(self, other: Faults) -> Faults:
        return Faults(**{name: value + getattr(other, name) for name, value in asdict(self).items()})


def start(main: Main) -> int:
    """Fork a child that runs ``main``, and return its process id. The parent must have no open store."""
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
    """Kill a child. Return True if it had already failed by itself."""
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
    """Run children, ``kills`` times kill a random one and restart it. Return the number that failed by themselves.

    The first kill waits for ``begun``, at most ``PATIENCE_S``. ``between`` is called with the number of each kill, and
    ``settle`` before the remaining children are killed.
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
    """Exit if the processes were killed before they did anything, because then zero faults mean nothing."""
    if not done:
        raise SystemExit("no process did anything before it was killed: nothing was measured; is the machine busy?")


async def say(store: Store, mutant: Mutant, user: str, key: str) -> None:
    draft = mutant.draft(TurnInsert(turn(key, f"words of {key}", user=user)))
    while True:
        with suppress(StoreBusy, StoreUnavailable):
            await store.append(user, [draft])
            return
