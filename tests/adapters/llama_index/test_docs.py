"""The guide and the examples run as they are written."""

from __future__ import annotations

import asyncio
import gc
import threading
import warnings

from adapters.guide import BLOCK, ROOT, ExamplesSuite, execute, follow

from servers.faults import FaultServer

GUIDE = (ROOT / "docs" / "llama-index.md").read_text(encoding="utf-8")


async def test_the_guide(tmp_path, monkeypatch, capsys):
    """The page's whole code in order, the title's lines last; what it prints is what the guide says."""
    with FaultServer(script=[{"match": "", "reply": "Noted."}]) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("MEMSCOPE_STORE", str(tmp_path / "memory.db"))
        title, *blocks = [(kind, text) for kind, _, text in BLOCK.findall(GUIDE)]
        names: dict = {}
        await follow(blocks, names, capsys)
        await execute(title[1], names)
        assert str(names["reply"]) == "Noted."
        await names["block"].close()
    names.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # LlamaIndex's clients are never closed
        gc.collect()
    for thread in threading.enumerate():
        if "_connection_worker_thread" in thread.name:  # of aiosqlite: it calls this loop once more when it ends
            await asyncio.to_thread(thread.join, 1)


class TestExamples(ExamplesSuite):
    folder, remembering = "llama_index", "agent.py"

    def test_an_example_remembers_from_run_to_run(self, examples):
        path, question = "llama_index/agent.py", "What is my boat called?"
        assert examples.other().run(path, question)[-1] == "assistant: You have not told me."
        examples.run_alone(path, "My boat is called Aurora.")
        assert examples.run(path, question)[-1] == "assistant: It is called Aurora."
        assert examples.run(path, "--user", "bert", question)[-1].endswith("not told me.")
