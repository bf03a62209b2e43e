"""A ``Select`` matches the same records as a plain Python condition, in the order they were stored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from memscope.errors import InputError
from memscope.records import (
    ChangeSet,
    Insight,
    Interval,
    Observation,
    Record,
    Revision,
    Select,
    Turn,
    TurnInsert,
    VectorSpace,
)
from memscope.records.filters import check
from memscope.stores import Store
from memscope.stores.rules import record_id, record_key
from memscope_testing.contract import Chapter
from memscope_testing.records import at, ids, inserts, insight, observation, remember, turn

QUICK = settings(
    max_examples=30,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors, HealthCheck.too_slow],
)


class Selecting(Chapter):
    async def test_a_scan_finds_what_is_selected(self, store: Store) -> None:
        await fill(store)
        for name, (select, condition) in selections().items():
            everything = [record async for page in store.scan(Select("alice")) for record in page]
            wanted = [record_id(record) for record in everything if condition(record)]
            scanned = [record_id(record) async for page in store.scan(select) for record in page]
            assert scanned == wanted, name
            assert 0 < len(wanted) < len(everything), name
            keyed = await store.keys(select)
            assert keyed == [
                record_key(key.number, record) for key, record in zip(keyed, filter(condition, everything), strict=True)
            ], name
            assert sorted(keyed) == keyed

    async def test_conditions_are_joined_by_and(self, store: Store) -> None:
        await fill(store)
        both = await ids(store, agent="x", session="one", text="BERLIN")
        in_session = await ids(store, session="one", text="berlin")
        assert both == [id for id in await ids(store, agent="x") if id in in_session]
        assert both

    async def test_a_memory_is_in_the_sessions_of_its_turns(self, store: Store) -> None:
        await store.append("alice", [*inserts("a", session="one"), *inserts("b", session="two"), *inserts("c")])
        await remember(store, observation("o1", "a"), observation("o2", "a", "b"), observation("o3", "c"))
        await remember(store, insight("i", "o3", "o2"))
        assert await ids(store, session="one") == ["a", "o1", "o2", "i"]
        assert await ids(store, session="two") == ["b", "o2", "i"]

    async def test_pending_selects_what_waits_for_a_stage(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b", "c"))
        (claim,) = await store.claim("consolidate", 1, 60, user="alice")
        assert await ids(store, pending="consolidate") == ["a", "b", "c"]
        await store.complete(claim, ChangeSet(new=(observation("o", "a"),), done=("a",)))
        assert await ids(store, pending="consolidate") == ["b", "c"]
        assert await ids(store, pending="reflect") == ["o"]

    async def test_no_record_waits_for_embed_whose_items_are_units(self, store: Store) -> None:
        await store.set_vector_space(VectorSpace("small", 4))
        await store.append("alice", inserts("a", "b"))
        assert (await store.stats("alice")).pending["embed"] == 2
        assert await ids(store, pending="embed") == []

    async def test_scan_pages_hold_many_records(self, store: Store) -> None:
        await store.append("alice", inserts(*(f"k{n}" for n in range(2100))))
        pages = [page async for page in store.scan(Select("alice"))]
        assert [record_id(record) for page in pages for record in page] == [f"k{n}" for n in range(2100)]
        assert all(0 < len(page) <= 1000 for page in pages)

    async def test_a_scan_survives_what_happens_meanwhile(self, store: Store) -> None:
        await store.append("alice", inserts(*(f"k{n}" for n in range(1200))))
        seen = []
        async for page in store.scan(Select("alice")):
            seen += [record_id(record) for record in page]
            await store.forget(Select("alice", ids=frozenset({"k1199", "k0"})))
            await asyncio.sleep(0)
        assert len(seen) == len(set(seen))
        assert set(seen) >= {f"k{n}" for n in range(1, 1199)}

    async def test_filters_do_not_take_a_quote_for_syntax(self, store: Store) -> None:
        odd = {"a') or 1=1 --": "x", 'we"ird': 'q"', "x.$.a": 1}
        await store.append("alice", [TurnInsert(turn("a", metadata=odd)), TurnInsert(turn("b"))])
        for key, value in odd.items():
            assert await ids(store, filter={key: value}) == ["a"]
        assert await ids(store, filter={"x' or '1'='1": "x"}) == []

    def test_unknown_operators_are_refused(self) -> None:
        for wrong in (
            {"$nor": [{"a": 1}]},
            {"a": {"$in": 1}},
            {"a": {"$gt": 1, "b": 2}},
            {"a": {"$gt": None}},
            {1: 2},
            "a = 1",
        ):
            with pytest.raises(InputError):
                check(wrong)  # type: ignore[arg-type]


async def fill(store: Store) -> None:
    """Store records of each kind that differ in every field that a ``Select`` compares."""
    shared: dict[str, Any] = {"session": "one", "metadata": {"n": 1}}
    turns = [
        turn("a", "To BERLIN, äh, yes.", agent="x", time=at(0), **shared),
        turn("b", "Nothing.", agent="x", session="two", time=at(60)),
        turn("c", "Berlin again", session="one", time=at(120), metadata={"n": 2}),
    ]
    await store.append("alice", [TurnInsert(turn) for turn in turns])
    happened = Interval(at(10_000), at(20_000))
    facts = [
        observation("o1", "a", agent="x", said=at(0), data={"n": 1}, expires=at(500)),
        observation("o2", "b", said=at(60), happened=happened, name="city", namespace="n"),
        observation("o3", "c", said=at(120), text="Straße", name="city", proposed=True),
        observation("o4", "a", "b", said=at(60), expires=at(1500)),
    ]
    await remember(store, *facts, insight("i", "o2", said=at(60), agent="x"))
    await store.apply("alice", ChangeSet(revised=(Revision(replace(facts[3], text="Berlin, revised"), 1),)))


def is_memory(condition: Callable[[Any], bool]) -> Callable[[Record], bool]:
    return lambda record: not isinstance(record, Turn) and condition(record)


def or_turn(condition: Callable[[Any], bool]) -> Callable[[Record], bool]:
    return lambda record: isinstance(record, Turn) or condition(record)


def extra(record: Record) -> Any:
    return record.metadata if isinstance(record, Turn) else record.data


def in_period(period: Interval) -> Callable[[Record], bool]:
    def condition(record: Record) -> bool:
        if isinstance(record, Turn):
            return record.time in period
        return record.said in period or (record.happened is not None and record.happened.overlaps(period))

    return condition


def selections() -> dict[str, tuple[Select, Callable[[Record], bool]]]:
    early, late = Interval(at(0), at(60)), Interval(at(15_000), at(16_000))
    conditions: dict[str, tuple[dict[str, Any], Callable[[Any], bool]]] = {
        "agent": ({"agent": "x"}, lambda record: record.scope.agent == "x"),
        "turns": ({"kinds": frozenset({"turn"})}, lambda record: isinstance(record, Turn)),
        "observations": ({"kinds": frozenset({"observation"})}, lambda record: isinstance(record, Observation)),
        "insights": ({"kinds": frozenset({"insight"})}, lambda record: isinstance(record, Insight)),
        "ids": ({"ids": frozenset({"a", "o2", "missing"})}, lambda record: record_id(record) in ("a", "o2")),
        "said": ({"period": early}, in_period(early)),
        "happened": ({"period": late}, in_period(late)),
        "text": ({"text": "bERLIN"}, lambda record: "berlin" in record.text.casefold()),
        "casefold": ({"text": "STRASSE"}, lambda record: record.text == "Straße"),
        "decomposed": ({"text": "A\u0308H"}, lambda record: "äh" in record.text),
        "filter": ({"filter": {"n": 1}}, lambda record: extra(record) == {"n": 1}),
        "name": ({"name": "city"}, is_memory(lambda memory: memory.name == "city")),
        "namespace": ({"namespace": "n"}, is_memory(lambda memory: memory.namespace == "n")),
        "current": ({"current": True}, or_turn(lambda memory: memory.current)),
        "expired": ({"expired_by": at(500)}, is_memory(lambda m: m.expires is not None and m.expires <= at(500))),
        "live": ({"live_at": at(500)}, or_turn(lambda m: m.expires is None or m.expires > at(500))),
    }
    return {name: (Select("alice", **fields), condition) for name, (fields, condition) in conditions.items()}
