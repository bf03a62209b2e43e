"""Time expressions in English and Chinese, by rules, as intervals.

    text ──lexer──▶ tokens ──rules (a cascade of rows)──▶ periods ──place──▶ mentions
                                                     └──▶ rules of repetition ──▶ recurrences

Rules instead of a model give the same answer every time, in microseconds, and no answer for words that name no date
("recently", "the other day", 最近). The words and rules of both languages are tables in ``data/``, explained there.
Conventions:

- a week begins on Monday; "last week" is the calendar's, "the last 3 weeks" end yesterday;
- 5/8/2023 is May 8th, unless the first number can only be a day; 2023-05-08 and 20230508 are ISO dates;
- "from May to July" ends with July, "3 to 5 pm" at 5;
- without a tense the last one is meant ("Friday", "in May"), with a future tense the next; ``event_time`` and
  ``nearest`` look at the clause of each time: "got tickets for May 5" is ahead, "May 5 was fun" is past;
- "at 3" is at 15:00 unless a part of the day is named; 03:30, with its zero, is in the morning;
- "by March 31" is the next one, and so is Friday in "a week from Friday", unless the sentence is about the past;
  "before March 31" is the next one if the sentence states a duty ("due", "must", 必须);
- days and feasts of the Chinese lunar calendar are known from 1950 to 2099 (``lunar.py``);
- a day that does not exist (June 31st) and an indefinite one ("a Friday in June") give nothing;
- "the weekend" and "the next few days" are times only in a question; a weekday in a question means both the last and
  the next one, unless its words look only back or only ahead;
- a repetition ("every second Tuesday") is a rule, not a mention; a figure of speech ("feels like yesterday") is none;
- a morning is 8-12, an afternoon 12-16, an evening 16-20, a night 20-24; seasons are those of the northern hemisphere.
"""

from memscope.dates.calendar import FIRST_DAY, LAST_DAY
from memscope.dates.mentions import (
    Mention,
    asked,
    event_time,
    is_undirected,
    mentions,
    nearest,
    readings,
    resolve,
    unit_named,
)
from memscope.dates.recurrences import Recurrence, occurrences, recurrences, recurring
from memscope.dates.repeated import Rule

__all__ = [
    "FIRST_DAY",
    "LAST_DAY",
    "Mention",
    "Recurrence",
    "Rule",
    "asked",
    "event_time",
    "is_undirected",
    "mentions",
    "nearest",
    "occurrences",
    "readings",
    "recurrences",
    "recurring",
    "resolve",
    "unit_named",
]
