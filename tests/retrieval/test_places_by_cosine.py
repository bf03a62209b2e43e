"""With an embedder, the user's statements that are nearest to a choice take the places kept for statements."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from memscope import AsyncMemoryScope
from memscope.records import VectorSpace

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
HIKES = tuple(
    f"{who} went on a long walk at the weekend." for who in ("Ana", "Bo", "Cy", "Dee", "Eli", "Fay", "Gus", "Hal")
)
TASTES = tuple(
    f"I love {thing}."
    for thing in ("jazz", "opera", "chess", "tulips", "velvet", "marble", "rugby", "poker", "origami", "ballet")
)


class Paths:
    """An embedder to which walks are alike, steep paths less so, and nothing else is."""

    languages = None
    space = VectorSpace("paths", 2)

    async def measure(self):
        return self.space

    async def embed(self, texts, *, deadline_s=None):
        return np.array([await self.embed_query(text) for text in texts], np.float32)

    async def embed_query(self, text, *, deadline_s=None):
        return np.array([1, 0] if "walk" in text else [0.6, 0.8] if "steep" in text else [0, 1], np.float32)


@pytest.mark.parametrize("at", [0, len(TASTES)])
async def test_the_nearest_of_many_statements_is_shown_for_a_choice(at: int) -> None:
    lines = [*TASTES[:at], "I hate steep paths.", *TASTES[at:], *HIKES]
    async with AsyncMemoryScope(":memory:", embedder=Paths(), clock=lambda: NOW) as memory:
        await memory.add_turns([{"role": "user", "content": text} for text in lines], user="alice")
        assert await memory.flush()
        assert "steep" in await memory.context("Where shall we walk this weekend?", user="alice")
