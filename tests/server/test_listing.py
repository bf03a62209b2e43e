"""The cache of listings for later pages."""

from __future__ import annotations

import pytest

from memscope import AsyncMemoryScope
from memscope_server import listing
from memscope_server.listing import Listings


@pytest.fixture
async def memory(tmp_path):
    async with AsyncMemoryScope(tmp_path / "memory.db", settings={}) as opened:
        for user in ("alice", "bob"):
            await opened.add_turns([{"role": "user", "content": f"Remark {one}."} for one in range(4)], user=user)
        yield opened


async def page(listings, memory, user, text=None, offset=0):
    found = await listings.page(memory, offset, 2, user=user, agent=None, text=text)
    return found[0]


async def test_many_listings_of_one_user_evict_none_of_another(memory):
    listings = Listings()
    first, own = await page(listings, memory, "bob"), await page(listings, memory, "alice")
    for number in range(50):
        await page(listings, memory, "alice", text=f"Remark {number}")
    assert await page(listings, memory, "bob", offset=2) is first
    assert await page(listings, memory, "alice", offset=2) is not own


async def test_cached_listings_are_bounded_by_their_ids(memory, monkeypatch):
    monkeypatch.setattr(listing, "MAX_CACHED_IDS", 1500)
    listings = Listings()
    first, second = await page(listings, memory, "alice"), await page(listings, memory, "bob")
    assert await page(listings, memory, "bob", offset=2) is second
    assert await page(listings, memory, "alice", offset=2) is not first
