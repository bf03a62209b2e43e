"""An unexpected error in the background is logged by its type and place: its message may quote a conversation."""

from __future__ import annotations

import asyncio
import gc
import logging

from memscope import AsyncMemoryScope
from memscope.stores.memory import InMemoryStore
from memscope_testing.models import ScriptedChat

SAID = "the boat is green"


class Failing(InMemoryStore):
    def __init__(self):
        super().__init__()
        self.asked = asyncio.Event()

    async def claim(self, *args, **kwargs):
        self.asked.set()
        raise KeyError(SAID)


async def test_an_error_of_a_store_is_logged_without_its_message(caplog):
    caplog.set_level(logging.DEBUG)
    store = Failing()
    async with AsyncMemoryScope(store, settings={}, chat=ScriptedChat([])) as memory:
        await memory.admin.start()
        async with asyncio.timeout(60):
            await store.asked.wait()
        await memory.admin.stop()
    gc.collect()
    assert SAID not in caplog.text and "KeyError at test_background_errors.py" in caplog.text
