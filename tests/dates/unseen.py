"""Time expressions in sentences that the rules were not written from.

Two kinds of sentences: the labelled ones of ``golden/dates_unseen.txt``, and those of a small grammar whose dates are
worked out here, without the rules. Both are split by the CRC-32 of the text: errors of the first half are printed
(``pytest -s tests/dates/test_unseen.py``), the other half is only counted.

Of each sentence with a date, right is a reading of all its mentions; wrong is an interval that no reading has, also
where nothing is named. ``wrong`` is a share of all sentences, ``en`` and ``zh`` are shares of those with a date.
"""

from __future__ import annotations

import calendar
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zlib import crc32

from memscope.dates import FIRST_DAY, LAST_DAY, Mention, mentions

CASES = Path(__file__).parent / "golden" / "dates_unseen.txt"
NOW = datetime(2023, 11, 15, 10, tzinfo=UTC)
DAY = timedelta(days=1)
MONTHS = calendar.month_name[1:]
WEEKDAYS = calendar.day_name[:]
ORDINALS = {1: "1st", 2: "2nd", 3: "3rd", 5: "5th", 12: "12th", 21: "21st", 23: "23rd", 28: "28th"}
COUNTS = {2: ("two", "两"), 3: ("three", "三"), 4: ("four", "四"), 6: ("six", "六"), 10: ("ten", "十")}
NUMERALS = "零一二三四五六七八九十"
FRAMES = {
    True: (
        "We talked about that {}.",
        "My brother came back {}, I think",
        "It was {} and it rained",
        "{} she called me",
    ),
    False: ("我{}见过他", "{}我们去了公园", "他说{}很忙"),
}

Case = tuple[str, str]  # text, what is expected


def labelled() -> Iterator[Case]:
    for line in CASES.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            text, _, expected = line.partition("|")
            yield text.strip(), expected.strip()


# ------------------------------------------------------------------------------------------------------------- grammar


def generated(count: int = 400) -> Iterator[Case]:
    draw = random.Random(7)
    for _ in range(count):
        make = draw.choice(MAKERS)
        phrase, expected = make(draw)
        yield draw.choice(FRAMES[phrase.isascii()]).format(phrase), expected


def day(when: datetime) -> str:
    return f"{when:%Y-%m-%d}"


def full_date(draw: random.Random) -> Case:
    when = datetime(draw.randint(1950, 2040), draw.randint(1, 12), draw.randint(1, 28), tzinfo=UTC)
    month, ordinal = MONTHS[when.month - 1], f"{when.day}{suffix(when.day)}"
    forms = (
        f"on {month} {when.day}, {when.year}",
        f"on {ordinal} {month} {when.year}",
        f"on the {ordinal} of {month}, {when.year}",
        f"on {month[:3]} {ordinal} {when.year}",
        f"on {when.day} {month[:3]}. {when.year}",
        f"on {when:%Y-%m-%d}",
        f"on {when:%Y/%m/%d}",
        f"on {WEEKDAYS[when.weekday()]}, {month} {when.day} {when.year}",
        f"{when.year}年{when.month}月{when.day}日",
        f"{when.year}年{when.month}月{when.day}号",
        f"{digits(when.year)}年{spelled(when.month)}月{spelled(when.day)}日",
    )
    return draw.choice(forms), day(when)


def suffix(number: int) -> str:
    return "th" if number in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def digits(number: int) -> str:
    return "".join(NUMERALS[int(digit)] for digit in str(number))


def spelled(number: int) -> str:
    tens, ones = divmod(number, 10)
    return ("" if tens == 0 else "十" if tens == 1 else NUMERALS[tens] + "十") + (NUMERALS[ones] if ones else "")


def counted(draw: random.Random) -> Case:
    number, words = draw.choice(list(COUNTS.items()))
    unit, days, chinese = draw.choice([("day", 1, "天"), ("week", 7, "周"), ("week", 7, "个星期")])
    past = draw.random() < 0.7
    when = NOW + (-1 if past else 1) * number * days * DAY
    if past:
        forms = (f"{words[0]} {unit}s ago", f"{number} {unit}s ago", f"{words[1]}{chinese}前", f"{number}{chinese}以前")
    else:
        forms = (
            f"{words[0]} {unit}s from now",
            f"{number} {unit}s from today",
            f"{words[1]}{chinese}后",
            f"{number}{chinese}之后",
        )
    return draw.choice(forms), day(when)


def stepped(draw: random.Random) -> Case:
    monday = NOW - NOW.weekday() * DAY
    step, words = draw.choice([(-1, ("last", "上")), (0, ("this", "这")), (1, ("next", "下"))])
    number = draw.randint(0, 6)
    when = monday + (7 * step + number) * DAY
    chinese = f"{words[1]}{draw.choice(['周', '星期', '个星期', '礼拜'])}{'一二三四五六日'[number]}"
    forms = (f"{WEEKDAYS[number]} of {words[0]} week", f"on {WEEKDAYS[number]} {words[0]} week", chinese)
    return draw.choice(forms), day(when)


def stepped_unit(draw: random.Random) -> Case:
    year = NOW.year
    return draw.choice(
        [
            ("last month", "2023-10"),
            ("上个月", "2023-10"),
            ("next month", "2023-12"),
            ("下个月", "2023-12"),
            ("last year", f"{year - 1}"),
            ("去年", f"{year - 1}"),
            ("in the previous year", f"{year - 1}"),
            ("明年", f"{year + 1}"),
            ("the year before last", f"{year - 2}"),
            ("前年", f"{year - 2}"),
            ("last week", "2023-11-06..2023-11-12"),
            ("上上周", "2023-10-30..2023-11-05"),
            ("last quarter", "2023-07..2023-09"),
            ("上个季度", "2023-07..2023-09"),
        ]
    )


def month_and_year(draw: random.Random) -> Case:
    month, year = draw.randint(1, 12), draw.randint(1960, 2035)
    name = MONTHS[month - 1]
    forms = (
        f"in {name} {year}",
        f"in {name} of {year}",
        f"in {name[:3]} {year}",
        f"{year}年{month}月",
        f"{digits(year)}年{spelled(month)}月",
    )
    edges = {"early": (1, 15), "late": (16, calendar.monthrange(year, month)[1])}
    if draw.random() < 0.2:
        edge, (first, last) = draw.choice(list(edges.items()))
        return f"in {edge} {name} {year}", f"{year}-{month:02}-{first:02}..{year}-{month:02}-{last:02}"
    return draw.choice(forms), f"{year}-{month:02}"


def range_of_days(draw: random.Random) -> Case:
    month, year = draw.randint(1, 12), draw.randint(2000, 2030)
    first = draw.randint(1, 13)
    last = first + draw.randint(1, 12)
    name = MONTHS[month - 1]
    forms = (
        f"from {name} {first} to {name} {last}, {year}",
        f"from the {first}{suffix(first)} to the {last}{suffix(last)} of {name} {year}",
        f"between {name} {first} and {last}, {year}",
        f"{name} {first}-{last}, {year}",
        f"from {first} to {last} {name} {year}",
        f"{year}年{month}月{first}日到{last}日",
        f"从{year}年{month}月{first}号至{month}月{last}号",
    )
    return draw.choice(forms), f"{year}-{month:02}-{first:02}..{year}-{month:02}-{last:02}"


def range_of_years(draw: random.Random) -> Case:
    first = draw.randint(1900, 2010)
    last = first + draw.randint(1, 30)
    forms = (
        f"from {first} to {last}",
        f"between {first} and {last}",
        f"from {first} until {last}",
        f"{first}年到{last}年",
        f"从{first}年至{last}年",
    )
    return draw.choice(forms), f"{first}..{last}"


def open_range(draw: random.Random) -> Case:
    year, month = draw.randint(1990, 2022), draw.randint(1, 12)
    name = MONTHS[month - 1]
    return draw.choice(
        [
            (f"since {name} {year}", f"{year}-{month:02}.."),
            (f"before {year}", f"..{year - 1}"),
            (f"after {year}", f"{year + 1}.."),
            (f"since {year}", f"{year}.."),
            (f"自{year}年以来", f"{year}.."),
            (f"{year}年{month}月以前", f"..<{year}-{month:02}"),
            (f"{year}年以后", f"{year + 1}.."),
            (f"until {name} {year}", f"..<{year}-{month:02}"),
        ]
    )


def time_on_day(draw: random.Random) -> Case:
    hour, minute, half = draw.randint(1, 11), draw.choice([0, 5, 15, 30, 45]), draw.choice(["am", "pm"])
    english, chinese, away = draw.choice([("yesterday", "昨天", -1), ("tomorrow", "明天", 1), ("today", "今天", 0)])
    when = (NOW + away * DAY).replace(hour=hour + (12 if half == "pm" else 0), minute=minute)
    clock = f"{hour}:{minute:02}" if minute else f"{hour}"
    part = "下午" if 12 < when.hour < 18 else "晚上" if when.hour >= 18 else "早上" if hour > 5 else "凌晨"
    forms = (
        f"{english} at {clock} {half}",
        f"at {clock}{half} {english}",
        f"at {clock} {half[0]}.{half[1]}. {english}",
        f"{chinese}{part}{clock}{'' if minute else '点'}",
        f"{chinese}{part}{spelled(hour)}点{spoken_minutes(minute)}",
        f"{english} at {when:%H:%M}" if when.hour > 12 else f"{english}, at {clock} {half}",
    )
    return draw.choice(forms), f"@{when:%Y-%m-%dT%H:%M}"


def spoken_minutes(minute: int) -> str:
    return {0: "", 5: "零五分", 30: "半"}.get(minute, f"{spelled(minute)}分")


def hours_of_day(draw: random.Random) -> Case:
    hour = draw.randint(1, 8)
    last = hour + draw.randint(1, 3)
    (english, chinese, away) = draw.choice(
        [("yesterday", "昨天", -1), ("tomorrow", "明天", 1), ("on March 3, 2021", "2021年3月3日", None)]
    )
    when = datetime(2021, 3, 3, tzinfo=UTC) if away is None else NOW + away * DAY
    forms = (
        f"{english} from {hour} to {last} pm",
        f"{english} between {hour}pm and {last}pm",
        f"{english} {hour}-{last} pm",
        f"{chinese}下午{hour}点到{last}点" if last < 6 else f"{english} from {hour} pm to {last} pm",
    )
    return draw.choice(forms), f"{day(when)}T{hour + 12}:00..{day(when)}T{last + 12}:00"


def repeated(draw: random.Random) -> Case:
    weekday, month = draw.randint(0, 6), draw.randint(0, 11)
    number, words = draw.choice(list(COUNTS.items()))
    name, character = WEEKDAYS[weekday], "一二三四五六日"[weekday]
    forms = (
        f"every {name}",
        f"each {name} at {number} pm",
        f"every {words[0]} weeks",
        f"every {number} months",
        f"on {name}s",
        f"every {MONTHS[month]}",
        f"every other {name}",
        f"once every {words[0]} days",
        f"on {name} evenings",
        f"every second {name}",
        f"{words[0]} times a week",
        f"every {name} and {WEEKDAYS[(weekday + 2) % 7]}",
        f"每周{character}",
        f"每个星期{character}下午{number}点",
        f"每{words[1]}天",
        f"每隔{words[1]}周",
        f"每年{month + 1}月",
        f"每月{number}号",
        f"每天{number}点",
        f"每周{character}和周{'一二三四五六日'[(weekday + 2) % 7]}",
        f"隔周{character}",
        f"每逢周{character}",
    )
    return draw.choice(forms), ""


def lasting(draw: random.Random) -> Case:
    number, words = draw.choice(list(COUNTS.items()))
    unit, chinese = draw.choice(
        [("day", "天"), ("week", "个星期"), ("month", "个月"), ("year", "年"), ("hour", "个小时")]
    )
    forms = (
        f"for {words[0]} {unit}s",
        f"for about {number} {unit}s",
        f"a {words[0]}-{unit} course",
        f"more than {number} {unit}s long",
        f"within walking, {number} {unit}s of it",
        f"花了{words[1]}{chinese}",
        f"整整{number}{chinese}",
        f"大约{words[1]}{chinese}的时间",
    )
    return draw.choice(forms), ""


MAKERS: tuple[Callable[[random.Random], Case], ...] = (
    full_date,
    counted,
    stepped,
    stepped_unit,
    month_and_year,
    range_of_days,
    range_of_years,
    open_range,
    time_on_day,
    hours_of_day,
    repeated,
    lasting,
)

# -------------------------------------------------------------------------------------------------------------- judging


def bounds(text: str) -> tuple[datetime, datetime]:
    """The beginning and the end of a day, month, year or minute."""
    if "T" in text:
        when = datetime.fromisoformat(text).replace(tzinfo=UTC)
        return when, when
    year, month, date = (int(part) for part in (text + "-0-0").split("-")[:3])
    start = datetime(year, month or 1, date or 1, tzinfo=UTC)
    if date:
        return start, start + DAY
    months = start.year * 12 + start.month - 1 + (1 if month else 12)
    return start, start.replace(year=months // 12, month=months % 12 + 1)


def fits(mention: Mention, expected: str) -> bool:
    start, end = mention.interval.start, mention.interval.end
    if expected.startswith("@"):
        return start == bounds(expected[1:])[0] and end - start <= timedelta(hours=1)
    first, dots, last = expected.partition("..")
    exclusive = last.startswith("<")
    begin = bounds(first)[0] if first else FIRST_DAY.replace(tzinfo=UTC)
    if not dots:
        return (start, end) == bounds(expected)
    finish = bounds(last.lstrip("<"))[0 if exclusive else 1] if last else LAST_DAY.replace(tzinfo=UTC)
    return (start, end) == (begin, finish)


def verdict(text: str, expected: str) -> str:
    wanted = [one.split(" / ") for one in expected.split(" + ")] if expected else []
    found = mentions(text, NOW)
    fitting = [any(fits(one, reading.strip()) for readings in wanted for reading in readings) for one in found]
    if not all(fitting):
        return "wrong"
    return "right" if len(found) >= len(wanted) else "missed"


def measure(cases: Iterable[Case]) -> dict[str, dict[str, float]]:
    counts: Counter[tuple[bool, str, str]] = Counter()
    for text, expected in cases:
        held_out = bool(crc32(text.encode()) & 1)
        language = "en" if text.isascii() else "zh"
        found = verdict(text, expected)
        counts[held_out, language if expected else "silent", found] += 1
        if not held_out and found != "right":
            print(
                found,
                repr(text),
                repr(expected),
                [f"{one.text}: {one.interval.start:%F %R}..{one.interval.end:%F %R}" for one in mentions(text, NOW)],
            )
    return {name: shares(counts, held_out) for name, held_out in (("development", False), ("held_out", True))}


def shares(counts: Counter[tuple[bool, str, str]], half: bool) -> dict[str, float]:
    mine = {key[1:]: count for key, count in counts.items() if key[0] is half}
    total = sum(mine.values())
    right = {
        lang: round(mine.get((lang, "right"), 0) / sum(count for key, count in mine.items() if key[0] == lang), 4)
        for lang in ("en", "zh")
    }
    return {
        **right,
        "wrong": round(sum(count for key, count in mine.items() if key[1] == "wrong") / total, 4),
        "cases": total,
    }
