"""Arguments that nobody should pass, on the whole surface: a typed error or an answer, and nothing is changed."""

from __future__ import annotations

from datetime import UTC, datetime
from operator import attrgetter

import pytest

from memscope import AsyncMemoryScope
from memscope.errors import Conflict, InputError, MemscopeError, NotFound, ScopeError

TEA = {"role": "user", "content": "I drink tea in Berlin.", "id": "t1"}
LATEST, EARLIEST = datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)


@pytest.fixture(params=["memory", "sqlite"])
async def memory(request, tmp_path):
    place = ":memory:" if request.param == "memory" else tmp_path / "memory.db"
    async with AsyncMemoryScope(place, settings={}) as opened:
        await opened.add_turns([TEA], user="u")
        yield opened


@pytest.mark.parametrize(
    ("operation", "asked"),
    [
        ("retrieve", {"query": "tea", "exclude": "t1"}), ("retrieve", {"query": "tea", "exclude": 5}),
        ("retrieve", {"query": "tea", "filter": {"a": object()}}), ("context", {"query": "tea", "lines": "facts"}),
        ("add_turns", {"turns": [TEA], "wait": "visible"}), ("list", {"text": 5}), ("list", {"kinds": 5}),
        ("forget", {"everything": "no"}), ("forget", {"everything": 1}), ("forget", {"filter": {}}),
        ("forget", {"text": ""}), ("forget", {"ids": 5}), ("forget", {"name": ""}), ("forget", {"agent": "a"}),
        ("admin.accept", {"ids": "abc"}), ("admin.accept", {"ids": 5}), ("admin.reject", {"ids": None}),
    ],
)  # fmt: skip
async def test_it_is_refused_and_nothing_changes(memory, operation, asked):
    with pytest.raises(MemscopeError):
        await attrgetter(operation)(memory)(user="u", **asked)
    assert len(await memory.list(user="u")) == 1


@pytest.mark.parametrize("user", ["", 5, " a", "\ud83d"])
async def test_a_user_is_checked_where_it_may_be_left_out_too(memory, user, tmp_path):
    with pytest.raises(ScopeError):
        await memory.admin.status(user=user)
    with pytest.raises(ScopeError):
        await memory.consolidate(user=user)
    with pytest.raises(ScopeError):
        await memory.admin.unpark(user=user)
    with pytest.raises(ScopeError):
        await memory.admin.export(tmp_path / "out.jsonl", user=user)
    with pytest.raises(ScopeError):
        await memory.admin.import_(tmp_path / "out.jsonl", user=user)


@pytest.mark.parametrize("as_of", [LATEST, EARLIEST])
async def test_the_ends_of_the_calendar_are_times_too(memory, as_of):
    await memory.add_turns([{"role": "user", "content": "Tea, always.", "time": as_of}], user="u")
    assert (await memory.retrieve("tea last year", user="u", as_of=as_of)).hits
    assert await memory.context("tea yesterday", user="u")


@pytest.mark.parametrize("place", [".", "missing/out.jsonl", "a\0b", 5])
async def test_a_path_that_cannot_be_used_is_named(memory, place, tmp_path):
    path = tmp_path / place if isinstance(place, str) and "\0" not in place else place
    for operation in (memory.admin.export, memory.admin.import_):
        with pytest.raises(InputError):
            await operation(path)


async def test_an_export_that_fails_leaves_nothing_behind(memory, tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError):
        await memory.admin.export(tmp_path / "folder")
    assert not list(tmp_path.glob("*part*"))


async def test_version_zero_is_a_version(memory):
    made = await memory.add_memory("Tea.", user="u")
    with pytest.raises(Conflict):
        await memory.update(made.id, user="u", text="Coffee.", version=0)


async def test_ids_that_can_be_read_once_only_are_checked_all(memory):
    with pytest.raises(NotFound):
        await memory.forget(user="u", ids=(id for id in ("t1", "missing")))
    assert len(await memory.list(user="u")) == 1


async def test_a_repeated_statement_is_the_one_that_is_here_and_a_forgotten_one_does_not_seem_to_be(memory):
    first = await memory.add_memory("Tea.", user="u", time=LATEST)
    again = await memory.add_memory("Tea.", user="u", time=LATEST, name="drink")
    assert again == await memory.get(first.id, user="u")
    await memory.forget(user="u", ids=[first.id])
    with pytest.raises(Conflict):
        await memory.add_memory("Tea.", user="u", time=LATEST)
