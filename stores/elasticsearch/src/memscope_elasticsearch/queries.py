"""Request bodies of a search. Scope is a filter in each; terms are hashes, so no user text is part of a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memscope.records import ROLES, Search
from memscope.text.units import microseconds, scope_key
from memscope.text.vectors import scaled
from memscope_elasticsearch import metadata_tokens
from memscope_elasticsearch.client import Body
from memscope_elasticsearch.documents import KINDS, scope_hash, spelled
from memscope_elasticsearch.term_frequencies import HEADER

if TYPE_CHECKING:
    from memscope_elasticsearch.candidates import CandidateSet, FoundUnit

TEXT, PERIOD, OF_USER, VECTOR, MEANING, TOPIC = 110, 40, 60, 80, 40, 25  # hits; the first: those of other speakers
NEIGHBOURS_OF, WIDE_OF = 40, 20  # one on either side, two
ROOM = 350_000  # bytes of both answers
ENVELOPE, UNIT = 200, 250  # of them around each hit; for a unit beside, most are shared
BESIDE = 0.5  # of the room left: for records beside the best
SHORT, SHARE = 1200, 4
BEST = 36  # beside three for every hit wanted: records brought along
LASTING = 0.2  # of a rare topic
FAINT = 0.1  # a cosine of built-in vectors below it says nothing
REQUIRED, OF_RECORD = 20, 20  # hits that have what is required; units of each
FOUND = 100.0  # more than all clauses only counted score
STEPS, NEXT = (-2, -1, 1, 2), (-1, 1)
HEADER_BOOST, COUNT_BOOST = 0.3, 0.001  # the latter: to be told, not to be found by
DAY = 86_400_000_000
_BESIDE = ["columns", "target", "rid", "place", "supersedes"]
_UNIT = [*_BESIDE, "size"]
_RECORD = ["kind", "part", "rid", "number", "body"]


# ---- what may be seen


def seen(asked: Search) -> list[Body]:
    """Returns filter clauses for visible records: as ``pool._seen``."""
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
    """Returns the clauses of ``seen``, with the kinds and the metadata asked for."""
    clauses = seen(asked)
    clauses[1] = {"terms": {"kind": sorted(asked.kinds)}}
    return clauses + (metadata_tokens.query(asked.filter) if asked.filter else [])


def _named(asked: Search, header_boost: float = COUNT_BOOST) -> list[Body]:
    """Returns two named clauses per term: the score of one in a hit gives the term's frequency; one of its header."""
    fields = {"": ("words.count", COUNT_BOOST), HEADER: ("header", header_boost)}
    return [
        {"term": {field: {"value": spelled(term), "boost": boost, "_name": f"{name}{i}"}}}
        for i, term in enumerate(asked.terms)
        for name, (field, boost) in fields.items()
    ]


# ---- the first request


def legs(asked: Search, vector: Body | None) -> dict[str, Body]:
    """Returns the searches for hits by name. Hits by a vector come without their words; the second request asks."""
    fields = [*_UNIT, "body"] if asked.filter else _UNIT
    filters = _wanted(asked)
    terms = _words(asked) + _named(asked, HEADER_BOOST)
    shared: Body = {"_source": fields, "track_total_hits": False}

    def text(size: int, more: Sequence[Body] = ()) -> Body:
        query = {"filter": [*filters, *more], "should": terms, "minimum_should_match": 1}
        return {**shared, "size": size, "query": {"bool": query}}

    of_user = {"term": {"role": str(ROLES.index("user"))}}
    made = {"text": text(TEXT, [{"bool": {"must_not": [of_user]}}]), "of user": text(OF_USER, [of_user])}
    if asked.periods:
        made["period"] = {**shared, "size": PERIOD, "query": _in_periods(asked, filters, terms)}
    if asked.topics:
        made["topic"] = {
            **shared,
            "size": TOPIC,
            "query": _on_topics(asked, filters),
            "sort": ["_score", {"time": "desc"}],
        }
    if asked.meaning is not None:
        made["meaning"] = {**shared, "size": MEANING, "knn": _in_meaning(asked, vector, MEANING, filters)}
    if vector is not None:
        made["vector"] = {**shared, "size": VECTOR, "knn": _nearest(vector, VECTOR, filters)}
    return made


def required(asked: Search, vector: Body | None, credited: Sequence[str]) -> dict[str, Body]:
    """Returns the searches for the units that have all terms of a required group, and for the turns ``credited``.

    With each come the other units of its turn or insight, visible or not: the memories on it. The best by words first.
    """
    groups: list[Body] = [
        {"bool": {"filter": [{"term": {"words": spelled(one)}} for one in group]}} for group in asked.required
    ]
    groups.append({"terms": {"rid": sorted({*credited})}})
    filters = [*_wanted(asked), {"bool": {"should": groups, "minimum_should_match": 1}}]
    found = {"filter": filters, "must": {"constant_score": {"filter": {"match_all": {}}, "boost": FOUND}}}
    mine = {"term": {"scope": scope_hash(asked.scope.user)}}
    query = {"filter": mine, "should": [{"bool": {**found, "should": _words(asked)}}, *_named(asked)]}
    units = {"name": "units", "size": OF_RECORD, "_source": sorted({*_UNIT, *_RECORD})}
    made: dict[str, Body] = {
        "required": {
            "size": REQUIRED,
            "_source": False,
            "track_total_hits": False,
            "min_score": FOUND,  # not of the units beside
            "query": {"bool": query},
            "collapse": {"field": "target", "inner_hits": units},
        }
    }
    shared: Body = {"size": 2 * REQUIRED, "_source": _UNIT, "track_total_hits": False}
    if asked.meaning is not None:
        made["meaning"] = {**shared, "knn": _in_meaning(asked, vector, 2 * REQUIRED, filters)}
    if vector is not None:
        made["vector"] = {**shared, "knn": _nearest(vector, 2 * REQUIRED, filters)}
    return made


def _words(asked: Search) -> list[Body]:
    return [{"term": {"words": spelled(term)}} for term in asked.terms]


def _in_meaning(asked: Search, vector: Body | None, count: int, filters: Sequence[Body]) -> Body:
    """Returns the search by built-in vector; beside an embedder, for units that it has not reached."""
    assert asked.meaning is not None
    without = [{"bool": {"must_not": {"exists": {"field": vector["field"]}}}}] if vector is not None else []
    meaning = {"field": "meaning", "query_vector": scaled(asked.meaning).hex()}
    return _nearest(meaning, count, [*filters, *without])


def _nearest(vector: Body, count: int, filters: Sequence[Body]) -> Body:
    return {**vector, "k": count, "num_candidates": count, "filter": list(filters)}


def _on_topics(asked: Search, filters: list[Body]) -> Body:
    """Order hits by the rarity of the query's topics in them, lasting statements a little before the others."""
    named = [{"term": {"topics": str(topic)}} for topic in asked.topics]
    lasting = {"term": {"personal": {"value": True, "boost": LASTING}}}
    shared = {"bool": {"should": named, "minimum_should_match": 1}}
    return {"bool": {"filter": filters, "must": [shared], "should": [lasting, *_named(asked)]}}


def _in_periods(asked: Search, filters: list[Body], terms: list[Body]) -> Body:
    """Order hits inside a period, or about it, before those said soon after it; then by words."""
    inside: list[Body] = []
    near: list[Body] = []
    about: list[Body] = []
    for period in asked.periods:
        start, end = microseconds(period.start), microseconds(period.end)
        slack = 7 if end - start <= 2 * DAY else 20
        inside.append({"range": {"time": {"gte": start, "lt": end}}})
        near.append({"range": {"time": {"gte": start, "lt": end + slack * DAY}}})
        about.append({"range": {"named": {"gte": start, "lt": end, "relation": "intersects"}}})
    first = {"constant_score": {"filter": {"bool": {"should": [*inside, *about]}}, "boost": 1000}}
    said = {"filter": [{"terms": {"kind": ["turn", "insight"]}}], "should": near, "minimum_should_match": 1}
    filter = [*filters, {"bool": {"should": [{"bool": said}, *about], "minimum_should_match": 1}}]
    return {"bool": {"filter": filter, "should": [first, *terms], "minimum_should_match": 0}}


def counting(asked: Search) -> Body:
    """Returns the counting part, without hits: statistics of the scope for the ranking, and document frequencies."""
    units = {"term": {"kind": "turn"}}
    frequency = {
        field + str(i): {"filter": {"term": {name: term}}, "aggs": {"kinds": {"terms": {"field": "kind"}}}}
        for i, term in enumerate(map(spelled, asked.terms))
        for field, name in (("word", "words"), ("header", "header"))
    }
    keys = [{"terms": {"kind": ["turn", "insight"]}}]
    topics = {
        f"topic{topic}": {"filter": {"bool": {"filter": [*keys, {"term": {"topics": str(topic)}}]}}}
        for topic in asked.topics
    }
    counted: Body = {
        "keys": {"filter": {"terms": {"kind": ["turn", "insight"]}}, "aggs": {"length": {"sum": {"field": "length"}}}},
        "turns": {
            "filter": units,
            "aggs": {
                "length": {"sum": {"field": "length"}},
                "sittings": {"cardinality": {"field": "sitting"}},
                "speakers": {"terms": {"field": "speaker", "size": 500}},
                "roles": {"filter": {"term": {"role": str(ROLES.index("assistant"))}}},
            },
        },
        **frequency,
        **topics,
    }
    return {"size": 0, "track_total_hits": False, "query": {"bool": {"filter": seen(asked)}}, "aggs": counted}


# ---- the second request


def _around(unit: FoundUnit, steps: Sequence[int]) -> set[int]:
    return {unit.place + step for step in steps} if unit.place >= 0 else set()


def _beside(pool: CandidateSet, front: Sequence[FoundUnit]) -> Body:
    """Returns clauses for places beside the best, turns credited with the words of observations, and hits by vector."""
    near = (_around(unit, STEPS if i < WIDE_OF else NEXT) for i, unit in enumerate(front[:NEIGHBOURS_OF]))
    places = set[int]().union(*near)
    places -= {unit.place for unit in pool.units.values()}
    turns = [
        {"terms": {"place": sorted(place for place in places if place >= 0)}},
        {"bool": {"filter": [{"terms": {"rid": _credited(pool)}}, {"term": {"kind": "turn"}}]}},
    ]
    return {"bool": {"should": turns, "minimum_should_match": 1}}


def _credited(pool: CandidateSet) -> list[str]:
    """Returns the turns of observations that were not found themselves."""
    return sorted({unit.target for unit in pool.units.values()} - {unit.record_id for unit in pool.units.values()})


def _short(wanted: Wanted) -> Body:
    return {"bool": {"filter": [{"terms": {"place": wanted.places}}, {"range": {"size": {"lte": SHORT}}}]}}


def neighbours(pool: CandidateSet, front: Sequence[FoundUnit], wanted: Wanted) -> tuple[Body, Body]:
    """Returns the search for neighbours with the query's terms; the first one brings along the ``wanted`` records."""
    filters = [*seen(pool.search), _beside(pool, front)]
    short = _short(wanted)

    def body(fields: list[str], **more: Body) -> Body:
        query = {"filter": filters, "should": _named(pool.search), "minimum_should_match": 0, **more}
        return {"size": 2000, "_source": fields, "track_total_hits": False, "query": {"bool": query}}

    return body(sorted({*_BESIDE, *_RECORD}), must=short), body(_BESIDE, must_not=short)


def words(pool: CandidateSet) -> Body:
    """Returns the search for the query's terms in hits by vector."""
    filters = [*seen(pool.search), {"terms": {"seq": sorted(pool.unread)}}]
    query = {"filter": filters, "should": _named(pool.search), "minimum_should_match": 0}
    size = max(1, len(pool.unread))
    return {"size": size, "_source": ["seq"], "track_total_hits": False, "query": {"bool": query}}


def windows(pool: CandidateSet) -> Body:
    """Returns the search for the lengths of the conversation windows with hits in them."""
    found = sorted({unit.window for unit in pool.units.values() if unit.window >= 0})
    filters = [*seen(pool.search), {"term": {"kind": "turn"}}, {"terms": {"sitting": found}}]
    sums = {
        "terms": {"field": "sitting", "size": max(1, len(found))},
        "aggs": {"length": {"sum": {"field": "length"}}},
    }
    return {"size": 0, "track_total_hits": False, "query": {"bool": {"filter": filters}}, "aggs": {"sittings": sums}}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Records to bring along: by id, and short ones that have a place. ``whole``: none was left out for its length."""

    record_ids: list[str]
    places: list[int]
    whole: bool


def affordable(pool: CandidateSet, front: Sequence[FoundUnit]) -> Wanted:
    """Choose the records to bring along, as far as there is room in the answer.

    They are the best, from which the ranking takes ``k``, and short ones beside. A long one must not keep many out.
    """
    k = pool.search.k
    room = ROOM - pool.characters - NEIGHBOURS_OF * len(STEPS) * UNIT
    places = _places(front[: min(10 + k, NEIGHBOURS_OF)], room * BESIDE) - {unit.place for unit in pool.units.values()}
    short = [unit.size + ENVELOPE for unit in pool.units.values() if unit.size <= SHORT]
    room -= len(places) * sum(short) // max(1, len(pool.units))
    record_ids: dict[str, None] = {}
    whole = True
    for unit in [*front[:k], *_without_turn(pool)[:k], *front[k : BEST + 3 * k]]:
        cost = unit.size + ENVELOPE
        if unit.target not in record_ids and cost < room / SHARE:
            record_ids[unit.target] = None
            room -= cost
        whole = whole and unit.target in record_ids
    return Wanted(list(record_ids), sorted(places), whole)


def _without_turn(pool: CandidateSet) -> list[FoundUnit]:
    """Returns observations whose turns were not found themselves, those with most of the query's terms first."""
    here = {unit.record_id for unit in pool.units.values()}
    found = [unit for unit in pool.units.values() if unit.target not in here]
    return sorted(found, key=lambda unit: (len(unit.tf), pool.cosine.get(unit.seq, -1.0)), reverse=True)


def _places(front: Sequence[FoundUnit], room: float) -> set[int]:
    """Returns short places beside the best, as many as their records fit into the answer."""
    typical = min(SHORT, sum(unit.size for unit in front) / max(1, len(front))) + ENVELOPE
    places: set[int] = set()
    for unit in front:
        beside = _around(unit, STEPS)
        if len(places | beside) * typical > room:
            break
        places |= beside
    return places


def records(scope: str, wanted: Wanted) -> Body:
    """Returns the search for the records wanted by id, and those that rest on any of them."""
    resting = [{"terms": {"places": wanted.places}}, {"range": {"size": {"lte": SHORT}}}]
    turns = {"term": {"kind": "turn"}}
    should: list[Body] = [{"terms": {name: wanted.record_ids}} for name in ("rid", "sources")]
    should.append({"bool": {"filter": resting, "must_not": turns}})
    filters = [{"term": {"scope": scope}}, {"term": {"part": 0}}, {"terms": {"kind": list(KINDS)}}]
    query = {"bool": {"filter": filters, "should": should, "minimum_should_match": 1}}
    return {"size": 1000, "_source": _RECORD, "track_total_hits": False, "query": query}


def missing_cosines(pool: CandidateSet, vector: Body) -> Body:
    which = {"terms": {"seq": sorted(pool.units.keys() - pool.cosine.keys())}}
    return _scores(pool, _nearest(vector, max(1, len(pool.units)), [which]))


def missing_meanings(pool: CandidateSet, vector: Body | None, wanted: Wanted) -> Body:
    """Returns the search for the other cosines of built-in vectors, of units beside the best as well."""
    seqs = sorted(pool.units.keys() - pool.meaning.keys())
    credited = _credited(pool)
    which = [_short(wanted), {"terms": {"seq": seqs}}, {"terms": {"rid": credited}}]
    count = max(1, len(seqs) + len(wanted.places) + len(credited))
    knn = _in_meaning(pool.search, vector, count, [{"bool": {"should": which, "minimum_should_match": 1}}])
    return _scores(pool, {**knn, "similarity": FAINT})


def _scores(pool: CandidateSet, knn: Body) -> Body:
    mine = {"term": {"scope": scope_hash(pool.search.scope.user)}}
    body = {"size": knn["k"], "_source": ["seq"], "track_total_hits": False}
    return {**body, "knn": {**knn, "filter": [mine, *knn["filter"]]}}
