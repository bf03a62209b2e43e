"""Input is taken whole or refused with a reason, and never changed on the way."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memscope import validation
from memscope.errors import InputError, LimitError, ScopeError
from memscope.records import AppendResult, Interval, Observation, Scope, Turn
from memscope.transfer.checks import check_record, zoned

NOW = datetime(2026, 11, 5, 12, tzinfo=UTC)
ALICE = Scope("alice", "helper", "s1")


def take(*given, **more):
    return validation.turns(list(given), ALICE, NOW, **more)


@pytest.mark.parametrize(
    "value", ["", None, 5, b"a", " a", "a ", "a\n", "a\u200bb", "a\0", "\ud83d", "\u202ea", "x" * 257]
)
def test_identifiers_that_are_refused(value):
    with pytest.raises(ScopeError):
        validation.scope(value)


@pytest.mark.parametrize(
    "value", ["../../etc", "CON", "a/b", "%2e", "alice@example.com", "王小明", "a b", "Jose\u0301"]
)
def test_identifiers_are_opaque(value):
    assert validation.scope(value).user == value


def test_composed_and_decomposed_names_stay_two_users():
    assert validation.scope("Jos\u00e9") != validation.scope("Jose\u0301")


def test_a_turn_keeps_its_words_speaker_and_metadata():
    (turn,) = take(
        {"role": "user", "content": " Ich  mag TEE\n", "name": "Anna", "metadata": {"a": [1, {"b": None}]}}
    ).turns
    assert (turn.text, turn.speaker, turn.role, turn.metadata) == (
        " Ich  mag TEE\n",
        "Anna",
        "user",
        {"a": [1, {"b": None}]},
    )
    assert turn.scope == ALICE and turn.time == NOW


@pytest.mark.parametrize("turns", ["hello", b"hello", {"role": "user", "content": "a"}, 5, None])
def test_a_single_turn_is_not_a_list_of_turns(turns):
    with pytest.raises(InputError, match="list of turns"):
        validation.turns(turns, ALICE, NOW)


@pytest.mark.parametrize(
    "turn",
    [
        {},
        {"content": "a"},
        {"role": "root", "content": "a"},
        {"role": "user"},
        {"role": "user", "content": 5},
        {"role": "user", "content": b"x"},
        {"role": "user", "content": "a", "time": date(2026, 1, 1)},
        {"role": "user", "content": "a", "time": "2024-02-30"},
        {"role": "user", "content": "a", "time": True},
        {"role": "user", "content": "a", "time": float("nan")},
        {"role": "user", "content": "a", "timestamp": -1e11},
        {"role": "user", "content": "a", "metadata": {"x": float("nan")}},
        {"role": "user", "content": "a", "metadata": {"x": {1, 2}}},
        {"role": "user", "content": "a", "metadata": {1: 2}},
        {"role": "user", "content": "a", "id": " "},
        {"role": "user", "content": "a", "speaker": "a\u200b"},
    ],
)
def test_one_bad_turn_refuses_the_call_and_is_named(turn):
    with pytest.raises(InputError, match=r"turns\[1\]"):
        take({"role": "user", "content": "secret words"}, turn)


def test_refusals_do_not_quote_the_conversation():
    with pytest.raises(InputError) as refused:
        take({"role": "root", "content": "secret words"})
    assert "secret" not in str(refused.value)


def test_typed_parts_keep_their_text_and_count_the_rest():
    parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {}}, "here", 5]
    taken = take({"role": "user", "content": parts})
    assert taken.turns[0].text == "look\nhere"
    assert taken.skipped_parts == 2


def test_messages_without_text_are_left_out_counted_and_keep_the_places_of_keys():
    said = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    silent = [
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": None, "text": None, "tool_calls": []},
        {"role": "assistant", "tool_calls": []},
        {"role": "user", "content": " \n"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {}}]},
    ]
    taken = take(said[0], *silent, said[1])
    assert [turn.text for turn in taken.turns] == ["a", "b"] and taken.timed == (False, False)
    report = taken.report(AppendResult(("k1", "k2"), ("stored", "duplicate")), range(2))
    assert (report.stored, report.duplicates, report.empty, report.skipped_parts) == (1, 1, 5, 1)
    assert report.keys == ("k1", "", "", "", "", "", "k2")


@pytest.mark.parametrize("content", [None, "", "\n", []])
def test_nothing_but_messages_without_text_is_refused(content):
    with pytest.raises(InputError, match="no text"):
        take({"role": "user", "content": content}, {"role": "assistant", "content": ""})
    assert take().turns == ()


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
        {"role": "assistant", "content": "", "function_call": {}},
        {"role": "user", "content": [{"type": "image_url", "image_url": {}}]},
    ],
)
def test_a_tool_call_or_a_picture_needs_no_text_even_alone(message):
    """An agent that adds each message as it comes must not fail at those without words."""
    taken = take(message)
    assert (taken.turns, taken.kept) == ((), (False,))
    with pytest.raises(InputError, match="the text is empty"):
        take({"role": "user", "content": []}, place="")


@pytest.mark.parametrize(
    "key", ["date", "ts", "timestamp_ms", "create_time", "sent_at", "when", "dateTime", "updatedAt"]
)
def test_a_time_under_another_name_is_not_dated_today(key):
    with pytest.raises(InputError, match=f"turns\\[0\\].*{key}") as refused:
        take({"role": "user", "content": "a", key: 1_700_000_000})
    assert "'time'" in refused.value.hint
    assert take({"role": "user", "content": "a", "time": NOW, key: "2026"}).timed == (True,)


@pytest.mark.parametrize("key", ["time", "timestamp", "created_at", "createdAt"])
def test_the_time_has_the_names_that_frameworks_give_it(key):
    taken = take({"role": "user", "content": "a", key: 1_700_000_000})
    assert taken.turns[0].time.timestamp() == 1_700_000_000 and taken.timed == (True,)


@pytest.mark.parametrize(
    ("key", "meant"),
    [("tiem", "time"), ("Time", "time"), ("timestmap", "timestamp"), ("sesion", "session"), ("session_id", "session"),
     ("sessionId", "session"), ("speeker", "speaker"), ("nmae", "name"), ("meta_data", "metadata"), ("ID", "id")],
)  # fmt: skip
def test_a_misspelt_key_is_named_with_the_one_that_was_meant(key, meant):
    with pytest.raises(InputError, match=f"turns\\[1\\].*'{key}'") as refused:
        take({"role": "user", "content": "fine"}, {"role": "user", "content": "a", key: "secret words"})
    assert repr(meant) in refused.value.hint and "secret" not in str(refused.value)
    assert take({"role": "user", "content": "a", key: None})


def test_a_turn_of_another_user_is_not_stored_for_the_user_of_the_call():
    with pytest.raises(InputError, match=r"turns\[1\] is of another user"):
        take({"role": "user", "content": "a", "user": "alice"}, {"role": "user", "content": "b", "user": "bob"})
    assert take({"role": "user", "content": "a", "user": {"id": 5}})


@pytest.mark.parametrize(("message", "meant"), [
    ({"rol": "user", "content": "a"}, "role"), ({"role": "user", "contnet": "a"}, "content"),
])  # fmt: skip
def test_a_misspelt_key_that_is_needed_is_named_too(message, meant):
    with pytest.raises(InputError, match="unknown key") as refused:
        take(message)
    assert repr(meant) in refused.value.hint


@pytest.mark.parametrize("message", [
    {"refusal": "no", "annotations": [1], "audio": {"id": "1"}, "tool_calls": [1], "function_call": {"a": 1}},
    {"tool_call_id": "1", "reasoning_content": "x", "status": "done", "type": "message", "phase": "final"},
    {"model": "m", "stop_reason": "end", "stop_sequence": "x", "usage": {"a": 1}, "cache_control": {"a": 1}},
    {"additional_kwargs": {"a": 1}, "response_metadata": {"a": 1}, "usage_metadata": {"a": 1}, "example": True},
    {"source": "user", "models_usage": {"a": 1}, "recipient": "all", "weight": 1.0, "end_turn": True, "author": "a"},
    {"parts": ["a"], "kind": "request", "instructions": "x", "run_id": "1", "blocks": ["a"], "index": 1, "_id": "1"},
    {"context": "x", "contents": "x", "uid": "1", "username": "a", "version": 1, 5: "x", "x" * 10_000: "x"},
])  # fmt: skip
def test_keys_of_frameworks_are_ignored(message):
    (turn,) = take({"role": "user", "content": "a", **message}).turns
    assert turn.text == "a"


@pytest.mark.parametrize("key", ["latitude", "runtime", "status", "update", "format", "station", "tools"])
def test_other_keys_are_no_times(key):
    assert take({"role": "user", "content": "a", key: 5, "date": None}).timed == (False,)


@pytest.mark.parametrize(("key", "value"), [("time", 1_700_000_000), ("timestamp", 1_700_000_000.0)])
def test_a_number_is_seconds_since_1970(key, value):
    (turn,) = take({"role": "user", "content": "a", key: value}, default_zone=validation.zone("Asia/Shanghai")).turns
    assert turn.time == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert turn.time.utcoffset() == timedelta(hours=8)


def test_milliseconds_are_refused_with_what_to_do():
    with pytest.raises(InputError, match="seconds since 1970") as refused:
        take({"role": "user", "content": "a", "timestamp": 1_700_000_000_000})
    assert "by 1000" in refused.value.hint


def test_what_no_store_can_keep_is_replaced_and_counted():
    taken = take({"role": "user", "content": "a\0b\ud83d"}, {"role": "user", "content": "fine 😀"})
    assert [turn.text for turn in taken.turns] == ["a\ufffdb\ufffd", "fine 😀"]
    assert taken.repaired == 1


def test_limits_name_both_numbers():
    with pytest.raises(LimitError) as refused:
        take({"role": "user", "content": "é" * 524_289})
    assert (refused.value.limit, refused.value.got) == (1_048_576, 1_048_578)
    assert "turns[0].content" in str(refused.value)
    with pytest.raises(LimitError, match="import_"):
        validation.turns([{"role": "user", "content": "a"}] * 10_001, ALICE, NOW)


def test_metadata_has_limits():
    with pytest.raises(LimitError):
        take({"role": "user", "content": "a", "metadata": {str(n): n for n in range(65)}})
    deep: dict = {}
    for _ in range(9):
        deep = {"x": deep}
    with pytest.raises(InputError, match="deeper than 8"):
        take({"role": "user", "content": "a", "metadata": deep})


def test_metadata_is_copied():
    mine = {"tags": ["a"]}
    (turn,) = take({"role": "user", "content": "a", "metadata": mine}).turns
    mine["tags"].append("b")
    assert turn.metadata == {"tags": ["a"]}


def test_a_naive_time_takes_the_zone_of_the_settings():
    (turn,) = take(
        {"role": "user", "content": "a", "time": "2026-03-01T10:00:00"}, default_zone=validation.zone("Asia/Shanghai")
    ).turns
    assert turn.time == datetime(2026, 3, 1, 2, tzinfo=UTC)
    assert turn.time.utcoffset() == timedelta(hours=8)


def test_an_unknown_zone_is_a_setting_to_mend():
    with pytest.raises(InputError, match="Mars"):
        validation.zone("Mars/Phobos")


def test_turns_from_the_future_or_out_of_order_are_suspect():
    later, earlier = NOW + timedelta(days=3), NOW - timedelta(days=400)
    taken = take({"role": "user", "content": "a", "time": later}, {"role": "user", "content": "b", "time": earlier})
    assert taken.clock_suspect == 2


def test_periods():
    day = validation.period(("2026-03-01", "2026-03-01"), None)
    assert day == Interval(datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC))
    for wrong in ("2026", ("2026-03-02", "2026-03-01"), ("x", "y"), (1, 2)):
        with pytest.raises(InputError):
            validation.period(wrong, None)
    for wrong in ("2026", ("2026-03-01",), ("March 1st", "2026-03-31"), ("01.03.2026", "31.03.2026")):
        with pytest.raises(InputError, match=r'period .*"2026-03-01'):
            validation.period(wrong, None)


def test_a_missing_side_of_a_period_is_open():
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    since, until = validation.period((noon, None), None), validation.period((None, "2026-03-01"), None)
    assert since.start == noon and datetime(9000, 1, 1, tzinfo=UTC) in since
    assert noon in until and until.end == datetime(2026, 3, 2, tzinfo=UTC) and datetime(2, 1, 1, tzinfo=UTC) in until
    assert validation.period((None, None), None) is None


@pytest.mark.parametrize("value", [0, -1, 10**9, "5", True, 2.0])
def test_k_is_not_clamped(value):
    with pytest.raises(InputError):
        validation.count("k", value, 100)


@given(st.text().filter(str.strip))
def test_any_text_is_storable(words):
    taken = take({"role": "user", "content": words})
    stored = taken.turns[0].text
    assert stored.encode().decode() == stored
    assert len(stored) == len(words)
    assert (stored == words) == (taken.repaired == 0)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(), st.lists))
def test_any_content_is_taken_or_refused_by_type(content):
    try:
        taken = take({"role": "user", "content": content})
        assert taken.skipped_parts or isinstance(taken.turns[0], Turn)
    except InputError:
        pass


@pytest.mark.parametrize("value", ["abc", 5, b"x", None])
def test_one_id_is_not_a_list_of_ids(value):
    with pytest.raises(InputError):
        validation.ids("ids", value)


@pytest.mark.parametrize(
    "asked",
    [{"text": 5}, {"text": b"x"}, {"name": 5}, {"name": "\ud83d"}, {"namespace": ""}, {"ids": 5}, {"kinds": 5},
     {"kinds": "turn"}, {"kinds": [[]]}, {"kinds": ["facts"]}, {"filter": {"a": {1, 2}}}],
)  # fmt: skip
def test_a_selection_that_is_none_is_refused(asked):
    with pytest.raises(InputError):
        validation.select(Scope("u"), UTC, **asked)


def test_a_filter_without_conditions_selects_nothing_by_itself():
    assert validation.select(Scope("u"), UTC, filter={}, text="") == validation.select(Scope("u"), UTC)


@pytest.mark.parametrize(
    "value",
    [(date.max, date.max), ("9999-12-31", "9999-12-31"), (datetime.max.replace(tzinfo=UTC), None)],
)
def test_a_period_off_the_calendar_is_refused(value):
    with pytest.raises(InputError):
        validation.period(value, None)


def test_an_interval_without_a_zone_is_local():
    naive = NOW.replace(tzinfo=None)
    given = Interval(naive, naive + timedelta(hours=1))
    assert validation.period(given, validation.zone("Asia/Shanghai")) == Interval(
        NOW - timedelta(hours=8), NOW - timedelta(hours=7)
    )


def test_a_time_of_a_record_has_a_zone_in_itself():
    assert zoned("said", NOW) is NOW
    with pytest.raises(InputError, match="said"):
        zoned("said", NOW.replace(tzinfo=None))
    fact = Observation(id="f", scope=ALICE, text="x", sources=("t",), said=NOW, recorded=NOW.replace(tzinfo=None))
    with pytest.raises(InputError, match="recorded"):
        check_record(fact, validation.Limits())


@pytest.mark.parametrize(
    "wrong", [{"version": 0}, {"level": 4}, {"id": ""}, {"origin": ""}, {"text": "a\0b"}, {"data": {"a": "\ud800"}}]
)
def test_a_record_has_no_value_that_an_argument_may_not_have(wrong):
    fact = Observation(id="f", scope=ALICE, text="x", sources=("t",), said=NOW, recorded=NOW, level=0, about="")
    assert check_record(fact, validation.Limits()) is fact
    with pytest.raises(InputError, match=next(iter(wrong))):
        check_record(replace(fact, **wrong), validation.Limits())


def test_the_scope_of_each_record_is_checked():
    fact = Observation(id="f", scope=ALICE, text="x", sources=("t",), said=NOW, recorded=NOW)
    elsewhere = replace(fact, scope=replace(ALICE, session=" s"))
    for _ in range(2):  # what was refused is refused again, whatever was taken between
        check_record(fact, validation.Limits())
        with pytest.raises(InputError, match="session"):
            check_record(elsewhere, validation.Limits())


@pytest.mark.parametrize("value", [{"a": 10**5000}, {"a": -(2**65)}, {"a": ["x" * 1000] * 1000}])
def test_metadata_has_a_size(value):
    with pytest.raises(InputError):
        validation.json_object("metadata", value, validation.Limits())
    assert validation.json_object("metadata", {"a": 2**64 - 1}, validation.Limits())


def test_an_error_that_shows_a_huge_argument_stays_short():
    error = InputError(f"unknown time zone {'x' * 3_000_000!r}", hint="y" * 3_000_000)
    assert len(str(error)) < 5_000 and str(error).startswith("unknown time zone 'xxx")
