"""An index that follows changes step by step equals one that is built at once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memscope.entities.graph import make_graph, reach
from memscope.entities.index import EntityIndex, EntityView
from memscope.entities.record_names import ReadRecords, read
from memscope.records import Insight, Observation, Record, Scope, Turn

T0 = datetime(2026, 6, 1, tzinfo=UTC)
NOW = T0 + timedelta(days=60)
SAID = [
    "My sister Kim moved to Lisbon.",
    "I met Anna Schmidt.",
    "Anna and Kim came.",
    "I met Anna Jones.",
    "Zorblax is here.",
    "We saw Zorblax in Lisbon.",
    "My sister called.",
    "My sister Eve called.",
    "Dr. Patel and Patel",
    "我妹妹小芳在上海。",
    "王小芳来了。",
    "I met Melanie.",
    "My friend Mel came.",
    "Nothing.",
]
FACTS = ["Kim lives in Lisbon.", "Anna works for Siemens.", "Rosa is 小芳.", "Nobody."]
VIEWS = [EntityView(*masks, NOW) for masks in
         ((None, None, None), ("a", None, None), (None, "s", None), (None, None, T0 + timedelta(days=20)))]  # fmt: skip


def turn(at: int) -> Turn:
    """A turn is never altered: all of it follows from its number."""
    time, role = T0 + timedelta(days=at * 7 % 40), "assistant" if at % 5 == 4 else "user"
    where = Scope("u", "ab"[at % 3 == 2], "s" if at % 4 else None)
    return Turn(key=f"t{at}", scope=where, role=role, speaker=role, text=SAID[at], time=time, recorded=time)


def memory(at: int, sources: tuple[str, ...], insight: bool, **more: Any) -> Observation | Insight:
    kind: Any = Insight if insight else Observation
    more |= {"subject": "Kim"} if insight else {"about": "Anna", "keywords": ("tea",)}
    said = T0 + timedelta(days=at)
    return kind(id=f"m{at}", scope=Scope("u", "a"), text=FACTS[at % 4], sources=sources, said=said,
                recorded=said, **more)  # fmt: skip


correction = st.tuples(st.sampled_from(["merge", "split", "dismiss"]), st.sampled_from(["Kim", "Anna"]),
                       st.sampled_from(["Anna Schmidt", "my sister", "Zorblax", "小芳"]))  # fmt: skip
step = st.one_of(
    st.builds(turn, st.integers(0, len(SAID) - 1)),
    st.builds(memory, st.integers(0, 5), st.sampled_from([("t0",), ("t1", "t2"), ("t3",)]), st.just(False),
              expires=st.sampled_from([None, NOW - timedelta(days=1), NOW + timedelta(days=1)])),
    st.builds(memory, st.integers(6, 8), st.sampled_from([("m0",), ("m1", "m2")]), st.just(True)),
    st.builds(memory, st.integers(9, 11), st.just(("gone",)), st.just(False), name=st.just("n"),
              namespace=st.just("memscope.entities"),
              data=correction.map(lambda one: dict(zip(("step", "name", "other"), one, strict=True)))),
    st.sampled_from([*(f"t{at}" for at in range(12)), *(f"m{at}" for at in range(12))]),
)  # fmt: skip


def state(index: EntityIndex) -> list[Any]:
    found = [(node.name, node.kind, node.aliases, sorted(index.turns[place].key for place in node.turns), node.facts,
              node.insights, index.neighbours(node)) for node in index.nodes]  # fmt: skip
    graph = make_graph(index, reach(index, range(len(index.nodes)), 1, 50))
    edges = sorted((*sorted((edge.source, edge.target)), edge.kind, edge.count, edge.id) for edge in graph.edges)
    return [sorted(found), edges, sorted(map(str, index.mentions(1000))), index.top(50, NOW)]


def add(record: Record, records: ReadRecords) -> set[str]:
    """A memory is stored only with its sources."""
    known = {*records.turns, *records.memories, "gone"}
    return set(read([record], records)) if isinstance(record, Turn) or known.issuperset(record.sources) else set()


def remove(id: str, records: ReadRecords) -> set[str]:
    """Remove a record and all that rests on it."""
    resting = [one.id for one in records.memories.values() if id in one.sources]
    records.turns.pop(id, None)
    records.memories.pop(id, None)
    return {id}.union(*(remove(one, records) for one in resting))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(step, max_size=6), max_size=6))
def test_step_by_step_equals_at_once(batches: list[list[Record | str]]):
    records = ReadRecords({}, {})
    following = [EntityIndex(view) for view in VIEWS]
    for batch in batches:
        changed = set[str]()
        for one in batch:
            changed |= remove(one, records) if isinstance(one, str) else add(one, records)
        for view, index in zip(VIEWS, following, strict=True):
            index.update(records, changed, NOW)
            fresh = EntityIndex(view)
            fresh.update(records, {*records.turns, *records.memories}, NOW)
            assert state(index) == state(fresh)
