"""Why these hits, in this order, and what was left out."""

from __future__ import annotations

from collections.abc import Iterator

from memscope.records import Hit
from memscope.retrieval.query import Query
from memscope.retrieval.rank import FEATURES

NEXT = 3  # of those that came too late
_MEANING = {column.name: column.meaning for column in FEATURES}


def explanation(question: Query) -> str:
    return "\n".join(_lines(question))


def _lines(question: Query) -> Iterator[str]:
    found = question.candidates
    if found is None:
        yield f"nothing searched: {question.reason}"
        return
    known = int((found.document_frequency > 0).sum())
    yield f"{len(question.terms)} terms, {known} of them known; {len(found.unit)} of {found.units} units in the pool"
    for period in question.periods[:NEXT]:
        yield f"period {period.start:%Y-%m-%d %H:%M} to {period.end:%Y-%m-%d %H:%M}"
    if question.vector is None:
        yield "no vector for this query"
    if question.reranked:
        yield f"the first {question.reranked} in the order of the rerank model, by its scores; below is our own table"
    for place, hit in enumerate(question.hits, 1):
        yield from _hit(place, hit)
    yield from _cut(question)


def _hit(place: int, hit: Hit) -> Iterator[str]:
    yield f"{place}. {hit.id!r} score {hit.score:.2f}, found by {', '.join(hit.found_by)}"
    for feature in sorted(hit.features, key=lambda feature: -abs(feature.contribution)):
        yield (
            f"   {feature.contribution:+6.2f} = {feature.weight:+.2f} x {feature.value:.2f}"
            f"  {feature.name}: {_MEANING[feature.name]}"
        )


def _cut(question: Query) -> Iterator[str]:
    if question.gone:
        yield f"cut: {question.gone} forgotten while this was asked"
    rest = question.order[len(question.hits) + question.gone :]
    if rest and question.scores is not None:
        scores = ", ".join(f"{question.scores[row]:.2f}" for row in rest[:NEXT])
        yield f"cut: {len(rest)} more beyond k = {question.k}, the next with {scores}"
