"""Records and change sets go to JSON and come back as they were; anything else is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memscope.errors import InputError
from memscope.records import ChangeSet, Insight, Interval, Observation, Quote, Revision, Scope, Supersession, Turn
from memscope.records.serialization import (
    RECORD_FORMAT,
    change_set_from_json,
    change_set_to_json,
    from_json,
    to_json,
    turn_key,
)
from memscope_testing.records import at, insight, observation, turn

zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
times = st.datetimes(timezones=zones)
names = st.none() | st.text(min_size=1)
scopes = st.builds(Scope, st.text(min_size=1), names, names)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=6)
objects = st.dictionaries(st.text(), values, max_size=3)
intervals = st.builds(Interval, times, times)
roles = st.sampled_from(["user", "assistant", "system", "tool", "person"])
turns = st.builds(
    Turn, st.text(), scopes, roles, st.text(), st.text(), times, times, objects, st.booleans(), st.integers()
)
shared: dict[str, Any] = {
    "scope": scopes, "sources": st.lists(st.text()).map(tuple), "said": times, "recorded": times, "data": objects,
    "happened": st.none() | intervals, "closed": st.none() | times, "expires": st.none() | times, "name": names,
    "version": st.integers(), "proposed": st.booleans(), "superseded_by": names,
}  # fmt: skip
quotes = st.lists(st.builds(Quote, st.text(), st.text())).map(tuple)
memories = st.one_of(
    st.builds(Observation, **shared, quotes=quotes, fiction=st.booleans(), level=st.integers(0, 3)),
    st.builds(Insight, **shared),
)


@given(turns | memories)
def test_a_record_comes_back(record: Turn | Observation | Insight) -> None:
    text = json.dumps(to_json(record), ensure_ascii=False, allow_nan=False)
    back = from_json(json.loads(text))
    assert back == record
    assert type(back) is type(record)
    when = record.time if isinstance(record, Turn) else record.said
    assert (back.time if isinstance(back, Turn) else back.said).utcoffset() == when.utcoffset()


@given(st.lists(memories, max_size=3), st.lists(st.text(), max_size=3), objects)
def test_a_plan_comes_back(new: list[Any], done: list[str], report: dict[str, Any]) -> None:
    closed = (Supersession("a", None, at(1), at(2)), Supersession("b", "c", at(1), at(2), at(3)))
    revised = tuple(Revision(memory, memory.version) for memory in new)
    vectors = {"7": (0.5, -1.25, 3.0)}
    change_set = ChangeSet(tuple(new), closed, revised, tuple(done), vectors, report)
    assert change_set_from_json(json.loads(json.dumps(change_set_to_json(change_set)))) == change_set


def test_what_is_at_its_default_is_left_out() -> None:
    assert "statement" not in to_json(turn())
    assert not {"closed", "data", "fiction"} & to_json(observation("o", "a")).keys()


WRONG: dict[str, Any] = {
    "kind": "secret", "key": 5, "scope": ["alice"] * 9, "role": "root", "text": None, "time": "2024-03-01T10:00:00",
    "recorded": "yesterday", "metadata": ["x"], "statement": 1, "seq": "1", "colour": "red",
}  # fmt: skip


@pytest.mark.parametrize("field", WRONG)
def test_what_is_no_record_is_refused(field: str) -> None:
    with pytest.raises(InputError):
        from_json({**to_json(turn(statement=True)), field: WRONG[field]})


@pytest.mark.parametrize("field", ["key", "scope", "text", "time", "recorded"])
def test_a_record_that_lacks_a_field_is_refused(field: str) -> None:
    made = to_json(turn())
    del made[field]
    with pytest.raises(InputError):
        from_json(made)


@pytest.mark.parametrize(
    "change", [{"format": RECORD_FORMAT + 1}, {"new": [{"kind": "turn"}]}, {"closed": [1]}, {"done": 5}]
)
def test_what_is_no_plan_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        change_set_from_json({**change_set_to_json(ChangeSet(new=(insight("i", "o"),))), **change})


def test_a_key_tells_base_and_number_apart() -> None:
    keys = {turn_key(base, n) for base in (b"a", b"b") for n in range(300)}
    assert len(keys) == 600
    assert all(len(key) == 32 for key in keys)


def test_reserved_words_of_others_are_only_data() -> None:
    odd = replace(turn(), metadata={"lc": 1, "type": "constructor", "__class__": "os.system", "kind": "insight"})
    assert from_json(json.loads(json.dumps(to_json(odd)))) == odd
    assert odd.time.tzinfo is UTC
