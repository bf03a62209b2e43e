"""Effects of a verdict on two facts. The model gives the direction; otherwise the order of saying decides.

``ends``: the later fact ends or corrects the earlier one. ``was``: it tells of an earlier time; both stay. ``repeats``:
it says nothing new. ``refines``: it says the same and more. ``unrelated``: everything else.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Annotated, Literal

from pydantic import BeforeValidator

from memscope.languages.similarity import form
from memscope.languages.wording import every, worded
from memscope.reconciliation.subjects import NOBODY, People, covers, subjects
from memscope.records import Insight, Interval, Observation, Supersession
from memscope.text.tokens import fold

LATE_NEWS = timedelta(days=180)  # a change up to this long before the old fact was said may still end it
MAX_SOURCES = 8  # per observation; more add no certainty
Verdict = Annotated[
    Literal["ends", "was", "repeats", "refines", "unrelated"],
    BeforeValidator(lambda given: "ends" if given == "contradicts" else given),  # custom prompts may say so
]


def event_start(memory: Observation) -> datetime:
    """Return the start of the period that the fact is about, else the time it was said."""
    return memory.happened.start if memory.happened else memory.said


def in_order(one: Observation, other: Observation) -> tuple[Observation, Observation]:
    """Order the pair by when each was said; ``one`` counts as later if both were said at once."""
    return (one, other) if one.said < other.said else (other, one)


# --------------------------------------------------------------------------------------------- ends and was


def is_tentative(memory: Observation) -> bool:
    """Recognise plans, wishes, fears and possibilities, which end no current fact."""
    return worded("plan", memory.text)


def apply_ends(
    new: Observation, old: Observation, now: datetime, people: People = NOBODY
) -> Supersession | tuple[Observation, ...]:
    """Apply "``new`` ends ``old``": return ``old`` closed, or the facts to revise; none if nothing changes.

    No effect: ``new`` has another subject, is a plan where ``old`` holds now, or ``old`` told of the past. If ``new``
    tells of an earlier time, only its own validity ends. A future ``new`` only sets ``valid_to`` of ``old``. Of two
    dated past events the earlier never ends the later.
    """
    if not covers(new, old, people) or (_is_open(new) and not _is_open(old)) or _is_history(old, new):
        return ()
    if _happened_before(new, old) or _happened_long_before(new, old):
        return (as_past(new, event_start(old)),)
    if _tells_of_another_time(new, old, people.user):
        return (as_past(new),)
    start = event_start(new)
    if start > new.said and event_start(old) <= new.said and not _is_open(old):
        return (replace(old, valid_to=start),)
    until = min(start, new.said)
    return Supersession(old.id, new.id, now, max(new.said, old.said), max(until, old.valid_from or until))


def _is_history(old: Observation, new: Observation) -> bool:
    """Return whether ``old`` was told as past and ``new`` does not correct it."""
    was_over = old.valid_to is not None and old.valid_to <= old.said
    over = old.happened is None or old.happened.end <= old.said
    told_as_past = worded("told_as_past", old.text) and not worded("still_holds", old.text)
    if not was_over and not (over and told_as_past):
        return False
    if old.happened and new.happened:
        return not old.happened.overlaps(new.happened)
    return not worded("not_so", new.text) and not worded("told_as_past", new.text)


def _tells_of_another_time(new: Observation, old: Observation, own_names: frozenset[str]) -> bool:
    """Return whether ``new`` tells of a past time rather than of the end of ``old``.

    "Lived in Paris in 2010" does not end "lives in Berlin"; "used to smoke" ends "smokes a lot".
    """
    if _is_open(old) or worded("not_so", new.text) or worded("still_holds", new.text):
        return False
    signs = ("told_as_past", "state") if new.happened else ("formerly",)
    over = new.happened is None or new.happened.end <= old.said
    tells_past = over and any(worded(sign, new.text) for sign in signs)
    return tells_past and not (_content(new, own_names) & _content(old, own_names)) - every("state_words")


def _content(memory: Observation, own_names: frozenset[str]) -> frozenset[str]:
    """Return the words of a fact without the names of its subjects."""
    text = fold(memory.text)
    for name in sorted(subjects(memory.about) | own_names, key=len, reverse=True):
        text = text.replace(name, " ")
    return form(text).topics


def as_past(new: Observation, until: datetime | None = None) -> Observation:
    """Limit ``new`` to the past: valid until the end of the period it names, and at most to ``until``."""
    ends = [when for when in (new.happened and new.happened.end, until) if when and when <= new.said]
    return replace(new, valid_to=min(ends)) if ends else new


def _is_open(memory: Observation) -> bool:
    """Return whether the fact has not come true and has no known day: a plan, or an undated future."""
    return is_tentative(memory) or (memory.happened is None and worded("future", memory.text))


def _happened_before(new: Observation, old: Observation) -> bool:
    """Return whether both are dated past events and ``new`` was over when ``old`` began."""
    if not new.happened or not old.happened:
        return False
    return new.happened.end <= old.happened.start <= old.said


def _happened_long_before(new: Observation, old: Observation) -> bool:
    """Return whether ``new`` was over so long before ``old`` was said that it is history rather than late news."""
    if new.happened is None or worded("still_holds", new.text):
        return False
    told_of_it = old.happened is not None and old.happened.overlaps(new.happened)
    return not told_of_it and new.happened.end < old.said - LATE_NEWS


# --------------------------------------------------------------------------------------------- repeats and refines


def supersede(old: Observation | Insight, by: Observation | Insight, now: datetime) -> Supersession:
    """Supersede ``old`` by ``by``, which says the same and more; ``old`` keeps its validity."""
    return Supersession(old.id, by.id, now, by.said)


def join(one: Observation, other: Observation) -> Observation:
    """Return ``one`` with the sources of both and the more precise date; ``said`` stays.

    A note of a machine that a person confirms gets that person's role as its origin.
    """
    happened = more_precise(one.happened, other.happened)
    dated = one if happened == one.happened else other
    return replace(
        one,
        sources=tuple(dict.fromkeys((*one.sources, *other.sources))),
        quotes=tuple(dict.fromkeys((*one.quotes, *other.quotes))),
        keywords=tuple(dict.fromkeys((*one.keywords, *other.keywords))),
        happened=happened,
        valid_from=dated.valid_from,
        level=max(one.level, other.level),
        fiction=one.fiction and other.fiction,
        origin=other.origin if one.by_machine else one.origin,
    )


def more_precise(one: Interval | None, other: Interval | None) -> Interval | None:
    """Return the narrower of two dates of one event; the first if they do not overlap."""
    if one is None or other is None or not one.overlaps(other):
        return one or other
    return min(one, other, key=lambda interval: interval.end - interval.start)
