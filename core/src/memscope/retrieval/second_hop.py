"""Second hop: follow names that the best hits have and the query lacks.

    "Which city does my friend at Google live in?" ──▶ "My friend Liam started at Google." ──▶ lines that name Liam

    "Where does Rumpel live?"                 ──▶ "Kim has a parrot called Rumpel." ──▶ lines that name Kim
    "Where do I work now?"                    ──▶ "I'm an engineer at Arup."         ──▶ "I left Arup and ..."

One more search, only for units with such a name; skipped if the best hits have no new name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memscope import languages
from memscope.languages.name_rules import FoundName
from memscope.languages.names import names
from memscope.pipeline import altered, worker
from memscope.records import Candidates, FetchResult, Handle
from memscope.retrieval.changes import is_current, is_visible
from memscope.retrieval.features import FeatureInputs
from memscope.retrieval.hits import fetch, merge_results
from memscope.retrieval.query import Query
from memscope.retrieval.rank import rank
from memscope.retrieval.search import find, search
from memscope.search.candidates import TEXT_CHANNEL
from memscope.search.units import ASSISTANT_ROLE
from memscope.services import Services
from memscope.text.language import has_cjk
from memscope.text.terms import terms

MAX_FOLLOWED_HITS = 3  # best hits whose names are followed
MAX_NAME_TERMS = 6  # of a name in the query: three CJK characters and their pairs
MIN_HIT_COVERAGE = 0.2  # of the query's words in a followed hit
MAX_BRIDGE_HIT_TERMS = 60  # of a followed hit; longer ones name too many things
MAX_NAME_FREQUENCY = 0.03  # share of units with a followed name; at least ``MAX_BRIDGE_TERMS`` units
MAX_BRIDGE_TERMS = 12
MIN_KIND_SCORE = 0.5  # for a hit of the requested kind
MAX_KEPT_HITS = 6  # hits before the bridged lines: those up to the last that matches directly
MAX_BRIDGED_LINES = 2  # found by a bridge
TERM_COLUMNS = {"tf", "tf_neighbours", "tf_header"}  # columns of Candidates with terms as the last axis
SCOPE_COLUMNS = {"terms", "document_frequency", "units", "average_length", "average_session_length", "handle",
                 "speakers", "has_roles", "brought"}  # fmt: skip


@worker(
    reads=(*search.reads, *rank.reads, "order", "space"),
    writes=("candidates", "order", "features", "values", "scores", "repeated_questions", "bridged"),
)  # fmt: skip
async def second_hop(query: Query, ctx: Services) -> Query:
    candidates = query.candidates
    if candidates is None or query.about_user or query.about_talk:
        return query
    described = _description_terms(query) or _name_terms(query, candidates)
    if not described:
        return query
    says_it = (candidates.tf[:, described] > 0).any(axis=1)
    usable = says_it & (FeatureInputs(query, candidates).coverage >= MIN_HIT_COVERAGE)
    usable |= candidates.event > 0  # a plan for the time asked for, which may have changed since
    if query.asks_personally:  # "Where do I work?" and "I'm an engineer at Arup." share a topic and no word
        usable |= candidates.topic > 0
    usable &= (candidates.length <= MAX_BRIDGE_HIT_TERMS) & (candidates.role != ASSISTANT_ROLE)
    sources = [row for row in query.order[:MAX_FOLLOWED_HITS] if usable[row]]
    if not sources:
        return query
    fetched = candidates.brought or await fetch(query, candidates, sources, ctx)
    handles = [candidates.handle[row] for row in sources]
    texts = [[*_texts(query, handle, fetched)] for handle in handles]
    bridges = _bridges(query, chain.from_iterable(texts))
    if not bridges:
        return query
    query = await _with_bridged_lines(query, handles, bridges, ctx)
    shared = [name for name in bridges if any(_has_name(text, name) for text in texts[0])]
    pairs = zip(sources[1:], texts[1:], strict=True)
    alike = [row for row, lines in pairs if any(_has_name(text, name) for text in lines for name in shared)]
    return altered(query, bridged=query.bridged.union(alike))


def _description_terms(query: Query) -> list[int]:
    """Return the positions of terms that describe someone unnamed, such as "my friend at Google"."""
    descriptions = [match for one in languages.of(query.text) for match in one.questions.own.finditer(query.text)]
    if any(match.re.groups == 0 for match in descriptions):  # a script without spaces: any term may describe
        return [at for at, weight in enumerate(query.weights) if weight]
    describing = {term for match in descriptions for term in terms(match[1])}
    return [at for at, one in enumerate(query.terms) if one in describing]


def _name_terms(query: Query, candidates: Candidates) -> list[int]:
    """Return the positions of a name's terms, if the best hits share only this name with the query."""
    best = list(query.order[:MAX_FOLLOWED_HITS])
    weighed = np.array(query.weights) > 0
    met = (candidates.tf[best] > 0)[:, : len(weighed)].any(axis=0) & weighed
    if not best or not 0 < met.sum() < min(weighed.sum(), MAX_NAME_TERMS):
        return []
    of_names = {term for name in names(query.text) if name.weight for term in terms(name.text)}
    at = np.flatnonzero(met).tolist()
    return at if of_names.issuperset(query.terms[one] for one in at) else []


def _bridges(query: Query, texts: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Return the names in the texts that the query lacks, with their terms."""
    asked, new_names = set(query.terms), set[str]()
    for text in texts:
        new_names.update(name.text for name in names(text) if _is_followed(name))
        if text.islower():
            new_names.update(languages.main(text).names.unknown(text))
    bridges = {name: tuple(dict.fromkeys(terms(name))) for name in sorted(new_names)}
    return {name: its_terms for name, its_terms in bridges.items() if its_terms and asked.isdisjoint(its_terms)}


def _is_followed(name: FoundName) -> bool:
    """Return whether to follow a name; a Chinese one must be unmistakably a name."""
    return name.kind != "topic" and (name.weight > 0 or not has_cjk(name.text))


def _has_name(text: str, name: str) -> bool:
    return name in text or (text.islower() and name.lower() in text)


def _texts(query: Query, handle: Handle, fetched: FetchResult) -> Iterator[str]:
    """Yield the text of a record and of its memories that the query may see."""
    record = fetched.records.get(handle)
    if record is not None:
        yield record.text
    derived = fetched.derived.get(handle, ())
    yield from (memory.text for memory in derived if is_visible(memory, query) and is_current(memory, query))


async def _with_bridged_lines(
    query: Query, sources: Sequence[Handle], bridges: Mapping[str, tuple[int, ...]], ctx: Services
) -> Query:
    """Insert lines with a followed name after their sources, if the name is rare."""
    named = await find(query, ctx, [*bridges.values()])
    rare = named.unit[_names_rarely(named, bridges.values()) & (named.role != ASSISTANT_ROLE)]
    if not len(rare):
        return query
    joined = _with_units(query.candidates or named, named, rare)
    if not query.asks_personally:  # treat the name as a word match, which such a query needs as evidence
        by_name = np.where(np.isin(joined.unit, rare), np.uint8(TEXT_CHANNEL), np.uint8(0))
        joined = replace(joined, channels=joined.channels | by_name)
    ranked = await rank(altered(query, candidates=joined), ctx)
    candidates = ranked.candidates or named
    naming = np.isin(candidates.unit, rare)
    rows = [row for row in ranked.order if naming[row] and candidates.handle[row] not in sources][
        : 2 * MAX_BRIDGED_LINES
    ]
    fetched = await fetch(ranked, candidates, rows, ctx)
    texts = {row: [*_texts(query, candidates.handle[row], fetched)] for row in rows}
    rows = [row for row in rows if any(_has_name(text, name) for text in texts[row] for name in bridges)]
    if not rows:
        return query
    inputs = FeatureInputs(ranked, candidates)
    direct = (inputs.coverage > 0) | (inputs.of_kind > MIN_KIND_SCORE)
    best = [
        at for at, row in enumerate(ranked.order[:MAX_KEPT_HITS]) if direct[row] or candidates.handle[row] in sources
    ]
    brought = rows[:MAX_BRIDGED_LINES]
    order = dict.fromkeys((*ranked.order[: 1 + max(best, default=0)], *brought, *ranked.order))
    return altered(ranked, order=tuple(order), bridged=frozenset(brought))


def _with_units(candidates: Candidates, named: Candidates, units: NDArray[np.int64]) -> Candidates:
    """Append units of a search with more terms, keeping only the columns of the original terms."""
    rows = np.flatnonzero(np.isin(named.unit, units) & ~np.isin(named.unit, candidates.unit)).tolist()

    def column(name: str) -> Any:
        here, there = getattr(candidates, name), getattr(named, name)[rows]
        return np.concatenate((here, there[..., : len(candidates.terms)] if name in TERM_COLUMNS else there))

    columns = {one.name: column(one.name) for one in fields(candidates) if one.name not in SCOPE_COLUMNS}
    handles = [*candidates.handle, *(named.handle[row] for row in rows)]
    return replace(candidates, handle=handles, brought=merge_results(candidates.brought, named.brought), **columns)


def _names_rarely(candidates: Candidates, bridges: Iterable[tuple[int, ...]]) -> NDArray[np.bool_]:
    """[n] true for candidates with all terms of a rare name."""
    most = max(MAX_BRIDGE_TERMS, MAX_NAME_FREQUENCY * candidates.units)
    naming = np.zeros(len(candidates.unit), np.bool_)
    for name in bridges:
        at = [candidates.terms.index(term) for term in name]
        if candidates.document_frequency[at].min() <= most:
            naming |= (candidates.tf[:, at] > 0).all(axis=1)
    return naming
