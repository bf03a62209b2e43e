"""An answer that failed or was cancelled is not taken for a whole one when it is awaited again."""

from __future__ import annotations

import asyncio

import pytest

from memscope import AsyncMemoryScope
from memscope.errors import ClosedError, ModelTimeout
from memscope_testing.models import ScriptedChat
from talk import cancel_midway


class Halting(ScriptedChat):
    """Says one word, then waits for ``go``, and fails if it has an ``error``."""

    def __init__(self, error=None):
        super().__init__([])
        self.error, self.go = error, asyncio.Event()

    async def stream(self, messages, *, deadline_s=None):
        yield "one "
        if self.error:
            raise self.error
        await self.go.wait()
        yield "two"


async def test_an_answer_that_failed_fails_again():
    answer = AsyncMemoryScope(":memory:", chat=Halting(ModelTimeout("slow"))).chat("Count.", user="alice")
    for _ in range(2):
        with pytest.raises(ModelTimeout):
            await answer
    assert answer.text == "one "


async def test_an_answer_that_was_cancelled_says_that_it_was_stopped():
    answer = AsyncMemoryScope(":memory:", chat=Halting()).chat("Count.", user="alice")
    await cancel_midway(answer)
    with pytest.raises(ClosedError):
        await answer
    assert answer.text == "one "
