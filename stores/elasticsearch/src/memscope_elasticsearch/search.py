"""A question in two requests. Scope, as a filter in every part and as routing, keeps everybody else out.

1. the best by words, in the periods asked for, of the user's, by vector; and what counts the scope, without hits
2. neighbours of the best and the turns that observations lend to; lengths of their sittings; the cosines that are
   missing; the records themselves

What this process wrote too lately to be found is read directly, beside the first.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memscope.records import Candidates, FetchResult, Handle, Record, Search, Turn
from memscope.records.filters import matches
from memscope_elasticsearch import asking, reading
from memscope_elasticsearch.client import Body
from memscope_elasticsearch.documents import decode, holds_record, scope_hash, stored
from memscope_elasticsearch.shop import Shop

if TYPE_CHECKING:
    from memscope_elasticsearch.candidates import Counts, Found, Pile

_HITS = "responses.hits.hits."
_TOLD = "responses.aggregations,-**.sum_other_doc_count,-**.doc_count_error_upper_bound"
_PATHS = f"{_HITS}_source,{_HITS}_id,{_HITS}_score,{_HITS}matched_queries,{_TOLD}"
Sources = Mapping[str, Mapping[str, Any]]


async def search(shop: Shop, asked: Search) -> Candidates:
    from memscope_elasticsearch.candidates import Pile, best, candidates, measure

    pile, vector = Pile(asked), await _vector(shop, asked)
    ids, bodies = await shop.fresh(asked.scope.user), [*asking.legs(asked, vector), asking.counting(asked)]
    fresh, answers = await asyncio.gather(_fresh(shop, asked, ids), _ask(shop, asked, bodies))
    _take(pile, answers, fresh, dense=vector is not None)
    if not pile.units:
        return candidates(pile)
    front = best(measure(pile), len(pile.units))
    await _complete(shop, pile, front, vector, fresh)
    return candidates(pile)


async def _ask(shop: Shop, asked: Search, bodies: Sequence[Body]) -> list[Any]:
    return await shop.cluster.searches(shop.names.memory, bodies, routing=scope_hash(asked.scope.user), paths=_PATHS)


# ---- the first request


async def _vector(shop: Shop, asked: Search) -> Body | None:
    """The part of a knn query that is the same for all of them; None where the store has no such vectors."""
    if asked.vector is None or asked.space is None:
        return None
    if all(known.space != asked.space for known in shop.spaces.known):
        await shop.spaces.meta()
    active = shop.spaces.active
    if active is None or active.space != asked.space:
        return None
    import numpy as np

    values = np.asarray(asked.vector, np.float32)
    norm = float(np.linalg.norm(values))
    if norm < 1e-12:
        return None
    return {"field": active.field, "query_vector": b64encode((values / norm).astype(">f4").tobytes()).decode()}


async def _fresh(shop: Shop, asked: Search, ids: Sequence[str]) -> Sources:
    """Units written too lately to be found, by id, as they are now."""
    scope = scope_hash(asked.scope.user)
    documents = await shop.documents(scope, ids, excludes="facts")
    return {one["_id"]: one["_source"] for one in documents if one.get("_source", {}).get("scope") == scope}


def _take(pile: Pile, answers: Sequence[Mapping[str, Any]], fresh: Sources, *, dense: bool) -> None:
    """Put the hits on the pile; those of the vector leg, the last one, come without words."""
    *legs, _ = [answer.get("hits", {}).get("hits", []) for answer in answers]
    pile.counts = _counts(answers[-1].get("aggregations", {}), len(pile.search.terms))
    by_vector = legs.pop() if dense else []
    for hits in legs:
        pile.scores.see(hits)
    pile.add_hits([hit for hits in legs for hit in hits])
    known = set(pile.units)
    pile.cosine |= pile.add_hits(by_vector, words=False)
    pile.unread = pile.cosine.keys() - known
    pile.replace(fresh)
    if pile.search.filter:
        sources = [hit["_source"] for hits in (*legs, by_vector) for hit in hits]
        pile.allowed = frozenset(_fitting(pile.search, [*sources, *fresh.values()]))


def _fitting(asked: Search, sources: Iterable[Mapping[str, Any]]) -> set[str]:
    """Records that meet the filter, judged on themselves."""
    if not asked.filter:
        return set()
    records = {source["rid"]: decode(source["body"]) for source in sources if source.get("body")}
    return {
        rid for rid, record in records.items()
        if matches(asked.filter, record.metadata if isinstance(record, Turn) else record.data)
    }  # fmt: skip


def _counts(found: Mapping[str, Any], terms: int) -> Counts:
    from memscope_elasticsearch.candidates import Counts

    if not found:
        return Counts()
    turns = found["turns"]
    return Counts(
        units=found["keys"]["doc_count"],
        length=found["keys"]["length"]["value"],
        turn_length=turns["length"]["value"],
        sittings=turns["sittings"]["value"],
        speakers=tuple(int(one["key"]) for one in turns["speakers"]["buckets"]),
        has_roles=turns["roles"]["doc_count"] > 0,
        frequency=tuple(_frequency(found[f"word{i}"]) or _frequency(found[f"header{i}"]) for i in range(terms)),
    )


def _frequency(counted: Mapping[str, Any]) -> int:
    """Units with a term; an observation mostly repeats what its turn says."""
    of = {one["key"]: int(one["doc_count"]) for one in counted["kinds"]["buckets"]}
    return max(of.get("turn", 0), of.get("observation", 0)) + of.get("insight", 0)


# ---- the second request


async def _complete(shop: Shop, pile: Pile, front: Sequence[Found], vector: Body | None, fresh: Sources) -> None:
    wanted = asking.affordable(pile, front)
    with_records, without = asking.neighbours(pile, front, wanted)
    bodies = {
        "beside": with_records,
        "neighbours": without,
        "sittings": asking.sittings(pile),
        "records": asking.records(scope_hash(pile.search.scope.user), wanted),
    }
    if vector is not None:
        bodies["cosines"] = asking.missing_cosines(pile, vector)
    answers = dict(zip(bodies, await _ask(shop, pile.search, list(bodies.values())), strict=True))
    hits = {name: answer.get("hits", {}).get("hits", []) for name, answer in answers.items()}
    near = hits["beside"] + hits["neighbours"]
    pile.scores.see(near)
    pile.add_hits(near)
    pile.cosine |= {hit["_source"]["seq"]: 2 * hit["_score"] - 1 for hit in hits.get("cosines", ())}
    sums = answers["sittings"].get("aggregations", {}).get("sittings", {}).get("buckets", [])
    pile.lengths = {int(one["key"]): int(one["length"]["value"]) for one in sums}
    pile.replace(fresh)
    pile.brought = _brought(hits["records"] + hits["beside"], fresh, scope_hash(pile.search.scope.user))


class Brought(Mapping[Handle, Record]):
    """Records that came along, each read when it is asked for: of many that came, few are shown."""

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


def _brought(hits: Sequence[Mapping[str, Any]], fresh: Sources, scope: str) -> FetchResult:
    """The records that came along, as ``fetch`` would give them."""
    made = {hit["_id"]: hit for hit in hits} | {id: {"_id": id, "_source": source} for id, source in fresh.items()}
    documents = [document for document in made.values() if holds_record(document, scope)]
    bodies: dict[Handle, str] = {one["_source"]["rid"]: one["_source"]["body"] for one in documents}
    memories = [
        one for document in documents if document["_source"]["kind"] != "turn" and (one := stored(document, scope))
    ]
    return FetchResult(Brought(bodies), reading.derived(bodies, memories))
