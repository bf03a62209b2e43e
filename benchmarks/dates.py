"""Evaluate time expressions on labelled sentences: ``python benchmarks/dates.py DATA [--errors]``.

Counts labelled mentions of dates, times and ranges. Each is compared with our interval that overlaps it most: right if
that equals one of its ``values``, else wrong. An interval for a set ("every Monday"), for a duration, or outside any
label counts as wrong too. A mention labelled "not resolved" can only be missed.

Our half-open intervals are first converted to the conventions of the data: a range between two named ends ends on the
first day of the last day, month or year; "until" and "after" a day give that day; a night ends at 23:59:59. A time
without a day is compared as a time.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memscope.dates import FIRST_DAY, LAST_DAY, Mention, mentions

COUNTED = frozenset({"date", "daterange", "datetime", "datetimerange", "time", "timerange"})
UNITS = {"day": 0, "month": 1, "quarter": 3, "season": 3, "year": 12, "decade": 120, "century": 1200}


def months_back(when: datetime, months: int) -> datetime:
    year, month = divmod(when.year * 12 + when.month - 1 - months, 12)
    return when.replace(year=year, month=month + 1)


def written(mention: Mention) -> tuple[datetime | None, datetime | None]:
    """Return start and end in the conventions of the data, None for an open end."""
    start, end = (when.replace(tzinfo=None) for when in (mention.interval.start, mention.interval.end))
    day, shape = mention.grain in ("day", "week"), mention.shape
    if shape == "range":
        back = UNITS.get(mention.grain)
        end = end if back is None else months_back(end, back) if back else end - timedelta(days=1)
    elif shape == "until" and day:
        end -= timedelta(days=1)
    elif shape == "after" and day:
        start -= timedelta(days=1)
    return None if start == FIRST_DAY else start, None if end == LAST_DAY else end


def moment(text: str | None) -> datetime | None:
    """Parse a date, a time (on January 1, 1900) or both."""
    if text is None or text == "not resolved":
        return None
    if ":" in text and "-" not in text:
        text = f"1900-01-01 {text}"
    when = datetime.fromisoformat(text)
    return when + timedelta(seconds=1) if text.endswith("23:59:59") else when


def timed(when: datetime | None) -> datetime | None:
    return when.replace(year=1900, month=1, day=1) if when else None


def equal(mention: Mention, value: dict[str, str]) -> bool:
    start, end = written(mention)
    if value["type"] in ("time", "timerange"):
        start, end = timed(start), timed(end)
    if "value" in value:
        point = moment(value["value"])
        if point and value["value"].endswith("23:59:59"):
            point -= timedelta(seconds=1)
        return point is not None and start == point and is_point(mention, value["type"])
    if value.get("start") is None and value.get("end") is None:
        return False
    wanted = moment(value.get("start")), moment(value.get("end"))
    if value["type"] == "timerange":
        wanted = timed(wanted[0]), timed(wanted[1])
    return (start, end) == wanted


def is_point(mention: Mention, kind: str) -> bool:
    length = mention.interval.end - mention.interval.start
    return length <= timedelta(days=1 if kind == "date" else 0, hours=1) and mention.shape == "point"


def overlap(mention: Mention, gold: dict[str, Any]) -> int:
    return min(mention.end, int(gold["end"])) - max(mention.start, int(gold["start"]))


def judge(row: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return (verdict, labelled text, our text) for each labelled mention, and for ours that match no label."""
    reference = datetime.fromisoformat(row["reference"] or "2020-01-01").replace(tzinfo=UTC)
    ours = mentions(row["text"], reference)
    verdicts = []
    for gold in row["mentions"]:
        best = max(ours, key=lambda one: overlap(one, gold), default=None)
        if best is None or overlap(best, gold) <= 0:
            verdicts.append(("missed" if gold["type"] in COUNTED else "silent", gold["text"], ""))
            continue
        right = gold["type"] in COUNTED and any(equal(best, value) for value in gold["values"] or ())
        verdicts.append(
            ("right" if right else "wrong" if gold["type"] in COUNTED else "uncounted", gold["text"], repr(best))
        )
    spurious = [one for one in ours if all(overlap(one, gold) <= 0 for gold in row["mentions"])]
    return verdicts + [("spurious", "", repr(one)) for one in spurious]


def measure(rows: list[dict[str, Any]], errors: bool) -> dict[str, float]:
    counts: Counter[tuple[str, str]] = Counter()
    for row in rows:
        for verdict, words, found in judge(row):
            counts[row["lang"], verdict] += 1
            if errors and verdict not in ("right", "silent"):
                print(f"{verdict:10} {row['id']} {words!r:40} {found}")
    counted = {lang: sum(counts[lang, verdict] for verdict in ("right", "wrong", "missed")) for lang in ("en", "zh")}
    wrong = sum(counts[lang, verdict] for lang in counted for verdict in ("wrong", "uncounted", "spurious"))
    shares = {lang: round(counts[lang, "right"] / max(1, counted[lang]), 4) for lang in counted}
    return {**shares, "wrong": round(wrong / max(1, sum(counted.values())), 4), "counted": sum(counted.values())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("data", type=Path)
    parser.add_argument("--errors", action="store_true", help="print what was missed or wrong")
    args = parser.parse_args()
    rows = [json.loads(line) for line in args.data.read_text(encoding="utf-8").splitlines() if line]
    print(json.dumps(measure(rows, args.errors)))


if __name__ == "__main__":
    main()
