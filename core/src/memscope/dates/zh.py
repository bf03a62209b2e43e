"""中文: words and the rows that only Chinese needs. Traditional characters stand beside the simplified ones.

Vague words (最近, 前阵子, 几天前) have no entry: they name no date.
"""

from __future__ import annotations

from typing import Any

from memscope.dates import clocks, days, edges, numbers, relative
from memscope.dates.calendar import Length, Period, fixed, year_of
from memscope.dates.cascade import Row, given
from memscope.dates.clocks import hours
from memscope.dates.numbers import words
from memscope.dates.repeated import GAP, Rule

NAMES = ("星期一", "星期二", "星期三", "星期四", "星期五", "星期六", "星期日")

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


_WEEK = ("周", "週", "星期", "礼拜", "禮拜")
NO_ONE = "(?![直向起样般边切共定些家])"  # 上周一直下雨 is no Monday
_WEEKDAYS = {"一": 0, "二": 1, "三": 2, "四": 3, "五": 4, "六": 5, "日": 6, "天": 6}
_PAIRS = {a + b: (x, y) for a, x in _WEEKDAYS.items() for b, y in _WEEKDAYS.items() if x < y}
_SEVERAL_DAYS = {f"每{week}{pair}": Rule("week", 1, days) for week in _WEEK for pair, days in _PAIRS.items()}
_PARTS = {
    "凌晨": hours(0, 8),
    "清晨|早上|早晨|上午|早间": hours(8, 12),
    "中午|正午": hours(11, 13),
    "下午|午后|午後": hours(12, 16),
    "傍晚|晚上|晚间|晚間": hours(16, 20),
    "夜里|夜裡|半夜|深夜|夜间|夜晚": hours(20, 24),
}
_LUNAR_DAYS = "一二三四五六七八九十"
_DAYS = {"昨": -1, "今": 0, "明": 1}
_DAY_PARTS = {"晚": hours(16, 20), "晚上": hours(16, 20), "早": hours(8, 12), "晨": hours(8, 12), "夜": hours(20, 24)}

# Words that only look like words of time.
_UNTIMELY = (
    "一时的 一时间 一时之间 一时半会 一时兴起 一时冲动 一日三餐 一日之计 如一日 "
    "以上 以下 上面 下面 上班 下班 上学 放学 早上好 晚上好 中间 时候 時候 有点"
    " 有一点 差点 差一点 前夕 五月天 公元前 点击 号线 号楼 号店 号院 号门 号房 号桌 号码 号称 日本 日子"
    " 隔壁 隔离 隔开 隔阂 间隔 没有明天 明天会更好 美好明天 美好的明天 日常 日程 今日头条 日记 星期几 月亮 月饼"
)

# fmt: off
WORDS: dict[str, tuple[str, Any]] = {
    **words("weekday", {week + name: n for week in _WEEK for name, n in _WEEKDAYS.items()}),
    **words("unit", {"天": "day", "周|週|星期|礼拜|禮拜": "week", "周末|週末": "weekend"}),
    **words("unit", {"个月|個月": "month", "小时|小時|钟头|鐘頭": "hour"}),
    **words("unit", {"分钟|分鐘": "minute", "秒钟|秒鐘": "second", "工作日": "workday"}),
    **words("jidu", {"季度": "quarter"}),
    **words("century", {"世纪|世紀": "century"}),
    **words("semester", {"半年": "half"}),
    **words("nian", {"年": "year"}),
    **words("yue", {"月|月份": None}),
    **words("hao", {"号|號|日": None}),
    **words("dian", {"点|點|时|時|点钟|點鐘": None}),
    **words("fen", {"分": None}),
    **words("miao", {"秒": None}),
    **words("sharp", {"整|钟": None}),
    **words("ban", {"半": 0.5}),
    **words("ke", {"一刻": 15, "三刻": 45}),
    **words("ge", {"个|個": None}),
    **words("di", {"第": None}),
    **words("reldate", {"今天|今日|今儿": 0, "昨天|昨日|昨儿": -1, "前天|前日": -2, "大前天": -3}),
    **words("reldate", {"明天|明日|明儿": 1, "后天|後天": 2, "大后天|大後天": 3}),
    **words("relyear", {"今年|本年|本年度|今年度": 0, "去年|上年|上一年|去年度": -1, "前年": -2, "大前年": -3}),
    **words("relyear", {"明年|来年|來年": 1, "后年|後年": 2}),
    **{day + part: ("daypart", (shift, clock)) for day, shift in _DAYS.items() for part, clock in _DAY_PARTS.items()},
    **words("part", _PARTS),
    **words("midnight", {"午夜": hours(0, 1)}),
    **words("time", {"零点整": hours(0, 1)}),
    **words("halfpart", {"早": hours(8, 12), "晚": hours(16, 20)}),
    **words("cha", {"差": None}),
    **words("jijie", {"春天|春季": 3, "夏天|夏季|暑假": 6, "秋天|秋季": 9, "冬天|冬季": 12}),
    **words("halfyear", {"上半年|前半年": 1, "下半年|后半年|後半年": 2}),
    **words("step", {"上|上一|上个|上個|上一个|上一個": -1, "上上|上上个": -2, "这|這|这个|這個|本|这一": 0}),
    **words("step", {"下|下一|下个|下個|下一个|下一個": 1, "下下|下下个": 2}),
    **words("sui", {"岁|歲": None}),
    **words("lastnth", {"最后|最後|最后一|最後一": -1}),
    **words("stretch", {"过去|過去|最近|近": -1, "未来|未來|接下来|接下來|今后": 1}),
    **words("edge", {"初|上旬": "start", "中旬": "mid", "底|末|下旬": "end"}),
    **words(
        "unitedge",
        {
            "年初": ("start", "year"),
            "年中": ("mid", "year"),
            "年底|年末": ("end", "year"),
            "月初": ("start", "month"),
            "月中|月中旬": ("mid", "month"),
            "月底|月末": ("end", "month"),
        },
    ),
    **words("every", {"每|每个|每個|每逢|逢": None}),
    **words("every", {"每隔|隔": GAP}),
    **words("gone", _SEVERAL_DAYS),
    **words("seem", {"像|好像|就像": None}),
    **words("jubilee", {"生日|纪念日|紀念日": None}),
    **words("asif", {"仿佛|彷佛|如同|犹如|宛如|恍如": None}),
    **words("alike", {"一样|似的|那样|一般|那般|那么": None}),
    **words("from", {"从|從": None}),
    **words("till", {"截至|截止|截止到|直到|直至": None}),
    **words("since", {"自从|自從|自": None}),
    **words("onward", {"或之后|或之後|或以后|及以后|及之后|以来|以來|至今|开始|開始|起": None}),
    **words("upto", {"或之前|或以前|及以前|及之前|为止|為止": None}),
    **words("before", {"早于|先于|早於": None}),
    **words("more", {"晚于|迟于|大于|晚於": None}),
    **words("less", {"小于": None}),
    **words("by", {"不晚于|不迟于|最晚|最迟|不晚於": None}),
    **words("since", {"不早于|最早|不早於": None}),
    **words("within", {"还剩|還剩|还剩下": None}),
    **words("inside", {"之内|以内|内|之內|以內|內": None}),
    **words("prior", {"之前|以前|前": None}),
    **words("later", {"过后|過後|之后|之後|以后|以後|后|後": None}),
    **words("to", {"到|至": None}),
    **words("and", {"和|与|與|及": None}),
    **words("of", {"的": None}),
    **words("amid", {"之间|之間|间": None}),
    **words("around", {"大约|大概|约|大約|左右|前后|前後": None}),
    **words("instant", {"现在|現在|目前|此刻": "now"}),
    **words("future", {"将|將|会|會|要|打算|计划|准备": None}),
    **words("pasttense", {"了|过|過": None}),
    **words("lunar", {"大年初一|大年三十|正月初|腊月|正月": None}),
    **words("lunar", {f"初{day}|月初{day}": None for day in _LUNAR_DAYS}),
    **words("lunarcal", {"农历|農曆|阴历|陰曆|旧历": None}),
    **dict.fromkeys(_UNTIMELY.split(), ("word", None)),
    **dict.fromkeys("次日 翌日 第二天 次年 翌年".split(), ("", None)),  # 晚上9点至次日凌晨2点
}
# fmt: on

HOLIDAYS = {
    "元旦": (1, 1),
    "情人节": (2, 14),
    "妇女节": (3, 8),
    "植树节": (3, 12),
    "愚人节": (4, 1),
    "劳动节|五一节|五一劳动节|五一假期|五一长假|五一期间": (5, 1),
    "青年节": (5, 4),
    "儿童节|六一儿童节": (6, 1),
    "建党节": (7, 1),
    "建军节": (8, 1),
    "教师节": (9, 10),
    "国庆节|国庆|國慶節|國慶|十一国庆": (10, 1),
    "十一假期|十一长假|十一期间|十一黄金周": (10, 1),
    "万圣节": (10, 31),
    "光棍节|双十一|双11": (11, 11),
    "双十二|双12": (12, 12),
    "平安夜": (12, 24),
    "圣诞夜|聖誕夜": (12, 24),
    "圣诞节|圣诞|聖誕節": (12, 25),
    "跨年夜": (12, 31),
}


MOVING = {"母亲节|母親節": (5, 6, 2), "父亲节|父親節": (6, 6, 3), "感恩节|感恩節": (11, 3, 4)}

WORDS |= words("date", {names: days.feast(*day) for names, day in HOLIDAYS.items()})
WORDS |= words("date", {names: days.moving_feast(*rule) for names, rule in MOVING.items()})

_TO = "[to hyphen]"
_BEFORE_HOUR = "[part around daypart reldate date to from weekday hyphen hao]"
_UNIT = "[unit century nian]"
_LIMIT_OF_MONTH = edges.of(edges.month_named, edges.limit)
_LIMIT_OF_STEP = edges.of(relative.stepped_unit, edges.limit)

# fmt: off
ROWS: dict[str, tuple[Row, ...]] = {
    "clocks": (
        Row("cha (number fen | ke) number dian", "time", clocks.before_hour),
        Row("number dian cha (number fen | ke)", "time", given(clocks.before_hour, 1, 0)),
        Row("[halfpart midnight] (?= number dian)", "part", numbers.value),
        Row("midnight", "time", numbers.value),
        Row("number dian number fen number miao", "time", clocks.o_clock),
        Row("number dian pasttense? [number minute] fen | number dian minute", "time", clocks.o_clock),
        Row("number dian number", "time", clocks.spoken_clock),
        Row("number dian pasttense? ke", "time", clocks.o_clock),
        Row("(?<! [to and hyphen]) number dian amid", "gone", numbers.nothing),
        Row("number dian ban", "time", lambda now, hour, half: clocks.o_clock(now, hour, 30)),
        Row(f"(?<= {_BEFORE_HOUR}) number dian sharp?", "time", clocks.o_clock),
        Row("(?<! [unit di]) number dian (sharp | (?! [word number]))", "time", clocks.o_clock),
        Row(f"(?<! [month may]) number {_TO} time", "time", clocks.time_range),
        Row("(?<! [step the in]) part of? time", "time", clocks.in_part),
    ),
    "days": (
        Row(f"number yue of? number hao? {_TO} number hao", "date", days.day_range),
        # the lunar calendar is not known here
        Row("lunarcal yearname? (number yue)? [lunar number]* hao?", "gone", numbers.nothing),
        Row("yearname? (number yue?)? lunar number?", "gone", numbers.nothing),
        Row("era number yue ([lunar number]* hao?)?", "gone", numbers.nothing),
        Row("era lunar number?", "gone", numbers.nothing),
        Row("era", "period", days.year),
        Row("yearname number yue number hao", "date", given(days.full_date, 1, 2, 0)),
        Row("yearname number yue number hao", "nodate", numbers.nothing),
        Row(f"number {_TO} number hao", "date", days.bare_days),
        Row(f"yearlike (?={_TO} yearname)", "period", days.year),
        Row("number yue of? number hao", "date", days.month_day),
        Row("number yue number hao", "nodate", numbers.nothing),  # 2月30日
        Row(f"number {_TO} number yue", "period", days.months),
        Row("yearname number unitedge (?= prior)", "limit", _LIMIT_OF_MONTH),
        Row("(?<= till) yearname number unitedge", "limit", _LIMIT_OF_MONTH),
        Row("yearname number unitedge", "period", edges.of(edges.month_named)),
        Row("number unitedge (?= prior) | (?<= till) number unitedge", "limit", _LIMIT_OF_MONTH),
        Row("step ge? unitedge (?= prior) | (?<= till) step ge? unitedge", "limit", _LIMIT_OF_STEP),
        Row("number unitedge", "period", edges.of(edges.month_named)),
        Row("number yue", "period", days.month),
        Row("yearname? number yue", "nodate", numbers.nothing),
        Row("(?<! di) number hao", "date", days.day_of_month),
        Row("yearname", "period", days.year),
        Row("step ge? nian", "period", relative.stepped_unit),
        Row("step ge? jidu", "period", relative.stepped_unit),
        Row("step ge? unitedge", "period", edges.of(relative.stepped_unit)),
        Row("number century", "period", days.spelled_century),
        Row("(?<= relyear) number (?! [sui ge dian nian unit])", "date", days.spoken_feast),
        Row("relyear", "period", lambda now, step: relative.stepped_unit(now, step, "year")),
        Row("prior number jidu", "period", days.first_quarters),
        Row("di number ge? jidu | number jidu", "period", days.quarter),
        Row("halfyear", "period", days.half_year),
        Row("jijie", "period", days.season),
        Row("date [comma paren]* weekday paren?", "date", numbers.first_value),
        Row("daypart", "moment", lambda now, value: relative.part_of_day(now, *value)),
    ),
    "relative": (
        Row("step ge? yue", "period", lambda now, step: relative.stepped_unit(now, step, "month")),
        Row("step ge? semester", "period", relative.stepped_unit),
        Row("ke sharp", "length", lambda now, minutes: Length(((minutes, "minute"),))),
        Row("semester", "length", lambda now, unit: Length(((1, unit),))),
        Row("number ge ban yue", "length", numbers.month_and_half),
        Row("number ge jidu", "length", numbers.length),
        Row(f"number ge? {_UNIT} ban", "length", numbers.length),
        Row(f"number ge ban {_UNIT}", "length", numbers.length),
        Row(f"ban ge? {_UNIT}", "length", numbers.length),
        Row("number (nian|century)", "length", numbers.length),
    ),
}
# fmt: on
