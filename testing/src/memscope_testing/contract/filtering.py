"""Filters match the same records as a plain Python condition, in scans, searches and ``forget``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memscope.errors import InputError
from memscope.records import ChangeSet, Kind, Scope, Search, Select, TurnInsert
from memscope.records.filters import check
from memscope.stores import Store
from memscope.stores.rules import record_id
from memscope.text.terms import terms
from memscope_testing.contract import Chapter
from memscope_testing.contract.selecting import QUICK
from memscope_testing.records import fresh_user, get, ids, observation, remember, turn

LONG_VALUE = "x" * 100
keys = st.sampled_from(["a", "b", "a.b", "'; --", "ä", ""])
values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(-3, 3),
    st.sampled_from(
        [2**53, 2**53 + 1, 10**30, "", "x", "X", "é", "\U0010ffff", LONG_VALUE, f"{LONG_VALUE}y", "x' or 1=1"]
    ),
)
nested = st.dictionaries(keys, values, max_size=2)
objects = st.dictionaries(
    st.one_of(keys, st.just("$where")), st.one_of(values, st.lists(values, max_size=2), nested), max_size=4
)
paths = st.one_of(keys, st.sampled_from(["a.a", "b.a", "a.b.b", "b.a.b", "a.", "ä.ä"]))
single = st.dictionaries(st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]), values, min_size=1, max_size=2)
several = st.dictionaries(st.sampled_from(["$in", "$nin"]), st.lists(values, min_size=1, max_size=3), min_size=1)
exists = st.fixed_dictionaries({"$exists": st.booleans()})
operators = st.one_of(single, several, exists)
conditions = st.one_of(values, nested, operators, operators.map(lambda one: {"$not": one}))
leaves = st.dictionaries(paths, conditions, min_size=1, max_size=2)


def joined(filters: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(filters, min_size=1, max_size=3)
    negated = st.fixed_dictionaries({"$not": filters}, optional={"b": values})
    return st.one_of(negated, st.dictionaries(st.sampled_from(["$and", "$or"]), lists, min_size=1, max_size=2))


def is_valid(filter: dict[str, Any]) -> bool:
    try:
        check(filter)
    except InputError:
        return False
    return True


filters = st.recursive(leaves, joined, max_leaves=5).filter(is_valid)

# ---- the reference condition


def fits(filter: Mapping[str, Any], data: Mapping[str, Any]) -> bool:
    """Evaluate a filter without the core's functions."""
    for key, wanted in filter.items():
        if key == "$and":
            fit = all(fits(part, data) for part in wanted)
        elif key == "$or":
            fit = any(fits(part, data) for part in wanted)
        elif key == "$not":
            fit = not fits(wanted, data)
        else:
            fit = _meets(_at(data, key.split(".")), wanted)
        if not fit:
            return False
    return True


def _at(data: Mapping[str, Any], parts: list[str]) -> list[Any]:
    """Return the value at a path in a list, [] if there is none. The whole path may be one key, else shorter first."""
    if ".".join(parts) in data:
        return [data[".".join(parts)]]
    inner = [(data.get(".".join(parts[:n])), parts[n:]) for n in range(1, len(parts))]
    return next(
        (values for container, rest in inner if isinstance(container, dict) and (values := _at(container, rest))), []
    )


def _meets(have: list[Any], wanted: Any) -> bool:
    if not isinstance(wanted, dict) or not any(name.startswith("$") for name in wanted):
        wanted = {"$eq": wanted}
    return all(_compares(have, operator, value) for operator, value in wanted.items())


def _compares(have: list[Any], operator: str, wanted: Any) -> bool:
    if operator == "$not":
        return not _meets(have, wanted)
    if operator == "$exists":
        return bool(have) is bool(wanted)
    if operator in ("$eq", "$in"):
        return any(
            _form(value) == _form(other) for value in have for other in (wanted if operator == "$in" else [wanted])
        )
    if operator in ("$ne", "$nin"):
        return not _compares(have, {"$ne": "$eq", "$nin": "$in"}[operator], wanted)
    if not have or _form(have[0])[0] != _form(wanted)[0]:
        return False
    value = have[0]
    return bool(
        {"$gt": value > wanted, "$gte": value >= wanted, "$lt": value < wanted, "$lte": value <= wanted}[operator]
    )


def _form(value: Any) -> tuple[str, Any]:
    """Convert a value to a pair that is equal only for equal JSON values (1 is not True)."""
    if isinstance(value, bool) or value is None:
        return "literal", repr(value)
    if isinstance(value, dict):
        return "object", sorted((key, _form(item)) for key, item in value.items())
    if isinstance(value, list):
        return "list", list(map(_form, value))
    return ("text" if isinstance(value, str) else "number"), value


class Filtering(Chapter):
    @settings(QUICK, max_examples=60)
    @given(stored=st.lists(objects, min_size=1, max_size=6), filter=filters)
    async def test_filters_equal_a_plain_python_condition(
        self, store: Store, stored: list[dict[str, Any]], filter: dict[str, Any]
    ) -> None:
        user = fresh_user()
        turns = [turn(f"k{n}", f"zebra {n}", user=user, metadata=data) for n, data in enumerate(stored)]
        await store.append(user, [TurnInsert(turn) for turn in turns])
        wanted = [f"k{n}" for n, data in enumerate(stored) if fits(filter, data)]
        pool = await store.search(Search(Scope(user), tuple(terms("zebra")), filter=filter))
        searched = (await store.fetch(user, list(pool.handle))).records.values()
        assert sorted(record.text for record in searched) == [f"zebra {key[1:]}" for key in wanted]
        await remember(store, *(observation(f"o{n}", "k0", user=user, data=data) for n, data in enumerate(stored)))
        wanted += [f"o{n}" for n, data in enumerate(stored) if fits(filter, data)]
        assert await ids(store, user, filter=filter) == wanted
        assert [key.id for key in await store.keys(Select(user, filter=filter))] == wanted
        turns_only: frozenset[Kind] = frozenset({"turn"})
        report = await store.forget(Select(user, kinds=turns_only, filter=filter))
        assert report.turns == len([key for key in wanted if key.startswith("k")])
        assert await ids(store, user, kinds=turns_only) == [
            f"k{n}" for n in range(len(stored)) if f"k{n}" not in wanted
        ]

    async def test_filters_on_names_and_keywords_join_with_others(self, store: Store) -> None:
        await store.append("alice", [TurnInsert(turn("a", metadata={"n": 1}))])
        facts = [
            observation("o1", "a", about="Anna Schmidt", keywords=("food",), data={"n": 1}),
            observation("o2", "a", about="Annabel", keywords=("work",), data={"n": 1}),
            observation("o3", "a", about="Ben", data={"n": 2}),
        ]
        await remember(store, *facts)
        for filter, wanted in (
            ({"$or": [{"$about": "anna"}, {"$keyword": "Work"}]}, ["o1", "o2"]),
            ({"$or": [{"$about": "anna"}, {"n": 2}]}, ["o1", "o3"]),
            ({"$not": {"$about": "Anna"}, "n": {"$in": [1, 2]}}, ["a", "o2", "o3"]),
            ({"$and": [{"$about": "Ben"}, {"n": 1}]}, []),
        ):
            assert await ids(store, filter=filter) == wanted, filter

    async def test_a_statement_is_found_and_forgotten_with_its_memory(self, store: Store) -> None:
        """A statement has no data. If a negated condition matched it, ``forget`` would delete the memory too."""
        statement = turn("said", "a zebra was told", statement=True)
        change_set = ChangeSet(new=(observation("o", "said", text="a zebra was told", data={"keep": True}),))
        await store.append("alice", [TurnInsert(statement)], change_set)
        await store.append("alice", [TurnInsert(turn("t", "a zebra was seen"))])
        for _ in range(2):
            for filter, wanted in (
                ({"keep": True}, ["said"]),
                ({"keep": {"$ne": True}}, ["t"]),
                ({"$not": {"keep": True}}, ["t"]),
                ({"$not": {"far.keep": True}}, ["said", "t"]),
            ):
                pool = await store.search(Search(Scope("alice"), tuple(terms("zebra")), filter=filter))
                records = (await store.fetch("alice", list(pool.handle))).records.values()
                assert sorted(map(record_id, records)) == wanted, filter
            await store.searchable("alice")
        report = await store.forget(Select("alice", filter={"$not": {"keep": True}}))
        assert (report.turns, report.observations) == (1, 0)
        assert await ids(store) == ["said", "o"]

    async def test_a_search_with_a_filter_passes_over_any_number_of_others(self, store: Store) -> None:
        """Better matches that the filter excludes use up no places in the pool, however many there are."""
        others = [turn(f"o{n}", "zebra zebra", metadata={"kind": "other", "far": {"n": n}}) for n in range(400)]
        match = turn("k", "a zebra among many things", metadata={"kind": "wanted", "far": {"n": -1}})
        await store.append("alice", [TurnInsert(added) for added in (*others, match)])
        for filter in (
            {"kind": "wanted"},
            {"kind": {"$ne": "other"}},
            {"$not": {"kind": "other"}},
            {"$or": [{"kind": "wanted"}, {"kind": "missing"}]},
            {"far.n": {"$lt": 0}},
            {"kind": {"$nin": ["other"]}, "$not": {"far.n": {"$gte": 0}}},
        ):
            pool = await store.search(Search(Scope("alice"), tuple(terms("zebra")), filter=filter))
            records = (await store.fetch("alice", list(pool.handle))).records.values()
            assert [record.text for record in records] == [match.text], filter

    async def test_a_later_part_of_a_long_turn_is_found_with_a_filter(self, store: Store) -> None:
        match = turn("k", f"{'So many words were said. ' * 300} A zebra came by.", metadata={"n": 1, "far": {"n": 1}})
        other = turn("o", match.text, metadata={"n": 2})
        await store.append("alice", [TurnInsert(match), TurnInsert(other)])
        for _ in range(2):
            for filter in ({"n": 1}, {"far.n": 1}, {"n": {"$ne": 2}}):
                pool = await store.search(Search(Scope("alice"), tuple(terms("zebra")), filter=filter))
                assert [*(await store.fetch("alice", [*pool.handle])).records.values()] == [await get(store, "k")]
            await store.searchable("alice")
