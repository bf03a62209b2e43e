"""Chinese numerals, years, eras and decades."""

from __future__ import annotations

from memscope.dates.calendar import Period, fixed, year_of

NUMERALS = "零〇○一二两兩三四五六七八九十百千廿卅"
_DIGITS = {
    char: n
    for n, chars in enumerate(("零〇○", "一", "二两兩", "三", "四", "五", "六", "七", "八", "九"))
    for char in chars
}
_POWERS = {"十": 10, "百": 100, "千": 1000}
_SHORT = "(?:0\\d|[5-9]\\d|[零〇○九八七][零〇○一二三四五六七八九])"
# A year by its name: 2023年, 二〇二三年, 98年, 零八年; not the length of one (三年前, 20年后).
_NAMED = r"[\d一二三四五六七八九十]{1,2}\s?月|年?[初底末中]|[春夏秋冬]|[上下]半年|第?[一二三四1-4]季度"
_BEFORE_NAME = rf"(?:\d\d|[一二][零〇○一二三四五六七八九])(?=\s?年\s?(?:{_NAMED}))"
YEAR = rf"(?:(?:1[5-9]|20)\d\d|{_BEFORE_NAME}|[一二][零〇○一二三四五六七八九]{{3}}|{_SHORT})\s?年(?![间間代级級])"

# The first year of an era. Before 1912 its months are those of the lunar calendar, which is not known here.
ERAS = {"洪武": 1368, "永乐": 1403, "嘉靖": 1522, "万历": 1573, "崇祯": 1628, "顺治": 1644, "康熙": 1662, "雍正": 1723}
ERAS |= {"乾隆": 1736, "嘉庆": 1796, "道光": 1821, "咸丰": 1851, "同治": 1862, "光绪": 1875, "宣统": 1909}
ERAS |= {"民国": 1912, "昭和": 1926, "平成": 1989, "令和": 2019}
_OLD = "|".join(name for name, first in ERAS.items() if first < 1912)
_NEW = "|".join(name for name, first in ERAS.items() if first >= 1912)
OLD_ERA, NEW_ERA = (rf"(?:{names})(?:元|[{NUMERALS}]{{1,4}}|\d{{1,2}})年" for names in (_OLD, _NEW))

# 一周三次, 两年一次: how often, and no Wednesday.
TIMES = rf"每?(?:[{NUMERALS}]+|\d+)个?(?:天|日|周|星期|礼拜|月|季度|年)[{NUMERALS}\d]+[次回度]"

_CENTURY = r"(?:[12]?\d|[一二]?十[一二三四五六七八九]?)世纪"
DECADE = rf"(?:上个?世纪|{_CENTURY})?(?:(?:1[5-9]|20)?\d0|[一二三四五六七八九]十)年代"

BEGINNINGS = rf"\d{NUMERALS}每上{''.join(sorted({name[0] for name in ERAS}))}"  # of years, decades and times
CHARACTERS = (
    f"{NUMERALS}{''.join(ERAS)}每个天日周星期礼拜月季度年次回世纪代元上中下初末底"  # in years, decades and times
)
MINUTE = "零[一二三四五六七八九](?![零一二三四五六七八九十])"
NO_ONE = "(?![直向起样般边切共定些家])"  # behind a Monday: 上周一直下雨 is none


def _int(text: str) -> int:
    return int(text) if text.isascii() else number(text) or 0


def decade(text: str) -> Period:
    """90年代, 九十年代, 1990年代, 十九世纪七十年代."""
    century, _, tens = text.removesuffix("年代").rpartition("世纪")
    value = _int(tens)
    if century and "上" not in century:
        value += 100 * (_int(century) - 1)
    return fixed(year_of(value if value > 99 else value + (2000 if value < 30 and not century else 1900), 10, "decade"))


def number(text: str) -> int | None:
    """一百零五, 二十, 〇八, 二零二三; not 两三, which is some."""
    if len(text) == 2 and _DIGITS.get(text[1], 0) - _DIGITS.get(text[0], 99) == 1:
        return None
    text = text.replace("廿", "二十").replace("卅", "三十")
    if not any(char in _POWERS for char in text):
        return int("".join(str(_DIGITS[char]) for char in text)[:7])
    total, digit = 0, 0
    for char in text:
        if char in _POWERS:
            total, digit = total + (digit or 1) * _POWERS[char], 0
        else:
            digit = _DIGITS[char]
    return total + digit


def year(text: str) -> int | None:
    value = int(text) if text.isascii() else number(text)
    if value is None:
        return None
    return value if value > 99 else value + (2000 if value < 40 else 1900)


def year_of_era(text: str) -> int:
    """康熙三年, 民国元年."""
    count = text[2:-1]
    return ERAS[text[:2]] - 1 + (1 if count == "元" else _int(count))
