"""Mark content that no longer holds.

A turn is changed when every observation on it is superseded, when the query matches a superseded one best, or when the
user corrected its content. An assistant's restatement of superseded content is marked too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from memscope.imports import pattern
from memscope.records import Hit, Memory, Observation, Turn
from memscope.records.stored import CORRECTED
from memscope.retrieval.query import Query
from memscope.text.language import usual_rules
from memscope.text.terms import terms
from memscope.text.tokens import is_stop_word

MIN_RESTATED_SHARE = 0.5  # share of a superseded memory's words that a restatement has if it lacks its names
_CHANGED_NAME = pattern(
    r"(?<=[\w,;:)] )[A-ZÀ-Þ][\w-]+|\b[A-ZÀ-Þ][\w-]*(?=')|\d[\d.,:/-]*\d|\d+|[A-Za-z]*[A-Z0-9]{2,}[A-Za-z0-9]*"
)


def is_visible(memory: Memory, query: Query) -> bool:
    same_agent = query.scope.agent in (None, memory.scope.agent)
    return same_agent and not memory.proposed and (query.as_of is None or memory.said <= query.as_of)


def is_current(memory: Memory, query: Query) -> bool:
    return not memory.expired(query.now) and closed_at(memory, query) is None


def closed_at(memory: Memory, query: Query) -> datetime | None:
    """Return when a memory ended or was closed, in the time of what was said; None if that is after ``as_of``."""
    when = memory.valid_to if memory.ended(query.as_of or query.now) else memory.closed_said
    return when if when is not None and (query.as_of is None or when <= query.as_of) else None


def weigh(query: Query, text: str) -> float:
    """Return the total weight of the query's terms that occur in a text."""
    present = frozenset(terms(text))
    return sum(weight for one, weight in zip(query.terms, query.weights, strict=True) if one in present)


def changed_at(query: Query, turn: Turn, observations: Sequence[Observation]) -> datetime | None:
    """Return when the turn's content was last superseded or corrected; None while the matching memory still holds."""
    ids = {memory.id for memory in observations}
    ended = [(memory, when) for memory in observations if (when := _ended_at(query, turn, memory, ids))]
    over = {memory.id for memory, _ in ended}
    holding = [weigh(query, memory.text) for memory in observations if memory.id not in over]
    best = max(holding, default=0.0)
    unmet = best == 0 or weigh(query, turn.text) > best  # the query may match words from before a correction
    marked = (
        when
        for memory, when in ended
        if not holding
        or (unmet and is_corrected(query, turn, memory))
        or ((part := weigh(query, memory.text)) and part >= best)
    )
    return max(marked, default=None)


def _ended_at(query: Query, turn: Turn, memory: Observation, ids: set[str]) -> datetime | None:
    """Return when a memory was superseded by one from another turn, or corrected by hand."""
    when = closed_at(memory, query) if memory.superseded_by not in ids else None
    return when or (memory.recorded if is_corrected(query, turn, memory) else None)


def is_corrected(query: Query, turn: Turn, memory: Memory) -> bool:
    """Return whether a person rewrote a memory in words that its turn does not have."""
    seen = query.as_of is None or memory.recorded <= query.as_of
    return memory.origin == CORRECTED and seen and not set(terms(memory.text)) <= set(terms(turn.text))


# ------------------------------------------------------------------------------------------------------- restatements


def mark_restated(query: Query, hits: Sequence[Hit]) -> list[Hit]:
    """Mark assistants' turns that repeat content which was superseded after them."""
    old = [pair for hit in hits for pair in _superseded(query, hit)]
    return [
        replace(hit, changed=_restated_at(hit, old))
        if old and hit.turn and hit.turn.role == "assistant" and hit.changed is None and not hit.matched
        else hit
        for hit in hits
    ]


def _superseded(query: Query, hit: Hit) -> Iterator[tuple[Observation, datetime]]:
    for memory in hit.superseded:
        when = closed_at(memory, query)
        if when is not None and weigh(query, memory.text) > 0:
            yield memory, when


def _restated_at(hit: Hit, old: Sequence[tuple[Observation, datetime]]) -> datetime | None:
    assert hit.turn is not None
    time = hit.turn.time
    return max((when for memory, when in old if time < when and restates(hit.turn.text, memory.text)), default=None)


def restates(text: str, memory: str) -> bool:
    """Return whether a text has a name or number of the memory, or most of its words."""
    present, theirs = set(terms(text)), set(terms(memory))
    usual = usual_rules("latin")
    names = (name for name in _CHANGED_NAME.findall(memory) if not is_stop_word(name.casefold(), usual))
    named = {term for name in names for term in terms(name)}
    return bool(named & present) or len(theirs & present) >= MIN_RESTATED_SHARE * max(1, len(theirs))
