"""Request bodies of a search. Each filters by scope; terms are hashed, so queries contain no user text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memscope.records import ROLES, Search
from memscope.search.candidates import DAY_US, INSTANCE_CHANNEL, OWN_INSTANCE_BONUS, POOL_SIZES
from memscope.search.units import microseconds, scope_key
from memscope.text.vectors import scaled
from memscope_elasticsearch.client import Body
from memscope_elasticsearch.documents import DOCUMENT_KINDS, scope_hash, spelled
from memscope_elasticsearch.term_frequencies import HEADER_PREFIX

if TYPE_CHECKING:
    from memscope_elasticsearch.candidates import CandidateSet, FoundUnit

# Hits per channel; TEXT_HITS excludes the user's own turns.
TEXT_HITS, PERIOD_HITS, USER_HITS, VECTOR_HITS, MEANING_HITS, TOPIC_HITS = 110, 40, 60, 80, 40, 25
USUAL_K = 10  # default number of hits; list questions want more
LATEST_OF_EQUALS: list[Any] = ["_score", {"time": "desc"}, {"seq": "desc"}]  # tie-breaking as in local stores
MAX_HITS_WITH_NEIGHBOURS, MAX_HITS_WITH_WIDE_NEIGHBOURS = 40, 20  # with one unit on each side; with two
MAX_ANSWER_BYTES = 350_000  # both answers together
HIT_OVERHEAD_BYTES, NEIGHBOUR_BYTES = 200, 250  # bytes: a hit without its record, a neighbour without its record
NEIGHBOUR_SHARE = 0.5  # share of the remaining bytes for records of neighbours
SHORT_RECORD_BYTES, RECORD_SHARE_DIVISOR = 1200, 4  # a record takes at most a quarter of the free bytes
MIN_ANSWER_RECORDS = 36  # records in the answer, plus 3 per hit wanted; list questions take all that fit
DURABLE_TOPIC_WEIGHT = 0.2  # bonus of a durable statement on a shared topic
MIN_UNLISTED_COSINE = 0.1  # minimum cosine of built-in vectors; below it is noise
MAX_REQUIRED_HITS, MAX_UNITS_PER_HIT = 20, 20  # hits with all required terms; units per hit
MATCH_SCORE = 100.0  # exceeds the sum of all named clauses
NEIGHBOUR_DISTANCES, NEXT_DISTANCES = (-2, -1, 1, 2), (-1, 1)
HEADER_BOOST, COUNT_BOOST = 0.3, 0.001  # the latter reports frequencies without changing the order
_BESIDE = ["columns", "target", "rid", "place", "supersedes"]
_UNIT = [*_BESIDE, "size"]
_RECORD = ["kind", "part", "rid", "number", "body"]


# ---- visibility


def seen(query: Search) -> list[Body]:
    """Build filter clauses for the visible records, equivalent to ``search.matching.look``."""
    scope = query.scope
    clauses: list[Body] = [{"term": {"scope": scope_hash(scope.user)}}, {"terms": {"kind": list(DOCUMENT_KINDS)}}]
    hidden: list[Body] = [{"term": {"proposed": True}}]
    if query.as_of is None:
        hidden.append({"exists": {"field": "closed"}})
    else:
        clauses.append({"range": {"time": {"lte": microseconds(query.as_of)}}})
        hidden.append({"range": {"closed": {"lte": microseconds(query.as_of)}}})
    if scope.session is None:
        hidden.append({"term": {"spare": True}})
    else:
        clauses.append({"term": {"session": str(scope_key(scope.session))}})
    if scope.agent is not None:
        clauses.append({"term": {"agent": str(scope_key(scope.agent))}})
    if query.now is not None:
        hidden.append({"range": {"expires": {"lte": microseconds(query.now)}}})
    if query.exclude:
        hidden.append({"terms": {"target": sorted(query.exclude)}})
    return [*clauses, {"bool": {"must_not": hidden}}]


def _wanted(query: Search, fitting: Sequence[Body]) -> list[Body]:
    """Build the clauses of ``seen``, limited to the query's kinds and filter."""
    clauses = seen(query)
    clauses[1] = {"terms": {"kind": sorted(query.kinds)}}
    return [*clauses, *fitting]


def _named(query: Search, header_boost: float = COUNT_BOOST) -> list[Body]:
    """Build two named clauses per term, on words and header; the first one's score gives the term frequency."""
    fields = {"": ("words.count", COUNT_BOOST), HEADER_PREFIX: ("header", header_boost)}
    return [
        {"term": {field: {"value": spelled(term), "boost": boost, "_name": f"{name}{i}"}}}
        for i, term in enumerate(query.terms)
        for name, (field, boost) in fields.items()
    ]


# ---- the first request


def channels(query: Search, vector: Body | None, fitting: Sequence[Body] = ()) -> dict[str, Body]:
    """Build the searches of all channels by name; the second request fetches the words of vector hits.

    ``fitting``: clauses for the records that match the filter.
    """
    filters = _wanted(query, fitting)
    terms = _words(query) + _named(query, HEADER_BOOST)
    shared: Body = {"_source": _UNIT, "track_total_hits": False}

    def text(size: int, more: Sequence[Body] = ()) -> Body:
        bool_query = {"filter": [*filters, *more], "should": terms, "minimum_should_match": 1}
        return {**shared, "size": size, "query": {"bool": bool_query}, "sort": LATEST_OF_EQUALS}

    of_user = {"term": {"role": str(ROLES.index("user"))}}
    searches = {
        "text": text(TEXT_HITS, [{"bool": {"must_not": [of_user]}}]),
        "of user": text(_for_list(USER_HITS, query.k), [of_user]),
    }
    if query.periods:
        searches["period"] = {**shared, "size": PERIOD_HITS, "query": _in_periods(query, filters, terms)}
    if query.topics:
        searches["topic"] = {
            **shared,
            "size": TOPIC_HITS,
            "query": _on_topics(query, filters),
            "sort": LATEST_OF_EQUALS,
        }
    if query.instances:
        by_user = {"constant_score": {"filter": of_user, "boost": OWN_INSTANCE_BONUS}}
        with_instance = {"terms": {"words": [spelled(term) for term in query.instances]}}
        instances = {"bool": {"filter": [*filters, with_instance], "should": [by_user, *terms]}}
        size = POOL_SIZES[INSTANCE_CHANNEL]
        searches["instance"] = {**shared, "size": size, "query": instances, "sort": LATEST_OF_EQUALS}
    if query.meaning is not None:
        count = _for_list(MEANING_HITS, query.k)
        searches["meaning"] = {**shared, "size": count, "knn": _in_meaning(query, vector, count, filters)}
    if vector is not None:
        searches["vector"] = {**shared, "size": VECTOR_HITS, "knn": _nearest(vector, VECTOR_HITS, filters)}
    return searches


def _for_list(count: int, k: int) -> int:
    """Scale a count by the number of hits wanted: for a list, any line of the user may be an item."""
    return count * max(k, USUAL_K) // USUAL_K


def required(
    query: Search, vector: Body | None, attributed: Sequence[str], fitting: Sequence[Body] = ()
) -> dict[str, Body]:
    """Build the searches for units with all terms of a required group, and for the turns ``attributed``.

    Each hit includes the other units of its turn or insight, visible or not, such as memories based on it.
    """
    groups: list[Body] = [
        {"bool": {"filter": [{"term": {"words": spelled(term)}} for term in group]}} for group in query.required
    ]
    groups.append({"terms": {"rid": sorted({*attributed})}})
    filters = [*_wanted(query, fitting), {"bool": {"should": groups, "minimum_should_match": 1}}]
    every = {"constant_score": {"filter": {"match_all": {}}, "boost": MATCH_SCORE}}
    matching = {"bool": {"filter": filters, "must": every, "should": _words(query)}}
    mine = {"term": {"scope": scope_hash(query.scope.user)}}
    units = {"name": "units", "size": MAX_UNITS_PER_HIT, "_source": sorted({*_UNIT, *_RECORD})}
    searches: dict[str, Body] = {
        "required": {
            "size": MAX_REQUIRED_HITS,
            "_source": False,
            "track_total_hits": False,
            "min_score": MATCH_SCORE,  # drops units that only match a named clause
            "query": {"bool": {"filter": mine, "should": [matching, *_named(query)]}},
            "collapse": {"field": "target", "inner_hits": units},
        }
    }
    shared: Body = {"size": 2 * MAX_REQUIRED_HITS, "_source": _UNIT, "track_total_hits": False}
    if query.meaning is not None:
        searches["meaning"] = {**shared, "knn": _in_meaning(query, vector, 2 * MAX_REQUIRED_HITS, filters)}
    if vector is not None:
        searches["vector"] = {**shared, "knn": _nearest(vector, 2 * MAX_REQUIRED_HITS, filters)}
    return searches


def _words(query: Search) -> list[Body]:
    return [{"term": {"words": spelled(term)}} for term in query.terms]


def _in_meaning(query: Search, vector: Body | None, count: int, filters: Sequence[Body]) -> Body:
    """Build the search by built-in vector; with an embedder, only for units not embedded yet."""
    assert query.meaning is not None
    without = [{"bool": {"must_not": {"exists": {"field": vector["field"]}}}}] if vector is not None else []
    meaning = {"field": "meaning", "query_vector": scaled(query.meaning).hex()}
    return _nearest(meaning, count, [*filters, *without])


def _nearest(vector: Body, count: int, filters: Sequence[Body]) -> Body:
    return {**vector, "k": count, "num_candidates": count, "filter": list(filters)}


def _on_topics(query: Search, filters: list[Body]) -> Body:
    """Score hits by the rarity of the query's topics in them, with a bonus for durable statements."""
    named = [{"term": {"topics": str(topic)}} for topic in query.topics]
    durable = {"term": {"personal": {"value": True, "boost": DURABLE_TOPIC_WEIGHT}}}
    shared = {"bool": {"should": named, "minimum_should_match": 1}}
    return {"bool": {"filter": filters, "must": [shared], "should": [durable, *_named(query)]}}


def _in_periods(query: Search, filters: list[Body], terms: list[Body]) -> Body:
    """Rank hits in a period, or mentioning it, above those said up to 20 days later; then by words."""
    inside: list[Body] = []
    near: list[Body] = []
    about: list[Body] = []
    for period in query.periods:
        start, end = microseconds(period.start), microseconds(period.end)
        slack = 7 if end - start <= 2 * DAY_US else 20
        inside.append({"range": {"time": {"gte": start, "lt": end}}})
        near.append({"range": {"time": {"gte": start, "lt": end + slack * DAY_US}}})
        about.append({"range": {"named": {"gte": start, "lt": end, "relation": "intersects"}}})
    first = {"constant_score": {"filter": {"bool": {"should": [*inside, *about]}}, "boost": 1000}}
    soon_after = {"filter": [{"terms": {"kind": ["turn", "insight"]}}], "should": near, "minimum_should_match": 1}
    filter = [*filters, {"bool": {"should": [{"bool": soon_after}, *about], "minimum_should_match": 1}}]
    return {"bool": {"filter": filter, "should": [first, *terms], "minimum_should_match": 0}}


def counting(query: Search) -> Body:
    """Build the search, without hits, that counts scope statistics and document frequencies for the ranking."""
    units = {"term": {"kind": "turn"}}
    frequency = {
        field + str(i): {"filter": {"term": {name: term}}, "aggs": {"kinds": {"terms": {"field": "kind"}}}}
        for i, term in enumerate(map(spelled, query.terms))
        for field, name in (("word", "words"), ("header", "header"))
    }
    keys = [{"terms": {"kind": ["turn", "insight"]}}]
    topics = {
        f"topic{topic}": {"filter": {"bool": {"filter": [*keys, {"term": {"topics": str(topic)}}]}}}
        for topic in query.topics
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
    return {"size": 0, "track_total_hits": False, "query": {"bool": {"filter": seen(query)}}, "aggs": counted}


# ---- the second request


def _around(unit: FoundUnit, steps: Sequence[int]) -> set[int]:
    return {unit.place + step for step in steps} if unit.place >= 0 else set()


def _beside(pool: CandidateSet, front: Sequence[FoundUnit]) -> Body:
    """Build clauses for the neighbours of the best units and for the turns of observations."""
    near = (
        _around(unit, NEIGHBOUR_DISTANCES if i < MAX_HITS_WITH_WIDE_NEIGHBOURS else NEXT_DISTANCES)
        for i, unit in enumerate(front[:MAX_HITS_WITH_NEIGHBOURS])
    )
    places = set[int]().union(*near)
    places -= {unit.place for unit in pool.units.values()}
    turns = [
        {"terms": {"place": sorted(place for place in places if place >= 0)}},
        {"bool": {"filter": [{"terms": {"rid": _credited(pool)}}, {"term": {"kind": "turn"}}]}},
    ]
    return {"bool": {"should": turns, "minimum_should_match": 1}}


def _credited(pool: CandidateSet) -> list[str]:
    """List the turns of observations that are not hits themselves."""
    return sorted({unit.target for unit in pool.units.values()} - {unit.record_id for unit in pool.units.values()})


def _short(wanted: Wanted) -> Body:
    return {"bool": {"filter": [{"terms": {"place": wanted.places}}, {"range": {"size": {"lte": SHORT_RECORD_BYTES}}}]}}


def neighbours(pool: CandidateSet, front: Sequence[FoundUnit], wanted: Wanted) -> tuple[Body, Body]:
    """Build two searches for neighbours, with and without the ``wanted`` records."""
    filters = [*seen(pool.search), _beside(pool, front)]
    short = _short(wanted)

    def body(fields: list[str], **more: Body) -> Body:
        query = {"filter": filters, "should": _named(pool.search), "minimum_should_match": 0, **more}
        return {"size": 2000, "_source": fields, "track_total_hits": False, "query": {"bool": query}}

    return body(sorted({*_BESIDE, *_RECORD}), must=short), body(_BESIDE, must_not=short)


def words(pool: CandidateSet) -> Body:
    """Build the search for the query's terms in vector hits."""
    filters = [*seen(pool.search), {"terms": {"seq": sorted(pool.unread)}}]
    query = {"filter": filters, "should": _named(pool.search), "minimum_should_match": 0}
    size = max(1, len(pool.unread))
    return {"size": size, "_source": ["seq"], "track_total_hits": False, "query": {"bool": query}}


def windows(pool: CandidateSet) -> Body:
    """Build the search for the lengths of the hits' conversation windows."""
    window_ids = sorted({unit.window for unit in pool.units.values() if unit.window >= 0})
    filters = [*seen(pool.search), {"term": {"kind": "turn"}}, {"terms": {"sitting": window_ids}}]
    sums = {
        "terms": {"field": "sitting", "size": max(1, len(window_ids))},
        "aggs": {"length": {"sum": {"field": "length"}}},
    }
    return {"size": 0, "track_total_hits": False, "query": {"bool": {"filter": filters}}, "aggs": {"sittings": sums}}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Records to return with the second request, by id or (short ones) by place. ``whole``: none was left out."""

    record_ids: list[str]
    places: list[int]
    whole: bool


def affordable(pool: CandidateSet, front: Sequence[FoundUnit]) -> Wanted:
    """Choose records to return, within ``MAX_ANSWER_BYTES``: the best, and short neighbours.

    One record may take at most a quarter of the bytes, so that it does not crowd out the others.
    """
    k = pool.search.k
    room = MAX_ANSWER_BYTES - pool.characters - MAX_HITS_WITH_NEIGHBOURS * len(NEIGHBOUR_DISTANCES) * NEIGHBOUR_BYTES
    hits = {unit.place for unit in pool.units.values()}
    places = _places(front[: min(10 + k, MAX_HITS_WITH_NEIGHBOURS)], room * NEIGHBOUR_SHARE) - hits
    short = [unit.size + HIT_OVERHEAD_BYTES for unit in pool.units.values() if unit.size <= SHORT_RECORD_BYTES]
    room -= len(places) * sum(short) // max(1, len(pool.units))
    record_ids: dict[str, None] = {}
    whole = True
    end = MIN_ANSWER_RECORDS + 3 * k if k <= USUAL_K else len(front)
    for unit in [*front[:k], *_without_turn(pool)[:k], *front[k:end]]:
        cost = unit.size + HIT_OVERHEAD_BYTES
        if unit.target not in record_ids and cost < room / RECORD_SHARE_DIVISOR:
            record_ids[unit.target] = None
            room -= cost
        whole = whole and unit.target in record_ids
    return Wanted(list(record_ids), sorted(places), whole)


def _without_turn(pool: CandidateSet) -> list[FoundUnit]:
    """List observations whose turns are not hits themselves, those with the most query terms first."""
    here = {unit.record_id for unit in pool.units.values()}
    observations = [unit for unit in pool.units.values() if unit.target not in here]
    return sorted(observations, key=lambda unit: (len(unit.tf), pool.cosine.get(unit.seq, -1.0)), reverse=True)


def _places(front: Sequence[FoundUnit], room: float) -> set[int]:
    """List the places of neighbours whose records fit into ``room`` bytes."""
    typical = min(SHORT_RECORD_BYTES, sum(unit.size for unit in front) / max(1, len(front))) + HIT_OVERHEAD_BYTES
    places: set[int] = set()
    for unit in front:
        beside = _around(unit, NEIGHBOUR_DISTANCES)
        if len(places | beside) * typical > room:
            break
        places |= beside
    return places


def records(scope: str, wanted: Wanted) -> Body:
    """Build the search for the records wanted by id, and for memories based on wanted records."""
    resting = [{"terms": {"places": wanted.places}}, {"range": {"size": {"lte": SHORT_RECORD_BYTES}}}]
    turns = {"term": {"kind": "turn"}}
    should: list[Body] = [{"terms": {name: wanted.record_ids}} for name in ("rid", "sources")]
    should.append({"bool": {"filter": resting, "must_not": turns}})
    filters = [{"term": {"scope": scope}}, {"term": {"part": 0}}, {"terms": {"kind": list(DOCUMENT_KINDS)}}]
    query = {"bool": {"filter": filters, "should": should, "minimum_should_match": 1}}
    return {"size": 1000, "_source": _RECORD, "track_total_hits": False, "query": query}


def missing_cosines(pool: CandidateSet, vector: Body) -> Body:
    which = {"terms": {"seq": sorted(pool.units.keys() - pool.cosine.keys())}}
    return _scores(pool, _nearest(vector, max(1, len(pool.units)), [which]))


def missing_meanings(pool: CandidateSet, vector: Body | None, wanted: Wanted) -> Body:
    """Build the search for missing cosines of built-in vectors, including those of neighbours."""
    seqs = sorted(pool.units.keys() - pool.meaning.keys())
    attributed = _credited(pool)
    which = [_short(wanted), {"terms": {"seq": seqs}}, {"terms": {"rid": attributed}}]
    count = max(1, len(seqs) + len(wanted.places) + len(attributed))
    knn = _in_meaning(pool.search, vector, count, [{"bool": {"should": which, "minimum_should_match": 1}}])
    if pool.search.k <= USUAL_K:  # lists need the faint cosines to rank their tail
        knn["similarity"] = MIN_UNLISTED_COSINE
    return _scores(pool, knn)


def _scores(pool: CandidateSet, knn: Body) -> Body:
    mine = {"term": {"scope": scope_hash(pool.search.scope.user)}}
    body = {"size": knn["k"], "_source": ["seq"], "track_total_hits": False}
    return {**body, "knn": {**knn, "filter": [mine, *knn["filter"]]}}
