"""Effects of a verdict on two facts. The model gives the direction; where it gives none, the order of saying decides.

``ends``: the fact said later ends or corrects the one said earlier. ``was``: it tells of an earlier time, both stay.
``repeats``: it says nothing new. ``refines``: it says the same and more. ``unrelated``: everything else.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Literal

from pydantic import BeforeValidator

from memscope.reconciliation.subjects import NOBODY, covers
from memscope.records import Insight, Interval, Observation, Supersession

SOURCES = 8  # of one observation; what was said more often than that is known
Verdict = Annotated[
    Literal["ends", "was", "repeats", "refines", "unrelated"],
    BeforeValidator(lambda given: "ends" if given == "contradicts" else given),  # prompts of one's own may say so
]
_TENTATIVE = re.compile(
    r"(?i:\bplan(?:s|ned)? to\b|\bplanning\b|\bintend(?:s|ed)? to\b|\bconsider(?:s|ed)? \w+ing\b|\bconsidering\b"
    r"|\bthinking (?:about|of)\b|(?<!not )(?<!longer )\bwants? to (?!be\b|have\b|hear\b)"
    r"|\b(?:would|'d) (?:like|love) to (?!be\b|have\b|hear\b)|\bhop(?:es?|ing) (?:to|that|for)\b|\bdream(?:s|ing) of\b"
    r"|\bafraid (?:that|of \w+ing)\b|\bfears? (?:that|\w+ing)\b|\bworr(?:y|ied|ies) (?:that|about \w+ing)\b"
    r"|\bmight\b|\bmaybe\b|\bperhaps\b|\bpossibly\b)|\bmay [a-z]+"
    r"|打算|计划|計劃|准备|準備|考虑|考慮|但愿|希望(?=[能可以后後将將去]{1,2})|想要|(?<![思理幻梦夢感])想(?=[换換去搬买買学學辞辭改找当當开開])"
    r"|也许|也許|或许|或許|可能|说不定|說不定|担心|擔心|恐怕|怕会|怕會"
)
_TOLD_AS_PAST = re.compile(
    r"(?i:\b(?:lived|worked|studied|stayed|spent|dated|attended|served|used to)\b"
    r"|\b(?:was|were) (?:an?|the|in|at|living)\b)"
    r"|曾|以前|当年|當年|(?:住|去|学|做|当|读|念|养|工作|上)过|时(?:住|在)"
)
_NEVER = re.compile(r"(?i:\bnever\b|\bnot\b|n't\b)|没|沒|不是|从未|並未|并未")
_FUTURE = re.compile(r"(?i:\b(?:will|shall|going to|about to)\b|'ll\b)|将要|将会|即将|就要|快要|将于|將要|將會|即將")


def event(memory: Observation) -> datetime:
    """Returns the start of the period the fact is about, else the time it was said."""
    return memory.happened.start if memory.happened else memory.said


def by_saying(one: Observation, other: Observation) -> tuple[Observation, Observation]:
    """Return the pair in the order of saying; ``one`` counts as later if both were said at once."""
    return (one, other) if one.said < other.said else (other, one)


# --------------------------------------------------------------------------------------------- ends and was


def tentative(memory: Observation) -> bool:
    """Returns whether the words state a plan, wish, fear or possibility, which ends no current fact."""
    return bool(_TENTATIVE.search(memory.text))


def ended(
    new: Observation, old: Observation, now: datetime, own: frozenset[str] = NOBODY
) -> Supersession | tuple[Observation, ...]:
    """Apply "``new`` ends ``old``": returns ``old`` closed, or the facts to revise; none for no effect.

    Facts of another subject end nothing, nor do plans end present facts, nor present facts what was told as past. A
    future fact only sets ``valid_to``. Of two dated past events the earlier one never ends the later one: it is told as
    history. ``own``: names of the user.
    """
    if not covers(new, old, own) or (_open(new) and not _open(old)) or _is_history(old, new):
        return ()
    if _happened_before(new, old):
        return (past(new, event(old)),)
    start = event(new)
    if start > new.said and event(old) <= new.said and not tentative(old):
        return (replace(old, valid_to=start),)
    until = start if new.happened else new.said
    return Supersession(old.id, new.id, now, max(new.said, old.said), max(until, old.valid_from or until))


def _is_history(old: Observation, new: Observation) -> bool:
    """Returns whether ``old`` told of a time that was over, and ``new`` does not correct it."""
    told = old.valid_to is not None and old.valid_to <= old.said
    over = old.happened is None or old.happened.end <= old.said
    if not told and not (over and _TOLD_AS_PAST.search(old.text)):
        return False
    if old.happened and new.happened:
        return not old.happened.overlaps(new.happened)
    return not _NEVER.search(new.text) and not _TOLD_AS_PAST.search(new.text)


def past(new: Observation, until: datetime | None = None) -> Observation:
    """Return ``new`` as a past fact: valid to the end of the period it names, at most to ``until``."""
    ends = [when for when in (new.happened and new.happened.end, until) if when and when <= new.said]
    return replace(new, valid_to=min(ends)) if ends else new


def _open(memory: Observation) -> bool:
    """Returns whether the fact has not come true yet and has no known day: a plan, or a future without a date."""
    return tentative(memory) or (memory.happened is None and bool(_FUTURE.search(memory.text)))


def _happened_before(new: Observation, old: Observation) -> bool:
    """Returns whether both are dated past events, and that of ``new`` was over when that of ``old`` began."""
    if not new.happened or not old.happened:
        return False
    return new.happened.end <= old.happened.start <= old.said


# --------------------------------------------------------------------------------------------- repeats and refines


def replaced(old: Observation | Insight, by: Observation | Insight, now: datetime) -> Supersession:
    """Supersede ``old`` by ``by``, which says the same and more; ``old`` keeps its validity."""
    return Supersession(old.id, by.id, now, by.said)


def joined(one: Observation, other: Observation) -> Observation:
    """Return ``one`` with the sources of both and the more precise of their dates. ``said`` stays."""
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
    )


def more_precise(one: Interval | None, other: Interval | None) -> Interval | None:
    """Returns the narrower of two dates of one event; the first if they do not overlap."""
    if one is None or other is None or not one.overlaps(other):
        return one or other
    return min(one, other, key=lambda interval: interval.end - interval.start)
