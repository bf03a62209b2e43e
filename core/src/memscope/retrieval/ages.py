"""Mark old memories whose content may have changed: a home, work, health, money or a plan not mentioned for months.

Past events, birthdays, tastes and traits do not age.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from memscope import languages
from memscope.languages.wording import every, worded
from memscope.records import Insight, Memory, Observation
from memscope.text.tokens import words as token_words
from memscope.text.topics import topic_numbers, topics

MIN_SHOWN_AGE = timedelta(days=180)
CHANGING_TOPICS = ("home", "residence", "job", "professions", "jobhunt", "health", "money")
LASTING_TOPICS = ("birthday", "origin", "allergy")
AVERAGE_MONTH_DAYS = 365.25 / 12


def age_mark(memory: Memory, confirmed: datetime, now: datetime | None) -> str:
    """Return a mark such as "said 14 months ago" for a memory that may have changed since; else an empty string."""
    if now is None or now - confirmed < MIN_SHOWN_AGE or not _may_have_changed(memory, now):
        return ""
    months = round((now - confirmed).days / AVERAGE_MONTH_DAYS)
    return languages.main(memory.text).phrases.aged.format(months=months)


def _may_have_changed(memory: Memory, now: datetime) -> bool:
    text = memory.text
    if isinstance(memory, Insight) and memory.sentences:
        past = languages.main(text).phrases.past  # such a sentence is marked as past already
        text = " ".join(sentence.text for sentence in memory.sentences if not sentence.text.endswith(past))
    happened = memory.happened is not None and memory.happened.end <= now
    over = (worded("told_as_past", text) or happened) and not worded("still_holds", text)
    if over or memory.valid_to is not None:
        return False
    if any(worded(sign, text) for sign in ("changing", "plan", "future")):
        return True
    if worded("timeless", text):
        return False
    words = f"{text} {' '.join(memory.keywords)}" if isinstance(memory, Observation) else text
    about = topics(words)
    if about & topic_numbers(*LASTING_TOPICS):
        return False
    is_state = isinstance(memory, Insight) or worded("state_verb", text) or worded("state", text)
    changing = about & topic_numbers(*CHANGING_TOPICS) or every("state_words").intersection(token_words(text))
    return is_state and bool(changing)
