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
from memscope.retrieval.query import Query
from memscope.text.terms import terms
from memscope.text.tokens import STOP_WORDS

RESTATED = 0.5  # share of the words of a superseded memory that a restatement without its names has
_NAME = pattern(
    r"(?<=[\w,;:)] )[A-ZÀ-Þ][\w-]+|\b[A-ZÀ-Þ][\w-]*(?=')|\d[\d.,:/-]*\d|\d+|[A-Za-z]*[A-Z0-9]{2,}[A-Za-z0-9]*"
)


def was_said(memory: Memory, question: Query) -> bool:
    same_agent = question.scope.agent in (None, memory.scope.agent)
    return same_agent and not memory.proposed and (question.as_of is None or memory.said <= question.as_of)


def is_current(memory: Memory, question: Query) -> bool:
    return not expired(memory, question) and closed(memory, question) is None


def expired(memory: Memory, question: Query) -> bool:
    return memory.expires is not None and memory.expires <= question.now


def closed(memory: Memory, question: Query) -> datetime | None:
    """Returns the time a memory ended, or its closing statement was said, up to the query's ``as_of``."""
    when = memory.valid_to if memory.ended(question.as_of or question.now) else memory.closed_said
    return when if when is not None and (question.as_of is None or when <= question.as_of) else None


def share(question: Query, text: str) -> float:
    """Returns the weight of the query's terms that a text has."""
    present = frozenset(terms(text))
    return sum(weight for one, weight in zip(question.terms, question.weights, strict=True) if one in present)


def changed(question: Query, turn: Turn, observations: Sequence[Observation]) -> datetime | None:
    """Returns when the turn's content was last superseded or corrected; None while the matching memory still holds."""
    own = {memory.id for memory in observations}
    ended = [(memory, when) for memory in observations if (when := _ended(question, turn, memory, own))]
    over = {memory.id for memory, _ in ended}
    holding = [share(question, memory.text) for memory in observations if memory.id not in over]
    best = max(holding, default=0.0)
    unmet = best == 0 or share(question, turn.text) > best  # the query may have met the words before a correction
    telling = (
        when
        for memory, when in ended
        if not holding
        or (unmet and corrected(question, turn, memory))
        or ((part := share(question, memory.text)) and part >= best)
    )
    return max(telling, default=None)


def _ended(question: Query, turn: Turn, memory: Observation, own: set[str]) -> datetime | None:
    """Returns when a memory was superseded by one that does not rest on the same turn, or corrected by hand."""
    when = closed(memory, question) if memory.superseded_by not in own else None
    return when or (memory.recorded if corrected(question, turn, memory) else None)


def corrected(question: Query, turn: Turn, memory: Memory) -> bool:
    """Returns whether a person wrote a memory anew, in other words than its turn's."""
    by_hand = memory.origin == "user" and memory.version > 1
    seen = question.as_of is None or memory.recorded <= question.as_of
    return by_hand and seen and not set(terms(memory.text)) <= set(terms(turn.text))


# ------------------------------------------------------------------------------------------------------- restatements


def mark_restatements(question: Query, hits: Sequence[Hit]) -> list[Hit]:
    """Mark assistants' turns that repeat content superseded after them."""
    old = [pair for hit in hits for pair in _superseded(question, hit)]
    return [replace(hit, changed=_restates(hit, old)) if _may_restate(hit) else hit for hit in hits] if old else [*hits]


def _superseded(question: Query, hit: Hit) -> Iterator[tuple[Observation, datetime]]:
    for memory in hit.superseded:
        when = closed(memory, question)
        if when is not None and share(question, memory.text) > 0:
            yield memory, when


def _may_restate(hit: Hit) -> bool:
    return hit.turn is not None and hit.turn.role == "assistant" and hit.changed is None and not hit.matched


def _restates(hit: Hit, old: Sequence[tuple[Observation, datetime]]) -> datetime | None:
    assert hit.turn is not None
    said = hit.turn.time
    return max((when for memory, when in old if said < when and restates(hit.turn.text, memory.text)), default=None)


def restates(text: str, memory: str) -> bool:
    """Returns whether a text has a name or number of the memory, or most of its words."""
    present, theirs = set(terms(text)), set(terms(memory))
    named = {one for name in _NAME.findall(memory) if name.casefold() not in STOP_WORDS for one in terms(name)}
    return bool(named & present) or len(theirs & present) >= RESTATED * max(1, len(theirs))
