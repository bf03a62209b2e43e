"""What was found in the index, as the candidates that local stores make of their whole memory.

A few hundred units make a small snapshot (``stores/snapshot.py``), in which the same functions search and measure
(``stores/pool.py``). What only the whole scope can tell, the index counted: document frequencies, lengths, speakers.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memscope.records import Candidates, Fetched, Handle, Search
from memscope.stores import Changes, matching, pool
from memscope.stores.elasticsearch.documents import ORDINALS, PARTS
from memscope.stores.snapshot import USER, Bools, Floats, Ints, ScopeIndex, Snapshot, Statistics
from memscope.text import PACKED, TURN, Flag, rarity

NO_SITTING = -1
_FLAGS_AT = PACKED.size - 6  # flags, part, kind, role close the columns


@dataclass(frozen=True, slots=True)
class Found:
    """A unit as the index gave it: columns and terms of ``text.units``, and where it stands."""

    seq: int
    raw: bytes
    target: str
    rid: str
    place: int
    size: int  # of the record
    supersedes: tuple[str, ...] = ()

    @property
    def sitting(self) -> int:
        return self.place >> ORDINALS if self.place >= 0 else NO_SITTING


def found(source: Mapping[str, Any]) -> Found:
    raw = b64decode(source["unit"])
    seq = int.from_bytes(raw[:8], "little", signed=True)
    supersedes = source.get("supersedes") or ()
    names = (supersedes,) if isinstance(supersedes, str) else tuple(supersedes)
    return Found(seq, raw, source["target"], source["rid"], source.get("place", -1), source["size"], names)


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


@dataclass
class Pile:
    """The units found for one question, and what is known of their surroundings."""

    search: Search
    units: dict[int, Found] = field(default_factory=dict)  # by seq
    cosine: dict[int, float] = field(default_factory=dict)
    counts: Counts = Counts()
    lengths: Mapping[int, int] = field(default_factory=dict)  # terms in each sitting
    allowed: frozenset[str] | None = None  # records that fit the filter
    brought: Fetched | None = None

    def add(self, units: Sequence[Found]) -> None:
        self.units.update((unit.seq, unit) for unit in units)

    def ordered(self) -> list[Found]:
        return [self.units[seq] for seq in sorted(self.units)]

    def snapshot(self, ordered: Sequence[Found]) -> Snapshot:
        superseded = {rid for unit in ordered for rid in unit.supersedes}
        raw = [closed(unit.raw) if unit.rid in superseded else unit.raw for unit in ordered]
        nothing = np.zeros(0, np.int64)
        changes = Changes(
            revision=1,
            columns=b"".join(unit[: PACKED.size] for unit in raw),
            terms=b"".join(unit[PACKED.size :] for unit in raw),
            gone=nothing,
            vector_units=nothing,
            vectors=np.zeros((0, 0), np.float16),
            space=None,
            whole=True,
        )
        places = np.array([unit.place for unit in ordered], np.int64)
        return Pieces(places, self.lengths).extend(changes)


def closed(raw: bytes) -> bytes:
    """A unit of a memory whose successor is here already, as it will be in a moment: it is not current."""
    at = _FLAGS_AT
    flags = int.from_bytes(raw[at : at + 2], "little") | Flag.PROPOSED
    return raw[:at] + flags.to_bytes(2, "little") + raw[at + 2 :]


@dataclass(frozen=True, slots=True)
class Measured:
    """A pile measured, as ``pool.search`` measures a snapshot; ``score`` is that of the pool."""

    ordered: list[Found]
    index: Snapshot
    sight: matching.Sight
    found: pool.Found
    score: Floats


def measure(pile: Pile) -> Measured:
    """As ``pool.search``, with the scope's own frequencies and lengths in place of the pile's."""
    ordered = pile.ordered()
    index, asked = pile.snapshot(ordered), pile.search
    excluded = np.array([row for row, unit in enumerate(ordered) if unit.target in asked.exclude], np.int64)
    sight = matching.look(index, asked, np.unique(index.column["target"][excluded]), _numbers(pile, ordered))
    sight = replace(sight, statistics=_statistics(pile.counts, sight.statistics))
    terms = np.array(asked.terms, np.uint32)
    matches, lent = matching.lend(index, sight, matching.match(index, terms), len(terms))
    headers = matching.header_matrix(index, terms)
    found = pool.Found(
        matches=matches,
        frequency=_frequencies(pile, matching.frequencies(index, sight, matches, headers), sight.statistics.units),
        lent=lent,
        headers=headers,
        period=pool.in_periods(index.column["time"], asked.periods),
        cosine=_cosines(pile, ordered, index, sight),
    )
    weights = rarity(sight.statistics.units, found.frequency)
    score = matching.window_scores(index, sight, matches, weights)
    return Measured(ordered, index, sight, found, score + pool.HEADER * (headers @ weights)[index.header])


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


def _cosines(pile: Pile, ordered: Sequence[Found], index: Snapshot, sight: matching.Sight) -> Floats | None:
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
    if found.period is not None:
        values.append(found.period * 1000 + measured.score)
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
    rows, legs = pool.pool(measured.index, sight, measured.score, measured.found.period, measured.found.cosine)
    made = pool.columns(measured.index, measured.sight, pile.search, measured.found, rows, legs)
    homes: dict[Handle, Handle] = {
        unit.seq >> PARTS: unit.target for unit in measured.ordered if unit.target == unit.rid
    }
    return replace(made, handle=[homes[number] for number in made.handle], brought=pile.brought)
