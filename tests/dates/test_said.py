"""Sentences of plans and of past events, written by somebody who had not read the rules, against their dates."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memscope.retrieval.events import with_dates, written
from memscope.text.periods import named_periods

HERE = Path(__file__).parent
CASES = {
    language: [json.loads(line) for line in (HERE / f"said_{language}.jsonl").read_text("utf-8").splitlines()]
    for language in ("en", "zh")
}
RIGHT = 57  # of 60


def dated(case: dict[str, Any]) -> list[str]:
    """Return the days that a reader is shown, else those that a search by time meets: "on Thursday" is shown as is."""
    said = datetime.fromisoformat(case["said"]).replace(tzinfo=UTC)
    line = with_dates(case["text"], said)
    shown = re.findall(r"\d{4}(?:-\d\d)*(?:(?: to |至)\d{4}-\d\d-\d\d)?", line[_shared(line, case["text"]) :])
    met = [written(one, UTC) for one in named_periods(case["text"], said)] if case["direction"] != "none" else []
    return [one.replace("至", "/").replace(" to ", "/") for one in shown or met]


def _shared(line: str, text: str) -> int:
    return next((i for i, pair in enumerate(zip(line, text, strict=False)) if pair[0] != pair[1]), len(text))


def events(case: dict[str, Any]) -> list[str]:
    return case["event"] if isinstance(case["event"], list) else [case["event"]]


def is_right(case: dict[str, Any]) -> bool:
    if case["direction"] == "none":
        return set(dated(case)) <= set(events(case))
    return not set(events(case)).isdisjoint(dated(case))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_events_are_dated_as_their_sentences_say(language: str) -> None:
    missed = [(case["text"], case["event"], dated(case)) for case in CASES[language] if not is_right(case)]
    assert len(CASES[language]) - len(missed) >= RIGHT, missed


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_plan_is_dated_into_the_past_and_no_past_event_ahead(language: str) -> None:
    for case in CASES[language]:
        days = [] if is_right(case) else dated(case)
        if case["direction"] == "plan":
            assert all(day >= case["said"][:10] for day in days), case
        if case["direction"] == "past":
            assert all(day <= case["said"][:10] for day in days), case
