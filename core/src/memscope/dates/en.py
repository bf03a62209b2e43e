"""English: words and the rows that only English needs. Phrases of several words are written with a space.

Vague words ("recently", "the other day", "a few days ago") have no entry: they name no date. Words that more often
mean something else ("may", "march", "sat", "second") have kinds of their own, which rows accept in clear company only.
"""

from __future__ import annotations

from typing import Any

from memscope.dates import clocks, days, edges, numbers, relative, repeated
from memscope.dates.cascade import Row, given
from memscope.dates.clocks import hours
from memscope.dates.numbers import words
from memscope.dates.repeated import SEVERAL

NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_NUMBERS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINALS = (
    "first third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth"
    " sixteenth seventeenth eighteenth nineteenth"
)

_SEEM = ("feel", "feels", "felt", "seem", "seems", "seemed", "was", "is", "it's")

# fmt: off
WORDS: dict[str, tuple[str, Any]] = {
    **words("numword", dict(zip(_NUMBERS.split(), range(1, 20), strict=True)), {"zero": 0}),
    **words("numword", dict(zip(_TENS.split(), range(20, 100, 10), strict=True))),
    **words("times", {"hundred": 100, "thousand": 1000}),
    **words(
        "ordword", dict(zip(_ORDINALS.split(), (1, *range(3, 20)), strict=True)), {"twentieth": 20, "thirtieth": 30}
    ),
    **words("second", {"second|2nd": "second"}),
    **words("halfword", {"half": 0.5}),
    **words("couple", {"couple|couple of|pair of": 2}),
    **words("month", {"january|jan": 1, "february|feb": 2, "mar": 3, "april|apr": 4, "june|jun": 6, "july|jul": 7}),
    **words(
        "month", {"august|aug": 8, "september|sept|sep": 9, "october|oct": 10, "november|nov": 11, "december|dec": 12}
    ),
    **words("may", {"march": 3, "may": 5}),
    **words(
        "weekday",
        {"monday|mon": 0, "tuesday|tues|tue": 1, "wednesday": 2, "thursday|thurs|thur|thu": 3, "friday|fri": 4},
    ),
    **words("weekday", {"saturday": 5, "sunday": 6}),
    **words("sat", {"wed": 2, "sat": 5, "sun": 6}),
    **words("unit", {"sec": "second", "minute|min": "minute", "hour|hr|h": "hour", "day": "day", "week|wk": "week"}),
    **words(
        "unit", {"weekend": "weekend", "fortnight": "fortnight", "month": "month", "year|yr|calendar year": "year"}
    ),
    **words(
        "unit",
        {"decade": "decade", "business day|working day|workday|weekday": "workday", "workweek|work week": "workweek"},
    ),
    **words("plural", {"secs|seconds": "second", "minutes|mins": "minute", "hours|hrs": "hour", "days": "day"}),
    **words("plural", {"weeks|wks": "week", "weekends": "weekend", "fortnights": "fortnight", "months": "month"}),
    **words("plural", {"years|yrs": "year", "quarters": "quarter", "decades": "decade", "centuries": "century"}),
    **words("plural", {"business days|working days|workdays|weekdays": "workday"}),
    **words("century", {"century": "century"}),
    **words("quarter", {"quarter": "quarter"}),
    **words("label", {"q1": 1, "q2": 2, "q3": 3, "q4": 4}),
    **words("reldate", {"today|current date": 0, "tomorrow|tmr|tmrw": 1, "yesterday": -1}),
    **words(
        "reldate", {"the day before yesterday|day before yesterday": -2, "the day after tomorrow|day after tomorrow": 2}
    ),
    **words("tonight", {"tonight|this night": hours(20, 24)}),
    **words(
        "part",
        {
            "morning": hours(8, 12),
            "afternoon": hours(12, 16),
            "evening": hours(16, 20),
            "night": hours(20, 24),
        },
    ),
    **words("parttime", {"lunchtime|lunch time": hours(11, 13), "dinnertime|dinner time": hours(16, 20)}),
    **words("parttime", {"daytime|day time": hours(8, 18), "night time|nighttime": hours(0, 8)}),
    **words("meal", {"breakfast": hours(8, 12), "lunch": hours(11, 13), "dinner|supper": hours(16, 20)}),
    **words("time", {"noon|midday|noonish|twelve noon": hours(12, 13), "midnight": hours(0, 1)}),
    **words("dayend", {"eod|end of day|end of the day|the end of day|the end of the day": None}),
    **words("season", {"spring": 3, "summer": 6, "autumn|fall": 9, "winter": 12}),
    **words("step", {"last|previous|prior|preceding": -1, "this|current": 0, "next|following": 1}),
    **words("lastnth", {"final": -1, "second to last|next to last|penultimate": -2}),
    **words("instant", {"right now|at the moment|at this moment|at the present time|at present": "now"}),
    **words("ish", {"ish": None}),
    **words("weekdays", {"mondays": 0, "tuesdays": 1, "wednesdays": 2, "thursdays": 3, "fridays": 4, "saturdays": 5}),
    **words("weekdays", {"sundays": 6}),
    **words("halfyear", {"h1": 1, "h2": 2}),
    **words("coming", {"coming|upcoming|this coming": None}),
    **words(
        "edge",
        {
            "start": "start",
            "early|early in|earlier in": "early",
            "middle|mid": "mid",
            "end": "end",
            "late|later in|late in": "late",
        },
    ),
    **words("beginning", {"beginning": "start"}),
    **words("later", {"later": None}),
    **words("decade", {"fifties": 1950, "sixties": 1960, "seventies": 1970, "eighties": 1980, "nineties": 1990}),
    **words("now", {"now|date": "now", "the present|present time|today s date": "now"}),
    **words("todate", {"to date|up to now|up till now|till now|until now|till date|to present|until present": None}),
    **words("weekof", {"w/c": None}),
    **words("every", {"every|each|once a|once per|once each|once every": None}),
    **words(
        "every", {"per|times a|times per|times each|times every|twice a|twice per|twice each|twice every": SEVERAL}
    ),
    **words(
        "daily", {"daily|everyday|nightly": "day", "weekly": "week", "biweekly|bi weekly|fortnightly": "fortnight"}
    ),
    **words(
        "daily",
        {"monthly": "month", "quarterly": "quarter", "semiannually|semi annually": "half", "yearly|annually": "year"},
    ),
    **words("daily", {"bimonthly|bi monthly|hourly|semiannual|semi annual": SEVERAL}),
    **words(
        "parts",
        {"mornings": hours(8, 12), "afternoons": hours(12, 16), "evenings": hours(16, 20), "nights": hours(20, 24)},
    ),
    **words("seem", {f"{verb} {word}": None for verb in _SEEM for word in ("like", "as if", "as though", "like only")}),
    **words("seem", {"as if|as though": None}),
    **words("word", {"like yesterday|no tomorrow|here today, gone tomorrow|here today and gone tomorrow": None}),
    **words("since", {"since|starting|starting on|starting from|commencing|beginning on|as early as|not before": None}),
    **words("after", {"after|later than": None}),
    **words("upto", {"or before|or earlier|and earlier": None}),
    **words(
        "since",
        {
            "on or after|at or after|no earlier than|not earlier than|no sooner than|not until": None,
            "on or later than": None,
        },
    ),
    **words("by", {"on or before|at or before|on or earlier than|as late as": None}),
    **words("before", {"before|prior to|earlier than|sooner than": None}),
    **words("till", {"until|till|til|up to": None}),
    **words("by", {"by|no later than|not later than": None}),
    **words("to", {"to|through|thru": None}),
    **words("past", {"past|this past": None}),
    **words("unitedge", {"eoy|year end|year s end": ("end", "year"), "eom|month end|month s end": ("end", "month")}),
    **words("ago", {"ago|before now|back": None}),
    **words("earlier", {"earlier": None}),
    **words("hence", {"hence": None}),
    **words("oclock", {"o'clock|oclock|o clock": None}),
    **words("future", {"will|shall|gonna|going to|let's|plan|schedule|can we|see you": None}),
    **words("future", {"i'll|we'll|he'll|she'll|they'll|you'll|it'll": None}),
    **words(
        "pasttense",
        {
            "was|were|did|had|went|got|came|took|made|said|told|saw|met|bought|found|left|finished|been": None,
            "moved|visited|started|began|joined|quit|married|divorced|graduated|lived|worked|flew|travelled|traveled|hiked|ran"
            "|climbed|adopted|gave|won|lost|broke|died|passed|born|retired|celebrated|attended|watched|ate|wrote|sold"
            "|spent|stayed|returned|arrived|launched|fixed|shipped|ended|stopped|received|hurt|fell|happened": "verb",
        },
    ),
    **{
        word: (word.split()[0], None)
        for word in ("the", "of", "in", "at", "on", "from", "between", "and", "or", "for", "within")
    },
    **words("whose", {"s": None}),
    **words("during", {"during|over|throughout": None}),
    **words(
        "func",
        {"i|we|he|she|it|they|you|my|our|his|her|their|there|when|where|but|is|are|has|have|while|with|then": None},
    ),
    **words("around", {"around|about|approximately|circa|roughly|exactly": None}),
    **words("article", {"a|an": 1}),
    **words("than", {"more than|at least": 1, "less than|at most|under": -1}),
    **words("more", {"greater than": None}),
    **words(
        "word",
        {
            "fiscal year|school year|academic year|new year|chinese new year|lunar new year": None,
            "at one with|at one of|at one point|at one time|at one last": None,
        },
    ),
    **words("other", {"other": 2}),
    **words("jubilee", {"birthday|birthdays|anniversary": None}),
    **words("onward", {"and later|or later|or newer|and onwards|onwards|onward|and beyond": None}),
    **words("rest", {"remaining|rest|remainder": None}),
}
# fmt: on

HOLIDAYS = {
    "christmas eve": (12, 24),
    "christmas|christmas day|xmas": (12, 25),
    "boxing day": (12, 26),
    "groundhog day": (2, 2),
    "women's day|international women's day": (3, 8),
    "may day|international workers' day": (5, 1),
    "children's day": (6, 1),
    "single's day": (11, 11),
    "new year's eve": (12, 31),
    "new year's day|new year day|new years": (1, 1),
    "valentine's day": (2, 14),
    "st patrick's day|st. patrick's day|saint patrick's day": (3, 17),
    "april fools|april fool's day": (4, 1),
    "earth day": (4, 22),
    "cinco de mayo": (5, 5),
    "juneteenth|freedom day|jubilee day": (6, 19),
    "independence day": (7, 4),
    "halloween|all hallows eve": (10, 31),
    "veteran's day": (11, 11),
    "inauguration day": (1, 20),
    "st george's day|st. george's day": (4, 23),
    "bastille day": (7, 14),
    "all saint's day": (11, 1),
    "all soul's day": (11, 2),
    "guy fawkes night|bonfire night": (11, 5),
}
# month, weekday (Monday 0), which one (from the end when negative), days after it
MOVING = {
    "martin luther king day|martin luther king jr day|martin luther king jr. day|mlk day": (1, 0, 3, 0),
    "president's day|washington's birthday": (2, 0, 3, 0),
    "memorial day": (5, 0, -1, 0),
    "mother's day": (5, 6, 2, 0),
    "father's day": (6, 6, 3, 0),
    "labor day|labour day": (9, 0, 1, 0),
    "columbus day": (10, 0, 2, 0),
    "thanksgiving|thanksgiving day": (11, 3, 4, 0),
    "black friday": (11, 3, 4, 1),
    "cyber monday": (11, 3, 4, 4),
}


# days from Easter
AROUND_EASTER = {
    "mardi gras|shrove tuesday": -47,
    "ash wednesday": -46,
    "palm sunday": -7,
    "maundy thursday": -3,
    "good friday": -2,
    "easter|easter sunday": 0,
    "easter monday": 1,
}


def spelled(names: str) -> str:
    """Mother's day, mothers day, mothers' day."""
    return "|".join((names, names.replace("'s ", "s "), names.replace("'s ", "s' ")))


WORDS |= words("date", {spelled(names): days.feast(*day) for names, day in HOLIDAYS.items()})
WORDS |= words("date", {spelled(names): days.moving_feast(*rule) for names, rule in MOVING.items()})
WORDS |= words("date", {names: days.easter_feast(away) for names, away in AROUND_EASTER.items()})

_DAY = "[number ordinal ordword second]"
_UNIT = "[unit plural quarter second century]"
_TO = "[to hyphen till]"
_TWO_DAYS = f"([from between]? the? {_DAY} {_TO} | between the? {_DAY} and)"
_YEAR = "[comma hyphen slash of in]* yearlike"
_DAY_FIRST = f"the? {_DAY} [of hyphen slash comma the]* [month may] dot? {_YEAR}"
_BEFORE_DAY = "[on till by since from before after]"
_MONTH = "hyphen? [month may] dot?"
_NO_DAY = "[to till hyphen and time clock month may stop]"
_AFTER_LENGTH = "[ago hence from before after later since beginning] | and number [unit plural]"
_BEFORE_MAY = "[in of during since till by from to before after past edge between every]"
_OF_TIME = "[in of during since till by from to before after past edge between for around step and or hyphen]"
_UNTIMED = "(?! [word unit plural quarter second half oclock colon hyphen to till and times part])"
# Not "the 3rd time".
_UNCOUNTED = (
    "(?! [word unit plural quarter second month may weekday slash hyphen colon of part times dian hao yue ge halfword])"
)

# fmt: off
ROWS: dict[str, tuple[Row, ...]] = {
    "numbers": (
        Row("numword hyphen? numword", "numword", numbers.compound),
        Row("numword hyphen? [ordword second]", "ordword", numbers.compound),
        Row("numword times and? numword", "numword", numbers.times),
        Row("numword times", "numword", numbers.times),
        Row("numword numword", "yearlike", numbers.spoken_year),
        Row("numword", "yearlike", numbers.as_year),
        Row("numword", "number", numbers.value),
        Row("article? couple of? (?=[unit plural past step])", "number", lambda now, *numbers: 2),
    ),
    "clocks": (
        Row("[halfword number quarter] [unit plural]? past number oclock?", "time", clocks.past_hour),
        Row("article? quarter to number (?! [word unit plural])", "time", clocks.before_hour),
        Row("number [unit plural] to number (?! [word unit plural])", "time", clocks.before_hour),
        Row("number to number (?= half)", "time", clocks.twenty_to),
        Row("(?<! [unit month may]) number number half", "time", clocks.of_spoken_half),
        Row("[clock number decimal time] ish? dot? half", "time", clocks.of_half),
        Row("[clock number] oclock", "time", clocks.clock_of),
        Row("(?<= [from between]) number number [to till hyphen and] number number", "time", clocks.spoken_range),
        Row("clock", "time", numbers.value),
        Row("(?<! [month may]) [number time] [to hyphen till] time", "time", clocks.time_range),
        Row("between [number time] and time", "time", clocks.time_range),
        Row(f"time [to hyphen till] number {_UNCOUNTED}", "time", clocks.time_range),
        Row("article? quarter of article unit", "length", clocks.quarter_of),
        Row("[edge beginning] in? the part", "time", clocks.edge_of_part),
        Row("edge part", "part", clocks.edge_of_part),
        Row("between time and number (?! [word unit plural])", "time", clocks.time_range),
        Row("number number (at the?|in the) part", "time", clocks.spoken_in_part),
        Row("number number (?= (step part | tonight | reldate))", "time", clocks.spoken_clock),
        Row(f"[from between]? [number time] {_TO} [number time] (at the?|in the) part", "time", clocks.range_in_part),
        Row("between [number time] and [number time] (at the?|in the) part", "time", clocks.range_in_part),
        Row("(?<! [month may]) [number time] (at the?|in the) part", "time", clocks.in_part),
        Row("(?<= [before after at]) meal", "time", numbers.value),
        Row("in the part [comma at around]* [number time]", "time", clocks.in_part),
        Row("[in during] the? [part parts]", "time", numbers.value),
        Row("weekday parts", "weekdays", numbers.first_value),
        Row("on plural (?! [ago hence])", "gone", repeated.on_units),
        Row("parttime", "time", numbers.value),
        Row("[number clock] ish", "time", clocks.clock_of),
        Row("[at around] decimal", "time", clocks.o_clock),
        Row("[at around] number number (?! [hyphen half])", "time", clocks.o_clock),
        Row("[at around] number hyphen number (?! [hyphen half word unit plural])", "time", clocks.o_clock),
        Row("[at around] number (?= comma)", "time", clocks.o_clock),
        Row(f"[at around] number (?! [to till and comma]) {_UNCOUNTED}", "time", clocks.o_clock),
    ),
    "days": (
        Row(f"{_TWO_DAYS} the? {_DAY} [of in]* [month may]", "date", given(days.day_range, 2, 0, 1)),
        Row(f"[month may] [the hyphen slash comma dot]* {_DAY} {_YEAR}", "date", days.full_date),
        Row(_DAY_FIRST, "date", given(days.full_date, 1, 0, 2)),
        Row(f"[month may] [the hyphen slash comma dot]* {_DAY} {_YEAR}", "nodate", numbers.nothing),  # June 31st, 2019
        Row(_DAY_FIRST, "nodate", numbers.nothing),
        Row(f"(?<! {_NO_DAY}) the? {_DAY} {_MONTH} hyphen? number {_UNTIMED}", "date", days.day_first_short),
        Row("month hyphen number hyphen number", "date", given(days.day_first_short, 1, 0, 2)),
        Row("month [hyphen slash] yearlike [hyphen slash] number", "date", given(days.full_date, 0, 2, 1)),
        Row("yearlike [hyphen slash comma]? month [hyphen slash]? number", "date", given(days.full_date, 1, 2, 0)),
        Row("yearlike [hyphen slash] number [hyphen slash] month", "date", given(days.full_date, 2, 1, 0)),
        Row(f"[month may] the? {_DAY} {_TO} the? {_DAY} (?! [month time half])", "date", days.day_range),
        Row(f"between [month may] the? {_DAY} and the? {_DAY} (?! [month time half])", "date", days.day_range),
        Row(f"month [hyphen slash dot]? the? {_DAY} (?! [unit plural])", "date", days.month_day),
        Row("[month may] comma [ordinal ordword] | month comma number (?= dot? $)", "date", days.month_day),
        Row("may [hyphen slash the]* [ordinal ordword]", "date", days.month_day),
        Row("may [hyphen slash]? number (?! [word unit plural])", "date", days.month_day),
        Row(f"the? {_DAY} [of hyphen slash]* month", "date", given(days.month_day, 1, 0)),
        Row(f"the? {_DAY} [of hyphen slash]* month", "nodate", numbers.nothing),  # the 31st of June
        Row("the? [ordinal ordword second] of? may", "date", given(days.month_day, 1, 0)),
        Row("number may (?! [word func])", "date", given(days.month_day, 1, 0)),
        Row("monthday (?! [of unit plural])", "date", lambda now, pair: days.month_day(now, *pair)),
        Row(f"[month may] {_YEAR}", "period", days.month_of_year),
        Row(f"(?<! {_OF_TIME}) month (?= word)", "word", days.name_of_person),
        Row("month (?! [ordinal ordword number]) | month (?= number [unit plural])", "period", days.month),
        Row(f"(?<= {_BEFORE_MAY}) may", "period", days.month),
        Row("(?<= period [and or to hyphen]) may", "period", days.month),
        Row("step may", "period", relative.stepped_month),
        Row("(?<= [since till by from before after in during]) step may", "period", relative.named_month),
        Row("the? season of? yearlike [hyphen slash] [yearlike number]", "period", days.season_over),
        Row("[in during] the? season (?! word)", "period", days.season),
        Row("(?<= [step past]) season", "period", days.season),
        Row("season (?=yearlike | of yearlike | of the? step unit)", "period", days.season),
        Row("the? [ordinal ordword second] quarter", "period", days.quarter),
        Row("word? fiscal label? | label fiscal", "gone", numbers.nothing),
        Row("label", "period", days.quarter),
        Row("decade", "period", days.decade),
        Row("the? [ordinal ordword] century", "period", days.century),
        Row("sat (?= [part parts time])", "weekday", numbers.value),
        Row("(?<= [on step every past]) sat | sat (?=comma? the? ordinal)", "weekday", numbers.value),
        Row(f"weekday comma? the? [ordinal ordword second] {_UNCOUNTED}", "date", days.weekday_and_day),
        Row(f"weekday comma? the? number {_UNCOUNTED}(?! [half oclock to till])", "date", days.weekday_and_day),
        Row("step? weekday [comma hyphen paren dot]* date paren?", "date", numbers.last_value),
        Row("date [comma paren]* weekday paren?", "date", numbers.first_value),
        Row(f"(?<= {_BEFORE_DAY}) the? [ordinal ordword] {_UNCOUNTED}", "date", days.day_of_month),
        Row(f"between the? [ordinal ordword] and the? [ordinal ordword] {_UNCOUNTED}(?! in)", "date", days.bare_days),
        Row(f"(?<!between) the ordinal {_UNCOUNTED}", "date", days.day_of_month),
        Row("(?<= on) the number (?! [word unit plural quarter second half])", "date", days.day_of_month),
        Row("(?<= on) number (?= dot? $)", "date", days.day_to_come),
    ),
    "relative": (
        Row("coming weekday", "date", relative.coming_weekday),
        Row("coming unit", "period", relative.coming_unit),
        Row("coming (?= [unit plural number quarter period date])", "step", lambda now: 1),
        Row("earlier step unit", "period", edges.earlier_in),
        Row("later step unit", "period", edges.later_in),
        Row("edge step part", "moment", relative.edge_of_step),
        Row("later step part", "moment", lambda now, step, part: relative.edge_of_step(now, "late", step, part)),
        Row("edge tonight", "moment", lambda now, edge, part: relative.edge_of_step(now, edge, 0, part)),
        Row("number weekdays ago", "date", relative.weekdays_ago),
        Row("number weekdays from now", "date", relative.weekdays_ahead),
        Row("past weekday", "date", relative.past_weekday),
        Row("past (?= [unit plural number quarter period])", "step", lambda now: -1),
        Row("step unit on? weekday", "date", relative.weekday_of_step),
        Row("number and article? halfword [unit plural]", "length", numbers.and_a_half),
        Row("article? halfword article? [unit plural quarter]", "length", numbers.half_of),
        Row("[number article] unit and article? halfword", "length", numbers.length_and_half),
        Row(f"article {_UNIT} (?= {_AFTER_LENGTH})", "length", numbers.length),
        Row(f"(?<= [for within]) article {_UNIT}", "length", numbers.length),
        Row("in article [unit quarter] (?!word)", "counted", relative.in_one),
    ),
}
# fmt: on
