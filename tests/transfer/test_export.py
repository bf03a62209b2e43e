"""Export: while something is forgotten, and to what is no regular file."""

from __future__ import annotations

import os
import re

import pytest

from memscope import AsyncMemoryScope
from memscope.errors import InputError, StoreBusy
from memscope.records import ChangeSet, Supersession
from memscope_testing.models import IdealChat
from memscope_testing.records import at, inserts, observation

TEXTS = ("I like green tea.", "Green tea is what I like.")
SAID = [{"role": "user", "content": text, "id": key} for text, key in zip(TEXTS, ("one", "two"), strict=True)]
FACT = {"text": "The user likes green tea.", "quotes": list(enumerate(TEXTS)), "turns": [0, 1]}
FACT |= {"about": "user", "when": "", "keywords": ["tea"], "level": 3}


async def consolidated():
    memory = AsyncMemoryScope(":memory:", settings={}, chat=IdealChat([{"text": text} for text in TEXTS], [FACT]))
    await memory.add_turns(SAID, user="alice")
    await memory.consolidate(user="alice")
    return memory


async def test_a_turn_given_back_between_two_pages_waits_in_the_export(tmp_path, monkeypatch):
    memory = await consolidated()
    (fact,) = await memory.list(user="alice", kinds=["observation"])
    assert fact.sources == ("one", "two")
    scan, forgotten = memory.admin.runtime.services.store.scan, []

    async def forgetting(select):
        if select.kinds == frozenset({"observation"}) and not forgotten:
            forgotten.append(await memory.forget(user="alice", ids=["one"]))
        async for page in scan(select):
            yield page

    monkeypatch.setattr(memory.admin.runtime.services.store, "scan", forgetting)
    assert dict(await memory.admin.export(tmp_path / "out.jsonl")) == {"turn": 1, "forgotten": 2, "receipt": 1}
    async with AsyncMemoryScope(":memory:", settings={}) as other:
        await other.admin.import_(tmp_path / "out.jsonl")
        assert (await other.admin.status())["pending"]["consolidate"] == 1
    await memory.close()


async def test_an_export_that_never_rests_is_given_up(tmp_path, monkeypatch):
    memory = await consolidated()
    tombstones, calls = memory.admin.runtime.services.store.tombstones, []

    async def rising(user):
        calls.append(user)
        return [*await tombstones(user), f"forgotten{len(calls)}"]

    monkeypatch.setattr(memory.admin.runtime.services.store, "tombstones", rising)
    with pytest.raises(StoreBusy, match="export again"):
        await memory.admin.export(tmp_path / "out.jsonl")
    assert list(tmp_path.iterdir()) == []
    await memory.close()


@pytest.mark.skipif(os.name == "nt", reason="a FIFO")
async def test_what_is_no_regular_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    memory = await consolidated()
    for name in ("pipe", "link", "."):
        with pytest.raises(InputError, match="not a regular file"):
            await memory.admin.export(tmp_path / name)
    assert (tmp_path / "pipe").is_fifo() and (tmp_path / "link").is_symlink()
    await memory.close()


async def test_only_an_export_is_replaced(tmp_path):
    """The store itself was, by ``memscope --store memory.db export memory.db``."""
    async with AsyncMemoryScope(tmp_path / "memory.db", settings={}) as memory:
        await memory.add_turns([{"role": "user", "content": "I live in Berlin."}], user="alice")
        (tmp_path / "notes.txt").write_text("mine")
        with pytest.raises(InputError, match="is not an export; choose a new name"):
            await memory.admin.export(tmp_path / "notes.txt")
        for use_file in (memory.admin.export, memory.admin.import_):
            with pytest.raises(InputError, match="is an open store; choose another file"):
                await use_file(tmp_path / "memory.db")
        (tmp_path / "empty.jsonl").touch()
        for name in ("out.jsonl", "out.jsonl", "empty.jsonl"):
            assert (await memory.admin.export(tmp_path / name))["turn"] == 1
    async with AsyncMemoryScope(tmp_path / "memory.db", settings={}) as memory:
        assert len(await memory.list(user="alice")) == 1


async def test_a_link_to_a_file_stays_one(tmp_path):
    (tmp_path / "real.jsonl").touch()
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.jsonl")
    memory = await consolidated()
    await memory.admin.export(tmp_path / "link.jsonl")
    assert (tmp_path / "link.jsonl").is_symlink() and (tmp_path / "real.jsonl").stat().st_size > 100
    await memory.close()


async def test_whatever_a_user_can_store_is_read_back(tmp_path):
    """Blocks with their default and with the outermost places, names, data, expiry, a correction."""
    memory = await consolidated()
    for label, order in (("first", -1000), ("last", 1000)):
        await memory.blocks("alice").create(label, "text", order=order, read_only=order > 0)
    for label in ("human", "persona"):
        await memory.blocks("alice").append(label, "a line", author="model", reason="said so")
    await memory.blocks("alice", agent="coder").append("persona", "Answers with code.")
    note = await memory.add_memory("", user="alice", name="n", data={"a": [1.5, None]}, expires="2100-01-01T00:00Z")
    await memory.update(note.id, user="alice", text="corrected")
    await memory.admin.export(tmp_path / "out.jsonl")
    async with AsyncMemoryScope(":memory:", settings={}) as other:
        assert (await other.admin.import_(tmp_path / "out.jsonl"))["block"] == 4
        assert "block" not in await other.admin.import_(tmp_path / "out.jsonl")
        await other.admin.export(tmp_path / "again.jsonl")
    before, after = (
        sorted(re.sub(r', "seq": \d+', "", line) for line in (tmp_path / name).read_text().splitlines()[1:])
        for name in ("out.jsonl", "again.jsonl")
    )
    assert before == after  # but for places in a sequence, which have no gaps in a new store
    await memory.close()


async def test_receipts_of_what_was_forgotten_travel_along(tmp_path):
    memory = await consolidated()
    await memory.forget(user="alice", ids=["one"])
    (receipt,) = await memory.admin.receipts(user="alice")
    assert (receipt.turns, receipt.observations, "green tea" in repr(receipt)) == (1, 1, False)
    await memory.admin.export(tmp_path / "out.jsonl")
    async with AsyncMemoryScope(":memory:", settings={}) as other:
        for _ in range(2):
            await other.admin.import_(tmp_path / "out.jsonl")
        assert await other.admin.receipts(user="alice") == [receipt]
    await memory.close()


async def test_what_was_forgotten_since_a_backup_is_forgotten_again_by_the_tombstones_of_an_export(tmp_path):
    memory = await consolidated()
    await memory.admin.export(tmp_path / "older.jsonl")
    await memory.forget(user="alice", ids=["one"])
    await memory.admin.export(tmp_path / "newer.jsonl")
    async with AsyncMemoryScope(":memory:", settings={}) as restored:
        await restored.admin.import_(tmp_path / "older.jsonl")
        assert "one" in {record.key for record in await restored.list(user="alice", kinds=["turn"])}
        assert (await restored.admin.import_(tmp_path / "newer.jsonl"))["removed"] == 2  # the turn, and its fact
        left, right = [await one.list(user="alice") for one in (restored, memory)]
        assert [record.text for record in left] == [record.text for record in right]
        assert "removed" not in await restored.admin.import_(tmp_path / "newer.jsonl")
    await memory.close()


async def test_a_user_who_was_wholly_forgotten_stays_so_in_an_older_store(tmp_path):
    memory = await consolidated()
    await memory.admin.export(tmp_path / "older.jsonl")
    await memory.forget(user="alice", everything=True)
    await memory.admin.export(tmp_path / "newer.jsonl")
    async with AsyncMemoryScope(":memory:", settings={}) as other:
        await other.admin.import_(tmp_path / "newer.jsonl")
        await other.admin.import_(tmp_path / "older.jsonl")
        assert await other.list(user="alice") == []
        assert await other.admin.receipts(user="alice") == await memory.admin.receipts(user="alice") != []
    await memory.close()


async def test_what_ends_on_a_day_of_its_own_does_so_again_where_its_successor_is_forgotten_after_an_import(tmp_path):
    old, closing = observation("old", "a", valid_to=at(77)), Supersession("old", "new", at(5), at(4), at(3))
    async with AsyncMemoryScope(":memory:", settings={}) as memory, AsyncMemoryScope(":memory:", settings={}) as other:
        store = memory.admin.runtime.services.store
        await store.append("alice", inserts("a", "b"))
        await store.apply("alice", ChangeSet(new=(old,)))
        await store.apply("alice", ChangeSet(new=(observation("new", "b"),), closed=(closing,)))
        await memory.admin.export(tmp_path / "out.jsonl")
        await other.admin.import_(tmp_path / "out.jsonl")
        assert (await other.get("old", user="alice")).valid_to == at(3)
        await other.forget(user="alice", ids=["new"])
        assert await other.get("old", user="alice") == old
