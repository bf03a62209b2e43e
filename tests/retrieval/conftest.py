"""A memory of one small story, and questions as the steps see them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from adapters.conftest import loops_stay_free  # noqa: F401
from memscope import AsyncMemoryScope
from memscope.languages import load_tables
from memscope.records import Scope
from memscope.retrieval import Query

NOW = datetime(2024, 6, 1, 12, tzinfo=UTC)
STORY = [
    ("Ada", "2024-03-04T09:00", "1", "Hey Ben! I adopted a dog, her name is Pixel."),
    ("Ben", "2024-03-04T09:01", "1", "Lovely! What breed is she?"),
    ("Ada", "2024-03-04T09:02", "1", "A border collie, two years old."),
    ("Ada", "2024-04-10T18:30", "2", "We moved to Lisbon, the flat has a garden."),
    ("Ben", "2024-04-10T18:31", "2", "I started a pottery class near the harbour."),
    ("Ben", "2024-05-20T08:15", "3", "The trip to Norway was cold but great."),
    ("小明", "2024-05-21T10:00", "4", "我上周末去了西湖，看了日落。"),
]


@pytest.fixture
async def memory() -> AsyncIterator[AsyncMemoryScope]:
    async with AsyncMemoryScope(":memory:", clock=lambda: NOW) as memory:
        await memory.add_turns(
            [
                {
                    "id": f"t{n}",
                    "role": "person",
                    "speaker": who,
                    "time": f"{time}+00:00",
                    "session": session,
                    "content": said,
                }
                for n, (who, time, session, said) in enumerate(STORY, 1)
            ],
            user="alice",
        )
        yield memory


@pytest.fixture
def question() -> Callable[..., Query]:
    load_tables()  # a retrieval has them read before its steps begin

    def make(query: str, **given: Any) -> Query:
        return Query(**{"text": query, "written": query, "scope": Scope("alice"), "now": NOW, **given})

    return make
