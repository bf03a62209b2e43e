"""Moving memory: JSON lines, copies between stores, other systems' exports, damaged files."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import islice
from typing import TypeVar

Progress = Callable[[int, int | None], None]  # done, of how many if known
T = TypeVar("T")
PART = 200


async def in_parts(items: Iterator[T]) -> AsyncIterator[T]:
    """Yields items that are read and checked in a thread, a part at a time: an event loop may not wait for them."""
    while part := await asyncio.to_thread(lambda: list(islice(items, PART))):
        for item in part:
            yield item
