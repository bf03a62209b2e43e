"""Fetch the candidates from the store. This is the only step of a retrieve that may call an embedder."""

from __future__ import annotations

from collections.abc import Sequence

from memscope.languages.questions import instance_terms
from memscope.pipeline import altered, worker
from memscope.records import Candidates, Search
from memscope.retrieval.query import Query
from memscope.retrieval.synonyms import expansion, merge
from memscope.retrieval.understand import searched
from memscope.services import Services
from memscope.text.language import LANGUAGE_OF_HAN, language


@worker(
    reads=("text", "written", "vector", "scope", "terms", "about_user", "periods", "topics", "meaning",
           "as_of", "now", "kinds", "exclude", "filter", "k", "list_k", "reason"),
    writes=("vector", "space", "cjk_vectors", "candidates", "reason"),
)  # fmt: skip
async def search(query: Query, ctx: Services) -> Query:
    if not query.terms:
        return altered(query, reason=query.reason or "empty query")
    embedder, vector = ctx.embedder, query.vector
    if embedder is not None and vector is None and knows(embedder.languages, query.written):
        vector = await ctx.embed_query(searched(query.written))
    space = embedder.space if embedder is not None and vector is not None else None
    cjk = embedder is None or knows_han(embedder.languages)
    query = altered(query, vector=vector, space=space, cjk_vectors=cjk)
    return altered(query, candidates=await find(query, ctx))


async def find(query: Query, ctx: Services, names: Sequence[tuple[int, ...]] = ()) -> Candidates:
    """Search the store. With ``names``, only for units with all terms of a name, whose terms are added as columns."""
    terms = (*query.terms, *dict.fromkeys(term for name in names for term in name))
    builtin = ctx.settings.builtin_vectors
    added = expansion(query.text, terms) if builtin and not query.about_user else {}
    asked = Search(
        scope=query.scope, terms=(*terms, *added), periods=query.periods, vector=query.vector,
        space=query.space, meaning=query.meaning if builtin else None, topics=query.topics,
        as_of=query.as_of, now=query.now, kinds=query.kinds, exclude=query.exclude,
        filter=query.filter, k=query.list_k or query.k, required=tuple(names),
        instances=instance_terms(query.text) if query.list_k and not names else (),
    )  # fmt: skip
    return merge(await ctx.store.search(asked), len(terms), added)


def knows_han(languages: frozenset[str] | None) -> bool:
    """Return whether an embedder of these languages (None: any) understands Chinese characters."""
    return languages is None or LANGUAGE_OF_HAN in languages


def knows(languages: frozenset[str] | None, text: str) -> bool:
    """Return whether an embedder of these languages (None: any) understands a text."""
    return languages is None or language(text) in languages
