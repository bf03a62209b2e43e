"""The units of an index, and the search that finds stored records."""

from __future__ import annotations

import asyncio
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memscope.records import ChangeSet, Scope, Search, Select, Supersession, TurnInsert
from memscope.search.local import LocalSearch
from memscope.search.units import UNIT_COLUMNS, UNIT_STRUCT
from memscope.stores import Store
from memscope.text.terms import terms
from memscope_testing.contract import Chapter
from memscope_testing.contract.selecting import QUICK
from memscope_testing.records import at, fresh_user, get, ids, inserts, insight, observation, remember, turn

HEADER_TERMS, BODY_TERMS = ([name for name, _ in UNIT_COLUMNS].index(name) for name in ("n_header", "n_terms"))


async def found(store: Store, query: str, user: str = "alice", **conditions: object) -> set[str]:
    """Return the texts of the turns and insights in the pool for a query."""
    search = Search(Scope(user), tuple(dict.fromkeys(terms(query))), **conditions)  # type: ignore[arg-type]
    pool = await store.search(search)
    return {record.text for record in (await store.fetch(user, list(pool.handle))).records.values()}


class Searching(Chapter):
    async def test_a_turn_is_found_when_append_returns(self, store: Store) -> None:
        for n in range(5):
            await store.append("alice", [TurnInsert(turn(f"k{n}", f"the zebra number {n} of Köln"))])
            assert f"the zebra number {n} of Köln" in await found(store, "zebras")

    @QUICK
    @given(text=st.text(min_size=1, max_size=200))
    async def test_any_text_is_kept_and_found(self, store: Store, text: str) -> None:
        text, user = text.replace("\0", "\ufffd"), fresh_user()
        await store.append(user, [TurnInsert(turn("k", text, user=user)), TurnInsert(turn("other", "zzz", user=user))])
        assert (await get(store, "k", user)).text == text
        if terms(text):
            assert text in await found(store, text, user)

    async def test_an_observation_lends_its_words_to_its_turn(self, store: Store) -> None:
        await store.append("alice", [TurnInsert(turn("a", "Yes, last May.")), TurnInsert(turn("b", "Nothing at all."))])
        await remember(store, observation("o", "a", text="Alice emigrated"))
        pool = await store.search(Search(Scope("alice"), tuple(terms("emigrated"))))
        handles = [handle for handle, attributed in zip(pool.handle, pool.attributed, strict=True) if attributed]
        assert [r.text for r in (await store.fetch("alice", handles)).records.values()] == ["Yes, last May."]
        await store.apply("alice", ChangeSet(closed=(Supersession("o", None, at(1), at(1)),)))
        pool = await store.search(Search(Scope("alice"), tuple(terms("emigrated"))))
        assert not pool.attributed.any()

    async def test_insights_are_found(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        await remember(store, observation("o", "a"), insight("i", "o", text="wanderlust above all"))
        assert "wanderlust above all" in await found(store, "wanderlust")

    async def test_excluded_turns_are_left_out(self, store: Store) -> None:
        await store.append("alice", [TurnInsert(turn("a", "zebra one")), TurnInsert(turn("b", "zebra two"))])
        assert await found(store, "zebra", exclude=frozenset({"a"})) == {"zebra two"}

    async def test_only_what_has_the_required_terms_is_found_and_all_is_counted(self, store: Store) -> None:
        texts = {"a": "Liam moved to Oslo", "b": "Liam likes tea", "c": "Olga moved to Oslo", "d": "No, that was later"}
        await store.append("alice", [TurnInsert(turn(key, text)) for key, text in texts.items()])
        await remember(
            store,
            observation("o", "d", text="Liam left Oslo"),
            observation("p", "a", "d", text="It went well"),
            observation("q", "d", text="Olga sings"),
        )
        await store.apply("alice", ChangeSet(closed=(Supersession("q", None, at(1), at(1)),)))
        query = "Liam Olga Oslo tea sings"
        required = (tuple(terms("Liam Oslo")), tuple(terms("tea")), tuple(terms("sings")))
        for searchable in (False, True):
            assert await found(store, query, required=required) == {texts["a"], texts["b"], texts["d"]}
            pool = await store.search(Search(Scope("alice"), tuple(terms(query)), required=required))
            if searchable:  # until then a server may report an older count
                assert pool.units == 4
                assert (pool.document_frequency > 0).tolist() == [True, True, True, True, False]
            fetched = await store.fetch("alice", [*pool.handle])
            if brought := pool.brought:
                assert all(brought.derived.get(handle) == fetched.derived.get(handle) for handle in brought.records)
            await store.searchable("alice")

    async def test_a_unit_with_an_instance_of_the_class_asked_for_is_found(self, store: Store) -> None:
        texts = {"a": "The leeks are in", "b": "No, that was later", "c": "The fence is painted", "d": "Leeks again"}
        await store.append("alice", [TurnInsert(turn(key, text)) for key, text in texts.items()])
        await store.append("bob", [TurnInsert(turn("e", "My leeks froze", user="bob"))])
        await remember(store, observation("o", "b", text="Alice planted beetroot"))
        await store.forget(Select("alice", ids=frozenset({"d"})))
        for _searchable in (False, True):
            asked = await found(store, "vegetables", instances=tuple(terms("leek beetroot")))
            assert asked == {texts["a"], texts["b"]}
            await store.searchable("alice")

    async def test_hundreds_of_terms_are_searched_at_once(self, store: Store) -> None:
        await store.append("alice", [TurnInsert(turn("a", "zebra one")), TurnInsert(turn("b", "koala two"))])
        for searchable in (False, True):
            asked = tuple(terms(" ".join(f"word{number}" for number in range(799)) + " zebra"))
            pool = await store.search(Search(Scope("alice"), asked, k=1))
            if searchable:
                assert pool.document_frequency.tolist() == [0.0] * 799 + [1.0]
            await store.searchable("alice")

    async def test_searching_a_user_without_memory(self, store: Store) -> None:
        assert await found(store, "anything", "nobody") == set()

    async def test_searches_while_others_write(self, store: Store) -> None:
        async def write(n: int) -> None:
            await store.append("alice", [TurnInsert(turn(f"k{n}", f"zebra {n}"))])

        async def read(n: int) -> set[str]:
            return await found(store, "zebra")

        await asyncio.gather(*(work(n) for n in range(30) for work in (write, read)))
        assert await found(store, "zebra") == {f"zebra {n}" for n in range(30)}

    async def test_changes_tell_what_is_new_and_what_is_gone(self, store: Store) -> None:
        local = as_local(store)
        assert (await local.changes("alice", 0)).columns == b""
        await store.append("alice", inserts("a", "b"))
        first = await local.changes("alice", 0)
        assert (len(units(first.columns)), list(first.gone)) == (2, [])
        same = await local.changes("alice", first.revision)
        assert (same.revision, same.columns, same.terms, len(same.gone)) == (first.revision, b"", b"", 0)
        await remember(store, observation("o", "a"))
        second = await local.changes("alice", first.revision)
        (unit,) = units(second.columns)
        assert second.revision > first.revision
        await store.forget(Select("alice", ids=frozenset({"a"})))
        third = await local.changes("alice", second.revision)
        assert third.columns == b""
        assert set(map(int, third.gone)) == {units(first.columns)[0], unit}

    async def test_a_changed_memory_has_new_units(self, store: Store) -> None:
        local = as_local(store)
        await store.append("alice", inserts("a"))
        await remember(store, observation("o", "a"), observation("p", "a"))
        before = await local.changes("alice", 0)
        await store.apply("alice", ChangeSet(closed=(Supersession("o", "p", at(1), at(1)),)))
        after = await local.changes("alice", before.revision)
        old, new = units(before.columns), units(after.columns)
        assert list(map(int, after.gone)) == [old[1]]
        assert len(new) == 1
        assert min(new) > max(old)

    async def test_units_come_by_rising_seq_with_all_their_terms(self, store: Store) -> None:
        local = as_local(store)
        await store.append("alice", [TurnInsert(turn("long", "So many words. " * 300)), *inserts("b")])
        await remember(store, observation("o", "b"))
        changes = await local.changes("alice", 0)
        seqs = units(changes.columns)
        assert seqs == sorted(set(seqs))
        assert len(seqs) > 3
        columns = [
            UNIT_STRUCT.unpack_from(changes.columns, at) for at in range(0, len(changes.columns), UNIT_STRUCT.size)
        ]
        assert sum(row[HEADER_TERMS] + row[BODY_TERMS] for row in columns) * 4 == len(changes.terms)
        assert (await store.stats("alice")).units == len(seqs)

    async def test_numbers_are_handles_and_never_given_twice(self, store: Store) -> None:
        local = as_local(store)
        await store.append("alice", inserts("a", "b"))
        await remember(store, observation("o", "a"))
        first = [key[0] for key in await local.keys(Select("alice"))]
        assert len(set(first)) == 3
        records = (await store.fetch("alice", first)).records
        assert [record.text for record in records.values()] == [(await get(store, id)).text for id in await ids(store)]
        await store.forget(Select("alice"))
        await store.append("alice", inserts("c"))
        assert min([key[0] for key in await local.keys(Select("alice"))]) > max(first)

    async def test_searchable_returns(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        await store.searchable("alice")
        assert await found(store, "Berlin") == {"I moved to Berlin."}

    async def test_stats_count(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b"))
        await store.append("bob", inserts("a", user="bob"))
        await remember(store, observation("o", "a"), insight("i", "o"))
        mine, everybody = await store.stats("alice"), await store.stats()
        assert (mine.users, mine.turns, mine.observations, mine.insights) == (1, 2, 1, 1)
        assert (everybody.users, everybody.turns, everybody.observations, everybody.insights) == (2, 3, 1, 1)
        assert (mine.pending["consolidate"], mine.pending["reflect"], everybody.pending["consolidate"]) == (2, 1, 3)
        assert (await store.stats("nobody")).turns == 0


def as_local(store: Store) -> LocalSearch:
    if not isinstance(store, LocalSearch):
        pytest.skip("the store searches by itself")
    return store


def units(columns: bytes | bytearray) -> list[int]:
    """Read the sequence numbers of units from their columns."""
    return [struct.unpack_from("<q", columns, at)[0] for at in range(0, len(columns), UNIT_STRUCT.size)]
