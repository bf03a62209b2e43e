"""Long questions, mostly pasted text: what they ask is found, and they hold no event loop (CPU is counted, no time)."""

from __future__ import annotations

import asyncio
import gc
import random
import time
from pathlib import Path

import pytest
from benchmarks.measuring.stalls import counted, stall_s

from memscope import AsyncMemoryScope

QUERY_BYTES = 32 * 1024
ENGLISH = [f"word{number}" for number in range(3000)]
CHINESE = [chr(0x4E00 + number) for number in range(3000)]


@pytest.mark.parametrize(("words", "gap"), [(ENGLISH, " "), (CHINESE, "")], ids=["English", "Chinese"])
@pytest.mark.slow
async def test_a_question_of_32_kb_holds_no_loop(tmp_path: Path, words: list[str], gap: str) -> None:
    chance = random.Random(7)
    said = [gap.join(chance.choices(words, k=40)) for _ in range(1500)]
    question = gap.join(chance.choices(words, k=QUERY_BYTES)).encode()[:QUERY_BYTES].decode(errors="ignore")
    async with AsyncMemoryScope(tmp_path / "memory.db") as memory:
        await memory.add_turns([{"role": "user", "content": text} for text in said], user="alice")
        await memory.retrieve(said[0], user="alice")  # tables are read, modules imported

        async def ask() -> dict[str, int]:
            return {"hits": len((await memory.retrieve(question, user="alice")).hits)}

        assert await counted(ask()) == {"hits": 10, "stalls": 0}


async def test_what_counts_stalls_is_gone_when_they_are_counted() -> None:
    before = asyncio.Handle._run, list(gc.callbacks)

    async def hold() -> dict[str, str]:
        await asyncio.sleep(0.02)
        began = time.thread_time()
        while time.thread_time() - began < 1.5 * stall_s():
            pass
        await asyncio.sleep(0)
        return {}

    assert await counted(hold()) == {"stalls": 1}
    assert (asyncio.Handle._run, gc.callbacks) == before


@pytest.mark.parametrize("first", [True, False], ids=["question first", "question last"])
@pytest.mark.parametrize(
    ("said", "question", "pasted"),
    [
        (
            "My dentist is Dr. Okafor on Mill Road.",
            "Which dentist do I go to again?",
            "We shipped the release on time. ",
        ),
        ("我的牙医是磨坊路的奥卡福医生。", "我的牙医是哪一位？", "我们按时发布了新的版本。"),
    ],
    ids=["English", "Chinese"],
)
async def test_the_question_beside_pasted_text_is_answered(said: str, question: str, pasted: str, first: bool) -> None:
    release = pasted * 300
    async with AsyncMemoryScope(":memory:") as memory:
        others = [{"role": "user", "content": f"{pasted[:-2]} {number}."} for number in range(60)]
        await memory.add_turns([*others, {"role": "user", "content": said}], user="alice")
        asked = f"{question} {release}" if first else f"{release} {question}"
        assert (await memory.retrieve(asked, user="alice")).hits[0].text == said
