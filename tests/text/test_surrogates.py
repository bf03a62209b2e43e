"""Pieces of a text that are cut between the halves of a character."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memscope import AsyncMemoryScope
from memscope.text.surrogates import joined, whole_characters

HIGH, LOW = "\ud83d", "\ude00"


async def read(*pieces):
    async def come():
        for piece in pieces:
            yield piece

    return [piece async for piece in whole_characters(come())]


async def test_halves_of_a_character_are_joined():
    assert await read("Hi ", HIGH, LOW, "!") == ["Hi ", "😀", "!"]
    assert await read(f"Hi {HIGH}", f"{LOW}!") == ["Hi ", "😀!"]


async def test_a_half_alone_is_replaced_and_the_rest_stays():
    assert "".join(await read(f"a{HIGH}", "b", LOW, "c", HIGH)) == "a\ufffdb\ufffdc\ufffd"
    assert "".join(await read(HIGH, HIGH, LOW)) == "\ufffd😀"
    assert joined(f"{LOW}{HIGH}x") == "\ufffd\ufffdx"


@given(st.lists(st.text(st.sampled_from([HIGH, LOW, "a", "😀", "中", "\ufeff", "\0"]))))
async def test_any_pieces_are_the_whole_text_in_unicode(pieces):
    found = await read(*pieces)
    assert all(found) and "".join(found) == joined("".join(pieces))
    "".join(found).encode()


async def test_half_of_an_emoji_at_the_end_of_a_piece_is_joined_with_the_next_one():
    class Halves:
        name = "halves"

        async def chat(self, messages, *, schema=None, deadline_s=None):
            raise NotImplementedError

        async def stream(self, messages, *, deadline_s=None):
            for piece in ("Tea ", "\ud83c", "\udf75", "! \ud83d"):
                yield piece

    async with AsyncMemoryScope(":memory:", settings={}, chat=Halves()) as memory:
        assert [piece async for piece in memory.chat("Hi", user="alice")] == ["Tea ", "🍵", "! ", "\ufffd"]
        assert (await memory.list(user="alice"))[1].text == "Tea 🍵! \ufffd"
