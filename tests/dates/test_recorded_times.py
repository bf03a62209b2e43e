"""Times that many sentences and questions name, recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import yaml

from dates.unseen import generated, labelled
from memscope.dates import (
    Mention,
    asked,
    event_time,
    is_undirected,
    mentions,
    nearest,
    occurrences,
    readings,
    recurrences,
    recurring,
)
from memscope.records import Interval
from memscope.text.language import has_cjk
from recorded import check, line, questions, turns

HERE = Path(__file__).parent
NOW = datetime(2026, 3, 4, 10, tzinfo=ZoneInfo("Europe/Berlin"))
LATE_ON_SUNDAY = datetime(2026, 8, 30, 21, 30, tzinfo=ZoneInfo("America/New_York"))
YEAR = timedelta(days=365)


def shown(time: Interval | None) -> str:
    return "" if time is None else f"{time.start:%Y-%m-%dT%H:%M}/{time.end:%Y-%m-%dT%H:%M}".replace("T00:00", "")


def mentioned(mention: Mention, said: datetime) -> str:
    """Return the words, what they are, and other intervals than their own where they have any."""
    signs = [name for name in ("yearless", "dayless", "vague") if getattr(mention, name)]
    signs += ["undirected"] * is_undirected(mention)
    others = {
        "event": [event_time(mention, said)],
        "nearest": [nearest(mention, said)],
        "readings": readings(mention),
        "recurs": recurrences(mention, said - YEAR, said + YEAR),
    }
    more = [f"{name} {[*map(shown, times)]}" for name, times in others.items() if times != [mention.interval]]
    kind = [mention.grain, mention.shape, mention.direction]
    return " ".join([f"<{mention.text}>", shown(mention.interval), *kind, *signs, *more])


def of_text(text: str, said: datetime) -> dict[str, object]:
    rules = [one.rule for one in recurring(text, said)]
    return {
        "times": [mentioned(mention, said) for mention in mentions(text, said)],
        "recurring": [[shown(day) for day in occurrences(rule, said, said + YEAR)[:3]] for rule in rules],
    }


def of_both(text: str, said: datetime) -> dict[str, object]:
    """Return the times as a statement names them, and as a question does where that is another one."""
    stated = of_text(text, said)
    return stated | {way: times for way, times in of_question(text, said).items() if times != stated["times"]}


def of_question(text: str, now: datetime = NOW) -> dict[str, object]:
    ways = {"open": (False, False), "past": (True, False), "ahead": (False, True)}
    times = {name: [mentioned(one, now) for one in asked(text, now, past=past, ahead=ahead)]
             for name, (past, ahead) in ways.items()}  # fmt: skip
    return {name: value for name, value in times.items() if name == "open" or value != times["open"]}


def phrases(language: str) -> list[str]:
    texts = (HERE / "phrases.txt").read_text(encoding="utf-8").splitlines()[1:]
    texts += [case["text"] for case in yaml.safe_load((HERE / "golden" / f"dates_{language}.yaml").read_text("utf-8"))]
    return [text for text in texts if (language == "zh") == has_cjk(text)]


def recorded(language: str) -> Iterator[str]:
    said = [json.loads(one) for one in (HERE / f"said_{language}.jsonl").read_text(encoding="utf-8").splitlines()]
    for one in said:
        yield line(one["text"], of_text(one["text"], datetime.fromisoformat(one["said"]).replace(tzinfo=UTC)))
    for text, _ in (*labelled(), *generated(150)):
        if (language == "zh") == has_cjk(text):
            yield line(text, of_both(text, NOW))
    for text in phrases(language):
        read = of_both(text, NOW)
        yield line(text, read)
        if (late := of_both(text, LATE_ON_SUNDAY)) != read:
            yield line(text, late)
    for zone, turn in turns(f"{language}2", 3):
        when = datetime.fromisoformat(turn["time"]).replace(tzinfo=ZoneInfo(zone))
        if any((values := of_text(turn["text"], when)).values()):
            yield line(turn["text"], values)
    for text in questions(f"{language}2"):
        if any((values := of_question(text)).values()):
            yield line(text, values)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_times_are_read_as_recorded(language):
    check(HERE / "recorded" / f"{language}.txt", recorded(language))
