"""One search in a snapshot: the best rows of each leg, and the columns that the ranking reads of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memscope.records import Candidates, Interval, Search
from memscope.search.bm25 import rarity
from memscope.search.matching import Matches, Visibility, frequencies, header_matrix, lend, look, match, window_scores
from memscope.search.snapshot import USER, Bools, Floats, Ints, Snapshot
from memscope.text.units import microseconds

TEXT, PERIOD, OF_USER, VECTOR = 1, 2, 4, 8  # Candidates.legs
POOL = {TEXT: 150, PERIOD: 75, OF_USER: 75, VECTOR: 100}
HEADER = 0.3  # what a term of the header adds to the pool's score, of its rarity
DAY = 86_400_000_000
BLOCK, LEAST = 64, -1e30


@dataclass(frozen=True, slots=True)
class Found:
    """What a search worked out about all rows; None where nothing of the kind was asked for."""

    matches: Matches
    frequency: Floats  # [terms] units that have each
    lent: Ints  # the rows that an observation lent a word
    headers: Floats  # [headers, terms]
    period: Floats | None
    cosine: Floats | None


@np.errstate(invalid="ignore")  # OpenBLAS may claim it of finite numbers (numpy #24067)
def search(
    index: Snapshot, asked: Search, excluded: NDArray[np.int64], allowed: NDArray[np.int64] | None
) -> Candidates:
    """``excluded``: numbers of turns to leave out. ``allowed``: numbers of records that fit ``asked.filter``."""
    sight = look(index, asked, excluded, allowed)
    terms = np.array(asked.terms, np.uint32)
    matches, lent = lend(index, sight, match(index, terms), len(terms))
    headers = header_matrix(index, terms)
    found = Found(
        matches=matches,
        frequency=frequencies(index, sight, matches, headers),
        lent=lent,
        headers=headers,
        period=in_periods(index.column["time"], asked.periods),
        cosine=cosines(index, sight, asked),
    )
    weights = rarity(sight.statistics.units, found.frequency)
    score = window_scores(index, sight, matches, weights) + HEADER * (headers @ weights)[index.header]
    rows, legs = pool(index, sight, score, found.period, found.cosine)
    return columns(index, sight, asked, found, rows, legs)


def in_periods(time: NDArray[np.int64], periods: tuple[Interval, ...]) -> Floats | None:
    """1 in a period, 0.5 up to 7 days after one of a day or two, up to 20 days after a longer one; None for nothing."""
    first, last = (int(time.min()), int(time.max())) if periods and len(time) else (0, 0)
    found = None
    for period in periods:
        start, end = microseconds(period.start), microseconds(period.end)
        slack = end + (7 if end - start <= 2 * DAY else 20) * DAY
        if start <= last and slack > first:
            found = np.zeros(len(time), np.float32) if found is None else found
            near = (time >= start) & (time < slack)
            np.maximum(found, np.where(time < end, np.float32(1), np.float32(0.5)), out=found, where=near)
    return found


def cosines(index: Snapshot, sight: Visibility, asked: Search) -> Floats | None:
    """[rows], NaN where there is no vector of the query's space; the best of a turn and its observations."""
    if asked.vector is None or asked.space is None or asked.space != index.space or not len(index.vectors):
        return None
    cosine: Floats = index.vectors @ np.asarray(asked.vector, np.float32)  # both are of length 1
    if index.aligned and not index.lending:
        return cosine
    found = np.full(index.rows, np.nan, np.float32)
    seen = sight.speaks[index.vector_row]
    home = index.links.home[index.vector_row[seen]]
    np.fmax.at(found, home[home >= 0], cosine[seen][home >= 0])
    return found


def pool(
    index: Snapshot, sight: Visibility, score: Floats, period: Floats | None, cosine: Floats | None
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """The best rows of each leg, and the legs of each row."""
    keys, time = sight.keys, index.column["time"]
    found = keys & (score > 0)
    legs = {TEXT: _best(found, score, time, POOL[TEXT])}
    if period is not None:
        legs[PERIOD] = _best(keys & (period > 0), period * 1000 + score, time, POOL[PERIOD])
    if sight.statistics.has_roles:
        legs[OF_USER] = _best(found & (index.column["role"] == USER), score, time, POOL[OF_USER])
    if cosine is not None:
        legs[VECTOR] = _best(keys & (cosine > -2), cosine, time, POOL[VECTOR])
    bits = np.zeros(index.rows, np.uint8)
    for leg, members in legs.items():
        bits[members] |= leg
    rows = np.flatnonzero(bits)
    return rows, bits[rows]


def _best(among: Bools, score: Floats, time: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """The ``most`` best rows; of equals the latest."""
    values = np.where(among, score, -np.inf)
    rows = np.flatnonzero(values >= max(_reached(values, most), LEAST))
    if len(rows) <= most:
        return rows
    values = values[rows]
    cut = np.partition(values, -most)[-most]
    above, tied = rows[values > cut], rows[values == cut]
    tied = tied[np.lexsort((tied, time[tied]))][::-1]
    return np.concatenate((above, tied[: most - len(above)]))


def _reached(values: Floats, most: int) -> float:
    """Something that at least ``most`` values reach, found without sorting them all: by the best of each block."""
    if len(values) < BLOCK * most:
        return LEAST
    blocks = values[: len(values) // BLOCK * BLOCK].reshape(-1, BLOCK).max(axis=1)
    return float(np.partition(blocks, -most)[-most])


def columns(
    index: Snapshot, sight: Visibility, asked: Search, found: Found, rows: NDArray[np.int64], legs: NDArray[np.uint8]
) -> Candidates:
    column, links = index.column, index.links
    before, after = links.previous[rows], links.next[rows]
    places: NDArray[np.int64] = np.stack((rows, links.previous[before], before, after, links.next[after]), axis=1)
    tf, around = term_frequencies(index.rows, found.matches, len(asked.terms), places), places[:, 1:]
    sitting = links.sitting[rows]
    return Candidates(
        terms=asked.terms,
        document_frequency=found.frequency,
        units=sight.statistics.units,
        average_length=sight.statistics.average_length,
        average_session_length=sight.statistics.average_sitting,
        handle=column["target"][rows].tolist(),
        unit=column["seq"][rows],
        part=column["part"][rows],
        tf=tf[:, 0],
        tf_neighbours=tf[:, 1:],
        tf_header=found.headers[index.header[rows]],
        length=index.length[rows],
        length_neighbours=np.where(around >= 0, sight.length[around], np.float32(0)),
        session=np.where(sitting >= 0, sitting, -1 - rows),
        session_length=np.where(sitting >= 0, sight.statistics.sitting_length[sitting], index.length[rows]),
        flags=column["flags"][rows],
        flags_before=np.where((before >= 0) & sight.keys[before], column["flags"][before], np.uint16(0)),
        kind=column["kind"][rows],
        role=column["role"][rows],
        speaker=column["speaker"][rows],
        speakers=sight.statistics.speakers,
        has_roles=sight.statistics.has_roles,
        time=column["time"][rows],
        period=_taken(found.period, rows, 0),
        cosine=np.round(_taken(found.cosine, rows, np.nan), 5),  # further digits depend on where a vector stands
        lent=np.isin(rows, found.lent),
        legs=legs,
    )


def _taken(values: Floats | None, rows: NDArray[np.int64], otherwise: float) -> Floats:
    return np.full(len(rows), otherwise, np.float32) if values is None else values[rows]


def term_frequencies(rows: int, matches: Matches, terms: int, wanted: NDArray[np.int64]) -> Floats:
    """[*wanted, terms] of wanted rows, an array of any shape; zeros for row -1."""
    slot = np.full(rows + 1, -1, np.int32)  # the last one for -1
    slot[wanted.ravel()] = np.arange(wanted.size)  # of a row that is wanted twice, the last place
    matrix = np.zeros((wanted.size, terms), np.float32)
    at = slot[matches.row]
    matrix[at[at >= 0], matches.term[at >= 0]] = matches.tf[at >= 0]
    return matrix[slot[wanted]]
