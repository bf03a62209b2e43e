"""The demo conversations have what the demo relies on, and invalid files are refused with the place of the error."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memscope.errors import InputError
from memscope_cli.demo import DEMO_LANGUAGES, conversations, load

SECRETS = {"en": "4471", "zh": "3862"}

SMALL: dict[str, Any] = {
    "id": "c",
    "lang": "en",
    "speakers": ["user", "assistant"],
    "sessions": [
        {"id": "s1", "date_time": "2026-09-14T19:05", "turns": [{"id": "t1", "speaker": "user", "text": "Hello"}]},
        {"id": "s2", "date_time": "2026-09-15T08:00", "turns": [{"id": "t2", "speaker": "assistant", "text": "Hi"}]},
    ],
    "questions": [
        {"id": "q", "question": "Who?", "answer": "Nobody", "category_name": "single-hop", "evidence": ["t1"]}
    ],
}


@pytest.fixture(params=DEMO_LANGUAGES)
def conversation(request: pytest.FixtureRequest) -> dict[str, Any]:
    return load(request.param)


def turns(conversation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return (turn for session in conversation["sessions"] for turn in session["turns"])


def write(path: Path, *values: object) -> Path:
    path.write_text("".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values), encoding="utf-8")
    return path


# The conversations


def test_speakers_are_roles(conversation: dict[str, Any]) -> None:
    assert {turn["speaker"] for turn in turns(conversation)} == {"user", "assistant"}
    assert conversation["speakers"] == ["user", "assistant"]


def test_sessions_are_in_order_and_span_weeks(conversation: dict[str, Any]) -> None:
    times = [datetime.fromisoformat(session["date_time"]) for session in conversation["sessions"]]
    assert times == sorted(set(times))
    assert times[-1] - times[0] >= timedelta(weeks=6)
    assert date(2026, 11, 1) <= times[-1].date() <= date(2026, 11, 15)


def test_the_conversations_are_long_enough(conversation: dict[str, Any]) -> None:
    assert len(conversation["sessions"]) >= 10
    assert len(list(turns(conversation))) >= 80


def test_turn_ids_are_unique_across_languages() -> None:
    ids = [turn["id"] for language in DEMO_LANGUAGES for turn in turns(load(language))]
    assert len(ids) == len(set(ids))


def test_one_turn_is_long_enough_to_be_cut(conversation: dict[str, Any]) -> None:
    [long] = [turn for turn in turns(conversation) if len(turn["text"]) > 1200]
    asked = [question for question in conversation["questions"] if long["id"] in question["evidence"]]
    assert asked, "a question asks for something inside the long turn"


def test_questions_are_of_many_kinds_and_have_evidence(conversation: dict[str, Any]) -> None:
    questions = conversation["questions"]
    known = {turn["id"] for turn in turns(conversation)}
    assert 10 <= len(questions) <= 12
    assert all(question["answer"] and question["evidence"] for question in questions)
    assert {turn for question in questions for turn in question["evidence"]} <= known
    assert {question["category_name"] for question in questions} == {
        "single-hop", "multi-hop", "temporal", "changed fact", "recommendation", "instruction", "fiction", "secret",
    }  # fmt: skip


def test_a_changed_fact_rests_on_the_later_turn_too(conversation: dict[str, Any]) -> None:
    session = {turn["id"]: at for at, s in enumerate(conversation["sessions"]) for turn in s["turns"]}
    for question in conversation["questions"]:
        if question["category_name"] == "changed fact":
            assert len({session[turn] for turn in question["evidence"]}) >= 2, question["id"]


def test_the_secret_is_in_one_turn_and_has_a_question(conversation: dict[str, Any]) -> None:
    [question] = [q for q in conversation["questions"] if q["category_name"] == "secret"]
    said = [turn["id"] for turn in turns(conversation) if SECRETS[conversation["lang"]] in turn["text"]]
    assert said == question["evidence"]


def test_the_chinese_conversation_is_chinese() -> None:
    text = "".join(turn["text"] for turn in turns(load("zh")))
    assert sum("\u4e00" <= character <= "\u9fff" for character in text) > 0.8 * len(text.replace("\n", ""))


def test_an_unknown_language_names_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"'fr'.*en.*zh"):
        load("fr")


# The reader


def test_reads_every_line_and_keeps_other_fields(tmp_path: Path) -> None:
    other = {**deepcopy(SMALL), "id": "d", "note": "kept"}
    assert list(conversations(write(tmp_path / "two.jsonl", SMALL, other))) == [SMALL, other]


def test_reads_blank_lines_and_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "windows.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(SMALL).encode() + b"\r\n\r\n")
    assert list(conversations(path)) == [SMALL]


def test_a_zone_may_be_named_in_some_sessions_only(tmp_path: Path) -> None:
    value = deepcopy(SMALL)
    value["sessions"][1]["date_time"] = "2026-09-14T23:00+02:00"
    assert list(conversations(write(tmp_path / "zone.jsonl", value))) == [value]
    value["sessions"][1]["date_time"] = "2026-09-14T21:00+02:00"
    with pytest.raises(InputError, match="'s2' is earlier"):
        list(conversations(write(tmp_path / "zone.jsonl", value)))


def put(*path: Any, value: Any) -> Callable[[Any], None]:
    def change(record: Any) -> None:
        for step in path[:-1]:
            record = record[step]
        record[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("id", value=None), "'id' of a conversation must be text"),
        (put("questions", value={}), "'questions' of conversation 'c' must be a list"),
        (put("sessions", 0, value="s1"), "a session is not a JSON object"),
        (put("sessions", 1, "id", value="s1"), "two sessions have the id 's1'"),
        (put("sessions", 0, "date_time", value="last Tuesday"), "'date_time' of session 's1' is not an ISO time"),
        (put("sessions", 0, "date_time", value="2026-09-16"), "session 's2' is earlier"),
        (put("sessions", 1, "turns", 0, "id", value="t1"), "two turns have the id 't1'"),
        (put("sessions", 1, "turns", 0, "speaker", value="cat"), "speaker of turn 't2' is not among"),
        (put("sessions", 1, "turns", 0, "text", value=""), "turn 't2' is empty"),
        (put("sessions", 1, "turns", 0, "text", value=7), "'text' of turn 't2' must be text"),
        (put("questions", 0, "evidence", value=["t9"]), "question 'q' names a missing turn"),
    ],
)
def test_names_the_file_the_line_and_the_record(tmp_path: Path, change: Callable[[Any], None], message: str) -> None:
    broken = {**deepcopy(SMALL), "id": "c"}
    change(broken)
    path = write(tmp_path / "broken.jsonl", {**SMALL, "id": "first"}, broken)
    with pytest.raises(InputError, match=r"broken\.jsonl' line 2: .*" + message):
        list(conversations(path))


def test_two_conversations_with_one_id_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line 2.*'c'"):
        list(conversations(write(tmp_path / "same.jsonl", SMALL, SMALL)))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\n{my diary, not JSON\n", "line 2 is not JSON"),
        (b"[" * 200_000, "line 1 is not JSON"),
        (b'"\xff"\n', "is not UTF-8"),
    ],
)
def test_invalid_json_is_refused_without_quoting_it(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "text.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as refused:
        list(conversations(path))
    assert "diary" not in str(refused.value)


def test_a_missing_file_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*nowhere\.jsonl"):
        list(conversations(tmp_path / "nowhere.jsonl"))


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in items:
        yield (*path, key)
        yield from paths(child, (*path, key))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


@settings(deadline=None)
@given(place=st.sampled_from(sorted(paths(SMALL), key=str)), value=JSON)
def test_any_value_in_any_field_is_accepted_or_refused(
    tmp_path_factory: pytest.TempPathFactory, place: tuple[Any, ...], value: Any
) -> None:
    changed = deepcopy(SMALL)
    put(*place, value=value)(changed)
    path = write(tmp_path_factory.getbasetemp() / "any.jsonl", changed)
    try:
        assert list(conversations(path)) == [changed]
    except InputError as error:
        assert "line 1" in str(error)
