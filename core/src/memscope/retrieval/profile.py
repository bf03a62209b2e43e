"""Summarize the user: insights, then observations, else the user's own lasting statements.

Units carry a term per kind of lasting statement (``text.statements``), so that one search finds them in every store.
Shown when the query asks about the user, or when nothing was found for a question or a request.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from memscope.pipeline import WorkerContext, worker
from memscope.records import Hit, Insight, Observation, Search, Turn
from memscope.retrieval.context import profile_line
from memscope.retrieval.hits import fetch, make_hit
from memscope.retrieval.query import Query
from memscope.retrieval.rank import rank
from memscope.text.lasting import PROFILE_TERMS, kinds, lasting
from memscope.text.statements import gist, requests, sentences
from memscope.text.tokens import estimate_tokens
from memscope.text.units import SERIOUS_LEVEL

MOST = 60  # candidates looked at
INSIGHT_WEIGHT = 10.0
SERIOUS_WEIGHT = 4.0  # of an observation of level 3, besides its quote's weight
ANOTHER = 0.75  # subtracted per earlier entry of the same kind


@dataclass(frozen=True, slots=True)
class ProfileEntry:
    hit: Hit
    weight: float
    kind: str


@worker(reads=("query", "order", "about_user", "candidates", "profile_tokens"), writes=("profile",))
async def profile(question: Query, ctx: WorkerContext) -> Query:
    if question.about_user:
        return replace(question, profile=await _chosen(question, ctx))
    if question.order or not question.terms or not requests(question.query):
        return question
    return replace(question, profile=await _chosen(await _asked(question, ctx), ctx))


async def _asked(question: Query, ctx: WorkerContext) -> Query:
    """Returns the same query as if it were about the user."""
    asked = Search(
        scope=question.scope,
        terms=PROFILE_TERMS,
        as_of=question.as_of,
        now=question.now,
        kinds=question.kinds,
        exclude=question.exclude,
        filter=question.filter,
        k=MOST,
    )
    found = await ctx.store.search(asked)
    weights = (1.0,) * len(PROFILE_TERMS)
    about = replace(question, candidates=found, terms=PROFILE_TERMS, weights=weights, periods=(), vector=None)
    return await rank(replace(about, meaning=None, topics=(), asks_personally=True), ctx)


async def _chosen(question: Query, ctx: WorkerContext) -> tuple[Hit, ...]:
    found, rows = question.candidates, question.order[:MOST]
    if found is None or not rows:
        return ()
    fetched = await fetch(question, found, rows, ctx)
    hits = (hit for row in rows if (hit := make_hit(question, found, row, fetched)))
    return tuple(choose([entry for hit in hits for entry in entries(hit, question)], question.profile_tokens))


def entries(hit: Hit, question: Query) -> Iterator[ProfileEntry]:
    """Returns a hit's entries about the user: its observations, or without them its lasting sentences."""
    if isinstance(hit.insight, Insight):
        yield ProfileEntry(hit, INSIGHT_WEIGHT, hit.insight.subject)
    elif hit.turn is not None and hit.observations and "observation" in question.kinds:
        yield from (_observed(hit, memory) for memory in hit.observations if not memory.fiction)
    elif hit.turn is not None and hit.turn.role == "user" and hit.changed is None and "turn" in question.kinds:
        yield from _stated(hit, hit.turn)


def _observed(hit: Hit, memory: Observation) -> ProfileEntry:
    quoted = [sentence for quote in memory.quotes for sentence in sentences(quote.text)]
    weight = max(map(lasting, quoted), default=0.0) + SERIOUS_WEIGHT * (memory.level >= SERIOUS_LEVEL)
    kind = memory.keywords[0] if memory.keywords else _kind(quoted)
    return ProfileEntry(replace(hit, observations=(memory,), matched=(memory,), changed=None), weight, kind)


def _stated(hit: Hit, turn: Turn) -> Iterator[ProfileEntry]:
    told = [sentence for sentence in sentences(turn.text) if lasting(sentence)]
    if told:
        weights = [lasting(sentence) for sentence in told]
        weight = max(weights) + 0.25 * (sum(weights) - max(weights))
        yield ProfileEntry(replace(hit, words=" ".join(told), matched=()), weight, _kind(told))


def _kind(told: Iterable[str]) -> str:
    return next((kind for sentence in told for kind in kinds(sentence)), "")


def choose(found: Sequence[ProfileEntry], tokens: int) -> Iterator[Hit]:
    """Returns the weightiest entries, of as many kinds as fit; of equal turns the newest, a memory once."""
    distinct: dict[Hashable, ProfileEntry] = {}
    for entry in sorted(found, key=lambda one: one.hit.time):
        if not (entry.hit.matched and gist(entry.hit.text) in distinct):
            distinct[gist(entry.hit.text)] = entry
    waiting = sorted(distinct.values(), key=lambda one: (-one.weight, -one.hit.time.timestamp()))
    shown: dict[str, int] = {}
    while waiting:
        best = max(waiting, key=lambda one: one.weight - ANOTHER * shown.get(one.kind, 0))
        waiting.remove(best)
        cost = estimate_tokens(profile_line(best.hit) + "\n")
        if best.weight > 0 and cost <= tokens:
            tokens -= cost
            shown[best.kind] = shown.get(best.kind, 0) + 1
            yield best.hit
