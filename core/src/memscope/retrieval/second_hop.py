"""Second hop: lines about whom or what the best hits name, where the query only describes them.

    "Which city does my friend at Google live in?" ──▶ "My friend Liam started at Google." ──▶ lines that name Liam

    "Where do I work now?"                    ──▶ "I'm an engineer at Arup."         ──▶ "I left Arup and ..."

One more search, for the units with such a name alone, and only if a best hit has one that is missing in the query.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memscope.imports import pattern
from memscope.pipeline import WorkerContext, worker
from memscope.records import Candidates, FetchResult, Handle
from memscope.retrieval.changes import is_current, was_said
from memscope.retrieval.hits import both, fetch
from memscope.retrieval.query import Query
from memscope.retrieval.rank import ASSISTANT, Evidence, kind_asked, rank
from memscope.retrieval.search import find
from memscope.text import load_names
from memscope.text.language import has_cjk
from memscope.text.lexicon import FoundName
from memscope.text.terms import terms

SOURCES = 3  # best hits whose names are followed
COVERED = 0.2  # share of the query's words that such a hit has
SHORT = 60  # terms of such a hit; a long one names many
RARE = 0.03  # share of the units that may name somebody; at least ``FEW``
FEW = 12
HALF = 0.5  # of the kind asked for
KEPT = 6  # most hits before the lines brought in: those up to the last that has a word or the kind asked for
MOST = 2  # lines brought in
OF_TERMS = {"tf", "tf_neighbours", "tf_header"}  # columns of Candidates that have the terms last; those of all:
OF_SCOPE = {"terms", "document_frequency", "units", "average_length", "average_session_length", "handle", "speakers",
            "has_roles", "brought"}  # fmt: skip


@worker(
    reads=("query", "order", "candidates", "terms", "weights", "scope", "about_user", "about_talk", "asks_personally",
           "vector", "space", "k"),
    writes=("candidates", "order", "values", "scores", "askings"),
)  # fmt: skip
async def hop(question: Query, ctx: WorkerContext) -> Query:
    found = question.candidates
    described = () if question.about_user or question.about_talk else _described(question)
    if found is None or not described:
        return question
    telling = (Evidence(question, found).coverage >= COVERED) & (found.tf[:, described] > 0).any(axis=1)
    if question.asks_personally:  # "Where do I work?" and "I'm an engineer at Arup." share a topic and no word
        telling |= found.topic > 0
    telling &= (found.length <= SHORT) & (found.role != ASSISTANT)
    sources = [row for row in question.order[:SOURCES] if telling[row]]
    if not sources:
        return question
    fetched = found.brought or await fetch(question, found, sources, ctx)
    await load_names()
    handles = [found.handle[row] for row in sources]
    texts = [text for handle in handles for text in _texts(question, handle, fetched)]
    bridges = await asyncio.to_thread(_bridges, question, texts)  # the first reads the tables of names
    return await _reached(question, handles, bridges, ctx) if bridges else question


def _described(question: Query) -> list[int]:
    """Returns the places of the terms by which the query describes somebody or something without a name."""
    if has_cjk(question.query):
        return [at for at, weight in enumerate(question.weights) if weight] if _OWN_ZH.search(question.query) else []
    own = {one for match in _OWN.finditer(question.query) for one in terms(match[1])}
    return [at for at, one in enumerate(question.terms) if one in own]


_OWN = pattern(
    r"(?i)\b(?:I|we|my|our|that|those|the(?= (?:\w+ ){1,2}(?:who|that|which|where|i) )) ((?:[\w'’-]+ ?){1,4})"
)
_OWN_ZH = pattern("[我咱俺]|那[个個位家]")


def _bridges(question: Query, texts: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Returns the names in the texts that the query does not have, with their terms."""
    from memscope.text.names import names  # tables that most queries do not need

    asked, found = set(question.terms), {name.text for text in texts for name in names(text) if _leads(name)}
    bridges = {name: tuple(dict.fromkeys(terms(name))) for name in sorted(found)}
    return {name: own for name, own in bridges.items() if own and asked.isdisjoint(own)}


def _leads(name: FoundName) -> bool:
    """Returns whether a name may be followed; a Chinese one must be a name by itself."""
    return name.kind != "topic" and (name.weight > 0 or not has_cjk(name.text))


def _texts(question: Query, handle: Handle, fetched: FetchResult) -> Iterator[str]:
    """Yield the text of a record and of the memories on it that the query may see."""
    record = fetched.records.get(handle)
    if record is not None:
        yield record.text
    derived = fetched.derived.get(handle, ())
    yield from (memory.text for memory in derived if was_said(memory, question) and is_current(memory, question))


async def _reached(
    question: Query, sources: Sequence[Handle], bridges: Mapping[str, tuple[int, ...]], ctx: WorkerContext
) -> Query:
    """Returns the query with the lines that name a bridge behind the sources, as far as they are few."""
    named = await find(question, ctx, [*bridges.values()])
    rare = named.unit[_names_rarely(named, bridges.values()) & (named.role != ASSISTANT)]
    if not len(rare):
        return question
    ranked = await rank(replace(question, candidates=_joined(question.candidates or named, named, rare)), ctx)
    found = ranked.candidates or named
    naming = np.isin(found.unit, rare)
    rows = [row for row in ranked.order if naming[row] and found.handle[row] not in sources][: 2 * MOST]
    fetched = await fetch(ranked, found, rows, ctx)
    texts = {row: [*_texts(question, found.handle[row], fetched)] for row in rows}
    rows = [row for row in rows if any(name in text for text in texts[row] for name in bridges)]
    if not rows:
        return question
    covered = Evidence(ranked, found).coverage
    direct = (covered > 0) | (kind_asked(ranked, found) > HALF)
    best = [at for at, row in enumerate(ranked.order[:KEPT]) if direct[row] or found.handle[row] in sources]
    order = dict.fromkeys((*ranked.order[: 1 + max(best, default=0)], *rows[:MOST], *ranked.order))
    return replace(ranked, order=tuple(order))


def _joined(found: Candidates, named: Candidates, units: NDArray[np.int64]) -> Candidates:
    """Returns the candidates and some units of a search with further terms, over the terms of the first."""
    rows = np.flatnonzero(np.isin(named.unit, units) & ~np.isin(named.unit, found.unit)).tolist()

    def column(name: str) -> Any:
        here, there = getattr(found, name), getattr(named, name)[rows]
        return np.concatenate((here, there[..., : len(found.terms)] if name in OF_TERMS else there))

    columns = {one.name: column(one.name) for one in fields(found) if one.name not in OF_SCOPE}
    handles = [*found.handle, *(named.handle[row] for row in rows)]
    return replace(found, handle=handles, brought=both(found.brought, named.brought), **columns)


def _names_rarely(found: Candidates, bridges: Iterable[tuple[int, ...]]) -> NDArray[np.bool_]:
    """[n] true for candidates that have all terms of a rare name."""
    most = max(FEW, RARE * found.units)
    naming = np.zeros(len(found.unit), np.bool_)
    for name in bridges:
        at = [found.terms.index(term) for term in name]
        if found.document_frequency[at].min() <= most:
            naming |= (found.tf[:, at] > 0).all(axis=1)
    return naming
