"""Fetch the records of the best and make hits of them; what was forgotten meanwhile makes room for the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from memscope.pipeline import Kit, worker
from memscope.records import Fetched, Hit, Insight, Memory, Observation, Turn
from memscope.retrieval.question import Question, Ranked
from memscope.text import terms


@worker(reads=("ranked", "k", "scope", "terms", "as_of", "now"), writes=("hits", "gone"))
async def gather(question: Question, kit: Kit) -> Question:
    hits: list[Hit] = []
    gone, waiting = 0, list(question.ranked)
    while waiting and len(hits) < question.k:
        batch, waiting = waiting[: question.k - len(hits)], waiting[question.k - len(hits) :]
        fetched = await kit.store.fetch(question.scope.user, [ranked.handle for ranked in batch])
        found = [hit for ranked in batch if (hit := make_hit(question, ranked, fetched)) is not None]
        hits += found
        gone += len(batch) - len(found)
    return replace(question, hits=tuple(hits), gone=gone)


def make_hit(question: Question, ranked: Ranked, fetched: Fetched) -> Hit | None:
    record = fetched.records.get(ranked.handle)
    if record is None or isinstance(record, Observation):
        return None
    derived = fetched.derived.get(ranked.handle, ())
    observations = [memory for memory in derived if isinstance(memory, Observation) and _said(memory, question)]
    current = tuple(memory for memory in observations if _current(memory, question))
    return Hit(
        turn=record if isinstance(record, Turn) else None,
        insight=record if isinstance(record, Insight) else None,
        score=ranked.score,
        found_by=ranked.legs,
        observations=current,
        matched=matched(question, record, current) if ranked.lent and isinstance(record, Turn) else (),
        changed=_changed(observations, question),
        part=ranked.part,
        features=ranked.features,
    )


def matched(question: Question, turn: Turn, observations: Sequence[Observation]) -> tuple[Observation, ...]:
    """The observations that have as much of the query as the turn's own words."""
    own = _share(question, turn.text)
    shares = [(_share(question, memory.text), memory) for memory in observations]
    return tuple(memory for share, memory in shares if share and share >= own)


def _share(question: Question, text: str) -> float:
    present = frozenset(terms(text))
    return sum(weight for one, weight in zip(question.terms, question.weights, strict=True) if one in present)


def _said(memory: Memory, question: Question) -> bool:
    same_agent = question.scope.agent in (None, memory.scope.agent)
    return same_agent and not memory.proposed and (question.as_of is None or memory.said <= question.as_of)


def _closed_by(memory: Memory, question: Question) -> datetime | None:
    closed = memory.closed_said
    return closed if closed is not None and (question.as_of is None or closed <= question.as_of) else None


def _current(memory: Memory, question: Question) -> bool:
    live = memory.expires is None or memory.expires > question.now
    return live and _closed_by(memory, question) is None


def _changed(observations: Sequence[Observation], question: Question) -> datetime | None:
    return max((when for memory in observations if (when := _closed_by(memory, question))), default=None)
