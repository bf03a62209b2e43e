"""A user's units as numpy arrays, searched by ``candidates.py``. Snapshots are immutable; newer ones share arrays.

    Changes ──ScopeIndex.extend──▶ Snapshot(rows in the order of seq; links between neighbours; postings; vectors)

A **conversation** is a run of turns of one session without a pause over ``CONVERSATION_GAP_US``; neighbours belong to
the same conversation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memscope.languages.flags import Flag
from memscope.records import VectorSpace
from memscope.search.changes import Changes
from memscope.search.growing_array import GrowingArray
from memscope.search.units import ASSISTANT_ROLE, INSIGHT, NEVER_US, OBSERVATION, TURN, UNIT_COLUMNS
from memscope.search.vectors import GrowingVectors, VectorMatrix
from memscope.text.terms import TERM_BYTES
from memscope.text.vectors import DIMENSIONS

Ints = NDArray[np.int32]
Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]

TURN_BEFORE = 1  # index of the previous turn among the neighbours
CONVERSATION_GAP_US = 12 * 3600 * 1_000_000
NEIGHBOUR_LENGTH_DISCOUNT = 80  # unit length in terms at which neighbours count half
MAX_TURNS_LINKED_SINGLY = 256  # with more new turns, relink all
ROW_DTYPE = np.dtype([(name, f"<{code}") for name, code in UNIT_COLUMNS[:-1]] + [("meaning", np.int8, DIMENSIONS)])
_SNAPSHOT_COLUMNS = [name for name, _ in UNIT_COLUMNS if name not in ("n_header", "n_terms", "meaning")]
OBJECT_BYTES = 13 << 10  # of a snapshot's Python objects, measured with tracemalloc; most of a small user's index
COARSE_DIMENSIONS = 32  # leading PCA dimensions that preselect rows


@dataclass(frozen=True, slots=True)
class Postings:
    """The first ``rows`` rows by term: rows and frequencies of ``vocabulary[i]`` are at ``starts[i]:starts[i+1]``."""

    rows: int
    vocabulary: NDArray[np.uint32]
    starts: NDArray[np.int64]
    row: Ints
    tf: NDArray[np.uint16]

    @property
    def nbytes(self) -> int:
        return self.vocabulary.nbytes + self.starts.nbytes + self.row.nbytes + self.tf.nbytes


def sort_postings(terms: NDArray[np.uint32], starts: NDArray[np.int64], rows: int) -> Postings:
    """Sort (term, row) pairs as 64-bit integers, several times faster than an argsort of the terms."""
    lengths = np.diff(starts[: rows + 1])
    keys = terms[: starts[rows]].astype(np.uint64) << np.uint64(32)
    keys |= np.repeat(np.arange(rows, dtype=np.uint64), lengths)
    keys.sort()
    first = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if len(keys) else np.zeros(0, np.int64)
    tf = np.minimum(np.diff(np.append(first, len(keys))), 0xFFFF).astype(np.uint16)
    keys = keys[first]
    sorted_terms = (keys >> np.uint64(32)).astype(np.uint32)
    heads = np.flatnonzero(np.concatenate(([True], sorted_terms[1:] != sorted_terms[:-1]))) if len(keys) else first
    return Postings(
        rows, sorted_terms[heads], np.append(heads, len(keys)), (keys & np.uint64(0xFFFFFFFF)).astype(np.int32), tf
    )


@dataclass(frozen=True, slots=True)
class Links:
    """Relations of rows. ``previous`` and ``next`` have one extra entry, so that -1 leads to -1."""

    previous: Ints
    next: Ints
    conversation: Ints  # -1 except for live turns
    conversation_length: Floats  # [conversations] in terms
    credited_row: Ints  # the row itself, or an observation's turn; -1 for none


@dataclass(frozen=True, slots=True)
class Statistics:
    """Totals over the turns and insights that a search can return; sums of integers, exact in any order."""

    units: int
    average_length: float
    conversation_length: Floats
    average_conversation: float
    speakers: NDArray[np.uint32]
    has_roles: bool


@dataclass(frozen=True, slots=True)
class Meaning:
    """Built-in vectors of the rows."""

    packed: NDArray[np.int8]  # [rows, DIMENSIONS]
    norm: Floats  # [rows] 0 without a vector
    coarse: Floats  # [rows, COARSE_DIMENSIONS] leading part of the normalised vectors

    @property
    def nbytes(self) -> int:
        return self.packed.nbytes + self.norm.nbytes + self.coarse.nbytes

    def cosines(self, rows: NDArray[Any], vector: Floats) -> Floats:
        """Return cosines for these rows; NaN without a vector."""
        norm = self.norm[rows]
        cosine: Floats = (self.packed[rows].astype(np.float32) @ vector) / np.where(norm > 0, norm, np.nan)
        return cosine


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Row i is the unit ``column["seq"][i]``; its terms are ``terms[starts[i]:starts[i+1]]``."""

    revision: int
    column: Mapping[str, NDArray[Any]]
    terms: NDArray[np.uint32]
    starts: NDArray[np.int64]
    length: Floats
    lean: Floats
    header: Ints  # [rows] index of the row's distinct header
    header_terms: NDArray[np.uint32]  # of all distinct headers
    header_of: Ints  # header index of each of them
    headers: int
    live: Bools
    current: Bools  # live, not superseded, not proposed, and not a spare unit of an insight
    keys: Bools  # current turns and insights, which a search without conditions can return
    window: Floats  # length of the row with its discounted neighbours
    links: Links
    statistics: Statistics
    vectors: VectorMatrix
    vector_row: Ints
    space: VectorSpace | None
    aligned: bool  # row i has vector i
    meaning: Meaning
    expiring: bool
    has_observations: bool  # whether there are any observations
    postings: Postings | None = None
    asked: list[int] = field(default_factory=lambda: [0])  # number of searches; the only mutable part

    @property
    def rows(self) -> int:
        return len(self.length)

    @property
    def nbytes(self) -> int:
        arrays = [*self.column.values(), self.terms, self.starts, self.length, self.lean, self.header, self.live]
        links = [self.links.previous, self.links.next, self.links.conversation, self.links.credited_row]
        others = [self.keys, self.window, self.current, self.vector_row]
        whole = sum(array.nbytes for array in [*arrays, *links, *others]) + self.meaning.nbytes + self.vectors.nbytes
        return whole + (self.postings.nbytes if self.postings else 0) + OBJECT_BYTES

    @property
    def unsorted(self) -> int:
        """Number of terms that a search has to scan."""
        return len(self.terms) - int(self.starts[self.postings.rows if self.postings else 0])

    @property
    def wasteful(self) -> bool:
        """True if over a quarter of the rows, or of the vectors, is unused."""
        dead = self.rows - int(np.count_nonzero(self.live))
        return 4 * dead > self.rows + 1024 or len(self.vectors) > 1.25 * self.rows + 1024

    def sorted(self) -> Snapshot:
        """Return a copy prepared for many searches, with postings and float32 vectors."""
        postings = sort_postings(self.terms, self.starts, self.rows)
        return replace(self, postings=postings, vectors=self.vectors.widened())


class ScopeIndex:
    """Build one user's snapshots, each from the previous one. Not safe for concurrent calls."""

    def __init__(self) -> None:
        self._columns = {name: GrowingArray(np.zeros(0, ROW_DTYPE[name])) for name in _SNAPSHOT_COLUMNS}
        self._terms = GrowingArray(np.zeros(0, np.uint32))
        self._starts = GrowingArray(np.zeros(1, np.int64))
        self._length = GrowingArray(np.zeros(0, np.float32))
        self._lean = GrowingArray(np.zeros(0, np.float32))
        self._header = GrowingArray(np.zeros(0, np.int32))
        self._header_terms = GrowingArray(np.zeros(0, np.uint32))
        self._header_of = GrowingArray(np.zeros(0, np.int32))
        self._headers: defaultdict[bytes, int] = defaultdict()
        self._headers.default_factory = self._headers.__len__
        self._last: dict[int, int] = {}  # session -> its last row
        self._vectors = GrowingVectors()
        self._packed = GrowingArray(np.zeros((0, DIMENSIONS), np.int8))
        self._norm = GrowingArray(np.zeros(0, np.float32))
        self._coarse = GrowingArray(np.zeros((0, COARSE_DIMENSIONS), np.float32))
        self._vector_row = GrowingArray(np.zeros(0, np.int32))
        self._live = np.zeros(0, np.bool_)
        nothing, ended = np.zeros(0, np.int32), np.full(1, -1, np.int32)
        self._links = Links(ended, ended, nothing, np.zeros(0, np.float32), nothing)
        self._speakers = np.zeros(0, np.uint32)

    def extend(self, changes: Changes, before: Snapshot | None = None) -> Snapshot:
        old = len(self._live)
        self._reserve(changes)
        for columns, terms in changes.units:
            self._append(np.frombuffer(columns, ROW_DTYPE), np.frombuffer(terms, "<u4"))
        died = self._mark_removed(changes.gone, old)
        self._relink(old, died)
        self._add_vectors(changes)
        return self._snapshot(changes, before)

    def _reserve(self, changes: Changes) -> None:
        rows = sum(len(columns) for columns, _ in changes.units) // ROW_DTYPE.itemsize
        of_rows = (self._starts, self._length, self._lean, self._header, self._packed, self._norm, self._coarse)
        for array in (*self._columns.values(), *of_rows):
            array.reserve(rows)
        self._terms.reserve(sum(len(terms) for _, terms in changes.units) // TERM_BYTES)

    def _append(self, records: NDArray[Any], terms: NDArray[np.uint32]) -> None:
        for name, column in self._columns.items():
            column.extend(records[name])
        self._packed.extend(records["meaning"])
        vectors = records["meaning"].astype(np.float32)
        norm = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        self._norm.extend(norm)
        self._coarse.extend(vectors[:, :COARSE_DIMENSIONS] / np.maximum(norm, 1)[:, None])
        header, body = records["n_header"].astype(np.int64), records["n_terms"].astype(np.int64)
        self._length.extend(body)
        self._lean.extend(NEIGHBOUR_LENGTH_DISCOUNT / (NEIGHBOUR_LENGTH_DISCOUNT + body))
        self._starts.extend(self._starts.view[-1] + np.cumsum(body))
        in_header = spread(np.cumsum(header + body) - header - body, header)
        in_body = np.ones(len(terms), np.bool_)
        in_body[in_header] = False
        self._terms.extend(terms[in_body])
        self._add_headers(terms[in_header].tobytes(), TERM_BYTES * header)

    def _add_headers(self, terms: bytes, sizes: NDArray[np.int64]) -> None:
        """Store distinct headers; units of one speaker on one day share theirs."""
        known, ends = len(self._headers), np.cumsum(sizes)
        parts = map(slice, (ends - sizes).tolist(), ends.tolist())
        ids = map(self._headers.__getitem__, map(terms.__getitem__, parts))
        self._header.extend(np.fromiter(ids, np.int32, len(sizes)))
        fresh = list(islice(reversed(self._headers), len(self._headers) - known))[::-1]
        lengths = [len(key) // TERM_BYTES for key in fresh]
        self._header_terms.extend(np.frombuffer(b"".join(fresh), "<u4"))
        self._header_of.extend(np.repeat(np.arange(known, len(self._headers)), lengths))

    def _mark_removed(self, gone: NDArray[np.int64], old: int) -> bool:
        """Mark removed rows; return whether they include a turn of an earlier snapshot."""
        self._live = np.concatenate((self._live, np.ones(len(self._length.view) - old, np.bool_)))
        rows = find(self._columns["seq"].view, gone)
        rows = rows[rows >= 0]
        self._live[rows] = False
        return bool((self._columns["kind"].view[rows] == TURN).any())

    # ---- links

    def _relink(self, old: int, died: bool) -> None:
        kind = self._columns["kind"].view
        fresh = np.flatnonzero(kind[old:] == TURN) + old
        links = None if died or len(fresh) > MAX_TURNS_LINKED_SINGLY else self._link_few(fresh.tolist())
        if links is None:
            links = self._link_all()
            living = self._live & (kind == TURN)
            self._speakers = unique_values(self._columns["speaker"].view[living])
        else:
            self._speakers = unique_values(np.concatenate((self._speakers, self._columns["speaker"].view[fresh])))
        credited_row = np.concatenate((self._links.credited_row[:old], self._credited_rows(np.arange(old, len(kind)))))
        self._links = Links(*links, credited_row)

    def _link_all(self) -> tuple[Ints, Ints, Ints, Floats]:
        session, time, rows = self._columns["session"].view, self._columns["time"].view, len(self._live)
        order = np.flatnonzero(self._live & (self._columns["kind"].view == TURN))
        order = order[np.lexsort((time[order], session[order]))]  # stable: rows are in the order of seq
        starts = np.ones(len(order), np.bool_)
        starts[1:] = (np.diff(session[order]) != 0) | (np.diff(time[order]) > CONVERSATION_GAP_US)
        previous, following, conversation = (np.full(n, -1, np.int32) for n in (rows + 1, rows + 1, rows))
        inner = ~starts[1:]
        previous[order[1:][inner]] = order[:-1][inner]
        following[order[:-1][inner]] = order[1:][inner]
        conversation[order] = np.cumsum(starts) - 1
        last = order[np.append(np.diff(session[order]) != 0, True)[: len(order)]]
        self._last = dict(zip(session[last].tolist(), last.tolist(), strict=True))
        lengths = np.bincount(conversation[order], self._length.view[order]).astype(np.float32)
        return previous, following, conversation, lengths

    def _link_few(self, fresh: list[int]) -> tuple[Ints, Ints, Ints, Floats] | None:
        """Link new turns if each is the latest of its session; return None otherwise."""
        session, time, length = (self._columns["session"].view, self._columns["time"].view, self._length.view)
        more, links = len(self._live) - len(self._links.conversation), self._links
        previous, following, conversation = (
            np.concatenate((array, np.full(more, -1, np.int32)))
            for array in (links.previous, links.next, links.conversation)
        )
        lengths: list[float] = links.conversation_length.tolist()
        for row in fresh:
            last = self._last.get(int(session[row]), -1)
            if last >= 0 and time[row] < time[last]:
                return None
            if last < 0 or time[row] - time[last] > CONVERSATION_GAP_US:
                conversation[row] = len(lengths)
                lengths.append(0.0)
            else:
                previous[row], following[last], conversation[row] = last, row, conversation[last]
            lengths[conversation[row]] += float(length[row])
            self._last[int(session[row])] = row
        return previous, following, conversation, np.asarray(lengths, np.float32)

    def _credited_rows(self, rows: NDArray[np.int64]) -> Ints:
        """Return the row that each row is credited to; for an observation, the part of its turn that it quotes."""
        kind, credited_rows = self._columns["kind"].view, rows.astype(np.int32)
        attributed = np.flatnonzero(kind[rows] == OBSERVATION)
        if len(attributed):
            turns = np.flatnonzero(kind == TURN)
            wanted = self._columns["target"].view[rows[attributed]]
            at = find(self._columns["number"].view[turns], wanted)
            first = np.append(turns, -1)[at]  # -1: the turn is not here (yet)
            part = np.where(first >= 0, first + self._columns["part"].view[rows[attributed]], -1)
            part = np.minimum(part, len(kind) - 1)
            credited_rows[attributed] = np.where(self._columns["number"].view[part] == wanted, part, first)
        return credited_rows

    # ---- vectors

    def _add_vectors(self, changes: Changes) -> None:
        if not len(changes.vector_units):
            return
        rows = find(self._columns["seq"].view, changes.vector_units)
        known = rows >= 0
        vectors, scale = changes.vectors, changes.scale
        if not known.all():
            vectors, scale, rows = vectors[known], scale[known], rows[known]
        self._vectors.extend(vectors, scale)
        self._vector_row.extend(rows)

    def adopt(self, prepared: Snapshot, current: Snapshot) -> Snapshot:
        """Transfer postings and vectors of a prepared snapshot to the current one, which extends it."""
        self._vectors.adopt(prepared.vectors)
        return replace(current, postings=prepared.postings, vectors=self._vectors.matrix)

    def _statistics(self, keys: Bools) -> Statistics:
        conversations, roles = self._links.conversation_length, self._columns["role"].view
        return Statistics(
            units=int(np.count_nonzero(keys)),
            average_length=mean(self._length.view, keys),
            conversation_length=conversations,
            average_conversation=float(conversations.sum(dtype=np.float64)) / max(1, len(conversations)),
            speakers=self._speakers,
            has_roles=bool((keys & (roles == ASSISTANT_ROLE)).any()),
        )

    def _snapshot(self, changes: Changes, before: Snapshot | None) -> Snapshot:
        column = {name: growing.view for name, growing in self._columns.items()}
        kind, links, length = column["kind"], self._links, self._length.view
        spare = (kind == INSIGHT) & (column["flags"] & int(Flag.PRIMARY) == 0)
        current = self._live & (column["closed"] == NEVER_US) & (column["flags"] & int(Flag.PROPOSED) == 0) & ~spare
        keys = current & (kind != OBSERVATION)
        return Snapshot(
            revision=changes.revision,
            column=column,
            terms=self._terms.view,
            starts=self._starts.view,
            length=length,
            lean=self._lean.view,
            header=self._header.view,
            header_terms=self._header_terms.view,
            header_of=self._header_of.view,
            headers=len(self._headers),
            live=self._live,
            current=current,
            keys=keys,
            window=around(length, self._lean.view, links),
            links=links,
            statistics=self._statistics(keys),
            vectors=self._vectors.matrix,
            vector_row=self._vector_row.view,
            space=changes.space,
            aligned=np.array_equal(self._vector_row.view, np.arange(len(kind))),
            meaning=Meaning(self._packed.view, self._norm.view, self._coarse.view),
            expiring=bool((column["expires"] != NEVER_US).any()),
            has_observations=bool((kind == OBSERVATION).any()),
            postings=before.postings if before else None,
            asked=before.asked if before else [0],
        )


def mean(values: Floats, where: Bools) -> float:
    return float(values.sum(where=where, dtype=np.float64)) / max(1, int(np.count_nonzero(where)))


def around(length: Floats, lean: Floats, links: Links) -> Floats:
    """Return lengths of rows including their neighbours, weighted by ``lean``."""
    padded = np.append(length, np.float32(0))
    lengths: Floats = length + lean * (padded[links.previous[:-1]] + padded[links.next[:-1]])
    return lengths


def unique_values(values: NDArray[Any]) -> NDArray[Any]:
    """Return the sorted distinct values without ``np.unique``, which slowly imports ``numpy.ma``."""
    ascending = np.sort(values)
    distinct: NDArray[Any] = ascending[np.append(True, ascending[1:] != ascending[:-1])[: len(ascending)]]
    return distinct


def find(ascending: NDArray[Any], wanted: NDArray[Any]) -> NDArray[np.int64]:
    """Return the first position of each wanted value in an ascending array; -1 if missing."""
    if not len(ascending):
        return np.full(len(wanted), -1, np.int64)
    at = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    return np.where(ascending[at] == wanted, at, -1)


def spread(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Concatenate the indices of the slices ``starts[i] : starts[i] + lengths[i]``."""
    ends = np.cumsum(lengths)
    shift = np.repeat(starts - (ends - lengths), lengths)
    spread: NDArray[np.int64] = np.arange(ends[-1] if len(ends) else 0) + shift
    return spread
