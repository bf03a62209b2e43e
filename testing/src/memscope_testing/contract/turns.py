"""Turns are stored at most once, verbatim, in order."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta, timezone

import pytest

from memscope.errors import ClosedError
from memscope.records import ChangeSet, Scope, Select, Turn, TurnInsert
from memscope.records.serialization import turn_key
from memscope.stores import Store
from memscope_testing.contract import Chapter
from memscope_testing.records import get, ids, inserts, observation, turn


class Turns(Chapter):
    async def test_a_turn_is_kept_as_it_is(self, store: Store) -> None:
        original = turn(
            "k",
            ' Grüße,\n\tUser said "NO"; -- 我搬到柏林了 \u200b🏳️‍🌈\u202e\' ',
            agent="agent/1",
            session="s?",
            speaker="李雷",
            role="person",
            time=datetime(2024, 10, 27, 2, 30, 0, 1, tzinfo=timezone(timedelta(hours=5, minutes=45))),
            metadata={"a') or 1=1 --": [1, 2.5, None, {"lc": True}], "$where": "'", "ü": ""},
        )
        await store.append("alice", [TurnInsert(original)])
        stored = await get(store, "k")
        assert stored == Turn(**{name: getattr(original, name) for name in Turn.__slots__} | {"seq": stored.seq})
        assert stored.time.utcoffset() == original.time.utcoffset()

    async def test_extreme_times_are_kept(self, store: Store) -> None:
        times = [datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC), datetime(1969, 7, 20, tzinfo=UTC)]
        await store.append("alice", [TurnInsert(turn(f"k{n}", time=time)) for n, time in enumerate(times)])
        assert [(await get(store, f"k{n}")).time for n in range(3)] == times

    async def test_a_key_is_stored_once(self, store: Store) -> None:
        first = await store.append("alice", inserts("a", "b", "a"))
        assert first.keys == ("a", "b", "a")
        assert first.outcomes == ("stored", "stored", "duplicate")
        again = await store.append("alice", inserts("b", "c", text="other words"))
        assert again.outcomes == ("duplicate", "stored")
        assert (await get(store, "b")).text == "I moved to Berlin."
        assert await ids(store) == ["a", "b", "c"]

    async def test_nothing_is_a_fine_thing_to_append(self, store: Store) -> None:
        assert (await store.append("alice", [])).keys == ()
        assert await ids(store) == []
        assert await store.users() == []

    async def test_a_base_gets_the_first_free_key(self, store: Store) -> None:
        wanted = [turn_key(b"base", n) for n in range(7)]
        await store.append("alice", inserts(wanted[0], wanted[1]))
        appended = await store.append("alice", [TurnInsert(turn("-"), b"base") for _ in range(3)])
        assert appended.keys == tuple(wanted[2:5])
        assert set(appended.outcomes) == {"stored"}
        other = await store.append("alice", [TurnInsert(turn("-"), b"other")])
        assert other.keys == (turn_key(b"other", 0),)
        await store.forget(Select("alice", ids=frozenset({wanted[4]})))
        assert (await store.append("alice", [TurnInsert(turn("-"), b"base")])).keys == (wanted[5],)

    async def test_seq_is_the_place_in_the_memory(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b"))
        await store.append("alice", inserts("c"))
        seqs = [(await get(store, key)).seq for key in "abc"]
        assert seqs[0] == 1
        assert seqs == sorted(set(seqs))
        await store.forget(Select("alice", ids=frozenset({"c"})))
        await store.append("alice", inserts("d"))
        assert (await get(store, "d")).seq > seqs[2]

    async def test_the_clock_does_not_decide_the_order(self, store: Store) -> None:
        times = [datetime(2024, 5, day, tzinfo=UTC) for day in (3, 1, 2)]
        await store.append("alice", [TurnInsert(turn(f"k{n}", time=time)) for n, time in enumerate(times)])
        assert await ids(store) == ["k0", "k1", "k2"]

    async def test_concurrent_appends_of_the_same_turns_store_them_once(self, store: Store) -> None:
        calls = [inserts(*(f"k{n}" for n in range(10))) for _ in range(16)]
        results = await asyncio.gather(*(store.append("alice", turns) for turns in calls))
        assert sum(result.outcomes.count("stored") for result in results) == 10
        assert sorted(await ids(store)) == sorted(f"k{n}" for n in range(10))

    async def test_concurrent_users_do_not_mix(self, store: Store) -> None:
        async def one(user: str) -> None:
            for n in range(5):
                await store.append(user, [TurnInsert(turn(f"k{n}", f"words of {user}", user=user))])

        names = [f"user-{n}" for n in range(30)]
        await asyncio.gather(*map(one, names))
        assert await store.users() == sorted(names)
        for name in names:
            result = await store.fetch(name, [f"k{n}" for n in range(5)])
            assert {record.text for record in result.records.values()} == {f"words of {name}"}
            assert {record.scope for record in result.records.values()} == {Scope(name)}

    async def test_a_cancelled_append_is_whole_or_nothing(self, store: Store) -> None:
        async def one(n: int) -> None:
            await store.append("alice", inserts(*(f"{n}-{m}" for m in range(4))))

        tasks = [asyncio.create_task(one(n)) for n in range(40)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await store.append("alice", inserts("last"))
        stored = await ids(store)
        for n in range(40):
            assert sum(id.startswith(f"{n}-") for id in stored) in ((0, 4) if n % 2 == 0 else (4,))

    async def test_a_plan_is_written_with_its_turns(self, store: Store) -> None:
        statement = TurnInsert(turn("said", statement=True))
        await store.append("alice", [statement], ChangeSet(new=(observation("o", "said"),)))
        assert await ids(store) == ["said", "o"]
        assert (await store.fetch("alice", ["said"])).derived["said"][0].id == "o"

    async def test_turns_that_are_done_wait_for_nothing(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b", "c"), ChangeSet(done=("a", "c")))
        (claim,) = await store.claim("consolidate", 10, 60, user="alice")
        assert claim.items == ("b",)

    async def test_turns_that_are_here_already_wait_on(self, store: Store) -> None:
        """A stored turn stays pending even if an import marks it as done: a forget may have made it pending again."""
        await store.append("alice", inserts("a", "b"))
        again = await store.append("alice", inserts("a", "b", "c"), ChangeSet(done=("a", "b", "c")))
        assert again.outcomes == ("duplicate", "duplicate", "stored")
        assert await ids(store, pending="consolidate") == ["a", "b"]
        with_memory = ChangeSet(new=(observation("o", "c"),), done=("a", "d"))
        await store.append("alice", inserts("a", "d"), with_memory)
        assert await ids(store, pending="consolidate") == ["a", "b"]

    async def test_a_plan_says_which_turns_wait_no_more(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b"))
        await store.apply("alice", ChangeSet(done=("a", "nobody")))
        assert await ids(store, pending="consolidate") == ["b"]
        (claim,) = await store.claim("consolidate", 10, 60, user="alice")
        assert claim.items == ("b",)

    async def test_a_restart_changes_nothing(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b"))
        secret = await store.secret()
        store = await self.reopen(store)
        assert await ids(store) == ["a", "b"]
        assert await store.secret() == secret
        assert (await store.append("alice", inserts("b"))).outcomes == ("duplicate",)

    async def test_the_secret_is_adopted_by_an_empty_store_only(self, store: Store) -> None:
        secret = await store.secret()
        assert len(secret) >= 16
        other = bytes(range(32))
        assert await store.adopt_secret(other)
        assert await store.secret() == other
        await store.append("alice", inserts("a"))
        assert not await store.adopt_secret(secret)
        assert await store.secret() == other

    async def test_opening_twice_is_harmless_and_closed_is_closed(self, store: Store) -> None:
        await store.open()
        await store.append("alice", inserts("a"))
        await store.close()
        await store.close()
        with pytest.raises(ClosedError):
            await store.append("alice", inserts("b"))
        with pytest.raises(ClosedError):
            await store.fetch("alice", ["a"])
