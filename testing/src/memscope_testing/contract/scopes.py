"""Isolation of users: every call treats another user's id like an unknown id."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memscope.errors import Conflict, InputError, LeaseLost
from memscope.records import ChangeSet, Revision, Scope, Search, Select, Supersession, TurnInsert
from memscope.stores import Store
from memscope.text.terms import terms
from memscope_testing.contract import Chapter
from memscope_testing.contract.filtering import filters
from memscope_testing.contract.selecting import QUICK
from memscope_testing.records import fresh_user, get, ids, inserts, insight, observation, remember, turn

USERS = 20


class Scopes(Chapter):
    async def test_a_foreign_id_is_a_missing_one(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        await remember(store, observation("o", "a"), insight("i", "o"))
        await store.append("bob", inserts("b", user="bob"))
        for id in ("a", "o", "i", 1, 2, 3, "missing", "'; drop table", -1, 10**15):
            handles = [id] if isinstance(id, str) or id > 1 else []
            assert not (await store.fetch("bob", handles)).records
            assert not (await store.fetch("nobody", [id])).records
        assert (await store.forget(Select("bob", ids=frozenset({"a", "o", "i"})))).turns == 0
        assert await ids(store) == ["a", "o", "i"]

    async def test_nobody_changes_anothers_memories(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        await store.append("bob", inserts("b", user="bob"))
        mine = observation("o", "a")
        await remember(store, mine)
        closing = Supersession("o", None, mine.said, mine.said)
        assert await store.apply("bob", ChangeSet(closed=(closing,))) == 0
        with pytest.raises(Conflict):
            await store.apply("bob", ChangeSet(revised=(Revision(replace(mine, text="bob was here"), 1),)))
        await store.add_tombstones("bob", ["a", "o"])
        assert await get(store, "o") == mine
        assert await store.tombstones("alice") == []

    async def test_a_record_of_another_user_is_refused_with_the_whole_call(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        mine, foreign = observation("o", "a"), observation("p", "a", user="bob")
        await remember(store, mine)
        mixed = ChangeSet(new=(observation("q", "a"), foreign), closed=(Supersession("o", None, mine.said, mine.said),))
        with pytest.raises(InputError):
            await store.append("alice", [*inserts("b"), *inserts("c", user="bob")])
        with pytest.raises(InputError):
            await store.append("alice", inserts("a", user="bob"))
        with pytest.raises(InputError):
            await store.append("alice", inserts("b"), mixed)
        with pytest.raises(InputError):
            await store.apply("alice", mixed)
        with pytest.raises(Conflict):
            await store.apply("alice", ChangeSet(revised=(Revision(replace(mine, scope=Scope("bob")), 1),)))
        assert await ids(store) == ["a", "o"]
        assert await get(store, "o") == mine
        assert await store.users() == ["alice"]

    async def test_equal_keys_of_two_users_are_two(self, store: Store) -> None:
        for user in ("alice", "bob", "Alice", "alice%", "ali_e", "*"):
            assert (await store.append(user, inserts("k", user=user, text=user))).outcomes == ("stored",)
            await remember(store, observation("o", "k", user=user, text=user, name="n"))
        await store.forget(Select("alice"))
        for user in ("bob", "Alice", "alice%", "ali_e", "*"):
            assert (await get(store, "k", user)).text == user
            assert (await get(store, "o", user)).current
        assert await ids(store) == []

    async def test_a_claim_is_of_one_user(self, store: Store) -> None:
        for user in ("alice", "bob"):
            await store.append(user, inserts("k", user=user))
        (claim,) = await store.claim("consolidate", 10, 60, user="alice")
        with pytest.raises(LeaseLost):
            await store.complete(replace(claim, user="bob"), ChangeSet(done=("k",)))
        assert await ids(store, "bob", pending="consolidate") == ["k"]

    @settings(QUICK, max_examples=10)  # few, because the users of all examples accumulate in the store
    @given(data=st.data())
    async def test_twenty_scopes_never_meet(self, store: Store, data: st.DataObject) -> None:
        """Every result carries the canary of the querying scope."""
        users = [fresh_user() for _ in range(USERS)]
        agents = data.draw(st.lists(st.sampled_from(["x", "y", None]), min_size=3, max_size=3))
        words = data.draw(st.lists(st.sampled_from(["berlin", "tea", "搬家", "cat"]), min_size=1, max_size=3))
        metadata = data.draw(st.dictionaries(st.sampled_from(["a", "b"]), st.integers(0, 2)))
        await asyncio.gather(*(_fill(store, user, agents, words, metadata) for user in users))
        asker = data.draw(st.sampled_from(users))
        agent, filter = data.draw(st.sampled_from(["x", "y", None])), data.draw(st.none() | filters)
        results = [record async for page in store.scan(Select(asker, agent, filter=filter)) for record in page]
        text = data.draw(st.sampled_from([" ".join(words), "berlin 搬家", asker, "canary"]))
        question = Search(Scope(asker, agent), tuple(dict.fromkeys(terms(text))), filter=filter)
        pool = await store.search(question)
        records = (await store.fetch(asker, list(pool.handle))).records
        results += [record for record in records.values() if not results or record not in results]
        for record in results:
            assert record.scope.user == asker
            assert f"canary {asker}" in record.text
            assert agent in (None, record.scope.agent)


async def _fill(store: Store, user: str, agents: list[Any], words: list[str], metadata: dict[str, int]) -> None:
    text = f"canary {user} {' '.join(words)}"
    turns = [turn(f"k{n}", text, user=user, agent=agent, metadata=metadata) for n, agent in enumerate(agents)]
    facts = [observation(f"o{n}", f"k{n}", user=user, agent=agent, text=text) for n, agent in enumerate(agents)]
    await store.append(user, [TurnInsert(turn) for turn in turns], ChangeSet(new=tuple(facts)))
