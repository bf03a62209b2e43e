"""Steps run in the order named, and a wrong name is found before anything runs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from memscope import AsyncMemoryScope, runtime
from memscope.errors import ConfigError, WorkerError
from memscope.pipeline import altered, assemble, run, worker


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


def test_altered_copies_a_batch_as_replace_does_and_takes_no_other_field():
    batch = Numbers((1, 2), 3)
    assert altered(batch, total=4) == replace(batch, total=4)
    assert batch == Numbers((1, 2), 3)
    with pytest.raises(AssertionError):
        altered(batch, totl=4)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ConfigError, match=r"no worker 'triple'.*double"):
        assemble("count", ["triple"], KNOWN, Numbers)


def test_a_worker_that_names_what_the_batch_has_not_is_refused():
    with pytest.raises(ConfigError, match="letters"):
        assemble("count", ["stranger"], KNOWN, Numbers)


@worker(reads=["numbers"], writes=["numbers"], name="peeking")
async def peeking(batch, ctx):
    return replace(batch, numbers=(batch.total,))


@worker(reads=["numbers"], writes=[], name="meddling")
async def meddling(batch, ctx):
    return replace(batch, total=len(batch.numbers))


@pytest.mark.parametrize(
    ("step", "said"), [(peeking, "'peeking' reads 'total'"), (meddling, "'meddling' writes 'total'")]
)
async def test_a_worker_touches_only_the_fields_that_it_declares(step, said):
    with pytest.raises(WorkerError, match=said) as refused:
        await run([step], Numbers((1, 2), 3), None)
    assert refused.value.hint


async def test_what_a_worker_of_a_plugin_returns_is_a_plain_batch():
    batch = await run([double], Numbers((1, 2), 3), None)
    assert type(batch) is Numbers and batch == Numbers((2, 4), 3)


QUERIES = ("Which books did I read?", "Where does my friend at Google live?", "What do you know about me?",
           "Did I go to the dentist last week?", "2 + 2?", "")  # fmt: skip


async def test_built_in_workers_of_retrieve_read_what_they_declare(monkeypatch):
    """They are run without a view of the batch: this gives them one."""
    monkeypatch.setattr(runtime, "steps", lambda *given: [replace(step, built_in=False) for step in assemble(*given)])
    async with AsyncMemoryScope(":memory:") as memory:
        said = ["My friend Liam started at Google.", "Liam lives in Oslo.", "I read Emma, Dune and Ulysses.",
                "I went to the dentist yesterday.", "I'm an engineer and I have two cats."]  # fmt: skip
        await memory.add_turns([{"role": "user", "content": text} for text in said], user="alice")
        for query in QUERIES:
            await memory.retrieve(query, user="alice", explain=True)
            await memory.context(query, user="alice", speak="when_needed")
        assert await memory.profile(user="alice")
