"""Ask the store for the candidates; the one place of a retrieve that may ask an embedder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memscope.pipeline import WorkerContext, worker
from memscope.records import Candidates, Search
from memscope.retrieval.query import Query
from memscope.retrieval.synonyms import expansion, merge
from memscope.retrieval.understand import searched
from memscope.text.language import language


@worker(
    reads=("query", "vector", "scope", "terms", "about_user", "periods", "topics", "meaning",
           "as_of", "now", "kinds", "exclude", "filter", "k"),
    writes=("vector", "space", "cjk_vectors", "candidates", "reason"),
)  # fmt: skip
async def search(question: Query, ctx: WorkerContext) -> Query:
    if not question.terms:
        return replace(question, reason="empty query")
    embedder, vector = ctx.embedder, question.vector
    if embedder is not None and vector is None and knows(embedder.languages, question.query):
        vector = await ctx.embed_query(searched(question.query))
    space = embedder.space if embedder is not None and vector is not None else None
    cjk = embedder is None or knows(embedder.languages, "中")
    question = replace(question, vector=vector, space=space, cjk_vectors=cjk)
    return replace(question, candidates=await find(question, ctx))


async def find(question: Query, ctx: WorkerContext, names: Sequence[tuple[int, ...]] = ()) -> Candidates:
    """Returns the store's candidates; with the terms of ``names``, further columns, only those that have a name."""
    terms = (*question.terms, *dict.fromkeys(term for name in names for term in name))
    builtin = ctx.settings.builtin_vectors
    added = expansion(question.query, terms) if builtin and not question.about_user else {}
    asked = Search(
        scope=question.scope, terms=(*terms, *added), periods=question.periods, vector=question.vector,
        space=question.space, meaning=question.meaning if builtin else None, topics=question.topics,
        as_of=question.as_of, now=question.now, kinds=question.kinds, exclude=question.exclude,
        filter=question.filter, k=question.k, required=tuple(names),
    )  # fmt: skip
    return merge(await ctx.store.search(asked), len(terms), added)


def knows(languages: frozenset[str] | None, text: str) -> bool:
    """Returns whether an embedder of these languages (None: any) understands a text."""
    return languages is None or language(text) in languages
