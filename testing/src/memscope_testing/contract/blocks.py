"""Blocks of core memory: versions, compare-and-swap, isolation, forgetting, moving."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from memscope.errors import Conflict, InputError, LimitError
from memscope.records import Block, Scope, Select
from memscope.stores import Store
from memscope.stores.memory import InMemoryStore
from memscope.transfer import copy, jsonl
from memscope.validation import Limits
from memscope_testing.contract import Chapter
from memscope_testing.records import block, inserts, observation, remember

WRITERS, EDITS = 8, 5
STRANGER_COUNT, CONCURRENT_EDITS = 250, 4


class Blocks(Chapter):
    async def test_a_version_follows_the_one_before(self, store: Store) -> None:
        first, second = (
            block("human", "Alice"),
            block("human", "Lives in Berlin.", version=2, reason="said so"),
        )
        await store.put_blocks("alice", [first])
        await store.put_blocks("alice", [second])
        assert await store.blocks("alice") == [second]
        assert await store.blocks("alice", versions=True) == [first, second]
        for wrong in (first, second, block("human", "x", version=4), block("persona", "x", version=2)):
            with pytest.raises(Conflict):
                await store.put_blocks("alice", [wrong])
        assert await store.blocks("alice", versions=True) == [first, second]

    async def test_several_are_written_all_or_none(self, store: Store) -> None:
        await store.put_blocks("alice", [block("persona"), block("human"), block("human", "Alice", version=2)])
        with pytest.raises(Conflict):
            await store.put_blocks("alice", [block("persona", "kind", version=2), block("human", "Bob", version=2)])
        assert [(block.label, block.value) for block in await store.blocks("alice")] == [
            ("human", "Alice"),
            ("persona", ""),
        ]

    async def test_a_value_above_the_limit_is_refused_before_anything_is_written(self, store: Store) -> None:
        await store.put_blocks("alice", [block("human", "12345", limit=5)])
        with pytest.raises(LimitError) as raised:
            await store.put_blocks("alice", [block("human", "123456", limit=5, version=2)])
        assert (raised.value.limit, raised.value.got) == (5, 6)
        assert (await store.blocks("alice"))[0].value == "12345"

    async def test_every_character_is_kept(self, store: Store) -> None:
        value = "\ttab  \n\n  spaces \n爱丽丝住在柏林 🦊\r\n'\"</memory>"
        written = block("human", value, description="d\te", order=-3, read_only=True, author="model", sources=("t",))
        await store.put_blocks("alice", [written])
        store = await self.reopen(store)
        assert await store.blocks("alice") == [written]

    async def test_agents_have_blocks_of_their_own(self, store: Store) -> None:
        mine = [block("human", "all"), block("human", "x", agent="x"), block("human", "y", agent="y")]
        await store.put_blocks("alice", mine)
        assert await store.blocks("alice") == mine

    async def test_a_user_with_blocks_only_is_a_user(self, store: Store) -> None:
        await store.put_blocks("alice", [block("human", "Alice"), block("persona", "kind")])
        assert await store.users() == ["alice"]
        assert (await store.stats()).users == 1
        assert (await store.stats("alice")).blocks == 2
        assert (await store.stats("bob")).blocks == 0

    async def test_writers_of_one_block_lose_nothing(self, store: Store) -> None:
        """Each concurrent edit is stored completely, or its writer gets ``Conflict``."""
        await store.put_blocks("alice", [block("human")])

        async def write(writer: int) -> list[str]:
            done = []
            for edit in range(EDITS):
                mark = f"{writer}-{edit}\n"
                while mark not in done:
                    (old,) = await store.blocks("alice")
                    try:
                        await store.put_blocks("alice", [_next(old, old.value + mark)])
                        done.append(mark)
                    except Conflict:
                        continue
            return done

        written = await asyncio.gather(*(write(writer) for writer in range(WRITERS)))
        (last,) = await store.blocks("alice")
        assert sorted(last.value.splitlines(keepends=True)) == sorted(mark for marks in written for mark in marks)
        assert last.version == 1 + WRITERS * EDITS
        values = [version.value for version in await store.blocks("alice", versions=True)]
        assert all(after.startswith(before) for before, after in pairwise(values))

    async def test_writers_of_two_blocks_do_not_hinder_each_other(self, store: Store) -> None:
        await store.put_blocks("alice", [block("human"), block("persona")])

        async def write(label: str) -> None:
            for version in range(2, 2 + EDITS):
                await store.put_blocks("alice", [block(label, str(version), version=version)])

        await asyncio.gather(write("human"), write("persona"))
        assert [current.version for current in await store.blocks("alice")] == [1 + EDITS, 1 + EDITS]

    async def test_a_thousand_foreign_attempts(self, store: Store) -> None:
        mine = [block("human", "canary"), block("human", "canary", agent="x")]
        await store.put_blocks("alice", mine)

        async def attempt(stranger: str) -> None:
            assert await store.blocks(stranger, versions=True) == []
            with pytest.raises(InputError):
                await store.put_blocks(stranger, [_next(mine[0], "taken")])
            with pytest.raises(Conflict):
                await store.put_blocks(stranger, [replace(_next(mine[1], "taken"), scope=Scope(stranger, "x"))])
            assert (await store.forget(Select(stranger))).blocks == 0

        strangers = [f"alice{n}" for n in range(STRANGER_COUNT)]
        for start in range(0, STRANGER_COUNT, 10):
            await asyncio.gather(*map(attempt, strangers[start : start + 10]))
        assert STRANGER_COUNT * CONCURRENT_EDITS == 1000
        assert await store.blocks("alice", versions=True) == mine

    # ---- forgetting

    async def test_everything_of_a_user_includes_the_blocks(self, store: Store) -> None:
        for user in ("alice", "bob"):
            await store.put_blocks(user, [block("human", "x", user=user), block("human", "y", user=user, version=2)])
        assert (await store.forget(Select("alice"), dry_run=True)).blocks == 1
        report = await store.forget(Select("alice"))
        assert (report.blocks, report.physical in ("wiped", "pending")) == (1, True)
        assert await store.blocks("alice", versions=True) == []
        assert await store.users() == ["bob"]
        await store.put_blocks("alice", [block("human", "anew")])

    async def test_everything_of_an_agent_leaves_the_shared_ones(self, store: Store) -> None:
        shared, of_agent = block("human", "all"), block("human", "x", agent="x")
        await store.put_blocks("alice", [shared, of_agent])
        await store.append("alice", inserts("a", agent="x"))
        await store.forget(Select("alice", "x", ids=frozenset({"a"})))
        assert await store.blocks("alice") == [shared, of_agent]
        await store.forget(Select("alice", "x"))
        assert await store.blocks("alice") == [shared]

    async def test_everything_of_an_agent_takes_its_lines_from_the_shared_ones(self, store: Store) -> None:
        await store.append("alice", [*inserts("a", agent="x"), *inserts("b", agent="y")])
        await remember(store, observation("o", "a", agent="x"))
        await store.put_blocks("alice", [
            block("human", "Likes tea.", author="backend", sources=("b",)),
            block("human", "Likes tea.\nLives in Berlin.", author="backend", sources=("o",), version=2),
            block("human", "x", agent="x"),
        ])  # fmt: skip
        assert (await store.forget(Select("alice", "x"))).blocks == 2
        assert [version.value for version in await store.blocks("alice", versions=True)] == ["Likes tea."] * 3

    async def test_one_block_goes_with_its_history_and_nothing_else(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        others = [block("human", "x", agent="x"), block("persona", "kind")]
        await store.put_blocks("alice", [block("human", "one"), block("human", "two", version=2), *others])
        assert (await store.forget(Select("alice", block="human"), dry_run=True)).blocks == 1
        report = await store.forget(Select("alice", block="human"))
        assert (report.blocks, report.turns, report.physical in ("wiped", "pending")) == (1, 0, True)
        assert sorted(await store.blocks("alice", versions=True), key=lambda version: version.label) == others
        assert "a" in (await store.fetch("alice", ["a"])).records
        assert (await store.forget(Select("alice", block="human"))).blocks == 0
        with pytest.raises(Conflict):
            await store.put_blocks("alice", [block("human", "three", version=3)])
        await store.forget(Select("alice", "x", block="human"))
        assert await store.blocks("alice") == [block("persona", "kind")]

    async def test_lines_from_a_forgotten_source_go_from_the_history_too(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b"))
        await remember(store, observation("o", "a"), observation("p", "b"))
        texts = ["Likes tea.", "Likes tea.\nLives in Berlin.", "Likes tea.\nLives in Berlin, Mitte.\nHas a cat."]
        await store.put_blocks("alice", [
            block("human", texts[0], author="backend", sources=("p",)),
            block("human", texts[1], author="backend", sources=("o",), reason="Berlin", version=2),
            block("human", texts[2], version=3),
        ])  # fmt: skip
        report = await store.forget(Select("alice", ids=frozenset({"a"})))
        assert (report.blocks, report.may_hold) == (1, ("human",))
        history = await store.blocks("alice", versions=True)
        assert "Berlin" not in "".join(f"{version.value}{version.reason}" for version in history)
        (last,) = await store.blocks("alice")
        assert (last.value, last.version) == ("Likes tea.\nHas a cat.", 4)
        with pytest.raises(Conflict):
            await store.put_blocks("alice", [block("human", texts[2], version=4)])

    async def test_an_edit_from_a_forgotten_source_is_refused(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        await store.forget(Select("alice", ids=frozenset({"a"})))
        with pytest.raises(Conflict):
            await store.put_blocks("alice", [block("human", "x", author="backend", sources=("a",))])
        assert await store.blocks("alice") == []

    # ---- moving

    async def test_export_import_and_copy_keep_every_version(self, store: Store, tmp_path: Path) -> None:
        versions = [block("human", "one"), block("human", "two", version=2, author="model", reason="because")]
        await store.put_blocks("alice", [*versions, block("notes", "x", agent="x", read_only=True)])
        stored = await store.blocks("alice", versions=True)
        await jsonl.export(store, tmp_path / "all.jsonl", user=None, progress=None)
        read, copied = InMemoryStore(), InMemoryStore()
        for _ in range(2):
            await jsonl.import_(
                read, tmp_path / "all.jsonl", user=None, strict=True, progress=None, limits=Limits()
            )  # fmt: skip
            copy.check(await copy.copy(store, copied))
        assert await read.blocks("alice", versions=True) == stored
        assert await copied.blocks("alice", versions=True) == stored
        await store.forget(Select("alice"))
        copy.check(await copy.copy(read, store))
        assert await store.blocks("alice", versions=True) == stored


def _next(old: Block, value: str) -> Block:
    return replace(old, value=value, version=old.version + 1)
