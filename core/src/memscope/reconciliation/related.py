"""Current observations that a text may repeat or contradict, found by a bounded search of the store; their vectors."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from memscope.errors import ModelError
from memscope.records import Candidates, Handle, Observation, Scope, Search, Select
from memscope.search.bm25 import bm25, rarity
from memscope.services import Services
from memscope.text.terms import terms
from memscope.text.vectors import DIMENSIONS, sentence_vector

MAX_COMPARED_OBSERVATIONS = 500  # up to this many, all observations of the user are compared
MAX_RELATED_TERMS = 64
MAX_TURNS_BY_WORDS, MAX_TURNS_BY_VECTOR = 40, 20  # per text


async def related(ctx: Services, scope: Scope, texts: Sequence[str], ids: Sequence[str] = ()) -> list[Observation]:
    """Return current observations near the texts; all of a small memory, as a contradiction may share no word.

    ``ids``: further observations to include. Only those of this user and exactly this agent; no documents, proposals
    or expired ones.
    Falls back to words alone if the embedder fails.
    """
    if not texts:
        return []
    await ctx.store.searchable(scope.user)  # some stores index late: wait for the previous batch
    small = (await ctx.store.stats(scope.user)).observations <= MAX_COMPARED_OBSERVATIONS
    if small:
        select = Select(scope.user, scope.agent, kinds=frozenset({"observation"}), current=True)
        facts = [one async for page in ctx.store.scan(select) for one in page if isinstance(one, Observation)]
    else:
        facts = await _nearest_facts(ctx, scope, texts)
    if others := set(ids) - {memory.id for memory in facts}:
        records = (await ctx.store.fetch(scope.user, sorted(others))).records.values()
        facts += [record for record in records if isinstance(record, Observation)]
    now = ctx.clock()
    held = [fact for fact in facts if fact.expires is None or fact.expires > now]  # nothing merges into a hidden one
    return [fact for fact in held if fact.current and fact.name is None and fact.scope.agent == scope.agent]


async def _nearest_facts(ctx: Services, scope: Scope, texts: Sequence[str]) -> list[Observation]:
    vectors = await _vectors(ctx, texts)
    searches = [
        Search(
            scope=Scope(scope.user, scope.agent),
            terms=tuple(dict.fromkeys(terms(text)))[:MAX_RELATED_TERMS],
            vector=vector,
            space=ctx.embedder.space if ctx.embedder and vector is not None else None,
            now=ctx.clock(),
            kinds=frozenset({"observation"}),
        )
        for text, vector in zip(texts, vectors, strict=True)
    ]
    results = await asyncio.gather(*map(ctx.store.search, searches))
    handles = list(dict.fromkeys(handle for candidates in results for handle in best(candidates)))
    derived = (await ctx.store.fetch(scope.user, handles)).derived
    memories = {memory.id: memory for group in derived.values() for memory in group}
    return [memory for memory in memories.values() if isinstance(memory, Observation)]


async def _vectors(ctx: Services, texts: Sequence[str]) -> Sequence[NDArray[np.float32] | None]:
    if ctx.embedder is not None:
        with suppress(ModelError):
            return list(await ctx.embed(texts))
    return [None] * len(texts)


def best(candidates: Candidates) -> list[Handle]:
    weights = rarity(candidates.units, candidates.document_frequency)
    by_words = bm25(candidates.tf, candidates.length, candidates.average_length, weights)
    by_text = np.argsort(-by_words, kind="stable")[:MAX_TURNS_BY_WORDS]
    near = np.argsort(-candidates.cosine, kind="stable")[:MAX_TURNS_BY_VECTOR]  # those without a vector come last
    rows = [*by_text[by_words[by_text] > 0], *near[~np.isnan(candidates.cosine[near])]]
    return [candidates.handle[int(row)] for row in rows]


def sentence_rows(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the unit vectors of the texts, [len(texts), DIMENSIONS]; zeros for one without a known word."""
    rows = np.zeros((len(texts), DIMENSIONS), np.float32)
    for place, text in enumerate(texts):
        if (vector := sentence_vector(text)) is not None:
            rows[place] = vector
    return rows
