"""A query in two requests; records too long to come along are fetched if they are chosen.

Scope is a filter in every part and the routing, so no other user's records are searched.

1. the best by words, in the periods asked for, of the user's, by vector; and what counts the scope, without hits
2. neighbours of the best and the turns credited by observations; lengths of their conversation windows;
   missing cosines; the records themselves

One request where terms are required: the units that have them, without neighbours, and the records themselves.

What this process wrote too lately to be found is read directly, beside the first (before the only one: it names turns).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

from memscope.records import Candidates, FetchResult, Handle, Record, Search
from memscope.records.filters import record_matches
from memscope_elasticsearch import queries, reading
from memscope_elasticsearch.client import Body
from memscope_elasticsearch.documents import KINDS, decode, document_id, holds_record, scope_hash, spelled, stored
from memscope_elasticsearch.session import Session
from memscope_elasticsearch.vectors import encoded_vector

if TYPE_CHECKING:
    from memscope_elasticsearch.candidates import CandidateSet, FoundUnit, TermCounts

_HITS = "responses.hits.hits."
_TOLD = "responses.aggregations,-**.sum_other_doc_count,-**.doc_count_error_upper_bound,-**.sittings.buckets.doc_count"
_UNITS = f"{_HITS}inner_hits.units.hits.hits."
_PATHS = ",".join([*(f"{of}{what}" for of in (_HITS, _UNITS) for what in ("_source", "matched_queries")), _TOLD])
BY_VECTOR = ("vector", "meaning")
SCORED = ("vector", "meaning", "cosines", "meanings")
SourceFields = Mapping[str, Mapping[str, Any]]


async def search(session: Session, asked: Search) -> Candidates:
    from memscope_elasticsearch.candidates import CandidateSet, best, candidates, measure

    pool, vector = CandidateSet(asked), await _vector(session, asked)
    ids = await session.fresh(asked.scope.user)
    if asked.required:
        await _require(session, pool, vector, await _fresh(session, asked, ids))
        return candidates(pool)
    bodies = queries.legs(asked, vector)
    bodies["counts"] = queries.counting(asked)
    fresh, answers = await asyncio.gather(_fresh(session, asked, ids), _ask(session, asked, bodies))
    _take(pool, answers, fresh)
    if not pool.units:
        return candidates(pool)
    front = best(measure(pool))
    await _complete(session, pool, front, vector, fresh)
    return candidates(pool)


async def _ask(session: Session, asked: Search, bodies: Mapping[str, Body]) -> dict[str, Any]:
    """Returns the answers under the names of their searches."""
    paths = f"{_PATHS},{_HITS}_score" if any(name in bodies for name in SCORED) else _PATHS
    found = await session.cluster.searches(
        session.names.memory, list(bodies.values()), routing=scope_hash(asked.scope.user), paths=paths
    )
    return dict(zip(bodies, found, strict=True))


# ---- the first request


async def _vector(session: Session, asked: Search) -> Body | None:
    """Returns the common part of all knn queries; None if the store has no such vectors."""
    if asked.vector is None or asked.space is None:
        return None
    if all(known.space != asked.space for known in session.vectors.known):
        await session.vectors.meta()
    active = session.vectors.active
    if active is None or active.space != asked.space:
        return None
    import numpy as np

    vector = encoded_vector(np.asarray(asked.vector, np.float32))
    return {"field": active.field, "query_vector": vector} if vector else None


async def _fresh(session: Session, asked: Search, ids: Sequence[str]) -> SourceFields:
    """Returns unrefreshed units by id, as they are now."""
    scope = scope_hash(asked.scope.user)
    documents = await session.documents(scope, ids, excludes="facts")
    return {one["_id"]: one["_source"] for one in documents if one.get("_source", {}).get("scope") == scope}


def _take(pool: CandidateSet, answers: Mapping[str, Mapping[str, Any]], fresh: SourceFields) -> None:
    """Add the hits to the candidate set; those by a vector come without words."""
    pool.counts = _counts(answers["counts"].get("aggregations", {}), pool.search)
    hits = {name: answer.get("hits", {}).get("hits", []) for name, answer in answers.items()}
    worded = [hit for name, found in hits.items() if name not in BY_VECTOR for hit in found]
    pool.frequencies.see(worded)
    pool.add_hits(worded)
    known = set(pool.units)
    near = pool.add_hits(hits.get("vector", ()), words=False)
    pool.cosine |= {seq: _cosine(hit) for seq, hit in near.items()}
    nearest = pool.add_hits(hits.get("meaning", ()), words=False)
    pool.meaning |= {seq: _cosine(hit) for seq, hit in nearest.items()}
    pool.unread = (pool.cosine.keys() | nearest.keys()) - known
    pool.replace(fresh)
    if pool.search.filter:
        sources = [hit["_source"] for found in hits.values() for hit in found]
        pool.allowed = frozenset(_fitting(pool.search, [*sources, *fresh.values()]))


def _cosine(hit: Mapping[str, Any]) -> float:
    """Returns the cosine that the score of a hit by vector stands for."""
    score: float = hit["_score"]
    return 2 * score - 1


def _fitting(asked: Search, sources: Iterable[Mapping[str, Any]]) -> set[str]:
    """Returns records that meet the filter, judged on themselves."""
    if not asked.filter:
        return set()
    records = {source["rid"]: decode(source["body"]) for source in sources if source.get("body")}
    return {record_id for record_id, record in records.items() if record_matches(asked.filter, record)}


def _counts(found: Mapping[str, Any], asked: Search) -> TermCounts:
    from memscope_elasticsearch.candidates import TermCounts

    if not found:
        return TermCounts()
    turns = found["turns"]
    return TermCounts(
        units=found["keys"]["doc_count"],
        length=found["keys"]["length"]["value"],
        turn_length=turns["length"]["value"],
        windows=turns["sittings"]["value"],
        speakers=tuple(int(one["key"]) for one in turns["speakers"]["buckets"]),
        has_roles=turns["roles"]["doc_count"] > 0,
        frequency=tuple(
            _frequency(found[f"word{i}"]) or _frequency(found[f"header{i}"]) for i in range(len(asked.terms))
        ),
        topics={topic: found[f"topic{topic}"]["doc_count"] for topic in asked.topics},
    )


def _frequency(counted: Mapping[str, Any]) -> int:
    """Count units with a term; an observation mostly repeats its turn's words."""
    of = {one["key"]: int(one["doc_count"]) for one in counted["kinds"]["buckets"]}
    return max(of.get("turn", 0), of.get("observation", 0)) + of.get("insight", 0)


# ---- the only request, where terms are required


async def _require(session: Session, pool: CandidateSet, vector: Body | None, fresh: SourceFields) -> None:
    asked, scope = pool.search, scope_hash(pool.search.scope.user)
    groups = [{spelled(term) for term in group} for group in asked.required]
    credited = [
        source["target"]
        for source in fresh.values()
        if source.get("kind") in KINDS and any(group <= {*source.get("words", "").split()} for group in groups)
    ]
    bodies = queries.required(asked, vector, credited)
    bodies["counts"] = queries.counting(asked)
    answers = await _ask(session, asked, bodies)
    found = answers["required"].get("hits", {}).get("hits", [])
    units = [hit["inner_hits"]["units"]["hits"]["hits"] for hit in found]
    answers["required"] = {"hits": {"hits": [hit for hits in units for hit in hits]}}
    _take(pool, answers, fresh)
    pool.brought, pool.brought_all = _of_whole(units, fresh, scope), False


def _of_whole(units: Sequence[Sequence[Mapping[str, Any]]], fresh: SourceFields, scope: str) -> FetchResult:
    """Returns the records that came with all memories on them, as ``fetch`` would. ``units``: by turn or insight."""
    sources = [hit["_source"] for hits in units for hit in hits]
    here = {source["rid"] for source in sources if source["part"] == 0}
    partial = {source["target"] for source in sources if source["rid"] not in here}
    partial |= {hits[0]["_source"]["target"] for hits in units if len(hits) == queries.OF_RECORD}
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
    pool.frequencies.see(near + hits["words"])
    pool.add_hits(near)
    pool.add_words(hits["words"])
    pool.cosine |= {hit["_source"]["seq"]: _cosine(hit) for hit in hits.get("cosines", ())}
    pool.meaning |= {hit["_source"]["seq"]: _cosine(hit) for hit in hits.get("meanings", ())}
    sums = answers["sittings"].get("aggregations", {}).get("sittings", {}).get("buckets", [])
    pool.lengths = {int(one["key"]): int(one["length"]["value"]) for one in sums}
    pool.replace(fresh)
    pool.brought_all = wanted.whole
    sources = [hit["_source"] for hit in hits["records"] + hits["beside"]]
    pool.brought = _lazy_records(sources, fresh, scope_hash(pool.search.scope.user))


class LazyRecords(Mapping[Handle, Record]):
    """Records of the answer, each parsed on demand: of many that came, few are shown."""

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
    """Returns the records of the answer as ``fetch`` would, but those whose memories did not all come."""
    first = (source for source in sources if source["part"] == 0)
    made = {document_id(scope, source["rid"]): {**source, "scope": scope} for source in first} | dict(fresh)
    documents: list[Body] = [{"_id": id, "_source": source} for id, source in made.items()]
    documents = [document for document in documents if holds_record(document, scope)]
    whole = [one["_source"] for one in documents if one["_source"]["rid"] not in partial]
    bodies: dict[Handle, str] = {source["rid"]: source["body"] for source in whole}
    memories = [
        one for document in documents if document["_source"]["kind"] != "turn" and (one := stored(document, scope))
    ]
    return FetchResult(LazyRecords(bodies), reading.derived(bodies, memories))
