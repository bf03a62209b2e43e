"""Explain the hits, their order, and the records left out."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from weakref import WeakKeyDictionary

import numpy as np

from memscope import languages
from memscope.languages.requests import NEEDS_USER
from memscope.records import FoundBy, Hit, Retrieval
from memscope.records.results import WhyNothing
from memscope.retrieval.query import Query
from memscope.services import Services
from memscope.text.tokens import fold, has_words

log = logging.getLogger("memscope")
MAX_LOGGED_SESSIONS = 1000  # per memory object
_logged_sessions: WeakKeyDictionary[object, set[tuple[str, str]]] = WeakKeyDictionary()
RETRIEVED_KINDS = frozenset({"turn", "observation", "insight"})
MAX_SHOWN_PERIODS = 3
MAX_SHOWN_SCORES = 3  # of the records beyond k
BROUGHT_BY: Mapping[FoundBy, str] = {
    "text": "has its words, or stands beside them",
    "period": "said in or about its period",
    "user": "the same, of the user's own turns",
    "vector": "close by embedding",
    "meaning": "close by built-in vector",
    "topic": "shares everyday topics",
    "instance": "names one of the kind asked for",
    "supersedes": "holds in place of a changed one",
}


_SENTENCES: Mapping[WhyNothing, str] = {
    "not_needed": "this message asks nothing about the user",
    "nothing_then": "nothing that was said is about the time asked for",
    "see_profile": "the question is about the user: see the profile",
    "gone": "what matched has expired or was forgotten",
    "repeated_questions": "only earlier turns that ask the same question match: nothing that was said answers it",
    "nothing_lasting": "nothing lasting is known about the user yet: what they say about themselves will be found",
}


def explanation(query: Query, ctx: Services) -> str:
    return "\n".join(_lines(query, ctx))


def why_nothing(query: Query) -> WhyNothing:
    """Return the code that tells why there is no hit."""
    candidates = query.candidates
    if query.need == "nothing" or (query.limited and query.need not in NEEDS_USER):
        return "not_needed"
    if candidates is None:
        return "not_searched"
    if query.about_user and query.profile:
        return "see_profile"
    if not candidates.units:
        return "nothing_stored"
    if query.gone:
        return "gone"
    if query.asks_period:
        return "nothing_then"
    if query.repeated_questions:
        return "repeated_questions"
    if query.about_user:
        return "nothing_lasting"
    return "too_few_words" if _count_with_few_words(query) else "no_words"


def reason_of(why: WhyNothing, query: Query, ctx: Services) -> str:
    """Explain why there is no hit, and how to get one."""
    if why == "not_searched":
        return query.reason or "nothing was searched"
    if why == "nothing_stored":
        return _nothing_stored(query)
    hint = "" if ctx.embedder else ", or an embedding model would find what is near in meaning"
    if why == "too_few_words":
        return f"nothing that was said has enough of these words; use more of the words that were said, or a name{hint}"
    if why == "no_words" and (narrowed := _narrowing_arguments(query)):
        return f"nothing that was said within {narrowed} has these words; leave one out to search more"
    return _SENTENCES.get(why, f"nothing that was said has these words; try other words{hint}")


def unread_language(text: str) -> Iterator[str]:
    """Yield a note if the query's language is not registered."""
    if languages.main(text) is languages.NEUTRAL and has_words(fold(text)):
        yield "the language of the query is not registered: words and dates are compared by script alone"


def _nothing_stored(query: Query) -> str:
    narrowed = [*filter(None, [_narrowing_arguments(query)]), *(["exclude"] if query.exclude else [])]
    if narrowed:
        return f"nothing is stored within {', '.join(narrowed)}; leave one out to search more"
    return "nothing is stored for this user yet: add_turns keeps what is said"


def _narrowing_arguments(query: Query) -> str:
    """List the arguments that narrow the search, such as "session, filter"; empty for none."""
    scope = query.scope
    narrowing = {
        "agent": scope.agent, "session": scope.session, "as_of": query.as_of, "filter": query.filter,
        "kinds": query.kinds != RETRIEVED_KINDS,
    }  # fmt: skip
    return ", ".join(name for name, value in narrowing.items() if value)


def _count_with_few_words(query: Query) -> int:
    """Count the records that share words with the query but too few to be shown."""
    candidates = query.candidates
    if candidates is None or query.about_user:
        return 0
    weighted = [at for at, weight in enumerate(query.weights) if weight]
    worded = np.flatnonzero(candidates.tf[:, weighted].any(axis=1)).tolist()
    shown = {candidates.handle[row] for row in query.order}
    return max(0, len({candidates.handle[row] for row in worded} - shown) - query.repeated_questions)


def log_narrowed(memory: object, user: str, session: str | None, hits: Retrieval) -> None:
    """Log that ``session=`` may be why there is no hit, once per session and memory object."""
    logged = _logged_sessions.setdefault(memory, set())
    if hits or session is None or (user, session) in logged or len(logged) >= MAX_LOGGED_SESSIONS:
        return
    logged.add((user, session))
    log.info("nothing was found within session %r; leave session out to search all of the user's sessions", session)


def _lines(query: Query, ctx: Services) -> Iterator[str]:
    candidates = query.candidates
    if candidates is None:
        yield f"nothing searched: {reason_of(why_nothing(query), query, ctx)}"
        return
    known = int((candidates.document_frequency > 0).sum())
    pool = len(candidates.unit)
    if query.text != query.written:
        yield f"read as {query.text!r}"
    yield f"{len(query.terms)} terms, {known} of them known; {pool} of {candidates.units} units in the pool"
    for period in query.periods[:MAX_SHOWN_PERIODS]:
        yield f"period {period.start:%Y-%m-%d %H:%M} to {period.end:%Y-%m-%d %H:%M}"
    if query.vector is None:
        yield "no vector for this query"
    if query.reranked:
        yield f"the first {query.reranked} in the order of the rerank model, by its scores; below is our own table"
    if query.profile:
        yield f"profile: {', '.join(repr(hit.id) for hit in query.profile)}"
    meanings = {feature.name: feature.meaning for feature in query.features}
    for place, hit in enumerate(query.hits, 1):
        yield from _hit(place, hit, meanings)
    yield from _cut(query)


def _hit(place: int, hit: Hit, meanings: Mapping[str, str]) -> Iterator[str]:
    brought = ", ".join(f"{name} ({BROUGHT_BY[name]})" for name in hit.found_by)
    yield f"{place}. {hit.id!r} score {hit.score:.2f}, found by {brought}"
    for feature in sorted(hit.features, key=lambda feature: -abs(feature.contribution)):
        yield (
            f"   {feature.contribution:+6.2f} = {feature.weight:+.2f} x {feature.value:.2f}"
            f"  {feature.name}: {meanings[feature.name]}"
        )


def _cut(query: Query) -> Iterator[str]:
    if query.repeated_questions:
        yield f"left out: {query.repeated_questions} turns that only ask the same (question)"
    if unlike := _count_with_few_words(query):
        yield f"left out: {unlike} with too few of the question's words (unlike)"
    if query.exclude:
        yield f"left out: {len(query.exclude)} turns of the caller's choice (excluded)"
    if query.limited:
        yield f"left out: {query.limited} that a message like this does not need (not needed)"
    for out in query.left_out:
        yield f"left out: {out.id!r} ({out.why})"
    if query.gone:
        yield f"cut: {query.gone} forgotten while this was asked"
    rest = query.order[len(query.hits) + query.gone :]
    if rest and query.scores is not None:
        scores = ", ".join(f"{query.scores[row]:.2f}" for row in rest[:MAX_SHOWN_SCORES])
        yield f"cut: {len(rest)} more beyond k = {query.list_k or query.k}, the next with {scores}"
