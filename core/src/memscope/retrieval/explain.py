"""Explain the hits, their order, and the records left out."""

from __future__ import annotations

from collections.abc import Iterator

from memscope.pipeline import WorkerContext
from memscope.records import Hit
from memscope.retrieval.query import Query
from memscope.retrieval.rank import FEATURES

ALL_KINDS = frozenset({"turn", "observation", "insight"})
NEXT = 3  # of those that came too late
_MEANING = {column.name: column.meaning for column in FEATURES}


def explanation(question: Query) -> str:
    return "\n".join(_lines(question))


def why_nothing(question: Query, ctx: WorkerContext) -> str:
    """Returns the reason why there is no hit, and a way to get one."""
    found = question.candidates
    if found is None:
        return question.reason or "nothing was searched"
    if question.about_user and question.profile:
        return "the question is about the user: see the profile"
    if not found.units:
        return _nothing_there(question)
    if question.gone:
        return "what matched has expired or was forgotten"
    if question.askings:
        return "only earlier askings of the same question match: nothing that was said answers it"
    if question.about_user:
        return "nothing lasting is known about the user yet: what they say about themselves will be found"
    hint = "" if ctx.embedder else ", or an embedding model would find what is near in meaning"
    return f"nothing that was said has these words; try other words{hint}"


def _nothing_there(question: Query) -> str:
    scope = question.scope
    narrowing = {
        "agent": scope.agent, "session": scope.session, "as_of": question.as_of, "filter": question.filter,
        "exclude": question.exclude, "kinds": question.kinds != ALL_KINDS,
    }  # fmt: skip
    given = [name for name, value in narrowing.items() if value]
    if given:
        return f"nothing is stored within {', '.join(given)}; leave one out to search more"
    return "nothing is stored for this user yet: add_turns keeps what is said"


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
    if question.profile:
        yield f"profile: {', '.join(repr(hit.id) for hit in question.profile)}"
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
    if question.askings:
        yield f"left out: {question.askings} turns that only ask the same (question)"
    if question.exclude:
        yield f"left out: {len(question.exclude)} turns of the caller's choice (excluded)"
    for out in question.left_out:
        yield f"left out: {out.id!r} ({out.why})"
    if question.gone:
        yield f"cut: {question.gone} forgotten while this was asked"
    rest = question.order[len(question.hits) + question.gone :]
    if rest and question.scores is not None:
        scores = ", ".join(f"{question.scores[row]:.2f}" for row in rest[:NEXT])
        yield f"cut: {len(rest)} more beyond k = {question.k}, the next with {scores}"
