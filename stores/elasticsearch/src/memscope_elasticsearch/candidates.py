"""What was found in the index, as the candidates that local stores make of their whole memory.

A few hundred units make a small snapshot (``search/snapshot.py``), in which the same functions search and measure
(``search/candidates.py``). What only the whole scope can tell, the index counted: document frequencies, lengths,
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
from memscope.search.bm25 import K1, rarity
from memscope.search.changes import Changes
from memscope.search.snapshot import USER, Bools, Floats, Ints, ScopeIndex, Snapshot, Statistics
from memscope.text.flags import Flag
from memscope.text.units import COLUMNS, TURN
from memscope_elasticsearch.documents import KINDS, ORDINALS, PARTS, spelled

NO_SITTING = -1
MOST_TIMES, MOST_LEAST = 1000.0, 40
HIT, NAMED = 350, 20  # characters of a hit without its words; of each name of a part
RECORD = np.dtype([(name, f"<{code}") for name, code in COLUMNS])


@dataclass(frozen=True, slots=True)
class Found:
    """A unit as the index gave it: columns of ``text.units``, the query's terms in it, and where it stands.

    ``tf``, ``header``: by index of the query's term.
    """

    seq: int
    columns: bytes
    target: str
    rid: str
    place: int
    size: int  # of the record
    tf: Mapping[int, float]
    header: frozenset[int]
    supersedes: tuple[str, ...] = ()

    @property
    def sitting(self) -> int:
        return self.place >> ORDINALS if self.place >= 0 else NO_SITTING


def found(source: Mapping[str, Any], tf: Mapping[int, float], terms: Mapping[str, int]) -> Found:
    """``terms``: the query's as they are spelled, and their index."""
    columns = b64decode(source["columns"])
    supersedes = source.get("supersedes") or ()
    return Found(
        seq=int.from_bytes(columns[:8], "little", signed=True),
        columns=columns,
        target=source["target"],
        rid=source["rid"],
        place=source.get("place", -1),
        size=source["size"],
        tf=tf,
        header=frozenset(terms[word] for word in source.get("header", "").split() if word in terms),
        supersedes=(supersedes,) if isinstance(supersedes, str) else tuple(supersedes),
    )


def read(source: Mapping[str, Any], terms: Mapping[str, int]) -> Found:
    """A unit whose words are at hand."""
    return found(source, Counter(terms[word] for word in source.get("words", "").split() if word in terms), terms)


@dataclass(frozen=True, slots=True)
class Counts:
    """Of the whole scope, as far as the search may see it. ``frequency`` is of the query's terms."""

    units: int = 0
    length: float = 0.0
    turn_length: float = 0.0
    sittings: int = 0
    speakers: tuple[int, ...] = ()
    has_roles: bool = False
    frequency: tuple[int, ...] = ()


class Pieces(ScopeIndex):
    """Makes a snapshot of some of a user's units: neighbours are those whose places are next to each other."""

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
        previous, following, sitting = (np.full(n, -1, np.int32) for n in (rows + 1, rows + 1, rows))
        previous[order[1:][next_to]] = order[:-1][next_to]
        following[order[:-1][next_to]] = order[1:][next_to]
        names, member = np.unique(places >> ORDINALS, return_inverse=True)
        sitting[order] = member
        here = np.bincount(member, self._length.view[order], minlength=len(names))
        told = np.array([self._sums.get(int(name), 0) for name in names], np.float64)
        return previous, following, sitting, np.maximum(here, told).astype(np.float32)


class Scores:
    """What the scores of single terms tell: how often each is there.

    Without a part for the length, BM25 gives ``top * tf / (tf + k1)``. The top of a term is not told; it is what makes
    whole numbers of all its scores, the least of them the smallest that does.
    """

    def __init__(self) -> None:
        self._seen: dict[int, set[float]] = {}
        self._tops: dict[int, float] = {}

    def see(self, hits: Sequence[Mapping[str, Any]]) -> None:
        for hit in hits:
            for term, score in hit.get("matched_queries", {}).items():
                self._seen.setdefault(int(term), set()).add(score)
        self._tops = {term: _top(np.array(sorted(scores))) for term, scores in self._seen.items()}

    def frequencies(self, hit: Mapping[str, Any]) -> dict[int, float]:
        return {int(term): self._times(int(term), score) for term, score in hit.get("matched_queries", {}).items()}

    def _times(self, term: int, score: float) -> float:
        return float(round(min(K1 * score / max(self._tops[term] - score, 1e-9), MOST_TIMES)))


def _top(scores: NDArray[np.float64]) -> float:
    """``scores`` are distinct and rising."""
    for least in range(1, MOST_LEAST):
        top = scores[0] * (least + K1) / least
        if top <= scores[-1]:
            break
        times = K1 * scores / (top - scores)
        if (np.abs(times - np.round(times)) < 0.01 + 0.001 * times).all():
            return float(top)
    return float(scores[0] * (1 + K1))


def _characters(hit: Mapping[str, Any]) -> int:
    """About how long a hit is in the answer."""
    return HIT + NAMED * len(hit.get("matched_queries", ())) + len(hit["_source"].get("body", ""))


@dataclass
class Pile:
    """The units found for one question, and what is known of their surroundings."""

    search: Search
    units: dict[int, Found] = field(default_factory=dict)  # by seq
    scores: Scores = field(default_factory=Scores)
    unread: AbstractSet[int] = frozenset()  # of which the words are not known yet
    characters: int = 0  # of the answers
    cosine: dict[int, float] = field(default_factory=dict)
    counts: Counts = Counts()
    lengths: Mapping[int, int] = field(default_factory=dict)  # terms in each sitting
    allowed: frozenset[str] | None = None  # records that fit the filter
    brought: FetchResult | None = None

    def __post_init__(self) -> None:
        self.terms = {spelled(term): i for i, term in enumerate(self.search.terms)}

    def add_hits(self, hits: Sequence[Mapping[str, Any]], *, words: bool = True) -> dict[int, float]:
        """Units with what the scores of their terms tell; by seq, the cosine that a score stands for."""
        cosines = {}
        for hit in hits:
            unit = found(hit["_source"], self.scores.frequencies(hit) if words else {}, self.terms)
            cosines[unit.seq] = 2 * hit["_score"] - 1
            if words or unit.seq not in self.units:
                self.units[unit.seq] = unit
        self.characters += sum(map(_characters, hits))
        return cosines

    def replace(self, fresh: Mapping[str, Mapping[str, Any]]) -> None:
        """What was just written takes the place of what the index knows of it; what was forgotten goes."""
        for source in fresh.values():
            if source.get("kind") in KINDS:
                unit = read(source, self.terms)
                self.units[unit.seq] = unit
        gone = {source["rid"] for source in fresh.values() if source.get("kind") not in KINDS and "rid" in source}
        if gone:
            kept = [unit for unit in self.units.values() if unit.rid not in gone and unit.target not in gone]
            self.units = {unit.seq: unit for unit in kept}

    def ordered(self) -> list[Found]:
        return [self.units[seq] for seq in sorted(self.units)]

    def snapshot(self, ordered: Sequence[Found]) -> Snapshot:
        superseded = {rid for unit in ordered for rid in unit.supersedes}
        nothing = np.zeros(0, np.int64)
        columns = np.frombuffer(b"".join(unit.columns for unit in ordered), RECORD).copy()
        columns["n_header"] = [len(unit.header) for unit in ordered]
        replaced = [unit.rid in superseded for unit in ordered]
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
        return Pieces(places, self.lengths).extend(changes)

    def _terms(self, ordered: Sequence[Found], columns: NDArray[Any]) -> bytes:
        """The terms of each unit, headers first, as far as the query has them; the others are one that it has not."""
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


@dataclass(frozen=True, slots=True)
class Measured:
    """A pile measured, as ``search.candidates`` measures a snapshot; ``score`` is that of the pool."""

    ordered: list[Found]
    index: Snapshot
    sight: matching.Visibility
    found: local_candidates.Found
    score: Floats


@np.errstate(invalid="ignore")  # as local_candidates.search
def measure(pile: Pile) -> Measured:
    """As ``search.candidates``, with the scope's own frequencies and lengths in place of the pile's."""
    ordered = pile.ordered()
    index, asked = pile.snapshot(ordered), pile.search
    excluded = np.array([row for row, unit in enumerate(ordered) if unit.target in asked.exclude], np.int64)
    sight = matching.look(index, asked, np.unique(index.column["target"][excluded]), _numbers(pile, ordered))
    sight = replace(sight, statistics=_statistics(pile.counts, sight.statistics))
    terms = np.array(asked.terms, np.uint32)
    matches, lent = matching.lend(index, sight, matching.match(index, terms), len(terms))
    headers = matching.header_matrix(index, terms)
    found = local_candidates.Found(
        matches=matches,
        frequency=_frequencies(pile, matching.frequencies(index, sight, matches, headers), sight.statistics.units),
        lent=lent,
        headers=headers,
        period=local_candidates.in_periods(index.column["time"], asked.periods),
        event=local_candidates.events(index, sight, asked.periods),
        cosine=_cosines(pile, ordered, index, sight),
        topic=local_candidates.shared_topics(index, sight, asked.topics),
    )
    weights = rarity(sight.statistics.units, found.frequency)
    score = matching.window_scores(index, sight, matches, weights)
    return Measured(ordered, index, sight, found, score + local_candidates.HEADER * (headers @ weights)[index.header])


def _frequencies(pile: Pile, here: Floats, units: int) -> Floats:
    """The scope's; a word that was written just now is known from what is at hand only."""
    told = np.array(pile.counts.frequency or [0] * len(here), np.float32)
    return np.minimum(np.maximum(here, told), max(units, 1)).astype(np.float32)


def _numbers(pile: Pile, ordered: Sequence[Found]) -> NDArray[np.int64] | None:
    if pile.allowed is None:
        return None
    return np.array([unit.seq >> PARTS for unit in ordered if unit.rid in pile.allowed], np.int64)


def _statistics(counts: Counts, here: Statistics) -> Statistics:
    """The scope's; where the index knows less than what is at hand, what is at hand."""
    if counts.units < here.units:
        return here
    return Statistics(
        units=counts.units,
        average_length=counts.length / max(1, counts.units),
        sitting_length=here.sitting_length,
        average_sitting=counts.turn_length / max(1, counts.sittings),
        speakers=np.union1d(np.array(counts.speakers, np.uint32), here.speakers),
        has_roles=counts.has_roles or here.has_roles,
    )


def _cosines(pile: Pile, ordered: Sequence[Found], index: Snapshot, sight: matching.Visibility) -> Floats | None:
    known = [(row, pile.cosine[unit.seq]) for row, unit in enumerate(ordered) if unit.seq in pile.cosine]
    if not known:
        return None
    found = np.full(index.rows, np.nan, np.float32)
    rows = np.array([row for row, _ in known], np.int64)
    values = np.array([value for _, value in known], np.float32)
    seen = sight.speaks[rows]
    home = index.links.home[rows[seen]]
    np.fmax.at(found, home[home >= 0], values[seen][home >= 0])
    return found


def best(measured: Measured, most: int) -> list[Found]:
    """The units that are likely to be in front, from each leg in turn."""
    keys, found = measured.sight.keys, measured.found
    values = [measured.score]
    if measured.sight.statistics.has_roles:
        values.append(measured.score * (measured.index.column["role"] == USER))
    if found.cosine is not None:
        values.append(np.nan_to_num(found.cosine, nan=-1))
    timely = local_candidates.greater(found.period, found.event)
    if timely is not None:
        values.append(timely * 1000 + measured.score)
    if found.topic is not None:
        values.append(found.topic)
    orders = [np.argsort(-np.where(keys, value, -9), kind="stable").tolist() for value in values]
    chosen = dict.fromkeys(row for rows in zip(*orders, strict=True) for row in rows if keys[row])
    return [measured.ordered[row] for row in list(chosen)[:most]]


def _brought(pile: Pile, measured: Measured) -> Bools:
    """A unit whose record did not come along is there for its neighbours only: nobody has to ask again."""
    known = pile.brought.records if pile.brought is not None else {}
    return np.array([unit.target in known for unit in measured.ordered], np.bool_)


def candidates(pile: Pile) -> Candidates:
    measured = measure(pile)
    sight = replace(measured.sight, keys=measured.sight.keys & _brought(pile, measured))
    near = local_candidates.meaning_leg(measured.index, sight, pile.search, measured.found)
    rows, legs = local_candidates.pool(measured.index, sight, measured.score, measured.found, near)
    made = local_candidates.columns(measured.index, measured.sight, pile.search, measured.found, rows, legs)
    homes: dict[Handle, Handle] = {
        unit.seq >> PARTS: unit.target for unit in measured.ordered if unit.target == unit.rid
    }
    return replace(made, handle=[homes[number] for number in made.handle], brought=pile.brought)
