"""One search in a snapshot: the best rows of each leg, and their columns for the ranking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memscope.records import Candidates, Interval, Search
from memscope.search import matching
from memscope.search.bm25 import rarity
from memscope.search.matching import Matches, Visibility, credit, frequencies, header_matrix, look, match, window_scores
from memscope.search.snapshot import USER, Bools, Floats, Ints, Snapshot
from memscope.text.flags import Flag
from memscope.text.units import microseconds

TEXT, PERIOD, OF_USER, VECTOR, MEANING, TOPIC = 1, 2, 4, 8, 16, 32  # Candidates.legs
POOL = {TEXT: 150, PERIOD: 75, OF_USER: 75, VECTOR: 100, MEANING: 100, TOPIC: 75}
COMPARED = 4  # times as many rows are compared by whole built-in vectors as the leg takes
LASTING = 0.2  # a topic shared by a lasting statement counts so much more
HEADER = 0.3  # share of its rarity that a header's term adds to the pool's score
DAY = 86_400_000_000
SHORT = 8 * DAY  # an interval of up to a week is that of an event
BLOCK, LEAST = 64, -1e30
NO_COUNTS: Mapping[int, int] = {}


@dataclass(frozen=True, slots=True)
class Found:
    """Values of one search over all rows; None if the query did not need them."""

    matches: Matches
    frequency: Floats  # [terms] units that have each
    credited: Ints  # rows to which an observation credited a term
    headers: Floats  # [headers, terms]
    period: Floats | None
    event: Floats | None  # the periods that the row, or a memory on it, is about
    cosine: Floats | None
    topic: Floats | None


@np.errstate(invalid="ignore")  # OpenBLAS may claim it of finite numbers (numpy #24067)
def search(
    index: Snapshot, asked: Search, excluded: NDArray[np.int64], allowed: NDArray[np.int64] | None
) -> Candidates:
    """``excluded``: numbers of turns to leave out. ``allowed``: numbers of records that fit ``asked.filter``."""
    visibility = look(index, asked, excluded, allowed)
    terms = np.array(asked.terms, np.uint32)
    matches, credited = credit(index, visibility, match(index, terms), len(terms))
    headers = header_matrix(index, terms)
    found = Found(
        matches=matches,
        frequency=frequencies(index, visibility, matches, headers),
        credited=credited,
        headers=headers,
        period=in_periods(index.column["time"], asked.periods),
        event=events(index, visibility, asked.periods),
        cosine=cosines(index, visibility, asked),
        topic=shared_topics(index, visibility, asked.topics),
    )
    weights = rarity(visibility.statistics.units, found.frequency)
    score = window_scores(index, visibility, matches, weights) + HEADER * (headers @ weights)[index.header]
    named = matching.naming(visibility, asked, matches)
    rows, legs = pool(index, named, score, found, meaning_leg(index, named, asked, found))
    return columns(index, visibility, asked, found, rows, legs)


def in_periods(time: NDArray[np.int64], periods: tuple[Interval, ...]) -> Floats | None:
    """1 in a period, 0.5 up to 7 days after one of a day or two, up to 20 after a longer one; None without periods."""
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


def cosines(index: Snapshot, visibility: Visibility, asked: Search) -> Floats | None:
    """[rows], NaN where there is no vector of the query's space; the best of a turn and its observations."""
    if asked.vector is None or asked.space is None or asked.space != index.space or not len(index.vectors):
        return None
    cosine = index.vectors.cosines(np.asarray(asked.vector, np.float32))
    if index.aligned and not index.has_observations:
        return cosine
    found = np.full(index.rows, np.nan, np.float32)
    seen = visibility.scored[index.vector_row]
    credited_row = index.links.credited_row[index.vector_row[seen]]
    np.fmax.at(found, credited_row[credited_row >= 0], cosine[seen][credited_row >= 0])
    return found


def events(index: Snapshot, visibility: Visibility, periods: tuple[Interval, ...]) -> Floats | None:
    """1 where a named or remembered interval lies in a period or is short and meets it, 0.5 where a longer one does."""
    if not periods:
        return None
    column, found = index.column, np.zeros(index.rows, np.float32)
    for first, last in (("start", "end"), ("later_start", "later_end")):
        start, end = column[first], column[last]
        for period in periods:
            begin, until = microseconds(period.start), microseconds(period.end)
            meets = (end > 0) & (start < until) & (end > begin)
            short = (end - start <= SHORT) | ((start >= begin) & (end <= until))
            np.maximum(found, np.where(short, np.float32(1), np.float32(0.5)), out=found, where=meets)
    return _credited(index, visibility, found) if found.any() else None


def _credited(index: Snapshot, visibility: Visibility, values: Floats) -> Floats:
    """Returns values credited to the row each belongs to (the maximum)."""
    if not index.has_observations:
        return np.where(visibility.scored, values, np.float32(0))
    rows = np.flatnonzero(visibility.scored & (values > 0))
    credited_row = index.links.credited_row[rows]
    found = np.zeros(index.rows, np.float32)
    np.maximum.at(found, credited_row[credited_row >= 0], values[rows][credited_row >= 0])
    return found


def shared_topics(
    index: Snapshot, visibility: Visibility, asked: tuple[int, ...], counts: Mapping[int, int] = NO_COUNTS
) -> Floats | None:
    """[rows] rarity of the query's topics that a row, or a memory on it, has; 1 for all of them.

    ``counts``: rows of the whole scope with each topic, where the snapshot holds only a part of it.
    """
    total, shared = 0.0, np.zeros(index.rows, np.float32)
    for topic in asked:
        column = index.column["topics" if topic < 64 else "more_topics"]
        has = (column & np.uint64(1 << topic % 64)) != 0
        count = max(counts.get(topic, 0), int(np.count_nonzero(has & visibility.keys)))
        weight = float(np.log1p(visibility.statistics.units / (1 + count)))
        total += weight
        shared += np.float32(weight) * has
    return _credited(index, visibility, shared / np.float32(total)) if total and shared.any() else None


def _uses_meaning(index: Snapshot, asked: Search, found: Found) -> bool:
    """Returns whether built-in vectors are needed: the query, or a unit, has no vector of the store's space."""
    return asked.meaning is not None and (found.cosine is None or bool(np.isnan(found.cosine).any()))


def meaning_leg(index: Snapshot, visibility: Visibility, asked: Search, found: Found) -> NDArray[np.int64] | None:
    """Returns the rows nearest by built-in vector: preselected by the leading dimensions, then compared by all."""
    if asked.meaning is None or not _uses_meaning(index, asked, found):
        return None
    scored = visibility.scored & (index.meaning.norm > 0)
    near = index.meaning.coarse @ asked.meaning[: index.meaning.coarse.shape[1]]
    rows = _best(scored, near, index.column["time"], COMPARED * POOL[MEANING])
    cosine = index.meaning.cosines(rows, asked.meaning)
    rows = rows[np.argsort(-cosine, kind="stable")]
    if not index.has_observations:
        return rows[visibility.keys[rows]][: POOL[MEANING]]
    credited_row = index.links.credited_row[rows]
    credited_row = credited_row[(credited_row >= 0) & visibility.keys[credited_row]]
    _, first = np.unique(credited_row, return_index=True)
    return credited_row[np.sort(first)][: POOL[MEANING]].astype(np.int64)


def meanings(index: Snapshot, visibility: Visibility, asked: Search, found: Found, rows: NDArray[np.int64]) -> Floats:
    """[len(rows)] cosine of built-in vectors, the best of a turn and its memories; NaN for none."""
    if asked.meaning is None or not _uses_meaning(index, asked, found):
        return np.full(len(rows), np.nan, np.float32)
    units = _crediting(index, visibility, rows)
    cosine = index.meaning.cosines(units, asked.meaning)
    if units is not rows:
        best = np.full(index.rows + 1, np.nan, np.float32)
        np.fmax.at(best, index.links.credited_row[units], cosine)
        cosine = best[rows]
    if found.cosine is not None:
        cosine[~np.isnan(found.cosine[rows])] = np.nan
    return cosine.round(5)


def dated(index: Snapshot, visibility: Visibility, rows: NDArray[np.int64]) -> Bools:
    """[len(rows)] true where the row, or a memory on it, names a day."""
    units = _crediting(index, visibility, rows)
    if units is rows:
        return index.column["end"][rows] > 0
    found = np.zeros(index.rows + 1, np.bool_)
    found[index.links.credited_row[units[index.column["end"][units] > 0]]] = True
    return found[rows]


def _crediting(index: Snapshot, visibility: Visibility, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the rows whose values count for these rows: themselves, and the memories on them."""
    if not index.has_observations:
        return rows
    wanted = np.zeros(index.rows + 1, np.bool_)  # the last for -1
    wanted[rows] = True
    return np.flatnonzero(visibility.scored & wanted[index.links.credited_row])


def greater(one: Floats | None, other: Floats | None) -> Floats | None:
    if one is None or other is None:
        return other if one is None else one
    return np.maximum(one, other)


def pool(
    index: Snapshot, visibility: Visibility, score: Floats, evidence: Found, meaning: NDArray[np.int64] | None
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Returns the best rows of each leg, and the legs of each row."""
    keys, time = visibility.keys, index.column["time"]
    found = keys & (score > 0)
    legs = {TEXT: _best(found, score, time, POOL[TEXT])}
    timely = greater(evidence.period, evidence.event)
    if timely is not None:
        legs[PERIOD] = _best(keys & (timely > 0), timely * 1000 + score, time, POOL[PERIOD])
    if visibility.statistics.has_roles:
        legs[OF_USER] = _best(found & (index.column["role"] == USER), score, time, POOL[OF_USER])
    if evidence.cosine is not None:
        legs[VECTOR] = _best(keys & (evidence.cosine > -2), evidence.cosine, time, POOL[VECTOR])
    if meaning is not None:
        legs[MEANING] = meaning
    if evidence.topic is not None:
        lasting = (index.column["flags"] & int(Flag.PERSONAL)) != 0
        topical = keys & (evidence.topic > 0)
        legs[TOPIC] = _best(topical, evidence.topic * (1 + LASTING * lasting), time, POOL[TOPIC])
    bits = np.zeros(index.rows, np.uint8)
    for leg, members in legs.items():
        bits[members] |= leg
    rows = np.flatnonzero(bits)
    return rows, bits[rows]


def _best(among: Bools, score: Floats, time: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Returns the ``most`` best rows; of equals the latest."""
    if len(score) >= BLOCK * most:
        values = np.where(among, score, -np.inf)
        among = values >= max(_reached(values, most), LEAST)
    rows = np.flatnonzero(among)
    if len(rows) <= most:
        return rows
    values = score[rows]
    cut = np.partition(values, -most)[-most]
    above, tied = rows[values > cut], rows[values == cut]
    tied = tied[np.lexsort((tied, time[tied]))][::-1]
    return np.concatenate((above, tied[: most - len(above)]))


def _reached(values: Floats, most: int) -> float:
    """Returns a lower bound that at least ``most`` values reach, from the best of each block, without a full sort."""
    blocks = values[: len(values) // BLOCK * BLOCK].reshape(-1, BLOCK).max(axis=1)
    return float(np.partition(blocks, -most)[-most])


def columns(
    index: Snapshot,
    visibility: Visibility,
    asked: Search,
    found: Found,
    rows: NDArray[np.int64],
    legs: NDArray[np.uint8],
) -> Candidates:
    column, links = index.column, index.links
    before, after = links.previous[rows], links.next[rows]
    places: NDArray[np.int64] = np.stack((rows, links.previous[before], before, after, links.next[after]))
    tf, around = term_frequencies(index.rows, found.matches, len(asked.terms), places), places[1:].T
    conversation = links.conversation[rows]
    return Candidates(
        terms=asked.terms,
        document_frequency=found.frequency,
        units=visibility.statistics.units,
        average_length=visibility.statistics.average_length,
        average_session_length=visibility.statistics.average_conversation,
        handle=column["target"][rows].tolist(),
        unit=column["seq"][rows],
        part=column["part"][rows],
        tf=tf[0],
        tf_neighbours=tf[1:].transpose(1, 0, 2),
        tf_header=found.headers[index.header[rows]],
        length=index.length[rows],
        length_neighbours=np.where(around >= 0, visibility.length[around], np.float32(0)),
        session=np.where(conversation >= 0, conversation, -1 - rows),
        session_length=np.where(
            conversation >= 0, visibility.statistics.conversation_length[conversation], index.length[rows]
        ),
        flags=column["flags"][rows],
        flags_before=np.where((before >= 0) & visibility.keys[before], column["flags"][before], np.uint16(0)),
        kind=column["kind"][rows],
        role=column["role"][rows],
        speaker=column["speaker"][rows],
        speakers=visibility.statistics.speakers,
        has_roles=visibility.statistics.has_roles,
        time=column["time"][rows],
        period=_taken(found.period, rows, 0),
        event=_taken(found.event, rows, 0),
        dated=dated(index, visibility, rows),
        topic=_taken(found.topic, rows, 0),
        meaning=meanings(index, visibility, asked, found, rows),
        cosine=_taken(found.cosine, rows, np.nan).round(5),  # further digits depend on where a vector stands
        credited=np.isin(rows, found.credited) if len(found.credited) else np.zeros(len(rows), np.bool_),
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
    known = at >= 0
    matrix[at[known], matches.term[known]] = matches.tf[known]
    return matrix.take(slot[wanted], axis=0)
