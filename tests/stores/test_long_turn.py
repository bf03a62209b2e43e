"""A turn of a megabyte, and the adds of other users beside it. Shares of CPU and the order of events: no times."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.measuring.stalls import counted

from memscope import AsyncMemoryScope
from memscope.records import Turn
from memscope.search import unit_processes
from memscope.search.units import Unit
from memscope.stores.sqlite import SQLiteStore

LONG = [
    pytest.param("On 5 May we met Ana in Lisbon, and her brother likes green tea. ", id="English"),
    pytest.param("五月五日我们在里斯本见到了安娜，她的哥哥喜欢绿茶。", id="Chinese"),
]
PATIENCE_S = 120.0  # of what would wait for ever


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def megabyte(sentence: str) -> list[dict[str, str]]:
    return said(sentence * (1_000_000 // len(sentence.encode())))


@pytest.mark.slow
async def test_another_user_is_answered_before_its_units_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, released = threading.Event(), threading.Event()

    def held(turn: Turn) -> Iterator[Unit]:
        begun.set()
        assert released.wait(PATIENCE_S)
        yield from made(turn)

    made = unit_processes.turn_units
    monkeypatch.setattr(unit_processes, "turn_units", held)
    async with AsyncMemoryScope(tmp_path / "memory.db") as memory:
        adding = asyncio.create_task(memory.add_turns(megabyte("I met Ana in Lisbon. "), user="bob"))
        try:
            assert await asyncio.to_thread(begun.wait, PATIENCE_S)
            async with asyncio.timeout(PATIENCE_S):
                assert (await memory.add_turns(said("I live in Berlin."), user="alice")).stored == 1
            assert not adding.done()
        finally:
            released.set()
        assert (await adding).stored == 1


@pytest.mark.slow
@pytest.mark.parametrize("sentence", LONG)
async def test_neither_the_event_loop_nor_the_file_is_held(tmp_path: Path, sentence: str) -> None:
    written: list[float] = []

    class Measured(SQLiteStore):
        async def _run(self, task: Callable[[sqlite3.Connection], Any], **how: bool) -> Any:
            def measured(db: sqlite3.Connection) -> Any:
                begin = time.thread_time()
                result = task(db)
                written.append(time.thread_time() - begin)
                return result

            return await super()._run(measured, **how)

    async with AsyncMemoryScope(Measured(tmp_path / "memory.db")) as memory:
        await memory.add_turns(said(sentence * 200), user="alice")  # tables are read, modules imported
        turns = megabyte(sentence)
        written.clear()
        begin = time.process_time()

        async def add() -> dict[str, int]:
            return {"stored": (await memory.add_turns(turns, user="bob")).stored}

        assert await counted(add()) == {"stored": 1, "stalls": 0}
        assert max(written) < (time.process_time() - begin) / 5
