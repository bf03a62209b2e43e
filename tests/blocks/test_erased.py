"""An erased block does not come back with an older export or copy; one that is made again under its label stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from memscope import AsyncMemoryScope

SETTINGS: dict[str, object] = {}


async def filled(place: Path) -> AsyncMemoryScope:
    memory = AsyncMemoryScope(place, settings=SETTINGS)
    await memory.blocks("alice").append("human", "a line of human")
    await memory.blocks("alice").create("project", "a line of project")
    await memory.blocks("alice", agent="coder").create("human", "the coder's own")
    return memory


async def lines(memory: AsyncMemoryScope) -> list[str]:
    blocks = await memory.blocks("alice").list() + await memory.blocks("alice", agent="coder").list()
    return sorted({block.value for block in blocks if block.value})


async def test_an_older_export_does_not_bring_an_erased_block_back(tmp_path: Path) -> None:
    memory, export = await filled(tmp_path / "memory.db"), tmp_path / "old.jsonl"
    await memory.admin.export(export)
    await memory.blocks("alice").erase("human")
    assert "block" not in await memory.admin.import_(export)
    assert await lines(memory) == ["a line of project", "the coder's own"]

    await memory.blocks("alice").append("human", "new")
    await memory.admin.export(tmp_path / "new.jsonl")
    await memory.admin.import_(export)
    assert await lines(memory) == ["a line of project", "new", "the coder's own"]
    async with AsyncMemoryScope(tmp_path / "other.db", settings=SETTINGS) as other:
        await other.admin.import_(export)
        await other.admin.import_(tmp_path / "new.jsonl")  # has the tombstone, and the block that was made again
        assert await lines(other) == await lines(memory)
    await memory.close()


@pytest.mark.parametrize("agent", [None, "coder"])
async def test_nor_do_the_blocks_of_a_forgotten_user_or_agent(tmp_path: Path, agent: str | None) -> None:
    memory, export = await filled(tmp_path / "memory.db"), tmp_path / "old.jsonl"
    await memory.admin.export(export)
    await memory.forget(user="alice", agent=agent, everything=True, dry_run=True)
    assert len(await lines(memory)) == 3
    await memory.forget(user="alice", agent=agent, everything=True)
    await memory.admin.import_(export)
    assert await lines(memory) == ([] if agent is None else ["a line of human", "a line of project"])
    await memory.close()


async def test_a_copy_erases_there_what_was_erased_here(tmp_path: Path) -> None:
    memory = await filled(tmp_path / "memory.db")
    assert not (await memory.admin.copy(tmp_path / "copy.db")).unequal
    await memory.blocks("alice").erase("human")
    assert not (await memory.admin.copy(tmp_path / "copy.db")).unequal
    async with AsyncMemoryScope(tmp_path / "copy.db", settings=SETTINGS) as other:
        assert await lines(other) == ["a line of project", "the coder's own"]
    await memory.close()
