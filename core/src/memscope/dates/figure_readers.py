"""Readers of ``data/figures.txt``: 2023-05-08, 5/8/2023, 8:30, the 90s, 二〇二三年, 康熙三年; and the clock."""

from __future__ import annotations

import re
from dataclasses import replace

from memscope.dates.calendar import ONE_DAY, Clock, Period, date_of, day_at, fixed, month_of, wall, week_of, year_of

NUMERALS = "零〇○一二两兩三四五六七八九十百千廿卅"
_DIGIT_VALUES = dict(zip("零〇○一二两兩三四五六七八九", (0, 0, 0, 1, 2, 2, 2, 3, 4, 5, 6, 7, 8, 9), strict=True))
_POWERS = {"十": 10, "百": 100, "千": 1000}
# The first year of each era.
OLD_ERAS = {"洪武": 1368, "永乐": 1403, "嘉靖": 1522, "万历": 1573, "崇祯": 1628, "顺治": 1644, "康熙": 1662}
OLD_ERAS |= {"雍正": 1723, "乾隆": 1736, "嘉庆": 1796, "道光": 1821, "咸丰": 1851, "同治": 1862, "光绪": 1875}
OLD_ERAS |= {"宣统": 1909}
NEW_ERAS = {"民国": 1912, "昭和": 1926, "平成": 1989, "令和": 2019}
ERAS = OLD_ERAS | NEW_ERAS


def day(year: int, month: int, day_: int) -> Period | None:
    try:
        return fixed(date_of(year, month, day_))
    except (ValueError, OverflowError):  # no such day; the end of 9999-12-31 is no date
        return None


def short_year(year: int) -> int:
    """Two digits of a year: up to 39 in this century, from 40 on in the last."""
    return year if year > 99 else year + (2000 if year < 40 else 1900)


def number(text: str, east: bool = False) -> int:
    """2nd, 1998, 340."""
    return digits(text)[0]


def short(text: str, east: bool) -> int:
    """'98."""
    return short_year(number(text))


def itself(text: str, east: bool) -> str:
    return text


def week(text: str, east: bool) -> str:
    """周 in 下周天气."""
    return "week"


def initial(text: str, east: bool) -> str:
    return text[0]


def digits(text: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", text)]


def year_month_day(text: str, east: bool = False) -> Period | None:
    year, month, day_ = digits(text)
    return day(year, month, day_) if year >= 1000 else None


def month_day_year(text: str, east: bool) -> Period | None:
    """5/8/2023 is May 8th, 5.8.2023 August 5th, if there is such a day. In Chinese text 12-11-10 is in 2012."""
    a, b, c = digits(text)
    if east and c < 100:
        return day(short_year(a), b, c)
    month, day_ = (b, a) if "." in text else (a, b)
    return day(short_year(c), month, day_) or day(short_year(c), day_, month)


def month_day(text: str, east: bool) -> tuple[int, int] | None:
    a, b = digits(text)
    month, day_ = (a, b) if a <= 12 else (b, a)
    return (month, day_) if 1 <= month <= 12 and 1 <= day_ <= 31 else None


def year_month(text: str, east: bool) -> Period | None:
    year, month = digits(text)
    if "/" in text and month == (year + 1) % 100 > 9:
        return None  # the season 2010/11
    return fixed(month_of(year, month))


def iso_week(text: str, east: bool) -> Period:
    """2016-W12, and the day of it in 2016-W12-3."""
    year, week, *days = digits(text)
    monday = week_of(wall(year, 1, 4)).start + (week - 1) * 7 * ONE_DAY
    return fixed(day_at(monday + (days[0] - 1) * ONE_DAY) if days else week_of(monday))


def month_year(text: str, east: bool) -> Period | None:
    month, year = digits(text)
    return fixed(month_of(year, month)) if 1 <= month <= 12 else None


def military(text: str, east: bool) -> Clock | None:
    return clock(int(text[:2]), int(text[2:]))


def compact_date(text: str, east: bool) -> Period | None:
    return day(int(text[:4]), int(text[4:6]), int(text[6:8]))


def decade(text: str, east: bool) -> Period:
    first = number(text)
    if first > 99 and first % 100 == 0 and first < 1900:
        return fixed(year_of(first, 100, "century"))
    return fixed(year_of(first if first > 99 else first + (2000 if first < 30 else 1900), 10, "decade"))


def hour_minute(text: str, east: bool) -> Clock | None:
    """A leading zero means the morning: 03:30."""
    time = clock(*digits(re.split("[.+]", text)[0]))  # without the zone: a time is local to the speaker
    return replace(time, sure=time.sure or text[0] == "0") if time else None


def clock(hour: int, minute: int | None = None, second: int | None = None) -> Clock | None:
    """A time of day; from 1 to 12 without am or pm it is not ``sure``."""
    if hour > 24 or (minute or 0) > 59 or (second or 0) > 59 or (hour == 24 and minute):
        return None
    start = hour * 3600 + (minute or 0) * 60 + (second or 0)
    sure = not 1 <= hour <= 12
    if second is not None:
        return Clock(start, start + 1, "second", sure)
    return Clock(start, start + 3600, "hour", sure) if minute is None else Clock(start, start + 60, "minute", sure)


# ------------------------------------------------------------------------------------------------------------- Chinese


def numeral(text: str) -> int | None:
    """一百零五, 二十, 〇八, 二零二三, but not 两三, which means a few."""
    if len(text) == 2 and _DIGIT_VALUES.get(text[1], 0) - _DIGIT_VALUES.get(text[0], 99) == 1:
        return None
    text = text.replace("廿", "二十").replace("卅", "三十")
    if not any(char in _POWERS for char in text):
        return int("".join(str(_DIGIT_VALUES[char]) for char in text)[:7])
    total, digit = 0, 0
    for char in text:
        if char in _POWERS:
            total, digit = total + (digit or 1) * _POWERS[char], 0
        else:
            digit = _DIGIT_VALUES[char]
    return total + digit


def _either(text: str) -> int | None:
    return int(text) if text.isascii() else numeral(text)


def spelled(text: str, east: bool) -> int | None:
    """五一 as 51."""
    return numeral(text)


def after_zero(text: str, east: bool) -> int | None:
    """零五 as minutes."""
    return numeral(text[1:])


def chinese_year(text: str, east: bool) -> int | None:
    value = _either(text.rstrip("年 "))
    return None if value is None else short_year(value)


def chinese_decade(text: str, east: bool) -> Period:
    """90年代, 九十年代, 1990年代, 十九世纪七十年代."""
    century, _, tens = text.removesuffix("年代").rpartition("世纪")
    value = _either(tens) or 0
    if century and "上" not in century:
        value += 100 * ((_either(century) or 0) - 1)
    return fixed(year_of(value if value > 99 else value + (2000 if value < 30 and not century else 1900), 10, "decade"))


def year_of_era(text: str, east: bool) -> int:
    """康熙三年, 民国元年."""
    count = text[2:-1]
    return ERAS[text[:2]] - 1 + (1 if count == "元" else _either(count) or 0)
