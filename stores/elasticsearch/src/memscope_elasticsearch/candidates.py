"""Candidates built from the units that a search found, as local stores build them from the whole memory.

A few hundred units make a small snapshot (``search/snapshot.py``), in which the same functions search and measure
(``search/candidates.py``). Statistics of the whole scope come from the index: document frequencies, lengths,
speakers.
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

from memscope.records import Candidates, FetchResult, Handle, Search
from memscope.search import candidates as local_candidates
from memscope.search import matching
from memscope.search.bm25 import rarity
from memscope.search.changes import Changes
from memscope.search.snapshot import RECORD, USER, Bools, Floats, Ints, ScopeIndex, Snapshot, Statistics
from memscope.text.flags import Flag
from memscope.text.units import TURN
from memscope.text.vectors import DIMENSIONS
from memscope_elasticsearch.documents import KINDS, ORDINALS, PARTS, ROW, spelled
from memscope_elasticsearch.term_frequencies import TermFrequencies, in_header

NO_WINDOW = -1
HIT, NAMED = 350, 20  # characters of a hit without its words; of each name of a part


@dataclass(frozen=True, slots=True)
class FoundUnit:
    """A unit from the index: columns of ``text.units``, frequencies of the query's terms, and its place.

    ``columns``: without the built-in vector. ``tf``, ``header``: by index of the query's term.
    """

    seq: int
    columns: bytes
    target: str
    record_id: str
    place: int
    size: int  # of the record; of hits in the first request
    tf: Mapping[int, float]
    header: frozenset[int]
    supersedes: tuple[str, ...] = ()

    @property
    def window(self) -> int:
        return self.place >> ORDINALS if self.place >= 0 else NO_WINDOW


def is_current(source: Mapping[str, Any]) -> bool:
    """Returns whether a unit's columns are of this version: another process may be about to renew them."""
    return len(b64decode(source["columns"])) == ROW


def found(source: Mapping[str, Any], tf: Mapping[int, float], header: frozenset[int]) -> FoundUnit:
    """Make a unit from a document and the query's terms in it, by their index."""
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
    """Make a unit from a document with its words. ``terms``: the query's as they are spelled, and their index."""
    words, header = (source.get(name, "").split() for name in ("words", "header"))
    tf = Counter(terms[word] for word in words if word in terms)
    return found(source, tf, frozenset(terms[word] for word in header if word in terms))


@dataclass(frozen=True, slots=True)
class TermCounts:
    """Statistics of the whole scope, limited to visible units. ``frequency`` is of the query's terms."""

    units: int = 0
    length: float = 0.0
    turn_length: float = 0.0
    windows: int = 0
    speakers: tuple[int, ...] = ()
    has_roles: bool = False
    frequency: tuple[int, ...] = ()
    topics: Mapping[int, int] = field(default_factory=dict)  # turns and insights with each of the query's


class PartialIndex(ScopeIndex):
    """Snapshot of some of a user's units; units with consecutive places are neighbours."""

    def __init__(self, places: NDArray[np.int64], lengths: Mapping[int, int]) -> None:
        super().__init__()
        self._places, self._sums = places, lengths

    def _link_few(self, fresh: list[int]) -> None:
        """Rows in a row are no neighbours here."""

    def _link_all(self) -> tuple[Ints, Ints, Ints, Floats]:
        kind, rows = self._columns["kind"].view, len(self._live)
        order = np.flatnonzero((kind == TURN) & (self._places >= 0))
        order = order[np.argsort(self._places[order], kind="stable")]
        places = self._places[order]
        next_to = (np.diff(places) == 1) & (np.diff(places >> ORDINALS) == 0)
        previous, following, window = (np.full(n, -1, np.int32) for n in (rows + 1, rows + 1, rows))
        previous[order[1:][next_to]] = order[:-1][next_to]
        following[order[:-1][next_to]] = order[1:][next_to]
        names, member = np.unique(places >> ORDINALS, return_inverse=True)
        window[order] = member
        here = np.bincount(member, self._length.view[order], minlength=len(names))
        told = np.array([self._sums.get(int(name), 0) for name in names], np.float64)
        return previous, following, window, np.maximum(here, told).astype(np.float32)


def _characters(hit: Mapping[str, Any]) -> int:
    """Estimate the length of a hit in the answer."""
    return HIT + NAMED * len(hit.get("matched_queries", ())) + len(hit["_source"].get("body", ""))


@dataclass
class CandidateSet:
    """Units found for one query, with known neighbours and statistics."""

    search: Search
    units: dict[int, FoundUnit] = field(default_factory=dict)  # by seq
    frequencies: TermFrequencies = field(default_factory=TermFrequencies)
    unread: AbstractSet[int] = frozenset()  # of which the words are not known yet
    characters: int = 0  # of the answers
    cosine: dict[int, float] = field(default_factory=dict)
    meaning: dict[int, float] = field(default_factory=dict)  # cosines of built-in vectors
    counts: TermCounts = TermCounts()
    lengths: Mapping[int, int] = field(default_factory=dict)  # terms in each conversation window
    allowed: frozenset[str] | None = None  # records that fit the filter
    brought: FetchResult | None = None
    brought_all: bool = True  # the records that the ranking is likely to choose: there was room for them

    def __post_init__(self) -> None:
        self.terms = {spelled(term): i for i, term in enumerate(self.search.terms)}

    def add_hits(self, hits: Sequence[Mapping[str, Any]], *, words: bool = True) -> dict[int, Mapping[str, Any]]:
        """Add units, with columns and the query's terms for ``words``; returns the hits by seq."""
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
        """Add the query's terms in units that came without."""
        for hit in hits:
            if unit := self.units.get(hit["_source"]["seq"]):  # else forgotten meanwhile
                self.units[unit.seq] = replace(unit, tf=self.frequencies.of(hit), header=in_header(hit))

    def replace(self, fresh: Mapping[str, Mapping[str, Any]]) -> None:
        """Replace units by their state as just written; remove forgotten ones."""
        for source in fresh.values():
            if source.get("kind") in KINDS and is_current(source):
                unit = read(source, self.terms)
                self.units[unit.seq] = unit
                if self.search.meaning is not None and (packed := source.get("packed")):
                    self.meaning[unit.seq] = _cosine(packed, self.search.meaning)
        gone = {source["rid"] for source in fresh.values() if source.get("kind") not in KINDS and "rid" in source}
        if gone:
            kept = [unit for unit in self.units.values() if unit.record_id not in gone and unit.target not in gone]
            self.units = {unit.seq: unit for unit in kept}

    def ordered(self) -> list[FoundUnit]:
        return [self.units[seq] for seq in sorted(self.units)]

    def snapshot(self, ordered: Sequence[FoundUnit]) -> Snapshot:
        superseded = {record_id for unit in ordered for record_id in unit.supersedes}
        nothing = np.zeros(0, np.int64)
        columns = np.frombuffer(b"".join(unit.columns + bytes(DIMENSIONS) for unit in ordered), RECORD).copy()
        columns["n_header"] = [len(unit.header) for unit in ordered]
        replaced = [unit.record_id in superseded for unit in ordered]
        columns["flags"][replaced] |= int(Flag.PROPOSED)  # as it will be in a moment
        changes = Changes(
            revision=1,
            columns=columns.tobytes(),
            terms=self._terms(ordered, columns),
            gone=nothing,
            vector_units=nothing,
            vectors=np.zeros((0, 0), np.float16),
            space=None,
            whole=True,
        )
        places = np.array([unit.place for unit in ordered], np.int64)
        return PartialIndex(places, self.lengths).extend(changes)

    def _terms(self, ordered: Sequence[FoundUnit], columns: NDArray[Any]) -> bytes:
        """Returns the query's terms in each unit, headers first; every other term is replaced by one placeholder."""
        asked = np.array(self.search.terms, "<u4")
        other = next(term for term in range(len(asked) + 1) if term not in self.search.terms)
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
        made = np.full(int(columns["n_header"].sum() + lengths.sum()), other, "<u4")
        made[places] = asked[which]
        return made.tobytes()


def _cosine(packed: str, vector: Floats) -> float:
    own = np.frombuffer(b64decode(packed), np.int8).astype(np.float32)
    return float(own @ vector / np.sqrt(own @ own))


@dataclass(frozen=True, slots=True)
class Measured:
    """A candidate set measured, as ``search.candidates`` measures a snapshot; ``score`` is that of the pool."""

    ordered: list[FoundUnit]
    index: Snapshot
    visibility: matching.Visibility
    found: local_candidates.Found
    meaning: Floats | None
    score: Floats


@np.errstate(invalid="ignore")  # as local_candidates.search
def measure(pool: CandidateSet) -> Measured:
    """Search as ``search.candidates`` does, with frequencies and lengths of the scope instead of the candidate set."""
    ordered = pool.ordered()
    index, asked = pool.snapshot(ordered), pool.search
    excluded = np.array([row for row, unit in enumerate(ordered) if unit.target in asked.exclude], np.int64)
    visibility = matching.look(index, asked, np.unique(index.column["target"][excluded]), _numbers(pool, ordered))
    visibility = replace(visibility, statistics=_statistics(pool.counts, visibility.statistics))
    terms = np.array(asked.terms, np.uint32)
    matches, credited = matching.credit(index, visibility, matching.match(index, terms), len(terms))
    headers = matching.header_matrix(index, terms)
    found = local_candidates.Found(
        matches=matches,
        frequency=_frequencies(
            pool, matching.frequencies(index, visibility, matches, headers), visibility.statistics.units
        ),
        credited=credited,
        headers=headers,
        period=local_candidates.in_periods(index.column["time"], asked.periods),
        event=local_candidates.events(index, visibility, asked.periods),
        cosine=_credited(pool.cosine, ordered, index, visibility),
        topic=local_candidates.shared_topics(index, visibility, asked.topics, pool.counts.topics),
    )
    weights = rarity(visibility.statistics.units, found.frequency)
    score = matching.window_scores(index, visibility, matches, weights)
    score += local_candidates.HEADER * (headers @ weights)[index.header]
    meaning = _credited(pool.meaning, ordered, index, visibility)
    if meaning is not None and found.cosine is not None:
        meaning[~np.isnan(found.cosine)] = np.nan
    return Measured(ordered, index, visibility, found, meaning, score)


def _frequencies(pool: CandidateSet, here: Floats, units: int) -> Floats:
    """Returns frequencies of the scope; of a word written just now those of the candidates."""
    told = np.array(pool.counts.frequency or [0] * len(here), np.float32)
    return np.minimum(np.maximum(here, told), max(units, 1)).astype(np.float32)


def _numbers(pool: CandidateSet, ordered: Sequence[FoundUnit]) -> NDArray[np.int64] | None:
    if pool.allowed is None:
        return None
    return np.array([unit.seq >> PARTS for unit in ordered if unit.record_id in pool.allowed], np.int64)


def _statistics(counts: TermCounts, here: Statistics) -> Statistics:
    """Returns statistics of the scope, or those of the candidates where they are larger."""
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
    """[rows] the best of a turn and its memories, NaN for none. ``cosines``: by the units' seq."""
    known = [(row, cosines[unit.seq]) for row, unit in enumerate(ordered) if unit.seq in cosines]
    if not known:
        return None
    found = np.full(index.rows, np.nan, np.float32)
    rows = np.array([row for row, _ in known], np.int64)
    values = np.array([value for _, value in known], np.float32)
    seen = visibility.scored[rows]
    credited_row = index.links.credited_row[rows[seen]]
    np.fmax.at(found, credited_row[credited_row >= 0], values[seen][credited_row >= 0])
    return found


def best(measured: Measured) -> list[FoundUnit]:
    """Returns the units, the most promising first, from each leg in turn."""
    keys, found = measured.visibility.keys, measured.found
    values = [measured.score]
    if measured.visibility.statistics.has_roles:
        values.append(measured.score * (measured.index.column["role"] == USER))
    timely = local_candidates.greater(found.period, found.event)
    if timely is not None:
        values.append(timely * 1000 + measured.score)
    if found.topic is not None:
        values.append(found.topic)
    values.append(((measured.index.column["flags"] & int(Flag.INSTRUCTION)) != 0) * 1000 + measured.score)
    values += [np.nan_to_num(near, nan=-1) for near in (found.cosine, measured.meaning) if near is not None]
    orders = [np.argsort(-np.where(keys, value, -9), kind="stable").tolist() for value in values]
    chosen = dict.fromkeys(row for rows in zip(*orders, strict=True) for row in rows if keys[row])
    return [measured.ordered[row] for row in chosen]


def _choosable(pool: CandidateSet, measured: Measured) -> Bools:
    """Returns which units may be chosen: those with their record in the answer; any, where some did not fit in."""
    if not pool.brought_all:
        return measured.visibility.keys
    known = pool.brought.records if pool.brought is not None else {}
    return measured.visibility.keys & np.array([unit.target in known for unit in measured.ordered], np.bool_)


def _nearest(meaning: Floats | None, visibility: matching.Visibility) -> NDArray[np.int64] | None:
    """Returns the rows of the leg by built-in vector."""
    if meaning is None:
        return None
    rows = np.flatnonzero(visibility.keys & ~np.isnan(meaning))
    return rows[np.argsort(-meaning[rows], kind="stable")][: local_candidates.POOL[local_candidates.MEANING]]


def candidates(pool: CandidateSet) -> Candidates:
    measured = measure(pool)
    visibility = replace(measured.visibility, keys=_choosable(pool, measured))
    visibility = matching.naming(visibility, pool.search, measured.found.matches)
    near = _nearest(measured.meaning, visibility)
    rows, legs = local_candidates.pool(measured.index, visibility, measured.score, measured.found, near)
    made = local_candidates.columns(measured.index, measured.visibility, pool.search, measured.found, rows, legs)
    if measured.meaning is not None:
        made = replace(made, meaning=measured.meaning[rows].round(5))
    targets: dict[Handle, Handle] = {
        unit.seq >> PARTS: unit.target for unit in measured.ordered if unit.target == unit.record_id
    }
    windows = np.array([pool.units[seq].window for seq in made.unit.tolist()], np.int64)
    lengths = made.session_length
    if pool.search.required:  # nobody counted the windows
        lengths = np.maximum(lengths, np.float32(made.average_session_length))
    return replace(
        made,
        handle=[targets[number] for number in made.handle],
        session=np.where(windows == NO_WINDOW, -1 - made.unit, windows),  # as another search has them
        session_length=lengths,
        brought=pool.brought,
    )
