"""A message about anything becomes one about the user if it names somebody of whom one of the best lines tells."""

import pytest

from memscope import AsyncMemoryScope

SAID = [
    "My neighbour Derek has the spare key.",
    "My brother Will moved to Leeds.",
    "女儿朵朵今年上小学一年级",
    "The kettle leaks a little.",
]


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("derek just rang he sounded a bit dirty", "spare key"),
        ("Derek says goldfish forget all within seconds", "spare key"),
        ("朵朵几年级", "一年级"),
    ],
)
async def test_a_message_that_names_somebody_known_needs_memory(
    memory: AsyncMemoryScope, message: str, line: str
) -> None:
    await memory.add_turns([{"role": "user", "content": text} for text in SAID], user="alice")
    assert line in await memory.context(message, user="alice")


@pytest.mark.parametrize("message", ["will goldfish forget all within seconds", "为什么花朵是红色的"])
async def test_another_word_of_the_same_letters_names_nobody(memory: AsyncMemoryScope, message: str) -> None:
    await memory.add_turns([{"role": "user", "content": text} for text in SAID], user="alice")
    assert not await memory.context(message, user="alice")
