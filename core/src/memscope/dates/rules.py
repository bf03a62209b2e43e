"""The cascade: per stage the rows of each language, then the shared ones.

A language is a module with ``WORDS`` (a word's kind and value), ``ROWS`` (its own rows, by stage) and ``NAMES`` (of the
weekdays, for printed lines); kinds are shared, so that most rows are.
"""

from __future__ import annotations

from memscope.dates import clocks, compose, days, edges, en, numbers, relative, repeated, stretches, zh
from memscope.dates.cascade import Row, given

LANGUAGES = (en, zh)

_UNIT = "[unit plural quarter second century nian]"
_PERIOD = "[date period]"
_ANY = "[date period moment]"
_LINK = "[comma at on in hyphen around of from paren]*"
_TO = "[to hyphen till]"
_END = "[date period moment limit now instant]"
_WHICH = "[ordinal ordword second step lastnth]"
_BEFORE_YEAR = "[in of during since till by from to between before after edge more less equals comma around beginning]"
_REPEATED = "[date period moment time part parts unit plural quarter weekday length season yue nian]"
_WHEN = (
    "([at on in of comma from]* [time part parts period] | [on of]* the? date"
    " | of? (di number|lastnth) ge? [unit date])"
)
_BESIDE = "[of after before since beginning]"
_EVERY = f"every [other ordinal ordword second number]? the? {_REPEATED}"
_WEEKDAYS = "weekdays ([comma and or]* weekdays)* ([at from in on]* [time part parts])*"
_TIME = "[time number the date period moment]"
_FROM = "[from between since]?"
_TWO_HOURS = "(number [to hyphen till] | between number [to hyphen till and]) number"
_UNCOUNTED = "(?! [word unit plural quarter slash])"
_HOURS = f"([from between]? number {_TO} number | between number and number)"

# fmt: off
SHARED: dict[str, tuple[Row, ...]] = {
    "clocks": (
        Row(f"[from between]? time {_TO} time amid?", "time", clocks.time_range),
        Row("between time and time | time and time amid", "time", clocks.time_range),
    ),
    "relative": (
        Row("reldate", "date", relative.day_from_today),
        Row("step ge? weekday (?! [of in]+ the? [period unit step])", "date", relative.stepped_weekday),
        Row("the? weekday [before after] step", "date", relative.beyond(relative.stepped_weekday)),
        Row(f"number [to hyphen or] number {_UNIT}", "gone", numbers.nothing),  # 2 or 3 days ago
        Row(f"(?<!di) [number decimal] ge? {_UNIT}", "length", numbers.length),
        Row("(?<!step) length ([and comma]? length)+ | length length", "length", numbers.joined_lengths),
        Row("length number dian", "length", lambda now, length, hour: length),
        Row("during (?= length ago)", "than", lambda now: 1),  # over 2 years ago
        Row("length [ago prior]", "counted", relative.ago),
        Row("length hence", "counted", relative.ahead),
        Row("length from now", "counted", given(relative.ahead, 0)),
        Row("length later", "counted", relative.inside),
        Row("in around? the? length (?! [since beginning from after of])", "counted", relative.inside),
        Row("within the? step length", "period", relative.within_next),
        Row("period of? prior length", "period", lambda now, period, length: compose.nth_units(now, 1, length, period)),
        Row("the? [step stretch] of? length (?! [of in] the? [period yearlike step])", "period", relative.rolling),
        Row("date (of? later | of) length later?", "date", compose.date_and_length(1)),
        Row("date of? prior length | date of length prior", "date", compose.date_and_length(-1)),
        Row("(?<! word) prior length", "period", lambda now, length: relative.rolling(now, -1, length)),
        Row("(?<! word) later length", "period", lambda now, length: relative.rolling(now, 1, length)),
        Row("length inside", "period", relative.inside_of),
        Row("within length (?! [from of])", "period", relative.within),
        Row(f"number step {_UNIT}", "period", relative.rolling_units),
        Row("the? unit [before after] step", "period", relative.beyond(relative.stepped_unit)),
        Row("the? step ge? [unit quarter century] (?! of the? [period yearlike])", "period", relative.stepped_unit),
        Row("the? step [date period]", "period", relative.stepped_period),
        Row("(?<!the) step part", "moment", relative.part_of_day),
        Row("tonight", "moment", lambda now, part: relative.part_of_day(now, 0, part)),
        Row("date unit", "period", compose.weekend_at),
        Row("yearlike hyphen? period | period [comma of in]* yearlike", "period", compose.in_year),
        Row("date comma? (of|in)? yearlike", "date", compose.in_year),
        Row("unit number [of in comma]? yearlike", "period", compose.week_of_year),
        Row("yearlike [comma hyphen]? unit number", "period", given(compose.week_of_year, 1, 2, 0)),
        Row("the? yearlike (?= [hyphen to] the? yearlike | todate)", "period", days.year),
        Row("the? yearlike (?= [hyphen to till] [now instant])", "period", days.year),
        Row(f"((?<={_BEFORE_YEAR})|(?<=edge hyphen)) the? yearlike (?! [word unit plural])", "period", days.year),
        Row("(?<=period [and or to hyphen slash]) yearlike (?! [word unit plural])", "period", days.year),
        Row("yearlike (?= [onward upto])", "period", days.year),
        Row("unit yearlike", "period", days.named_year),
        Row("unit number (?! [unit plural word slash])", "period", relative.week_number),
    ),
    "compose": (
        Row("weekof date", "period", compose.week_with),
        Row("weekday [of in on]* the? period", "date", compose.weekday_in),
        Row("the? weekday after date", "date", compose.weekday_beside(1)),
        Row("the? weekday before date", "date", compose.weekday_beside(-1)),
        Row("(?<=for) the unit (?! [of after before since beginning])", "date", relative.this_day),
        Row(f"(?<=[of in for during])(?<! plural of) the unit (?! {_BESIDE})", "period", relative.this_unit),
        Row("rest of [the func]? (unit|period|date)", "period", edges.rest_of),
        Row(f"the? {_WHICH} [unit quarter] [of in]* the? period", "period", compose.nth),
        Row("the? number unit of the? period", "period", compose.nth),
        Row(f"(?<! every) the? {_WHICH} weekday [of in]* the? period", "date", compose.nth_day),
        Row("the? [ordinal ordword second step] halfword of the? period", "period", compose.nth_half),
        Row("[from between]? the? number [to hyphen till and] the? number [in of]* period", "date", days.days_in),
        Row(f"the? {_WHICH} length [of in]* the? period", "period", compose.nth_units),
        Row("period whose [ordinal ordword second] unit", "period", given(compose.nth, 1, 2, 0)),
        Row("period of? (di number|lastnth) ge? [unit quarter]", "period", given(compose.nth, 1, 2, 0)),
        Row("period of? (di number|lastnth) ge? weekday", "date", given(compose.nth_day, 1, 2, 0)),
        Row("period of? lastnth length", "period", given(compose.nth_units, 1, 2, 0)),
        Row("the? [ordinal ordword] of the? period", "date", compose.day_in),
        Row("period on? the? [ordinal ordword] (?! [word unit plural])", "date", given(compose.day_in, 1, 0)),
        Row("[ordinal ordword] period", "date", compose.day_in),
        Row("period [of whose on comma dot]* weekday", "date", compose.weekday_in),
        Row("period [of whose]? date", "date", compose.within_period),
        Row("period [comma of whose in]* period", "period", compose.nested),
        Row("date of? the? period", "date", compose.same_time_in),
        Row("(?<=[to till and before by]) the? [edge beginning] of? the? period", "limit", edges.limit),
        Row("period [edge unitedge] (?= prior) | (?<= till) period [edge unitedge]", "limit", edges.limit_of),
        Row("unitedge (?= prior)|(?<= [before by till]) unitedge", "limit", edges.of(edges.this, edges.limit)),
        Row("period edge", "period", given(edges.edge, 1, 0)),
        Row("period unitedge", "period", edges.of(edges.same_unit)),
        Row("(?<! number) unitedge", "period", edges.of(edges.this)),
        Row("the unit before date", "date", compose.unit_before),
        Row("the unit after date", "date", compose.unit_after),
        Row("for length comma? [from since] on? date | within length [from of] date", "period", compose.for_length),
        Row("the? unit [since beginning] on? date", "period", compose.unit_with),
        Row("length [before] date", "counted", compose.before),
        Row("length after date", "counted", compose.after),
        Row("in? length from date", "counted", compose.from_coming),
        Row("weekday comma? counted | counted [comma on of]* weekday", "date", compose.weekday_of_counted),
        Row("period of? date", "date", compose.anniversary),
        Row("counted of? date", "date", compose.counted_from),
        Row("counted [of in]? [period date]", "date", compose.within_period),
        Row("[period date] counted", "date", given(compose.within_period, 1, 0)),
        Row("than counted", "open", compose.more_than),
        Row("counted", "date", numbers.value),
        Row("(?<!every) ([ordinal ordword] | (di number | lastnth) ge?) weekday", "gone", numbers.nothing),
        Row("seem [func pasttense]* the? date | seem word? date alike | asif word? date", "gone", numbers.nothing),
        Row("the? unit of date", "period", compose.unit_with),
        Row("(article | (?<! [at around to hyphen from]) number) weekday", "gone", repeated.any_of),
        Row("number? [weekdays part parts] [before after] the? date", "gone", numbers.nothing),
        Row("(?<! for) article unit date", "gone", lambda now, count, unit, date: True if unit == "week" else None),
        Row("weekday of the? period", "period", numbers.last_value),
        Row("(?<! [on by of since till from before after to and or]) the weekday (?= word)", "gone", numbers.nothing),
        Row("weekday", "date", days.weekday),
        Row("date unit", "gone", repeated.week_after),
        Row("the? unit before date", "date", compose.unit_before),
        Row("the? unit after date", "date", compose.unit_after),
        Row("the? [edge beginning] (of the? [period date] | hyphen? the? period)", "period", edges.edge),
        Row("edge hyphen? date", "period", edges.middle_of_day),
        Row("the? [edge beginning] of? the? unit", "period", edges.edge_unit),
    ),
    "join": (
        Row("dayend [of on]? date | dayend", "moment", edges.day_end),
        Row("time [comma on of in]* the? date (?= [to hyphen till])", "moment", clocks.join),
        Row(f"date {_LINK} time (?= till)", "moment", clocks.join),
        Row("length before time", "time", clocks.beside(-1)),
        Row("length after time", "time", clocks.beside(1)),
        Row("after time | time later", "time", clocks.open_time("after")),
        Row("since time | time onward | from time [of on] (?! date)", "time", clocks.open_time("since")),
        Row("[before by] around? time | (?<! moment) till around? time", "time", clocks.open_time("before")),
        Row("time [prior upto]", "time", clocks.open_time("before")),
        Row("from? [time number] for length", "time", clocks.time_for),
        Row(f"for? length [from since at] at? (time | number {_UNCOUNTED})", "time", clocks.time_for),
        Row("[on in]? the? part [of on] date", "moment", clocks.join),
        Row("edge date part", "moment", clocks.edge_on_day),
        Row(f"date after number {_UNCOUNTED}", "moment", clocks.open_on_day("after")),
        Row(f"date before number {_UNCOUNTED}", "moment", clocks.open_on_day("before")),
        Row("date half", "moment", clocks.half_day),
        Row("date number number (?! [word unit plural slash])", "moment", clocks.spoken_time),
        Row("length before date", "date", compose.before),
        Row("(?<! for) length after date", "date", compose.after),
        Row("(?<! for) in? length from date", "date", compose.from_coming),
        Row("date comma date (?= comma? [at time part])|date paren date paren?", "date", compose.same_day),
        Row(f"date part [comma]* {_HOURS} {_UNCOUNTED}", "moment", clocks.join_part_range),
        Row(f"{_HOURS} [comma on]* date part", "moment", clocks.join_part_range),
        Row(f"{_HOURS} [comma in]* moment", "moment", compose.moment_range),
        Row(f"date {_LINK} part {_LINK} [time number]", "moment", clocks.join_part),
        Row("from? time [in comma on]* date part", "moment", clocks.join_part),
        Row("number [in comma on]* date part", "moment", clocks.hour_of_part),
        Row(f"date [comma from]* {_TWO_HOURS} (?! [word unit plural slash])", "moment", clocks.join_range),
        Row("(from? number [to hyphen] | between number and) number [comma on]* date", "moment", clocks.join_range),
        Row(f"date {_LINK} time", "moment", clocks.join),
        Row("time [comma on of in]* the? date", "moment", clocks.join),
        Row(f"part {_TO} part (?! of)", "span", clocks.parts_of_day),
        Row(f"date of? part {_TO} time", "moment", clocks.from_part),
        Row("date of? span", "moment", clocks.join),
        Row("date of? part", "moment", clocks.join),
        Row(f"moment [comma from]* {_TWO_HOURS} (?! [word unit plural slash])", "moment", compose.moment_range),
        Row(f"moment {_LINK} (time|number (?! [word unit plural]))", "moment", compose.moment_at),
        Row("[time number] [comma in]* moment", "moment", given(compose.moment_at, 1, 0)),
        Row("date [at around] number (?! [word unit plural quarter slash])", "moment", clocks.join),
        Row("for length comma? [from since] [date moment]", "period", compose.for_length),
        Row("[from since]? [date moment] for length", "period", compose.for_length),
        Row("[in for]? the? length [since beginning] on? date", "period", compose.for_length),
        Row("[since from]? date onward of? length", "period", compose.for_length),
        Row("length [after before] the? period", "gone", numbers.nothing),
    ),
    "edges": (
        Row("every date ([comma and or]+ every? date)+ ([at from on]* [time part parts])*", "gone", repeated.repeated),
        Row(f"date {_TO} date [comma]* every [unit plural]", "gone", numbers.nothing),
        Row(f"[time date] [comma on]* {_EVERY} {_WHEN}*", "gone", repeated.named_before),
        Row(f"{_EVERY} {_WHEN}*", "gone", repeated.repeated),
        Row(f"([time moment] [comma on at]*)? daily {_WHEN}*", "gone", repeated.repeated),
        Row(f"weekdays {_TO} weekdays", "weekdays", repeated.weekdays_between),
        Row(f"{_WEEKDAYS} ([in of during] the? [period date])*", "gone", repeated.on_weekdays),
        Row("the? [date ordinal time] of gone", "gone", repeated.day_of_repeated),
        Row("gone [time moment]", "gone", numbers.first_value),
        Row("seem date", "gone", numbers.nothing),
        Row(f"nodate {_TO} {_ANY} | {_ANY} {_TO} nodate", "gone", numbers.nothing),
        Row(f"{_FROM} the? {_ANY} onward? {_TO} the? {_END} amid? (?! prior)", "period", stretches.between),
        Row(f"[from between] [now instant] [to till and] {_ANY}", "period", stretches.between),
        Row(f"between the? {_ANY} and the? {_END}", "period", stretches.between),
        Row(f"{_ANY} and {_ANY} amid", "period", stretches.between),
        Row(f"[from since]? {_ANY} todate", "period", lambda now, period: stretches.between(now, period, "now")),
        Row("[from between]? [now instant] [to till and] time", "moment", stretches.now_to_time),
        Row("instant", "moment", relative.this_instant),
        Row("the? [unit quarter] todate", "period", stretches.unit_to_now),
        Row("[since from]* [date period] onward | since the? [date period]", "open", compose.open_to("since")),
        Row(f"[since from]* [date period] [and or] after (?! {_TIME})", "open", compose.open_to("since")),
        Row("from [date period] on (?! [date period time])", "open", compose.open_to("since")),
        Row("[since from]* moment onward | [since after] moment | moment later", "open", compose.open_to("since")),
        Row("[before till by] around? moment | moment prior", "open", compose.open_to("before")),
        Row("by the? [date period]", "open", compose.by),
        Row("[date period] upto", "open", compose.open_to("until")),
        Row(f"[date period] [and or] before (?! {_TIME})", "open", compose.open_to("until")),
        Row("[before till by] the? limit | limit prior", "open", compose.open_to("before")),
        Row("[before till] the? [date period] | [date period] prior", "open", compose.open_to("before")),
        Row("after the? [date period] | [date period] later", "open", compose.open_to("after")),
        Row("beginning [date period]", "open", lambda now, word, period: compose.open_to("since")(now, period)),
        Row("more equals period", "open", compose.open_to("since")),
        Row("less equals period", "open", compose.open_to("until")),
        Row("more period", "open", compose.open_to("after")),
        Row("less period", "open", compose.open_to("before")),
    ),
}
# fmt: on

STAGES = ("numbers", "clocks", "days", "relative", "compose", "join", "edges")
_PARTS = (*(language.ROWS for language in LANGUAGES), SHARED)
ROWS = [row for stage in STAGES for part in _PARTS for row in part.get(stage, ())]
