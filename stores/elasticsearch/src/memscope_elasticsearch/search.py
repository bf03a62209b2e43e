"""A search in two requests; chosen records that were too long for the answer are fetched later.

Every part is filtered and routed by scope, so no other user's records are searched.

1. the best units per channel (words, period, user, topic, vector), and statistics of the scope
2. neighbours of the best and the turns of observations, lengths of conversation windows, missing cosines, records

A search with required terms takes one request: the matching units, without neighbours, and their records.

A filter that tokens cannot express exactly is resolved to ids first (``_fitting``).

Unrefreshed writes of this process are read directly, beside the first request (before it, if terms are required).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

from memscope.records import Candidates, FetchResult, Handle, Record, Search, Select
from memscope.records.filters import record_matches
from memscope_elasticsearch import metadata_tokens, queries, reading
from memscope_elasticsearch.client import Body
from memscope_elasticsearch.documents import (
    DOCUMENT_KINDS,
    decode,
    document_id,
    holds_record,
    scope_hash,
    spelled,
    stored,
)
from memscope_elasticsearch.session import Session
from memscope_elasticsearch.vectors import encoded_vector

if TYPE_CHECKING:
    from memscope_elasticsearch.candidates import CandidateSet, FoundUnit, TermCounts

_HITS = "responses.hits.hits."
_AGGREGATION_PATHS = (
    "responses.aggregations,-**.sum_other_doc_count,-**.doc_count_error_upper_bound,-**.sittings.buckets.doc_count"
)
_UNIT_HITS = f"{_HITS}inner_hits.units.hits.hits."
_PATHS = ",".join(
    [*(f"{of}{what}" for of in (_HITS, _UNIT_HITS) for what in ("_source", "matched_queries")), _AGGREGATION_PATHS]
)
VECTOR_CHANNELS = ("vector", "meaning")
SCORED_SEARCHES = ("vector", "meaning", "cosines", "meanings")
SourceFields = Mapping[str, Mapping[str, Any]]
MAX_LISTED_IDS = 10_000  # ids in one query


async def search(session: Session, query: Search) -> Candidates:
    from memscope_elasticsearch.candidates import CandidateSet, best, candidates, measure

    pool, vector = CandidateSet(query), await _vector(session, query)
    fitting, pool.allowed = await _fitting(session, query)
    ids = await session.fresh(query.scope.user)
    if query.required:
        await _require(session, pool, vector, await _fresh(session, query, ids), fitting)
        return candidates(pool)
    bodies = queries.channels(query, vector, fitting)
    bodies["counts"] = queries.counting(query)
    fresh, answers = await asyncio.gather(_fresh(session, query, ids), _ask(session, query, bodies))
    _take(pool, answers, fresh)
    if not pool.units:
        return candidates(pool)
    front = best(measure(pool))
    await _complete(session, pool, front, vector, fresh)
    return candidates(pool)


async def _ask(session: Session, query: Search, bodies: Mapping[str, Body]) -> dict[str, Any]:
    """Run named searches in one request and return the answers by name."""
    paths = f"{_PATHS},{_HITS}_score" if any(name in bodies for name in SCORED_SEARCHES) else _PATHS
    answers = await session.cluster.searches(
        session.names.memory, list(bodies.values()), routing=scope_hash(query.scope.user), paths=paths
    )
    return dict(zip(bodies, answers, strict=True))


# ---- the first request


async def _vector(session: Session, query: Search) -> Body | None:
    """Build the shared part of all knn queries; None if the store has no vectors of the query's space."""
    if query.vector is None or query.space is None:
        return None
    if all(known.space != query.space for known in session.vectors.known):
        await session.vectors.meta()
    active = session.vectors.active
    if active is None or active.space != query.space:
        return None
    import numpy as np

    vector = encoded_vector(np.asarray(query.vector, np.float32))
    return {"field": active.field, "query_vector": vector} if vector else None


async def _fresh(session: Session, query: Search, ids: Sequence[str]) -> SourceFields:
    """Read the unrefreshed units by id."""
    scope = scope_hash(query.scope.user)
    documents = await session.documents(scope, ids, excludes="facts")
    here = (document for document in documents if document.get("_source", {}).get("scope") == scope)
    return {document["_id"]: document["_source"] for document in here}


def _take(pool: CandidateSet, answers: Mapping[str, Mapping[str, Any]], fresh: SourceFields) -> None:
    """Add the hits to the candidate set; vector hits have no words yet."""
    pool.counts = _counts(answers["counts"].get("aggregations", {}), pool.search)
    hits = {name: answer.get("hits", {}).get("hits", []) for name, answer in answers.items()}
    instances = hits.pop("instance", [])
    worded = [hit for name, of_search in hits.items() if name not in VECTOR_CHANNELS for hit in of_search]
    pool.frequencies.add(worded + instances)
    pool.add_hits(worded)
    pool.instances |= dict.fromkeys(pool.add_hits(instances), 1.0)
    known = set(pool.units)
    near = pool.add_hits(hits.get("vector", ()), words=False)
    pool.cosine |= {seq: _cosine(hit) for seq, hit in near.items()}
    nearest = pool.add_hits(hits.get("meaning", ()), words=False)
    pool.meaning |= {seq: _cosine(hit) for seq, hit in nearest.items()}
    pool.unread = (pool.cosine.keys() | nearest.keys()) - known
    pool.replace(fresh)
    if pool.search.filter:
        here = pool.allowed if pool.allowed is not None else {unit.record_id for unit in pool.units.values()}
        replaced = {source["rid"] for source in fresh.values() if "rid" in source}
        pool.allowed = frozenset(here - replaced | _fresh_matches(pool, fresh))


def _fresh_matches(pool: CandidateSet, fresh: SourceFields) -> set[str]:
    """Collect the ids of unrefreshed records that match the filter."""
    records = {source["rid"]: decode(source["body"]) for source in fresh.values() if source.get("body")}
    return {rid for rid, record in records.items() if record_matches(pool.search.filter or {}, record)}


async def _fitting(session: Session, query: Search) -> tuple[list[Body], frozenset[str] | None]:
    """Build clauses for the records that match the filter, with the ids if the clauses are not exact.

    Required terms need the ids too, since a hit includes units that do not match.
    """
    if not query.filter:
        return [], None
    if not query.required and metadata_tokens.is_exact(query.filter):
        return metadata_tokens.query(query.filter), None
    listed = [key.id for key in await reading.keys(session, Select(query.scope.user, filter=query.filter))]
    if len(listed) > MAX_LISTED_IDS:
        return metadata_tokens.query(query.filter), frozenset(listed)
    return [{"terms": {"rid": sorted(listed)}}], frozenset(listed)


def _cosine(hit: Mapping[str, Any]) -> float:
    """Convert the score of a vector hit to a cosine."""
    score: float = hit["_score"]
    return 2 * score - 1


def _counts(aggregations: Mapping[str, Any], query: Search) -> TermCounts:
    from memscope_elasticsearch.candidates import TermCounts

    if not aggregations:
        return TermCounts()
    turns = aggregations["turns"]
    return TermCounts(
        units=aggregations["keys"]["doc_count"],
        length=aggregations["keys"]["length"]["value"],
        turn_length=turns["length"]["value"],
        windows=turns["sittings"]["value"],
        speakers=tuple(int(bucket["key"]) for bucket in turns["speakers"]["buckets"]),
        has_roles=turns["roles"]["doc_count"] > 0,
        frequency=tuple(
            _frequency(aggregations[f"word{i}"]) or _frequency(aggregations[f"header{i}"])
            for i in range(len(query.terms))
        ),
        topics={topic: aggregations[f"topic{topic}"]["doc_count"] for topic in query.topics},
    )


def _frequency(counted: Mapping[str, Any]) -> int:
    """Count units with a term; turns and observations count once, since an observation repeats its turn's words."""
    of = {bucket["key"]: int(bucket["doc_count"]) for bucket in counted["kinds"]["buckets"]}
    return max(of.get("turn", 0), of.get("observation", 0)) + of.get("insight", 0)


# ---- the single request of a search with required terms


async def _require(
    session: Session, pool: CandidateSet, vector: Body | None, fresh: SourceFields, fitting: Sequence[Body]
) -> None:
    query, scope = pool.search, scope_hash(pool.search.scope.user)
    groups = [{spelled(term) for term in group} for group in query.required]
    attributed = [
        source["target"]
        for source in fresh.values()
        if source.get("kind") in DOCUMENT_KINDS and any(group <= {*source.get("words", "").split()} for group in groups)
    ]
    bodies = queries.required(query, vector, attributed, fitting)
    bodies["counts"] = queries.counting(query)
    answers = await _ask(session, query, bodies)
    collapsed = answers["required"].get("hits", {}).get("hits", [])
    units = [hit["inner_hits"]["units"]["hits"]["hits"] for hit in collapsed]
    answers["required"] = {"hits": {"hits": [hit for hits in units for hit in hits]}}
    _take(pool, answers, fresh)
    pool.brought, pool.brought_all = _of_whole(units, fresh, scope), False


def _of_whole(units: Sequence[Sequence[Mapping[str, Any]]], fresh: SourceFields, scope: str) -> FetchResult:
    """Build a ``fetch`` result of the records that came with all their memories. ``units``: by turn or insight."""
    sources = [hit["_source"] for hits in units for hit in hits]
    here = {source["rid"] for source in sources if source["part"] == 0}
    partial = {source["target"] for source in sources if source["rid"] not in here}
    partial |= {hits[0]["_source"]["target"] for hits in units if len(hits) == queries.MAX_UNITS_PER_HIT}
    return _lazy_records(sources, fresh, scope, partial)


# ---- the second request


async def _complete(
    session: Session, pool: CandidateSet, front: Sequence[FoundUnit], vector: Body | None, fresh: SourceFields
) -> None:
    wanted = queries.affordable(pool, front)
    with_records, without = queries.neighbours(pool, front, wanted)
    bodies = {
        "beside": with_records,
        "neighbours": without,
        "words": queries.words(pool),
        "sittings": queries.windows(pool),
        "records": queries.records(scope_hash(pool.search.scope.user), wanted),
    }
    if vector is not None:
        bodies["cosines"] = queries.missing_cosines(pool, vector)
    if pool.search.meaning is not None:
        bodies["meanings"] = queries.missing_meanings(pool, vector, wanted)
    answers = await _ask(session, pool.search, bodies)
    hits = {name: answer.get("hits", {}).get("hits", []) for name, answer in answers.items()}
    near = hits["beside"] + hits["neighbours"]
    pool.frequencies.add(near + hits["words"])
    pool.add_hits(near)
    pool.add_words(hits["words"])
    pool.cosine |= {hit["_source"]["seq"]: _cosine(hit) for hit in hits.get("cosines", ())}
    pool.meaning |= {hit["_source"]["seq"]: _cosine(hit) for hit in hits.get("meanings", ())}
    sums = answers["sittings"].get("aggregations", {}).get("sittings", {}).get("buckets", [])
    pool.lengths = {int(bucket["key"]): int(bucket["length"]["value"]) for bucket in sums}
    pool.replace(fresh)
    pool.brought_all = wanted.whole
    sources = [hit["_source"] for hit in hits["records"] + hits["beside"]]
    pool.brought = _lazy_records(sources, fresh, scope_hash(pool.search.scope.user))


class LazyRecords(Mapping[Handle, Record]):
    """Records of the answer, parsed on demand since few become hits."""

    def __init__(self, bodies: Mapping[Handle, str]) -> None:
        self._bodies = bodies

    def __getitem__(self, handle: Handle) -> Record:
        return decode(self._bodies[handle])

    def __contains__(self, handle: object) -> bool:
        return handle in self._bodies

    def __iter__(self) -> Iterator[Handle]:
        return iter(self._bodies)

    def __len__(self) -> int:
        return len(self._bodies)


def _lazy_records(
    sources: Iterable[Mapping[str, Any]], fresh: SourceFields, scope: str, partial: AbstractSet[str] = frozenset()
) -> FetchResult:
    """Build a ``fetch`` result from the answer, without ``partial`` records, which lack memories."""
    first = (source for source in sources if source["part"] == 0)
    by_id = {document_id(scope, source["rid"]): {**source, "scope": scope} for source in first} | dict(fresh)
    documents: list[Body] = [{"_id": id, "_source": source} for id, source in by_id.items()]
    documents = [document for document in documents if holds_record(document, scope)]
    whole = [document["_source"] for document in documents if document["_source"]["rid"] not in partial]
    bodies: dict[Handle, str] = {source["rid"]: source["body"] for source in whole}
    memories = [
        entry for document in documents if document["_source"]["kind"] != "turn" and (entry := stored(document, scope))
    ]
    return FetchResult(LazyRecords(bodies), reading.derived(bodies, memories))
