"""Steps run in the order named, and a wrong name is found before anything runs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from memscope.errors import ConfigError
from memscope.pipeline import assemble, run, worker


@dataclass(frozen=True)
class Numbers:
    numbers: tuple[int, ...] = ()
    total: int = 0


@worker(reads=["numbers"], writes=["numbers"])
async def double(batch, ctx):
    return replace(batch, numbers=tuple(2 * number for number in batch.numbers))


@worker(reads=["numbers"], writes=["total"], name="sum")
async def add_up(batch, ctx):
    return replace(batch, total=sum(batch.numbers))


@worker(reads=["letters"], writes=[])
async def stranger(batch, ctx):
    return batch


KNOWN = {step.name: step for step in (double, add_up, stranger)}


async def test_workers_run_in_the_order_of_their_names():
    steps = assemble("count", ["double", "double", "sum"], KNOWN, Numbers)
    assert (await run(steps, Numbers((1, 2)), None)).total == 12


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ConfigError, match=r"no worker 'triple'.*double"):
        assemble("count", ["triple"], KNOWN, Numbers)


def test_a_worker_that_names_what_the_batch_has_not_is_refused():
    with pytest.raises(ConfigError, match="letters"):
        assemble("count", ["stranger"], KNOWN, Numbers)
