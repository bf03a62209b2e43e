"""What becomes of a memory that another one contradicts or repeats: rules, because a model only nominates."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from memscope.records import Insight, Observation, Supersession
from memscope.text.tokens import fold

SOURCES = 8  # of one observation; what was said more often than that is known


def event(memory: Observation) -> datetime:
    """When what it says came about, as far as is known."""
    return memory.happened.start if memory.happened else memory.said


def same_subject(one: Observation, other: Observation) -> bool:
    return fold(one.about).split() == fold(other.about).split()


def contradicted(new: Observation, old: Observation, now: datetime) -> Supersession | None:
    """The earlier of the two is over: by its event, not by the order in which they were learned.

    None for two subjects: what is said of one person never ends what is known of another.
    """
    if not same_subject(new, old):
        return None
    later, earlier = (new, old) if event(new) >= event(old) else (old, new)
    return Supersession(earlier.id, later.id, now, max(later.said, earlier.said), valid_to=event(later))


def replaced(old: Observation | Insight, by: Observation | Insight, now: datetime) -> Supersession:
    """``by`` says the same and more; ``old`` has not ended in the world."""
    return Supersession(old.id, by.id, now, by.said)


def joined(one: Observation, other: Observation) -> Observation:
    """``one``, resting on the sources of both."""
    return replace(
        one,
        sources=tuple(dict.fromkeys((*one.sources, *other.sources))),
        quotes=tuple(dict.fromkeys((*one.quotes, *other.quotes))),
        keywords=tuple(dict.fromkeys((*one.keywords, *other.keywords))),
        happened=one.happened or other.happened,
        said=max(one.said, other.said),
        level=max(one.level, other.level),
        fiction=one.fiction and other.fiction,
    )
