"""One search in a snapshot: which rows may be seen, how well each fits in its window, and the pool of the best.

Sight ──▶ matches (postings, or a scan of what is not sorted) ──▶ window BM25 ──▶ legs ──▶ Candidates
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memscope.records import Candidates, Interval, Search
from memscope.stores.snapshot import (
    ASSISTANT,
    USER,
    Bools,
    Floats,
    Ints,
    Snapshot,
    Statistics,
    around,
    find,
    mean,
    spread,
)
from memscope.text import INSIGHT, K1, NEVER, OBSERVATION, TURN, B, Flag, microseconds, rarity, scope_key

TEXT, PERIOD, OF_USER, VECTOR = 1, 2, 4, 8  # Candidates.legs
POOL = {TEXT: 150, PERIOD: 75, OF_USER: 75, VECTOR: 100}
WINDOW = 2.9  # how many average lengths a unit with its neighbours has
HEADER = 0.3  # what a term of the header adds to the pool's score, of its rarity
DAY = 86_400_000_000
ALL_KINDS = {"turn", "observation", "insight"}


@dataclass(frozen=True, slots=True)
class Sight:
    """What a search may see: ``speaks`` whose words count, ``keys`` which turns and insights can be found."""

    speaks: Bools
    keys: Bools
    length: Floats  # 0 where a neighbour must not be seen
    window: Floats
    statistics: Statistics


@dataclass(frozen=True, slots=True)
class Matches:
    """Term frequencies of the query's terms, by term: those of term i are ``bounds[i]:bounds[i+1]``, rows distinct."""

    row: Ints
    term: Ints
    tf: Floats
    bounds: NDArray[np.int64]


def search(
    index: Snapshot, asked: Search, excluded: NDArray[np.int64], allowed: NDArray[np.int64] | None
) -> Candidates:
    """``excluded``: numbers of turns to leave out. ``allowed``: numbers of records that fit ``asked.filter``."""
    sight = look(index, asked, excluded, allowed)
    terms = np.array(asked.terms, np.uint32)
    matches, lent = lend(index, sight, match(index, terms), len(terms))
    frequency = np.diff(matches.bounds).astype(np.float32)
    weights = rarity(sight.statistics.units, frequency)
    headers = header_matrix(index, terms)
    score = window_scores(index, sight, matches, weights)
    period = in_periods(index.column["time"], asked.periods)
    cosine = cosines(index, sight, asked)
    rows, legs = pool(index, sight, score + HEADER * (headers @ weights)[index.header], period, cosine)
    return columns(index, sight, asked, matches, lent, frequency, headers, period, cosine, rows, legs)


# --------------------------------------------------------------------------------------------------------- visibility


def look(index: Snapshot, asked: Search, excluded: NDArray[np.int64], allowed: NDArray[np.int64] | None) -> Sight:
    scope = asked.scope
    narrowed = scope.agent is not None or scope.session is not None or asked.as_of is not None or len(excluded)
    if not (narrowed or index.expiring or allowed is not None or asked.kinds != ALL_KINDS):
        return Sight(index.current, index.keys, index.length, index.window, index.statistics)
    seen = _seen(index, asked, excluded)
    speaks = seen & _fits(index, asked, allowed)
    keys = seen & (index.column["kind"] != OBSERVATION)
    homes = index.links.home[speaks & (index.column["kind"] == OBSERVATION)]
    lent = np.zeros(index.rows, np.bool_)
    lent[homes[homes >= 0]] = True
    length = np.where(keys & (index.column["kind"] == TURN), index.length, np.float32(0))
    keys &= speaks | lent
    return Sight(speaks, keys, length, around(length, index.lean, index.links), _count(index, keys))


def _seen(index: Snapshot, asked: Search, excluded: NDArray[np.int64]) -> Bools:
    """What nothing hides: another agent or session, a later time, an end, the caller's own wish."""
    column, scope = index.column, asked.scope
    seen = index.live & (column["flags"] & int(Flag.PROPOSED) == 0)
    as_of = NEVER if asked.as_of is None else microseconds(asked.as_of)
    seen &= (column["time"] <= as_of) & ((column["closed"] > as_of) | (column["closed"] == NEVER))
    if scope.session is None:
        seen &= (column["kind"] != INSIGHT) | (column["flags"] & int(Flag.PRIMARY) != 0)
    else:
        seen &= column["session"] == np.uint64(scope_key(scope.session))
    if scope.agent is not None:
        seen &= column["agent"] == np.uint64(scope_key(scope.agent))
    if asked.now is not None:
        seen &= column["expires"] > microseconds(asked.now)
    return seen & ~np.isin(column["target"], excluded) if len(excluded) else seen


def _fits(index: Snapshot, asked: Search, allowed: NDArray[np.int64] | None) -> Bools:
    codes = [code for code, kind in enumerate(("turn", "observation", "insight")) if kind in asked.kinds]
    fits: Bools = np.isin(index.column["kind"], codes)
    return fits if allowed is None else fits & np.isin(index.column["number"], allowed)


def _count(index: Snapshot, keys: Bools) -> Statistics:
    turns = np.flatnonzero(keys & (index.column["kind"] == TURN))
    sittings = np.bincount(index.links.sitting[turns], index.length[turns], minlength=1)
    return Statistics(
        units=int(np.count_nonzero(keys)),
        average_length=mean(index.length, keys),
        sitting_length=sittings.astype(np.float32),
        average_sitting=float(sittings.sum()) / max(1, len(np.unique(index.links.sitting[turns]))),
        speakers=np.unique(index.column["speaker"][turns]),
        has_roles=bool((index.column["role"][turns] == ASSISTANT).any()),
    )


# ------------------------------------------------------------------------------------------------------------ matches


def match(index: Snapshot, terms: NDArray[np.uint32]) -> Matches:
    """Every row that has a term of the query, of whatever kind and whether or not it may be seen."""
    order = np.argsort(terms)
    row, term, tf = _scan(index, terms[order], order)
    if index.postings is not None:
        more = _sorted(index, terms)
        row, term, tf = (np.concatenate(pair) for pair in zip(more, (row, term, tf), strict=True))
        by_term = np.argsort(term, kind="stable")
        row, term, tf = row[by_term], term[by_term], tf[by_term]
    return Matches(row, term, tf, np.searchsorted(term, np.arange(len(terms) + 1)))


def _sorted(index: Snapshot, terms: NDArray[np.uint32]) -> tuple[Ints, Ints, Floats]:
    postings = index.postings
    assert postings is not None
    at = find(postings.vocabulary, terms)
    starts = np.where(at >= 0, postings.starts[at], 0)
    lengths = np.where(at >= 0, postings.starts[at + 1] - starts, 0)
    slices = [slice(start, start + length) for start, length in zip(starts.tolist(), lengths.tolist(), strict=True)]
    row = np.concatenate([postings.row[part] for part in slices] or [postings.row[:0]])
    tf = np.concatenate([postings.tf[part] for part in slices] or [postings.tf[:0]])
    return row, np.repeat(np.arange(len(terms), dtype=np.int32), lengths), tf.astype(np.float32)


def _scan(index: Snapshot, ascending: NDArray[np.uint32], order: NDArray[np.int64]) -> tuple[Ints, Ints, Floats]:
    """What the postings do not cover yet: a table of 16 bits first, then exactly."""
    first = index.postings.rows if index.postings else 0
    tail = index.terms[index.starts[first] :]
    table = np.zeros(1 << 16, np.bool_)
    table[ascending.astype(np.uint16)] = True
    at = np.flatnonzero(table[tail.astype(np.uint16)])
    term = find(ascending, tail[at])
    at, term = at[term >= 0], order[term[term >= 0]]
    row = np.searchsorted(index.starts, at + index.starts[first], side="right") - 1
    keys, counts = np.unique(term * index.rows + row, return_counts=True)
    rows = max(index.rows, 1)
    return (keys % rows).astype(np.int32), (keys // rows).astype(np.int32), counts.astype(np.float32)


def lend(index: Snapshot, sight: Sight, matches: Matches, terms: int) -> tuple[Matches, Ints]:
    """What speaks, each word at the turn it belongs to (the maximum), and the rows that were lent a word."""
    kept = sight.speaks[matches.row]
    row, term, tf = matches.row[kept], matches.term[kept], matches.tf[kept]
    lent = row[:0]
    if index.lending:
        borrowed = index.column["kind"][row] == OBSERVATION
        row = index.links.home[row]
        kept = (row >= 0) & sight.keys[row]
        row, term, tf, borrowed = row[kept], term[kept], tf[kept], borrowed[kept]
        lent = np.unique(row[borrowed])
        order = np.lexsort((-tf, row, term))
        row, term, tf = row[order], term[order], tf[order]
        first = np.ones(len(row), np.bool_)
        first[1:] = (row[1:] != row[:-1]) | (term[1:] != term[:-1])
        row, term, tf = row[first], term[first], tf[first]
    return Matches(row, term, tf, np.searchsorted(term, np.arange(terms + 1))), lent


# ------------------------------------------------------------------------------------------------------------- scores


def window_scores(index: Snapshot, sight: Sight, matches: Matches, weights: Floats) -> Floats:
    """BM25 of every row together with its neighbours; work in the order of the rows that match, not of all rows."""
    norm = (K1 * (1 - B) + K1 * B / (WINDOW * max(sight.statistics.average_length, 1e-9)) * sight.window).astype(
        np.float32
    )
    previous, following, lean = index.links.previous, index.links.next, index.lean
    score, tf = np.zeros(index.rows + 1, np.float32), np.zeros(index.rows + 1, np.float32)  # the last one for -1
    for start, stop, weight in zip(matches.bounds[:-1].tolist(), matches.bounds[1:].tolist(), weights, strict=True):
        row = matches.row[start:stop]
        tf[row] = matches.tf[start:stop]
        touched = np.concatenate((row, previous[row], following[row]))
        touched = touched[touched >= 0]
        near = tf[touched] + lean[touched] * (tf[previous[touched]] + tf[following[touched]])
        score[touched] = score[touched] + weight * (K1 + 1) * near / (
            near + norm[touched]
        )  # twice the same is the same
        tf[row] = 0
    return score[:-1]


def header_matrix(index: Snapshot, terms: NDArray[np.uint32]) -> Floats:
    """[headers, terms]: 1 where a distinct header has a term of the query."""
    order = np.argsort(terms)
    at = find(terms[order], index.header_terms)
    matrix = np.zeros((index.headers, len(terms)), np.float32)
    matrix[index.header_of[at >= 0], order[at[at >= 0]]] = 1
    return matrix


def in_periods(time: NDArray[np.int64], periods: tuple[Interval, ...]) -> Floats:
    """1 in a period, 0.5 up to 7 days after one of a day or two, up to 20 days after a longer one."""
    found = np.zeros(len(time), np.float32)
    if not periods or not len(time):
        return found
    first, last = int(time.min()), int(time.max())
    spans = [(microseconds(period.start), microseconds(period.end)) for period in periods]
    for start, end in spans:
        slack = end + (7 if end - start <= 2 * DAY else 20) * DAY
        if start <= last and slack > first:
            inside = (time >= start) & (time < slack)
            np.maximum(found, np.where(time < end, np.float32(1), np.float32(0.5)), out=found, where=inside)
    return found


def cosines(index: Snapshot, sight: Sight, asked: Search) -> Floats:
    """[rows], NaN where there is no vector of the query's space; the best of a turn and its observations."""
    found = np.full(index.rows, np.nan, np.float32)
    if asked.vector is None or asked.space is None or asked.space != index.space or not len(index.vectors):
        return found
    vector = np.asarray(asked.vector, np.float32)
    cosine = np.round(index.vectors @ (vector / max(float(np.linalg.norm(vector)), 1e-12)), 5)
    if not index.lending:
        found[index.vector_row] = cosine
    else:
        seen = sight.speaks[index.vector_row]
        home = index.links.home[index.vector_row[seen]]
        np.fmax.at(found, home[home >= 0], cosine[seen][home >= 0])
    return found


# --------------------------------------------------------------------------------------------------------------- pool


def pool(
    index: Snapshot, sight: Sight, score: Floats, period: Floats, cosine: Floats
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """The best rows of each leg, and the legs of each row."""
    keys, time = sight.keys, index.column["time"]
    found = keys & (score > 0)
    legs = {TEXT: _best(found, score, time, POOL[TEXT])}
    if period.any():
        legs[PERIOD] = _best(keys & (period > 0), period * 1000 + score, time, POOL[PERIOD])
    if sight.statistics.has_roles:
        legs[OF_USER] = _best(found & (index.column["role"] == USER), score, time, POOL[OF_USER])
    if len(index.vectors) and not np.isnan(cosine).all():
        legs[VECTOR] = _best(keys & ~np.isnan(cosine), cosine, time, POOL[VECTOR])
    rows = np.unique(np.concatenate(list(legs.values())))
    bits = np.zeros(len(rows), np.uint8)
    for leg, members in legs.items():
        bits[np.searchsorted(rows, members)] |= leg
    return rows, bits


def _best(among: Bools, score: Floats, time: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """The ``most`` best rows; of equals the latest."""
    rows = np.flatnonzero(among)
    if len(rows) <= most:
        return rows
    values = score[rows]
    cut = np.partition(values, -most)[-most]
    above, tied = rows[values > cut], rows[values == cut]
    tied = tied[np.lexsort((tied, time[tied]))][::-1]
    return np.concatenate((above, tied[: most - len(above)]))


def columns(
    index: Snapshot,
    sight: Sight,
    asked: Search,
    matches: Matches,
    lent: Ints,
    frequency: Floats,
    headers: Floats,
    period: Floats,
    cosine: Floats,
    rows: NDArray[np.int64],
    legs: NDArray[np.uint8],
) -> Candidates:
    column, links = index.column, index.links
    before, after = links.previous[rows], links.next[rows]
    around = np.stack((links.previous[before], before, after, links.next[after]), axis=1)
    tf = _frequencies(index.rows, matches, len(asked.terms))
    own = tf(rows)
    length, flags = np.append(sight.length, np.float32(0)), np.append(column["flags"], np.uint16(0))
    visible = np.append(sight.keys, False)
    sitting = links.sitting[rows]
    return Candidates(
        terms=asked.terms,
        document_frequency=frequency,
        units=sight.statistics.units,
        average_length=sight.statistics.average_length,
        average_session_length=sight.statistics.average_sitting,
        handle=column["target"][rows].tolist(),
        unit=column["seq"][rows],
        part=column["part"][rows],
        tf=own,
        tf_neighbours=tf(around),
        tf_header=headers[index.header[rows]],
        length=index.length[rows],
        length_neighbours=length[around],
        session=np.where(sitting >= 0, sitting, -1 - rows),
        session_length=np.where(sitting >= 0, sight.statistics.sitting_length[sitting], index.length[rows]),
        pairs=_pairs(index, asked, rows, own),
        flags=column["flags"][rows],
        flags_before=np.where(visible[before], flags[before], np.uint16(0)),
        kind=column["kind"][rows],
        role=column["role"][rows],
        speaker=column["speaker"][rows],
        speakers=sight.statistics.speakers,
        has_roles=sight.statistics.has_roles,
        time=column["time"][rows],
        period=period[rows],
        cosine=cosine[rows],
        lent=np.isin(rows, lent),
        legs=legs,
    )


def _frequencies(rows: int, matches: Matches, terms: int) -> Callable[[NDArray[np.int64]], Floats]:
    """Looks up term frequencies of rows (an array of any shape, -1 for none)."""

    def tf(wanted: NDArray[np.int64]) -> Floats:
        distinct = np.unique(wanted)
        slot = np.full(rows + 1, -1, np.int32)  # the last one for -1
        slot[distinct] = np.arange(len(distinct))
        matrix = np.zeros((len(distinct), terms), np.float32)
        at = slot[matches.row]
        matrix[at[at >= 0], matches.term[at >= 0]] = matches.tf[at >= 0]
        return matrix[slot[wanted]]

    return tf


def _pairs(index: Snapshot, asked: Search, rows: NDArray[np.int64], tf: Floats) -> Floats:
    """How many distinct pairs of the query stand side by side in each row."""
    found = np.zeros(len(rows), np.float32)
    if not asked.pairs:
        return found
    left, right = (np.array(side) for side in zip(*asked.pairs, strict=True))
    among = np.flatnonzero(((tf[:, left] > 0) & (tf[:, right] > 0)).any(axis=1))
    lengths = (index.starts[rows[among] + 1] - index.starts[rows[among]]).astype(np.int64)
    terms = index.terms[spread(index.starts[rows[among]], lengths)].astype(np.uint64)
    owner = np.repeat(among, lengths)
    both = (terms[:-1] << np.uint64(32)) | terms[1:]
    words = np.array(asked.terms, np.uint64)
    wanted = np.unique((words[left] << np.uint64(32)) | words[right])
    which = find(wanted, both)
    kept = (which >= 0) & (owner[:-1] == owner[1:])
    distinct = np.unique(owner[:-1][kept] * len(wanted) + which[kept])
    np.add.at(found, distinct // len(wanted), 1)
    return found
