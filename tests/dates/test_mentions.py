"""Time expressions: golden cases in both languages, and what must hold for any text."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, date, datetime, timedelta, timezone
from inspect import isfunction
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from zoneinfo import ZoneInfo

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from growth import growth
from memscope.dates import (
    FIRST_DAY,
    LAST_DAY,
    calendar,
    cascade,
    lexer,
    mentions,
    occurrences,
    readings,
    recurrences,
    recurring,
    resolve,
    rules,
    vocabulary,
)
from memscope.dates.rules import rows
from memscope.errors import InputError
from memscope.records import Interval

GOLDEN = Path(__file__).parent / "golden"
NOW = datetime(2023, 11, 15, 10, tzinfo=UTC)
CASES = [case for lang in ("en", "zh") for case in yaml.safe_load((GOLDEN / f"dates_{lang}.yaml").read_text("utf-8"))]


def at(value: Any, zone: Any, open_end: datetime) -> datetime:
    if value == "-":
        return open_end.replace(tzinfo=zone)
    return datetime.fromisoformat(value.isoformat() if isinstance(value, date) else value).replace(tzinfo=zone)


@pytest.mark.parametrize("case", CASES, ids=[case["text"] for case in CASES])
def test_golden(case: dict[str, Any]) -> None:
    zone = ZoneInfo(case["zone"]) if "zone" in case else UTC
    reference = at(case.get("reference", "2023-11-15 10:00"), zone, NOW)
    expected = [Interval(at(start, zone, FIRST_DAY), at(end, zone, LAST_DAY)) for start, end in case["expect"]]
    found = mentions(case["text"], reference)
    assert [mention.interval for mention in found] == expected
    for mention in found:
        assert mention.yearless == case.get("yearless", False)
        assert mention.grain == case.get("grain", mention.grain)
        assert mention.shape == case.get("shape", mention.shape)


def test_there_are_forty_cases_a_language() -> None:
    chinese = sum(any("\u4e00" <= char <= "\u9fff" for char in case["text"]) for case in CASES)
    assert chinese >= 40 and len(CASES) - chinese >= 40


def test_several_mentions_keep_their_words_and_order() -> None:
    text = "Yesterday we booked Rome for June 2024, 但是上周我们想去巴黎"
    found = mentions(text, NOW)
    assert [mention.text for mention in found] == ["Yesterday", "June 2024", "上周"]
    assert all(text[mention.start : mention.end] == mention.text for mention in found)


def test_resolve_spans_what_is_named() -> None:
    found = resolve("Between what I said in March 2022 and on 2022-07-04", NOW)
    assert found == Interval(datetime(2022, 3, 1, tzinfo=UTC), datetime(2022, 7, 5, tzinfo=UTC))


@pytest.mark.parametrize("text", ["", "Where does Alice live?", "recently", "at 3 pm", "下午三点"])
def test_resolve_is_none_without_a_day(text: str) -> None:
    assert resolve(text, NOW) is None


def test_a_month_without_a_year_recurs_every_year() -> None:
    (mention,) = mentions("What did she do in May?", NOW)
    first, last = datetime(2021, 1, 1, tzinfo=UTC), datetime(2023, 5, 10, tzinfo=UTC)
    assert [interval.start.year for interval in recurrences(mention, first, last)] == [2021, 2022, 2023]
    assert all((one.start.month, one.end.month) == (5, 6) for one in recurrences(mention, first, last))


def test_a_day_recurs_in_the_months_that_have_it() -> None:
    (mention,) = mentions("Who came on the 31st?", NOW)
    found = recurrences(mention, datetime(2023, 1, 1, tzinfo=UTC), datetime(2023, 8, 1, tzinfo=UTC))
    assert [interval.start.month for interval in found] == [1, 3, 5, 7]


def test_a_moving_feast_recurs_where_it_falls() -> None:
    (mention,) = mentions("What do we eat at Thanksgiving?", NOW)
    found = recurrences(mention, datetime(2020, 1, 1, tzinfo=UTC), datetime(2023, 1, 1, tzinfo=UTC))
    assert [interval.start.day for interval in found] == [26, 25, 24]


def test_what_is_relative_does_not_recur() -> None:
    (mention,) = mentions("last week", NOW)
    assert recurrences(mention, datetime(2000, 1, 1, tzinfo=UTC), NOW) == [mention.interval]


def test_a_skipped_hour_is_not_empty() -> None:
    zone = ZoneInfo("America/New_York")
    (mention,) = mentions("at 2 am yesterday", datetime(2023, 3, 13, 12, tzinfo=zone))
    assert mention.interval.end.astimezone(UTC) - mention.interval.start.astimezone(UTC) == timedelta(hours=1)


@pytest.mark.parametrize("text", ["yesterday", "no time is named"])
def test_a_naive_reference_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="zone"):
        mentions(text, datetime(2023, 11, 15))  # noqa: DTZ001


@pytest.mark.parametrize("text", ["9999-12-31", "12/31/9999", "until 9999-12-31"])
def test_the_last_day_of_the_calendar_has_no_end(text: str) -> None:
    assert mentions(text, NOW) == [] == recurring(text, NOW)


@pytest.mark.parametrize("text", ["at 3", "tomorrow", "next week", "明天", "下午三点"])
def test_nothing_comes_after_the_last_day_of_the_calendar(text: str) -> None:
    assert mentions(text, datetime(9999, 12, 31, 23, tzinfo=UTC)) == []


# ------------------------------------------------------------------------------------------------------------- any text

WORDS = [
    *lexer.VOCABULARY,
    "2023",
    "5",
    "12",
    "31",
    "8:30",
    "5/8",
    "13/8/2023",
    "2023年",
    "9999",
    "0",
    "3rd",
    "2.5",
    "99999",
    "pm",
]
TIMES = {"date", "period", "moment", "open", "time", "gone", "jubilee"}
# Each kind of word as often as each other: the rare ones are where rows meet what they were not written for.
KINDS = {kind for kind, _ in lexer.VOCABULARY.values()}
BY_KIND = [[word for word, (kind, _) in lexer.VOCABULARY.items() if kind == each] for each in sorted(KINDS)]
ANY_WORD = st.sampled_from([WORDS, *BY_KIND]).flatmap(st.sampled_from)
PHRASES = st.lists(ANY_WORD, max_size=12).map(" ".join) | st.lists(st.sampled_from(WORDS)).map("".join)
REFERENCES = st.datetimes(
    min_value=datetime(1000, 1, 1),  # noqa: DTZ001
    max_value=datetime(9000, 1, 1),  # noqa: DTZ001
    timezones=st.sampled_from(
        [UTC, ZoneInfo("America/New_York"), ZoneInfo("Asia/Shanghai"), timezone(-timedelta(hours=11))]
    ),
)


@given(st.text() | PHRASES, REFERENCES)
@settings(max_examples=400, deadline=None)
def test_any_text_gives_mentions_that_hold(text: str, reference: datetime) -> None:
    end = 0
    for mention in mentions(text, reference):
        assert end <= mention.start < mention.end <= len(text)
        assert mention.text == text[mention.start : mention.end]
        assert mention.interval.start.tzinfo is mention.interval.end.tzinfo is reference.tzinfo
        assert mention.interval.start.astimezone(UTC) < mention.interval.end.astimezone(UTC)
        assert readings(mention)[0] == mention.interval
        end = mention.end
    for repeated in recurring(text, reference):
        assert repeated.text == text[repeated.start : repeated.end]
        found = occurrences(repeated.rule, reference, reference + timedelta(days=60))
        assert found == sorted(found, key=lambda interval: interval.start)


@given(PHRASES, REFERENCES)
@settings(max_examples=100, deadline=None)
def test_recurrences_are_in_order(text: str, reference: datetime) -> None:
    first, last = reference - timedelta(days=900), reference + timedelta(days=900)
    for mention in mentions(text, reference):
        starts = [interval.start for interval in recurrences(mention, first, last)]
        assert starts == sorted(starts)


def attempts(text: str) -> int:
    """Counted, not timed: how often a row of the cascade is tried on the tokens of a text."""
    with pytest.MonkeyPatch.context() as patch:
        tried = Mock(wraps=cascade.attempt)
        patch.setattr(cascade, "attempt", tried)
        mentions(text, NOW)
    return tried.call_count


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["last ", "1", "1 ", "1 day ", "一", "上", "may ", "3月", "to 5pm ", "from 1 to ", "-", "every "]
)
def test_work_grows_with_the_text(piece: str) -> None:
    text = piece * (20_000 // len(piece))
    assert attempts(text) <= 4 * len(text)


@given(PHRASES.filter(bool), st.integers(2, 40))
@settings(max_examples=100, deadline=None)
def test_any_text_costs_a_bounded_number_of_steps_per_character(text: str, times: int) -> None:
    assert attempts(text * times) <= 8 * len(text * times)


@pytest.mark.parametrize("piece", ["2024-", "1.", "5/", "2024-1-", "since ", "since since from ", "day ", "of the "])
def test_reading_takes_as_long_as_the_text_is(piece: str) -> None:
    assert growth(lambda text: mentions(text, NOW), piece, 4_000) < 3


def test_a_sentence_without_an_end_is_cut_between_words() -> None:
    text = "we met on 2023-05-08 and " * 100
    assert [mention.text for mention in mentions(text, NOW)] == ["2023-05-08"] * 100


def test_every_row_is_a_pattern_over_kinds_that_there_are() -> None:
    written = {"word", "stop", *lexer.PUNCTUATION_ROLES.values(), *(one.kind for one in lexer.FIGURE_PATTERNS.values())}
    kinds = written | {kind for kind, _ in lexer.VOCABULARY.values()} | {row.kind for row in rows()}
    for row in rows():
        cascade.compiled(row.pattern)
        assert set(re.findall("[a-z]+", row.pattern)) <= kinds


def test_every_word_is_there_once() -> None:
    spelled = [word for name in ("en.txt", "zh.txt") for word, _ in vocabulary.words(vocabulary.lines(name))]
    assert len(spelled) == len(set(spelled)) == len(lexer.VOCABULARY)


def test_no_builder_stands_unused() -> None:
    """A row names its function in a file, so that no other tool sees what nothing names any more."""
    folder = Path(calendar.__file__).parent
    files = [*folder.glob("*.py"), folder / "data" / "rules.txt"]
    used = Counter(re.findall(r"\w+", "".join(path.read_text(encoding="utf-8") for path in files)))
    made = {name for module in rules.MODULES.values() for name, one in vars(module).items() if isfunction(one)}
    assert not {name for name in made if used[name] < 2}


@pytest.mark.parametrize(("said", "year"), [("2023-11-15", 2024), ("2024-02-01", 2024), ("2024-06-01", 2025)])
def test_by_a_day_without_a_year_ends_on_the_next_such_day(said: str, year: int) -> None:
    (mention,) = mentions("It must be done by March 31", datetime.fromisoformat(f"{said}T10:00+00:00"))
    assert mention.interval.end.date().isoformat() == f"{year}-04-01"


@pytest.mark.parametrize(
    ("text", "year"),
    [
        ("The report is due before May 5", 2024),
        ("I have to finish it before May 5", 2024),
        ("I finished it before May 5", 2023),
        ("I lived in Rome before May 5", 2023),
        ("论文必须在5月5日之前提交", 2024),
        ("5月5日前交稿", 2024),
        ("5月5日之前我住在北京", 2023),
        ("5月5日之前交稿了", 2023),
    ],
)
def test_before_a_day_without_a_year_is_the_next_one_for_a_duty(text: str, year: int) -> None:
    (mention,) = mentions(text, datetime(2023, 11, 15, 10, tzinfo=UTC))
    assert mention.interval.end.date().isoformat() == f"{year}-05-05"


@pytest.mark.parametrize(
    ("text", "said", "days"),
    [
        ("last Friday", "2023-11-19", ["2023-11-10", "2023-11-17"]),  # a Sunday
        ("last Friday", "2023-11-15", ["2023-11-10"]),
        ("next Friday at 5pm", "2023-11-13", ["2023-11-24", "2023-11-17"]),
        ("see you on Friday", "2023-11-15", ["2023-11-17", "2023-11-10"]),
        ("by March 31", "2023-11-15", ["0001-01-02"]),
        ("in May", "2023-11-15", ["2023-05-01", "2024-05-01"]),
        ("yesterday", "2023-11-15", ["2023-11-14"]),
        ("at 3 pm", "2023-11-15", ["2023-11-15"]),
    ],
)
def test_readings_are_all_that_the_words_may_name(text: str, said: str, days: list[str]) -> None:
    (mention,) = mentions(text, datetime.fromisoformat(f"{said}T10:00+00:00"))
    found = readings(mention)
    assert [interval.start.date().isoformat() for interval in found] == days
    assert found[0] == mention.interval


@pytest.mark.parametrize(("text", "start"), [
    ("The train leaves in 2 hours 30 minutes.", "11:30"),
    ("The shop shuts at 24:00.", "00:00"),
    ("The file is 25:30 long.", None),
    ("See page 99:10.", None),
])  # fmt: skip
def test_hours_and_minutes_are_those_of_a_day(text, start):
    found = mentions(text, datetime(2026, 3, 2, 9, tzinfo=UTC))
    assert [f"{one.interval.start:%H:%M}" for one in found] == ([start] if start else [])
