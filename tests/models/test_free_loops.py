"""With models configured, nothing that a memory does on an event loop blocks it."""

from __future__ import annotations

from pathlib import Path

from blockbuster import BlockBuster

from memscope import AsyncMemoryScope

from servers.faults import FaultServer


async def test_nothing_blocks_the_event_loop(fault_server: FaultServer, tmp_path: Path) -> None:
    model = {"base_url": fault_server.base_url, "model": "m", "key": "k"}
    memory = AsyncMemoryScope(tmp_path / "memory.db", settings={"chat": model, "embedding": model})
    forbidden = BlockBuster("memscope")
    forbidden.activate()
    try:
        async with memory:
            await memory.add_turns([{"role": "user", "content": "I live in Berlin."}], user="alice")
            assert await memory.flush()
            assert (await memory.retrieve("Where do I live?", user="alice")).hits
            report = await memory.reflect(user="alice")
            assert (report.calls, dict(report.errors)) == (2, {"model_reply": 1})  # it writes no JSON, asked twice
            assert (await memory.admin.status())["embedding_error"] is None
    finally:
        forbidden.deactivate()
