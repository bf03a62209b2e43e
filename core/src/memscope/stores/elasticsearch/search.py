"""A question in two requests. Scope, as a filter in every part and as routing, keeps everybody else out.

1. the best by words, in the periods asked for, of the user's, by vector; and what counts the scope, without hits
2. neighbours of the best and the turns that observations lend to; lengths of their sittings; the cosines that are
   missing; the records themselves

What this process wrote too lately to be found is read directly, beside the first.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memscope.filters import matches
from memscope.records import ROLES, Candidates, Fetched, Handle, Search, Turn
from memscope.stores.elasticsearch import facts, reading
from memscope.stores.elasticsearch.client import Body
from memscope.stores.elasticsearch.documents import KINDS, Stored, decode, scope_hash, stored, word
from memscope.stores.elasticsearch.shop import Shop
from memscope.text import microseconds, scope_key

if TYPE_CHECKING:
    from memscope.stores.elasticsearch.candidates import Counts, Found, Pile

TEXT, PERIOD, OF_USER, VECTOR = 150, 75, 100, 100  # hits; the first are those that the user did not say
NEIGHBOURS_OF = 60
ROOM = 380_000  # characters of both answers
ENVELOPE = 200  # of them around each hit
MOST_FRESH = 500
HEADER_BOOST = 0.3
DAY = 86_400_000_000
_UNIT = ["unit", "target", "rid", "place", "size", "supersedes"]
_RECORD = ["scope", "kind", "part", "rid", "number", "body"]
_PATHS = "responses.hits.hits._source,responses.hits.hits._score,responses.aggregations"


async def search(shop: Shop, asked: Search) -> Candidates:
    from memscope.stores.elasticsearch.candidates import Pile, best, candidates, measure

    if len(shop.recent.of(asked.scope.user)) > MOST_FRESH:
        await shop.searchable(asked.scope.user)  # cheaper than to read them all
    pile = Pile(asked)
    vector = await _vector(shop, asked)
    legs = [*_legs(asked, vector), _counting(asked)]
    scope = scope_hash(asked.scope.user)
    answers, fresh = await asyncio.gather(
        shop.cluster.searches(shop.names.memory, legs, routing=scope, paths=_PATHS), _fresh(shop, asked)
    )
    _take(pile, answers, fresh, vector is not None)
    if not pile.units:
        return candidates(pile)
    front = best(measure(pile), len(pile.units))
    await _complete(shop, pile, front, vector, fresh)
    return candidates(pile)


# ---- what may be seen


def seen(asked: Search) -> list[Body]:
    """Filter clauses for what nothing hides: as ``pool._seen``."""
    scope = asked.scope
    clauses: list[Body] = [{"term": {"scope": scope_hash(scope.user)}}, {"terms": {"kind": list(KINDS)}}]
    hidden: list[Body] = [{"term": {"proposed": True}}]
    if asked.as_of is None:
        hidden.append({"exists": {"field": "closed"}})
    else:
        clauses.append({"range": {"time": {"lte": microseconds(asked.as_of)}}})
        hidden.append({"range": {"closed": {"lte": microseconds(asked.as_of)}}})
    if scope.session is None:
        hidden.append({"term": {"spare": True}})
    else:
        clauses.append({"term": {"session": str(scope_key(scope.session))}})
    if scope.agent is not None:
        clauses.append({"term": {"agent": str(scope_key(scope.agent))}})
    if asked.now is not None:
        hidden.append({"range": {"expires": {"lte": microseconds(asked.now)}}})
    if asked.exclude:
        hidden.append({"terms": {"target": sorted(asked.exclude)}})
    return [*clauses, {"bool": {"must_not": hidden}}]


def _wanted(asked: Search) -> list[Body]:
    """What is seen, of the kinds and with the metadata asked for."""
    clauses = seen(asked)
    clauses[1] = {"terms": {"kind": sorted(asked.kinds)}}
    return clauses + (facts.query(asked.filter) if asked.filter else [])


def _words(asked: Search) -> list[str]:
    return [word(term.to_bytes(4, "little")) for term in asked.terms]


# ---- the first request


def _legs(asked: Search, vector: Body | None) -> list[Body]:
    fields = [*_UNIT, "body"] if asked.filter else _UNIT
    filters = _wanted(asked)
    terms: list[Body] = [{"term": {"words": {"value": term}}} for term in _words(asked)]
    terms += [{"term": {"header": {"value": term, "boost": HEADER_BOOST}}} for term in _words(asked)]
    shared: Body = {"_source": fields, "track_total_hits": False}

    def text(size: int, more: Sequence[Body] = ()) -> Body:
        query = {"filter": [*filters, *more], "should": terms, "minimum_should_match": 1}
        return {**shared, "size": size, "query": {"bool": query}}

    of_user = {"term": {"role": str(ROLES.index("user"))}}
    legs = [text(TEXT, [{"bool": {"must_not": [of_user]}}]), text(OF_USER, [of_user])]
    if asked.periods:
        legs.append({**shared, "size": PERIOD, "query": _in_periods(asked, filters, terms)})
    if vector is not None:
        knn = {**vector, "k": VECTOR, "num_candidates": VECTOR, "filter": filters}
        legs.append({**shared, "size": VECTOR, "knn": knn})
    return legs


def _in_periods(asked: Search, filters: list[Body], terms: list[Body]) -> Body:
    """Inside a period before soon after it, then by words."""
    inside, near = [], []
    for period in asked.periods:
        start, end = microseconds(period.start), microseconds(period.end)
        slack = 7 if end - start <= 2 * DAY else 20
        inside.append({"range": {"time": {"gte": start, "lt": end}}})
        near.append({"range": {"time": {"gte": start, "lt": end + slack * DAY}}})
    first = {"constant_score": {"filter": {"bool": {"should": inside}}, "boost": 1000}}
    turns = {"terms": {"kind": ["turn", "insight"]}}
    filter = [*filters, turns, {"bool": {"should": near, "minimum_should_match": 1}}]
    return {"bool": {"filter": filter, "should": [first, *terms], "minimum_should_match": 0}}


def _counting(asked: Search) -> Body:
    """No hits: what the ranking needs to know of the whole scope, and how many units have each term."""
    units = {"term": {"kind": "turn"}}
    frequency = {
        field + str(i): {"filter": {"term": {name: term}}, "aggs": {"kinds": {"terms": {"field": "kind"}}}}
        for i, term in enumerate(_words(asked))
        for field, name in (("word", "words"), ("header", "header"))
    }
    counted: Body = {
        "keys": {"filter": {"terms": {"kind": ["turn", "insight"]}}, "aggs": {"length": {"sum": {"field": "length"}}}},
        "turns": {
            "filter": units,
            "aggs": {
                "length": {"sum": {"field": "length"}},
                "sittings": {"cardinality": {"field": "sitting"}},
                "speakers": {"terms": {"field": "speaker", "size": 100}},
                "roles": {"filter": {"term": {"role": str(ROLES.index("assistant"))}}},
            },
        },
        **frequency,
    }
    return {"size": 0, "track_total_hits": False, "query": {"bool": {"filter": seen(asked)}}, "aggs": counted}


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


async def _fresh(shop: Shop, asked: Search) -> Mapping[str, Mapping[str, Any]]:
    """Units written too lately to be found, by id, as they are now."""
    scope, ids = scope_hash(asked.scope.user), shop.recent.of(asked.scope.user)
    if not ids:
        return {}
    wanted = [{"_index": shop.names.memory, "_id": id, "routing": scope} for id in ids]
    documents = await shop.cluster.documents(wanted, excludes="words,header,facts")
    return {one["_id"]: one["_source"] for one in documents if one.get("_source", {}).get("scope") == scope}


def _take(
    pile: Pile, answers: Sequence[Mapping[str, Any]], fresh: Mapping[str, Mapping[str, Any]], dense: bool
) -> None:
    from memscope.stores.elasticsearch.candidates import found

    *legs, counted = answers
    pile.counts = _counts(counted.get("aggregations", {}), len(pile.search.terms))
    fits: set[str] = set()
    for i, leg in enumerate(legs):
        hits = leg.get("hits", {}).get("hits", [])
        units = [found(hit["_source"]) for hit in hits]
        pile.add(units)
        if dense and i == len(legs) - 1:
            _add_cosines(pile, units, hits)
        fits |= _fitting(pile.search, (hit["_source"] for hit in hits))
    _replace(pile, fresh)
    if pile.search.filter:
        pile.allowed = frozenset(fits | _fitting(pile.search, fresh.values()))


def _add_cosines(pile: Pile, units: Sequence[Found], hits: Sequence[Mapping[str, Any]]) -> None:
    pile.cosine |= {unit.seq: 2 * hit["_score"] - 1 for unit, hit in zip(units, hits, strict=True)}


def _fitting(asked: Search, sources: Iterable[Mapping[str, Any]]) -> set[str]:
    """Records that meet the filter, judged on themselves."""
    if not asked.filter:
        return set()
    records = {source["rid"]: decode(source["body"]) for source in sources if source.get("body")}
    return {
        rid for rid, record in records.items()
        if matches(asked.filter, record.metadata if isinstance(record, Turn) else record.data)
    }  # fmt: skip


def _replace(pile: Pile, fresh: Mapping[str, Mapping[str, Any]]) -> None:
    """What was just written takes the place of what the index knows of it; what was forgotten goes."""
    from memscope.stores.elasticsearch.candidates import found

    units = [found(source) for source in fresh.values() if source.get("kind") in KINDS]
    pile.add(units)
    gone = {source["rid"] for source in fresh.values() if source.get("kind") not in KINDS and "rid" in source}
    pile.units = {seq: unit for seq, unit in pile.units.items() if unit.rid not in gone and unit.target not in gone}


def _counts(found: Mapping[str, Any], terms: int) -> Counts:
    from memscope.stores.elasticsearch.candidates import Counts

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


async def _complete(
    shop: Shop, pile: Pile, front: Sequence[Found], vector: Body | None, fresh: Mapping[str, Mapping[str, Any]]
) -> None:
    from memscope.stores.elasticsearch.candidates import found

    scope = scope_hash(pile.search.scope.user)
    wanted = _affordable(pile, front)
    bodies = [_neighbours(pile, front[:NEIGHBOURS_OF]), _sittings(pile), _records(scope, wanted)]
    bodies += [_missing_cosines(pile, vector)] if vector is not None else []
    answers = await shop.cluster.searches(
        shop.names.memory, bodies, routing=scope, paths=_PATHS + ",responses.hits.hits._id"
    )
    hits = [answer.get("hits", {}).get("hits", []) for answer in answers]
    beside = [found(hit["_source"]) for hit in hits[0]]
    pile.add([unit for unit in beside if unit.seq not in pile.units])
    sums = answers[1].get("aggregations", {}).get("sittings", {}).get("buckets", [])
    pile.lengths = {int(one["key"]): int(one["length"]["value"]) for one in sums}
    if vector is not None:
        pile.cosine |= {hit["_source"]["seq"]: 2 * hit["_score"] - 1 for hit in hits[3]}
    _replace(pile, fresh)
    _bring(pile, hits[2], fresh, scope)


def _neighbours(pile: Pile, front: Sequence[Found]) -> Body:
    """Turns with the places beside the best, and those that observations lend their words to."""
    places = {unit.place + step for unit in front if unit.place >= 0 for step in (-2, -1, 1, 2)}
    places -= {unit.place for unit in pile.units.values()}
    here = {unit.rid for unit in pile.units.values()}
    homes = sorted({unit.target for unit in pile.units.values()} - here)
    beside: list[Body] = [{"terms": {"place": sorted(place for place in places if place >= 0)}}]
    beside += [{"terms": {"rid": homes}}] if homes else []
    hidden = [{"exists": {"field": "closed"}}] if pile.search.as_of is None else []
    query = {
        "filter": [*seen(pile.search)[:1], {"term": {"kind": "turn"}}],
        "must_not": hidden,
        "should": beside,
        "minimum_should_match": 1,
    }
    return {"size": 400, "_source": _UNIT, "track_total_hits": False, "query": {"bool": query}}


def _sittings(pile: Pile) -> Body:
    """How many terms each sitting has that something was found in."""
    sittings = sorted({unit.sitting for unit in pile.units.values() if unit.sitting >= 0})
    filters = [*seen(pile.search), {"term": {"kind": "turn"}}, {"terms": {"sitting": sittings}}]
    sums = {
        "terms": {"field": "sitting", "size": max(1, len(sittings))},
        "aggs": {"length": {"sum": {"field": "length"}}},
    }
    return {"size": 0, "track_total_hits": False, "query": {"bool": {"filter": filters}}, "aggs": {"sittings": sums}}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Records to bring along: by id, and those that have a place."""

    rids: list[str]
    places: list[int]


def _affordable(pile: Pile, front: Sequence[Found]) -> Wanted:
    """The best and those beside them, in order, as far as there is room in the answer."""
    room = ROOM - sum(int(1.4 * len(unit.raw)) + ENVELOPE for unit in pile.units.values())
    average = sum(unit.size for unit in front) / max(1, len(front)) + ENVELOPE
    rids: dict[str, None] = {}
    places: set[int] = set()
    for rank, unit in enumerate(front):
        if unit.target not in rids:
            rids[unit.target] = None
            room -= unit.size + ENVELOPE
        if unit.place >= 0 and rank < NEIGHBOURS_OF:
            beside = {unit.place + step for step in (-2, -1, 1, 2)} - places
            places |= beside
            room -= int(average * len(beside) / 2)  # some are among the best, some are parts of one turn
        if room < 0:
            break
    return Wanted(list(rids), sorted(places))


def _records(scope: str, wanted: Wanted) -> Body:
    """The records, and what rests on them."""
    should = [
        {"terms": {"rid": wanted.rids}},
        {"terms": {"sources": wanted.rids}},
        {"terms": {"places": wanted.places}},
    ]
    filters = [{"term": {"scope": scope}}, {"term": {"part": 0}}, {"terms": {"kind": list(KINDS)}}]
    query = {"bool": {"filter": filters, "should": should, "minimum_should_match": 1}}
    return {"size": 1000, "_source": _RECORD, "track_total_hits": False, "query": query}


def _missing_cosines(pile: Pile, vector: Body) -> Body:
    seqs = sorted(seq for seq in pile.units if seq not in pile.cosine)
    count = max(1, len(seqs))
    filters = [{"term": {"scope": scope_hash(pile.search.scope.user)}}, {"terms": {"seq": seqs}}]
    knn = {**vector, "k": count, "num_candidates": count, "filter": filters}
    return {"size": count, "_source": ["seq"], "track_total_hits": False, "knn": knn}


def _bring(pile: Pile, hits: Sequence[Mapping[str, Any]], fresh: Mapping[str, Mapping[str, Any]], scope: str) -> None:
    """The records that came along, as ``fetch`` would give them."""
    made = {hit["_id"]: hit for hit in hits} | {id: {"_id": id, "_source": source} for id, source in fresh.items()}
    rows = [one for hit in made.values() if (one := stored(hit, scope)) is not None]
    by_rid: dict[str, Stored] = {str(one.source["rid"]): one for one in rows}
    records: dict[Handle, Any] = {rid: one.record for rid, one in by_rid.items()}
    memories = [one for one in rows if not isinstance(one.record, Turn)]
    pile.brought = Fetched(records, reading.derived(by_rid, by_rid, memories))
