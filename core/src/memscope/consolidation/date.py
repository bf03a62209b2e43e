"""date: check the model's date of each fact against the time expressions in its turns.

The model proposes; the rules of ``memscope.dates`` confirm, correct or drop. A time expression in the quoted words
decides; elsewhere in the sentence it can only confirm. Without any word of time the proposal is dropped: no date is
better than a wrong one. So is the day of the turn, unless named ("I've been vegetarian for years"). Parts of an event
told in one message take the event's date. Dates that the model added to a fact's text must be confirmed too.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta

from memscope.consolidation.batch import FactBatch
from memscope.dates import Mention, mentions, nearest, readings, recurrences, recurring, unit_named
from memscope.dates.calendar import ONE_DAY
from memscope.dates.iso import brief, parse
from memscope.languages.statements import is_question
from memscope.languages.statements import sentences as sentences_of
from memscope.languages.wording import worded
from memscope.pipeline import worker
from memscope.reconciliation.vetoes import RECURS
from memscope.records import Interval, Json, Observation, Quote
from memscope.services import Services

FAR_FROM_SAYING = timedelta(days=365)
_CODE = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|\b\w+(?:[._]\w+)*\(.*?\)|\b[A-Za-z]+_\w+|\b[A-Za-z]+\.[A-Za-z]\w+", re.DOTALL
)
_CLAUSE_END = re.compile(r"[.!?](?=\s|$)|[。！？；;\n]")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_BRACKETED = re.compile(r"\s?[(（](?P<date>\d{4}(?:-\d\d){0,2}(?:/\d{4}(?:-\d\d){0,2})?)[)）]")


@worker(reads=["facts", "turns", "before"], writes=["facts", "judged"], name="date")
async def by_rules(batch: FactBatch, ctx: Services) -> FactBatch:
    """Confirm, correct or drop ``happened``; set ``valid_from`` and the recurrence rule."""
    return await asyncio.to_thread(_date_facts, batch)  # CPU-bound: a large batch would block the event loop


def _date_facts(batch: FactBatch) -> FactBatch:
    dated = [date_fact(fact, batch) for fact in batch.facts]
    followed = [follow_event(one, fact.happened, dated) for one, fact in zip(dated, batch.facts, strict=True)]
    batch = batch.judge({"wrong_date": sum(map(_is_wrong_date, batch.facts, followed))})
    return replace(batch, facts=tuple(map(with_confirmed_dates, followed)))


def _is_wrong_date(fact: Observation, dated: Observation) -> bool:
    """Detect a proposed date that the words contradict, or an unsupported one that is far from the turn.

    An unsupported date near the turn is dropped but is no sign of a weak model: other turns may imply it.
    """
    proposed = fact.happened
    if proposed is None or (dated.happened and dated.happened.overlaps(proposed)):
        return False
    away = max(proposed.start - fact.said, fact.said - proposed.end)
    return dated.happened is not None or away > FAR_FROM_SAYING


@dataclass(frozen=True, slots=True)
class TimeExpressions:
    """Time expressions in a fact's quotes and in the sentences around them, with the texts themselves.

    ``said``: time of the first quoted turn. ``quoted``: in the quoted words. ``in_question``: in a quoted question that
    another speaker answers; they can only confirm. ``nearby``: elsewhere in the sentences.
    """

    said: datetime
    quoted: Sequence[Mention]
    in_question: Sequence[Mention]
    nearby: Sequence[Mention]
    words: Sequence[str]
    sentences: Sequence[str]


def date_fact(fact: Observation, batch: FactBatch) -> Observation:
    times = find_time_expressions(fact, batch)
    # A taste or trait whose own text has no time has no date, whatever dates surround its quote.
    timeless = worded("timeless", fact.text) and not _names_time(fact.text) and not mentions(fact.text, times.said)
    happened = None if timeless else choose_date(fact.happened, times)
    ends = any(one.shape in ("until", "before") for one in (*times.quoted, *times.in_question))
    rule = _recurrence_rule(fact, batch, times)
    return replace(
        fact,
        happened=happened,
        valid_from=happened.start if happened and not ends else None,
        data={**fact.data, RECURS: rule} if rule else fact.data,
    )


def choose_date(proposed: Interval | None, times: TimeExpressions) -> Interval | None:
    if stated := (*times.quoted, *times.in_question):
        return _named_day(proposed, times) or confirm(stated, proposed, times.said) or _only_date(times, proposed)
    if times.nearby and not any(map(_names_time, times.words)):
        return confirm(times.nearby, proposed, times.said)
    if proposed is None or not any(map(_names_time, (*times.words, *times.sentences))):
        return None
    is_day_of_saying = times.said in proposed and proposed.end - proposed.start <= ONE_DAY
    return None if is_day_of_saying else proposed


def _names_time(words: str) -> bool:
    return any(worded(sign, words) for sign in ("named_day", "time_word")) or _YEAR.search(words) is not None


def follow_event(fact: Observation, proposed: Interval | None, dated: Sequence[Observation]) -> Observation:
    """Give an undated fact the date of another fact from the same turns if it overlaps the model's proposal."""
    if fact.happened or proposed is None or worded("state_verb", fact.text) or worded("denial", fact.text):
        return fact
    of_same_turns = (one for one in dated if not set(one.sources).isdisjoint(fact.sources))
    fitting = (one.happened for one in of_same_turns if one.happened and one.happened.overlaps(proposed))
    return replace(fact, happened=min(fitting, key=lambda when: when.end - when.start, default=None))


def with_confirmed_dates(fact: Observation) -> Observation:
    """Replace bracketed dates that the model added to the text by the confirmed date; remove them if there is none."""

    def checked(match: re.Match[str]) -> str:
        meant = parse(match["date"], fact.said.tzinfo)
        if meant is None or any(match["date"] in quote.text for quote in fact.quotes):
            return match.group()
        if fact.happened is None:
            return ""
        if meant.overlaps(fact.happened):
            return match.group()
        return match.group().replace(match["date"], brief(fact.happened))

    return replace(fact, text=_BRACKETED.sub(checked, fact.text))


# ------------------------------------------------------------------------------------------------------------- evidence


def find_time_expressions(fact: Observation, batch: FactBatch) -> TimeExpressions:
    quoted: list[Mention] = []
    in_question: list[Mention] = []
    nearby: list[Mention] = []
    sentences: list[str] = []
    words: list[str] = []
    denies = worded("denial", fact.text)
    for quote in fact.quotes:
        turn, of_question = batch.turn(quote.turn), _is_answered(quote, fact, batch)
        is_denied = denies and of_question
        words += [] if is_denied else [_without_code(quote.text)]
        if not quote.text or quote.text not in turn.text:
            continue  # the turn was shortened since
        start = turn.text.find(quote.text)
        end = start + len(quote.text)
        first, last = _sentence(turn.text, start, end)
        sentence = _without_code(turn.text[first:last])
        sentences += [] if is_denied else [sentence]
        for one in mentions(sentence, turn.time):
            if one.grain == "second":
                continue  # "at the moment" only repeats the time of the turn
            if is_denied and one.text.casefold() not in fact.text.casefold():
                continue  # a denial ("never") does not take the date of the question
            inside = one.start < end - first and start - first < one.end
            one = replace(one, interval=unit_named(one) or one.interval)
            (nearby if not inside else in_question if of_question else quoted).append(one)
    said_at = batch.turn(fact.quotes[0].turn).time if fact.quotes else fact.said
    return TimeExpressions(said_at, quoted, in_question, nearby, words, sentences)


def _is_answered(quote: Quote, fact: Observation, batch: FactBatch) -> bool:
    """Check that the quoted turn asks a question and that a later quote comes from another speaker."""
    asked = batch.turn(quote.turn)
    others = (turn for one in fact.quotes if (turn := batch.turn(one.turn)).speaker != asked.speaker)
    answered = any((turn.time, turn.seq) > (asked.time, asked.seq) for turn in others)
    return answered and any(map(is_question, sentences_of(asked.text)))


def _sentence(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the bounds of the sentences that contain ``text[start:end]``."""
    first = max((mark.end() for mark in _CLAUSE_END.finditer(text, 0, start)), default=0)
    last = next((mark.end() for mark in _CLAUSE_END.finditer(text, max(end - 1, 0))), len(text))
    return first, last


def _without_code(text: str) -> str:
    """Blank out code: "today" in the name of a function is not the user's date."""
    return _CODE.sub(lambda match: " " * len(match.group()), text)


# ------------------------------------------------------------------------------------------------------------- decision


def confirm(named: Sequence[Mention], proposed: Interval | None, said_at: datetime) -> Interval | None:
    """Return the narrowest reading that overlaps the proposal. "Since May" confirms a start but gives no end."""
    if proposed is None:
        return None
    meant = (interval for one in named for interval in _readings(one, proposed, said_at))
    fitting = (interval for interval in meant if interval.overlaps(proposed))
    return min(fitting, key=lambda interval: interval.end - interval.start, default=None)


def _readings(mention: Mention, proposed: Interval, said_at: datetime) -> list[Interval]:
    """List the readings of a mention: "in May" of the proposed year, "last Friday" of this week or the week before.

    "By March 31" covers the time from the turn to that day.
    """
    meant = readings(mention)
    if mention.shape in ("before", "until"):
        meant = [Interval(max(one.start, said_at - ONE_DAY), one.end) if one.end > said_at else one for one in meant]
    if mention.shape not in ("point", "range"):
        return [proposed] if any(one.overlaps(proposed) or one.end == proposed.start for one in meant) else []
    return [mention.interval, *meant[1:], *recurrences(mention, proposed.start, proposed.end)]


def _named_day(proposed: Interval | None, times: TimeExpressions) -> Interval | None:
    """Accept the proposal for a named day that the rules cannot date ("last Diwali") within a period that they can."""
    if proposed is None or not any(worded("named_day", words) for words in times.words):
        return None
    stated = (*times.quoted, *times.in_question)
    around = [one for one in stated if one.interval.start <= proposed.start and proposed.end <= one.interval.end]
    return proposed if around and not any(worded("named_day", one.text) for one in around) else None


def _only_date(times: TimeExpressions, proposed: Interval | None) -> Interval | None:
    """Return the date that the words name, if they name exactly one day or period.

    Without a proposal, ambiguous days ("on Thursday") and the current period ("this year") do not count.
    """
    plain = [one for one in times.quoted if one.shape in ("point", "range") and not one.dayless]
    if len(plain) != 1 or (proposed is None and _is_vague(plain[0], times.said)):
        return None
    return nearest(plain[0], times.said)


def _is_vague(mention: Mention, said_at: datetime) -> bool:
    interval = mention.interval
    return len(readings(mention)) > 1 or (said_at in interval and interval.end - interval.start > ONE_DAY)


def _recurrence_rule(fact: Observation, batch: FactBatch, times: TimeExpressions) -> Mapping[str, Json] | None:
    """Return the recurrence rule of the quoted words as JSON; None unless there is exactly one."""
    denies = worded("denial", fact.text)
    quotes = [quote for quote in fact.quotes if not (denies and _is_answered(quote, fact, batch))]
    rules = [one.rule for quote in quotes for one in recurring(quote.text, batch.turn(quote.turn).time)]
    if len(rules) != 1 or (rules[0].day and not any(one.yearless for one in times.quoted)):
        return None
    fields = {name: value for name, value in asdict(rules[0]).items() if value}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}
