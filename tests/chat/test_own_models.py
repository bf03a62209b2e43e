"""Mistakes of a chat model of one's own, and of its caller: typed errors, and no turn that is lost."""

from __future__ import annotations

import pytest

from memscope import AsyncMemoryScope
from memscope.errors import ClosedError, ModelError
from memscope_testing.models import ScriptedChat


class Talker:
    """Says "one ", then fails."""

    name = "talker"

    async def chat(self, messages, *, schema=None, deadline_s=None):
        raise NotImplementedError

    async def stream(self, messages, *, deadline_s=None):
        yield "one "
        raise KeyError("choices")


def opened(chat):
    return AsyncMemoryScope(":memory:", settings={}, chat=chat)


async def test_an_error_of_ones_own_model_is_typed_and_keeps_its_cause():
    async with opened(Talker()) as memory:
        answer = memory.chat("Count.", user="alice")
        with pytest.raises(ModelError, match="chat model 'talker' failed: KeyError; ") as raised:
            await answer
        assert isinstance(raised.value.__cause__, KeyError) and "choices" not in str(raised.value)
        assert [(turn.role, turn.text) for turn in await memory.list(user="alice")] == [("user", "Count.")]


@pytest.mark.parametrize("stream", [lambda messages: None, lambda messages: iter(["one"])])
async def test_a_stream_that_is_none_is_an_error_of_the_model(stream):
    chat = Talker()
    chat.stream = stream
    async with opened(chat) as memory:
        with pytest.raises(ModelError, match="failed: TypeError"):
            await memory.chat("Count.", user="alice")


@pytest.mark.parametrize("made_before", [True, False])
async def test_a_closed_memory_answers_nothing(made_before):
    memory = opened(ScriptedChat(["Lost."]))
    answer = memory.chat("Count.", user="alice") if made_before else None
    await memory.close()
    with pytest.raises(ClosedError, match="make a new one"):
        await (answer or memory.chat("Count.", user="alice"))


async def test_a_stream_may_be_any_async_iterator():
    class Pieces:
        def __init__(self):
            self.left = ["two", "one "]

        def __aiter__(self):
            return self

        async def __anext__(self):
            if not self.left:
                raise StopAsyncIteration
            return self.left.pop()

    chat = Talker()
    chat.stream = lambda messages: Pieces()
    async with opened(chat) as memory:
        assert await memory.chat("Count.", user="alice") == "one two"
