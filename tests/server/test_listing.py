"""The cache of listings for later pages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memscope import AsyncMemoryScope
from memscope.records import ChangeSet, Insight, Scope, Sentence
from memscope_server import listing
from memscope_server.listing import Listings


@pytest.fixture
async def memory(tmp_path):
    async with AsyncMemoryScope(tmp_path / "memory.db", settings={}) as opened:
        for user in ("alice", "bob"):
            await opened.add_turns([{"role": "user", "content": f"Remark {one}."} for one in range(4)], user=user)
        yield opened


async def page(listings, memory, user, text=None, after=None):
    return await listings.page(memory, after, 2, user=user, agent=None, text=text)


async def test_many_listings_of_one_user_evict_none_of_another(memory):
    listings = Listings()
    first, own = await page(listings, memory, "bob"), await page(listings, memory, "alice")
    for number in range(50):
        await page(listings, memory, "alice", text=f"Remark {number}")
    assert (await page(listings, memory, "bob", after=first.next)).listing is first.listing
    assert (await page(listings, memory, "alice", after=own.next)).listing is not own.listing


async def test_cached_listings_are_bounded_by_their_keys(memory, monkeypatch):
    monkeypatch.setattr(listing, "MAX_CACHED_KEYS", 1500)
    listings = Listings()
    first, second = await page(listings, memory, "alice"), await page(listings, memory, "bob")
    assert (await page(listings, memory, "bob", after=second.next)).listing is second.listing
    assert (await page(listings, memory, "alice", after=first.next)).listing is not first.listing


@pytest.mark.parametrize("evicted", [False, True])
async def test_readers_of_one_list_repeat_and_skip_nothing_of_each_other(memory, monkeypatch, evicted):
    """Between the pages of one reader another reads the list anew, adds a turn and forgets the newest two."""
    listings, shown, after = Listings(), list[str](), None
    stays = [one.key for one in await memory.list(user="alice")][:2]
    while True:
        _, records, after = await page(listings, memory, "alice", after=after)
        shown += [one.key for one in records]
        if after is None:
            break
        await memory.forget(user="alice", ids=[one.key for one in (await memory.list(user="alice"))[-2:]])
        await memory.add_turns([{"role": "user", "content": f"New after {after}."}], user="alice")
        await page(Listings() if evicted else listings, memory, "alice")
        if evicted:
            listings = Listings()
    assert len(shown) == len(set(shown)) and set(stays) <= set(shown)


async def test_a_list_shows_nothing_that_has_expired(tmp_path):
    now = [datetime(2026, 3, 1, tzinfo=UTC)]
    async with AsyncMemoryScope(tmp_path / "memory.db", settings={}, clock=lambda: now[-1]) as memory:
        trip = await memory.add_memory("She is in Rome.", user="alice", expires=now[-1] + timedelta(days=1))
        tea = await memory.add_memory("She likes tea.", user="alice")
        parts = (Sentence(trip.text, (trip.id,)), Sentence(tea.text, (tea.id,)))
        life = Insight(
            id="life", text=f"life: {trip.text} {tea.text}", sources=(trip.id, tea.id), subject="life",
            scope=Scope("alice"), said=now[-1], recorded=now[-1], sentences=parts,
        )  # fmt: skip
        await memory.admin.runtime.services.store.apply("alice", ChangeSet(new=(life,)))
        now.append(now[-1] + timedelta(days=2))
        _, records, _ = await Listings().page(memory, None, 9, user="alice", agent=None, kinds=["insight"])
        assert [one.text for one in records] == ["life: She likes tea."]
