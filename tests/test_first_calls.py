"""The first call of each kind in a process: what it imports is imported beside the event loop and before a deadline."""

from __future__ import annotations

import asyncio
import subprocess
import sys

from servers.faults import FaultServer

PROGRAM = """
import asyncio, sys, threading, time
from memscope import AsyncMemoryScope

BACKEND = "anyio._backends._asyncio"  # imported by name, which no audit hook sees
SLOW = {"numpy": 2.0, "httpx2": 2.0, BACKEND: 2.0, "memscope.retrieval": 0.1, "memscope.consolidation": 0.1}  # seconds
on_loop = []

def watch(event, details):
    if event == "import" and details[0] in SLOW:
        time.sleep(SLOW[details[0]])
        if threading.current_thread() is threading.main_thread() and asyncio._get_running_loop() is not None:
            on_loop.append(details[0])

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == BACKEND:
            watch("import", [name])

async def main(store, url):
    model = {"model": "m", "base_url": url, "key": "k"}
    settings = {"embedding": model | {"query_deadline_s": 1.8}, "chat": model}
    sys.addaudithook(watch)
    sys.meta_path.insert(0, Finder)
    async with AsyncMemoryScope(store, settings=settings) as memory:
        found = await memory.retrieve("Where does Alice live?", user="alice")
        assert not found.notes, found.notes
        await memory.consolidate(user="alice")
    print("on the loop:", on_loop)

asyncio.run(main(*sys.argv[1:]))
"""


async def test_a_slow_import_is_no_slow_model_and_holds_no_loop(tmp_path):
    with FaultServer() as server:
        command = [sys.executable, "-c", PROGRAM, str(tmp_path / "memory.db"), server.base_url]
        done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True)
    assert done.stdout == "on the loop: []\n", done.stderr
