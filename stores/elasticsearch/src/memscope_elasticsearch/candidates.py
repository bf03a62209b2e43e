"""Compute candidates from the units in the answers, with the functions of the local stores.

The few hundred units form a small snapshot (``search/snapshot.py``), which ``search/candidates.py`` searches and
measures. Statistics of the whole scope (document frequencies, lengths, speakers) come
from Elasticsearch.
"""

from __future__ import annotations

from base64 import b64decode
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memscope.languages.flags import Flag
from memscope.records import Candidates, FetchResult, Handle, Search
from memscope.search import candidates as local_candidates
from memscope.search import matching
from memscope.search.bm25 import rarity
from memscope.search.changes import Changes
from memscope.search.snapshot import ROW_DTYPE, Bools, Floats, Ints, ScopeIndex, Snapshot, Statistics
from memscope.search.units import TURN, USER_ROLE
from memscope.text.vectors import DIMENSIONS
from memscope_elasticsearch.documents import DOCUMENT_KINDS, ORDINAL_BITS, PART_BITS, ROW_BYTES, spelled
from memscope_elasticsearch.term_frequencies import TermFrequencies, in_header

NO_WINDOW = -1
HIT_BYTES, NAME_BYTES = 350, 20  # of a hit without its body; of each named clause


@dataclass(frozen=True, slots=True)
class FoundUnit:
    """A unit from the index: columns of ``search.units``, frequencies of the query's terms, and its place.

    ``columns`` lack the built-in vector. ``tf`` and ``header`` are keyed by the index of a query term.
    """

    seq: int
    columns: bytes
    target: str
    record_id: str
    place: int
    size: int  # bytes of the record; 0 outside the first request
    tf: Mapping[int, float]
    header: frozenset[int]
    supersedes: tuple[str, ...] = ()

    @property
    def window(self) -> int:
        return self.place >> ORDINAL_BITS if self.place >= 0 else NO_WINDOW


def is_current(source: Mapping[str, Any]) -> bool:
    """True if a unit's columns have the current format; another process may be migrating them."""
    return len(b64decode(source["columns"])) == ROW_BYTES


def found(source: Mapping[str, Any], tf: Mapping[int, float], header: frozenset[int]) -> FoundUnit:
    """Build a unit from a document and the frequencies of the query's terms, by index."""
    columns = b64decode(source["columns"])
    supersedes = source.get("supersedes") or ()
    return FoundUnit(
        seq=int.from_bytes(columns[:8], "little", signed=True),
        columns=columns,
        target=source["target"],
        record_id=source["rid"],
        place=source.get("place", -1),
        size=source.get("size", 0),
        tf=tf,
        header=header,
        supersedes=(supersedes,) if isinstance(supersedes, str) else tuple(supersedes),
    )


def read(source: Mapping[str, Any], terms: Mapping[str, int]) -> FoundUnit:
    """Build a unit from a document with its words. ``terms``: index by spelled query term."""
    words, header = (source.get(name, "").split() for name in ("words", "header"))
    tf = Counter(terms[word] for word in words if word in terms)
    return found(source, tf, frozenset(terms[word] for word in header if word in terms))


@dataclass(frozen=True, slots=True)
class TermCounts:
    """Statistics of the visible units of the scope; ``frequency``: number of units per query term."""

    units: int = 0
    length: float = 0.0
    turn_length: float = 0.0
    windows: int = 0
    speakers: tuple[int, ...] = ()
    has_roles: bool = False
    frequency: tuple[int, ...] = ()
    topics: Mapping[int, int] = field(default_factory=dict)  # number of turns and insights per query topic


class PartialIndex(ScopeIndex):
    """Snapshot of a subset of a user's units; units with consecutive places are neighbours."""

    def __init__(self, places: NDArray[np.int64], lengths: Mapping[int, int]) -> None:
        super().__init__()
        self._places, self._sums = places, lengths

    def _link_few(self, fresh: list[int]) -> None:
        """Do nothing: consecutive rows need not be neighbours here."""

    def _link_all(self) -> tuple[Ints, Ints, Ints, Floats]:
        kind, rows = self._columns["kind"].view, len(self._live)
        order = np.flatnonzero((kind == TURN) & (self._places >= 0))
        order = order[np.argsort(self._places[order], kind="stable")]
        places = self._places[order]
        next_to = (np.diff(places) == 1) & (np.diff(places >> ORDINAL_BITS) == 0)
        previous, following, window = (np.full(n, -1, np.int32) for n in (rows + 1, rows + 1, rows))
        previous[order[1:][next_to]] = order[:-1][next_to]
        following[order[:-1][next_to]] = order[1:][next_to]
        names, member = np.unique(places >> ORDINAL_BITS, return_inverse=True)
        window[order] = member
        here = np.bincount(member, self._length.view[order], minlength=len(names))
        counted = np.array([self._sums.get(int(name), 0) for name in names], np.float64)
        return previous, following, window, np.maximum(here, counted).astype(np.float32)


def _characters(hit: Mapping[str, Any]) -> int:
    """Estimate the size of a hit in the answer."""
    return HIT_BYTES + NAME_BYTES * len(hit.get("matched_queries", ())) + len(hit["_source"].get("body", ""))


@dataclass
class CandidateSet:
    """Units found for one query, with known neighbours and statistics."""

    search: Search
    units: dict[int, FoundUnit] = field(default_factory=dict)  # by seq
    frequencies: TermFrequencies = field(default_factory=TermFrequencies)
    unread: AbstractSet[int] = frozenset()  # units whose words are not fetched yet
    characters: int = 0  # size of the answers
    cosine: dict[int, float] = field(default_factory=dict)
    meaning: dict[int, float] = field(default_factory=dict)  # cosines of built-in vectors
    instances: dict[int, float] = field(default_factory=dict)  # 1 for units with an instance term of the query
    counts: TermCounts = TermCounts()
    lengths: Mapping[int, int] = field(default_factory=dict)  # terms per conversation window
    allowed: frozenset[str] | None = None  # records that match the filter
    brought: FetchResult | None = None
    brought_all: bool = True  # all records that the ranking is likely to choose came with the answer

    def __post_init__(self) -> None:
        self.terms = {spelled(term): i for i, term in enumerate(self.search.terms)}

    def add_hits(self, hits: Sequence[Mapping[str, Any]], *, words: bool = True) -> dict[int, Mapping[str, Any]]:
        """Add units, with their query terms if ``words``; return the hits by seq."""
        added = {}
        for hit in hits:
            if not is_current(hit["_source"]):
                continue
            unit = found(hit["_source"], self.frequencies.of(hit) if words else {}, in_header(hit))
            added[unit.seq] = hit
            if words or unit.seq not in self.units:
                self.units[unit.seq] = unit
        self.characters += sum(map(_characters, hits))
        return added

    def add_words(self, hits: Sequence[Mapping[str, Any]]) -> None:
        """Fill in the query terms of units that came without words."""
        for hit in hits:
            if unit := self.units.get(hit["_source"]["seq"]):  # otherwise forgotten meanwhile
                self.units[unit.seq] = replace(unit, tf=self.frequencies.of(hit), header=in_header(hit))

    def replace(self, fresh: Mapping[str, Mapping[str, Any]]) -> None:
        """Replace units by their unrefreshed state; remove forgotten ones."""
        instances = frozenset(map(spelled, self.search.instances))
        for source in fresh.values():
            if source.get("kind") in DOCUMENT_KINDS and is_current(source):
                unit = read(source, self.terms)
                self.units[unit.seq] = unit
                if not instances.isdisjoint(source.get("words", "").split()):
                    self.instances[unit.seq] = 1
                if self.search.meaning is not None and (packed := source.get("packed")):
                    self.meaning[unit.seq] = _cosine(packed, self.search.meaning)
        gone = {
            source["rid"] for source in fresh.values() if source.get("kind") not in DOCUMENT_KINDS and "rid" in source
        }
        if gone:
            units = [unit for unit in self.units.values() if unit.record_id not in gone and unit.target not in gone]
            self.units = {unit.seq: unit for unit in units}

    def ordered(self) -> list[FoundUnit]:
        return [self.units[seq] for seq in sorted(self.units)]

    def snapshot(self, ordered: Sequence[FoundUnit]) -> Snapshot:
        superseded = {record_id for unit in ordered for record_id in unit.supersedes}
        nothing = np.zeros(0, np.int64)
        columns = np.frombuffer(b"".join(unit.columns + bytes(DIMENSIONS) for unit in ordered), ROW_DTYPE).copy()
        columns["n_header"] = [len(unit.header) for unit in ordered]
        replaced = [unit.record_id in superseded for unit in ordered]
        columns["flags"][replaced] |= int(Flag.PROPOSED)  # the index shows it after the next refresh
        changes = Changes(
            revision=1,
            units=[(columns.tobytes(), self._terms(ordered, columns))],
            gone=nothing,
            vector_units=nothing,
            vectors=np.zeros((0, 0), np.int8),
            scale=np.zeros(0, np.float32),
            space=None,
            whole=True,
        )
        places = np.array([unit.place for unit in ordered], np.int64)
        return PartialIndex(places, self.lengths).extend(changes)

    def _terms(self, ordered: Sequence[FoundUnit], columns: NDArray[Any]) -> bytes:
        """Encode each unit's query terms, headers first, with a placeholder for every other term."""
        terms = np.array(self.search.terms, "<u4")
        other = next(term for term in range(len(terms) + 1) if term not in self.search.terms)
        lengths = columns["n_terms"].astype(np.int64)
        ends = np.cumsum(columns["n_header"] + lengths)
        places: list[int] = []
        which: list[int] = []
        for end, length, unit in zip(ends.tolist(), lengths.tolist(), ordered, strict=True):
            words = [i for i, times in unit.tf.items() for _ in range(round(times))][:length]
            here = [*sorted(unit.header), *words]
            start = end - length - len(unit.header)
            places += range(start, start + len(here))
            which += here
        column = np.full(int(columns["n_header"].sum() + lengths.sum()), other, "<u4")
        column[places] = terms[which]
        return column.tobytes()


def _cosine(packed: str, vector: Floats) -> float:
    unpacked = np.frombuffer(b64decode(packed), np.int8).astype(np.float32)
    return float(unpacked @ vector / np.sqrt(unpacked @ unpacked))


@dataclass(frozen=True, slots=True)
class Measured:
    """A candidate set with its snapshot and the values computed by ``search.candidates``."""

    ordered: list[FoundUnit]
    index: Snapshot
    visibility: matching.Visibility
    values: local_candidates.RowValues
    meaning: Floats | None
    score: Floats


@np.errstate(invalid="ignore")  # as local_candidates.search
def measure(pool: CandidateSet) -> Measured:
    """Search as ``search.candidates`` does, with frequencies and lengths of the whole scope."""
    ordered = pool.ordered()
    index, query = pool.snapshot(ordered), pool.search
    excluded = np.array([row for row, unit in enumerate(ordered) if unit.target in query.exclude], np.int64)
    visibility = matching.look(index, query, np.unique(index.column["target"][excluded]), _numbers(pool, ordered))
    visibility = replace(visibility, statistics=_statistics(pool.counts, visibility.statistics))
    terms = np.array(query.terms, np.uint32)
    matches, attributed = matching.attribute(index, visibility, matching.match(index, terms), len(terms))
    headers = matching.header_matrix(index, terms)
    features = local_candidates.RowValues(
        matches=matches,
        frequency=_frequencies(
            pool, matching.frequencies(index, visibility, matches, headers), visibility.statistics.units
        ),
        attributed=attributed,
        headers=headers,
        period=local_candidates.in_periods(index.column["time"], query.periods),
        event=local_candidates.events(index, visibility, query.periods),
        cosine=_credited(pool.cosine, ordered, index, visibility),
        topic=local_candidates.shared_topics(index, visibility, query.topics, pool.counts.topics),
        instance=_credited(pool.instances, ordered, index, visibility),
    )
    weights = rarity(visibility.statistics.units, features.frequency)
    score = matching.window_scores(index, visibility, matches, weights)
    score += local_candidates.HEADER_RARITY_SHARE * (headers @ weights)[index.header]
    meaning = _credited(pool.meaning, ordered, index, visibility)
    if meaning is not None and features.cosine is not None:
        meaning[~np.isnan(features.cosine)] = np.nan
    return Measured(ordered, index, visibility, features, meaning, score)


def _frequencies(pool: CandidateSet, here: Floats, units: int) -> Floats:
    """Document frequencies in the scope; at least those in the candidates, which include unrefreshed units."""
    counted = np.array(pool.counts.frequency or [0] * len(here), np.float32)
    return np.minimum(np.maximum(here, counted), max(units, 1)).astype(np.float32)


def _numbers(pool: CandidateSet, ordered: Sequence[FoundUnit]) -> NDArray[np.int64] | None:
    if pool.allowed is None:
        return None
    return np.array([unit.seq >> PART_BITS for unit in ordered if unit.record_id in pool.allowed], np.int64)


def _statistics(counts: TermCounts, here: Statistics) -> Statistics:
    """Statistics of the scope, or of the candidates if there are more of them."""
    if counts.units < here.units:
        return here
    return Statistics(
        units=counts.units,
        average_length=counts.length / max(1, counts.units),
        conversation_length=here.conversation_length,
        average_conversation=counts.turn_length / max(1, counts.windows),
        speakers=np.union1d(np.array(counts.speakers, np.uint32), here.speakers),
        has_roles=counts.has_roles or here.has_roles,
    )


def _credited(
    cosines: Mapping[int, float], ordered: Sequence[FoundUnit], index: Snapshot, visibility: matching.Visibility
) -> Floats | None:
    """Best cosine per row of a turn and its memories; NaN without a vector. ``cosines``: by seq."""
    known = [(row, cosines[unit.seq]) for row, unit in enumerate(ordered) if unit.seq in cosines]
    if not known:
        return None
    values_of_rows = np.full(index.rows, np.nan, np.float32)
    rows = np.array([row for row, _ in known], np.int64)
    values = np.array([value for _, value in known], np.float32)
    seen = visibility.scored[rows]
    credited_row = index.links.credited_row[rows[seen]]
    np.fmax.at(values_of_rows, credited_row[credited_row >= 0], values[seen][credited_row >= 0])
    return values_of_rows


def best(measured: Measured) -> list[FoundUnit]:
    """Interleave the rankings of all channels, best first; ties go to the latest unit."""
    keys, features = measured.visibility.keys, measured.values
    values = [measured.score]
    if measured.visibility.statistics.has_roles:
        values.append(measured.score * (measured.index.column["role"] == USER_ROLE))
    timely = local_candidates.greater(features.period, features.event)
    if timely is not None:
        values.append(timely * 1000 + measured.score)
    if features.topic is not None:
        values.append(features.topic)
    if features.instance is not None:
        values.append(np.nan_to_num(features.instance) * 1000 + measured.score)
    values.append(((measured.index.column["flags"] & int(Flag.INSTRUCTION)) != 0) * 1000 + measured.score)
    values += [np.nan_to_num(near, nan=-1) for near in (features.cosine, measured.meaning) if near is not None]
    time, row = measured.index.column["time"], np.arange(measured.index.rows)  # rows are in the order of seq
    orders = [np.lexsort((row, time, np.where(keys, value, -9)))[::-1].tolist() for value in values]
    chosen = dict.fromkeys(row for rows in zip(*orders, strict=True) for row in rows if keys[row])
    return [measured.ordered[row] for row in chosen]


def _choosable(pool: CandidateSet, measured: Measured) -> Bools:
    """Mark the units that may become hits: those with their record in the answer, or all if some did not fit."""
    if not pool.brought_all:
        return measured.visibility.keys
    known = pool.brought.records if pool.brought is not None else {}
    return measured.visibility.keys & np.array([unit.target in known for unit in measured.ordered], np.bool_)


def _nearest(meaning: Floats | None, visibility: matching.Visibility) -> NDArray[np.int64] | None:
    """Rows of the channel ``meaning`` (built-in vectors)."""
    if meaning is None:
        return None
    rows = np.flatnonzero(visibility.keys & ~np.isnan(meaning))
    return rows[np.argsort(-meaning[rows], kind="stable")][
        : local_candidates.POOL_SIZES[local_candidates.MEANING_CHANNEL]
    ]


def candidates(pool: CandidateSet) -> Candidates:
    measured = measure(pool)
    visibility = replace(measured.visibility, keys=_choosable(pool, measured))
    visibility = matching.naming(visibility, pool.search, measured.values.matches)
    near = _nearest(measured.meaning, visibility)
    rows, channels = local_candidates.pool(measured.index, visibility, measured.score, measured.values, near)
    columns = local_candidates.columns(
        measured.index, measured.visibility, pool.search, measured.values, rows, channels
    )
    if measured.meaning is not None:
        columns = replace(columns, meaning=measured.meaning[rows].round(5))
    targets: dict[Handle, Handle] = {
        unit.seq >> PART_BITS: unit.target for unit in measured.ordered if unit.target == unit.record_id
    }
    windows = np.array([pool.units[seq].window for seq in columns.unit.tolist()], np.int64)
    lengths = columns.session_length
    if pool.search.required:  # without lengths of windows
        lengths = np.maximum(lengths, np.float32(columns.average_session_length))
    return replace(
        columns,
        handle=[targets[number] for number in columns.handle],
        session=np.where(windows == NO_WINDOW, -1 - columns.unit, windows),  # stable across searches
        session_length=lengths,
        brought=pool.brought,
    )
