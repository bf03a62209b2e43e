"""The cascade: what each language adds to a stage, then what they share.

A language is a module with ``WORDS`` (a word's kind and value), ``ROWS`` (its own rows, by stage) and ``NAMES`` (of the
weekdays, for printed lines); kinds are shared, so that most rows are.
"""

from __future__ import annotations

from memscope.dates import compose, en, meaning, zh
from memscope.dates.cascade import Row

LANGUAGES = {"en": en, "zh": zh}

_UNIT = "[unit quarter second century nian]"
_PERIOD = "[date period]"
_ANY = "[date period moment]"
_LINK = "[comma at on in hyphen around of from paren]*"
_TO = "[to hyphen till]"

SHARED: dict[str, tuple[Row, ...]] = {
    "clocks": (
        Row(f"[from between]? time {_TO} time amid?", "time", meaning.time_range),
        Row("between time and time", "time", meaning.time_range),
    ),
    "relative": (
        Row("reldate", "date", meaning.day_from_today),
        Row("step ge? weekday", "date", meaning.stepped_weekday),
        Row(f"(?<!di) [number decimal] ge? {_UNIT}", "length", meaning.length),
        Row("(?<!step) length ([and comma]? length)+ | length length", "length", meaning.joined_lengths),
        Row("length number dian", "length", lambda now, length, hour: length),
        Row("length [ago prior]", "counted", meaning.ago),
        Row("length hence", "counted", meaning.ahead),
        Row("length (?=later (weekday|date|period|reldate))", "length", meaning.value),
        Row("length later", "counted", meaning.ahead),
        Row("in the? length", "counted", meaning.inside),
        Row("within the? step length", "period", meaning.within_next),
        Row("the? [step stretch] length", "period", meaning.rolling),
        Row("prior length", "period", meaning.rolling_back),
        Row("within length", "period", meaning.within),
        Row(f"number step {_UNIT}", "period", meaning.rolling_units),
        Row("the? unit [before after] step", "period", meaning.two_steps),
        Row("the? step ge? [unit quarter century] (?! of the? [period yearlike])", "period", meaning.stepped_unit),
        Row("the? step [date period]", "period", meaning.stepped_period),
        Row("(?<!the) step part", "moment", meaning.part_of_day),
        Row("tonight", "moment", meaning.this_part),
        Row("yearlike hyphen? period | period [comma of in]* yearlike", "period", compose.in_year),
        Row("date comma? (of|in)? yearlike", "date", compose.in_year),
        Row("(?<=[in of during since till by from to between before after edge more less equals comma around beginning hyphen]) the? yearlike (?! [word unit])", "period", meaning.year),
        Row("(?<=period and) yearlike", "period", meaning.year),
        Row("unit yearlike", "period", meaning.named_year),
        Row("unit number (?! [unit word slash])", "period", meaning.week_number),
    ),
    "compose": (
        Row("weekof date", "period", compose.week_with),
        Row("weekday of (the)? period", "date", compose.weekday_in),
        Row("period of? weekday", "date", compose.weekday_in),
        Row("(?<=[of in for during]) the unit (?! of)", "period", meaning.this_unit),
        Row("rest of the? (unit|period)", "period", compose.rest_of),
        Row("the? [ordinal ordword second number step] [unit quarter] of? the? period", "period", compose.nth),
        Row("the? [ordinal ordword step] weekday of? period", "date", compose.nth_day),
        Row("step length of period", "period", compose.nth_units),
        Row("period of? (di number|lastnth) ge? [unit quarter]", "period", compose.nth_of),
        Row("period of? (di number|lastnth) ge? weekday", "date", compose.nth_day_of),
        Row("period of? lastnth length", "period", compose.nth_units_of),
        Row("period of? date", "date", compose.within_period),
        Row("period comma? of? period", "period", compose.within_period),
        Row("date of? the? period", "date", compose.period_within),
        Row("period [in of] period", "period", compose.period_within),
        Row("(?<=[to till and before by]) the? [edge beginning] of? the? period", "limit", compose.limit),
        Row("the? [edge beginning] of? hyphen? the? (period|date)", "period", compose.edge),
        Row("the? [edge beginning] of? the? unit", "period", compose.edge_unit),
        Row("dayend", "moment", compose.day_end),
        Row("period edge", "period", compose.period_edge),
        Row("period unitedge", "period", compose.period_unit_edge),
        Row("unitedge", "period", compose.unit_edge),
        Row("length [before] date", "counted", compose.before),
        Row("length [after from] date", "counted", compose.after),
        Row("weekday comma? counted | counted [comma on]* weekday", "date", compose.weekday_of_counted),
        Row("counted [of in]? [period date]", "date", compose.within_period),
        Row("[period date] counted", "date", compose.period_within),
        Row("counted", "date", meaning.value),
        Row("the? unit of date", "period", compose.unit_with),
        Row("weekday", "date", meaning.weekday),
    ),
    "join": (
        Row("[since after] time | time (onward|later)", "time", meaning.open_time("since")),
        Row("[before till by] around? time | time prior", "time", meaning.open_time("before")),
        Row("from? [time number] for length | for? length from [time number]", "time", meaning.time_for),
        Row("on? the? part of date", "moment", meaning.join),
        Row("date half", "moment", meaning.half_day),
        Row("date number number (?! [word unit slash])", "moment", meaning.spoken_time),
        Row("length [before] date", "date", compose.before),
        Row("length [after from] date", "date", compose.after),
        Row("date comma date (?= comma? [at time part])|date paren date paren?", "date", compose.same_day),
        Row(f"date {_LINK} part {_LINK} [time number]", "moment", meaning.join_part),
        Row(f"[from]? [time number] [in comma on]* date part", "moment", meaning.join_part),
        Row(f"date [comma from between]* number [to hyphen till and] number (?! [word unit slash])", "moment", meaning.join_range),
        Row(f"[from between]? number [to hyphen and] number [comma on]* date", "moment", meaning.join_range),
        Row(f"date {_LINK} time", "moment", meaning.join),
        Row(f"time [comma on of in]* the? date", "moment", meaning.join),
        Row(f"date of? part", "moment", meaning.join),
        Row("moment [comma from between]* number [to hyphen till and] number (?! [word unit slash])", "moment", compose.moment_range),
        Row(f"moment {_LINK} (time|number (?! [word unit]))", "moment", compose.moment_at),
        Row(f"[time number] [comma in]* moment", "moment", compose.at_moment),
        Row(f"date [at around] number (?! [word unit quarter slash])", "moment", meaning.join),
        Row("for length comma? [from since] [date moment]", "period", compose.for_length),
        Row("from? [date moment] for length", "period", compose.for_length),
    ),
    "edges": (
        Row("(time [comma on]*)? [every] other? the? [date period moment time part unit quarter weekday length season]([at on in comma]* [time part])*", "gone", meaning.nothing),
        Row("[date ordinal time] of gone", "gone", meaning.nothing),
        Row(f"[from between]? {_ANY} {_TO} [date period moment limit now] amid?", "period", compose.between),
        Row(f"between {_ANY} and [date period moment limit now]", "period", compose.between),
        Row(f"{_ANY} and {_ANY} amid", "period", compose.between),
        Row(f"[from since]? {_ANY} todate", "period", compose.to_now),
        Row("the? unit todate", "period", compose.unit_to_now),
        Row("[since from]* [date period] (onward | [and or] after (?! [time number])) | since the? [date period]", "open", compose.open_to("since")),
        Row("[since from]* moment onward | [since after] moment | moment later", "open", compose.open_to("since")),
        Row("[before till by] around? moment | moment prior", "open", compose.open_to("before")),
        Row("by the? [date period] | [date period] upto", "open", compose.open_to("until")),
        Row("[before till by] the? limit | [before till] the? [date period] | [date period] prior", "open", compose.open_to("before")),
        Row("after the? [date period] | [date period] later", "open", compose.open_to("after")),
        Row("beginning [date period]", "open", lambda now, word, period: compose.open_to("since")(now, period)),
        Row("more equals period", "open", compose.open_to("since")),
        Row("less equals period", "open", compose.open_to("until")),
        Row("more period", "open", compose.open_to("after")),
        Row("less period", "open", compose.open_to("before")),
    ),
}

STAGES = ("numbers", "clocks", "days", "relative", "compose", "join", "edges")
ROWS = [row for stage in STAGES for part in (en.ROWS, zh.ROWS, SHARED) for row in part.get(stage, ())]
