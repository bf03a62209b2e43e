"""Search a snapshot: the best rows of each channel, with their columns for ranking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memscope.languages.flags import Flag
from memscope.records import Candidates, Interval, Search
from memscope.search import matching
from memscope.search.bm25 import rarity
from memscope.search.matching import (
    Matches,
    Visibility,
    attribute,
    frequencies,
    header_matrix,
    look,
    match,
    window_scores,
)
from memscope.search.snapshot import Bools, Floats, Ints, Snapshot
from memscope.search.units import USER_ROLE, microseconds

# bits of Candidates.channels
TEXT_CHANNEL, PERIOD_CHANNEL, USER_CHANNEL, VECTOR_CHANNEL, MEANING_CHANNEL, TOPIC_CHANNEL = 1, 2, 4, 8, 16, 32
INSTANCE_CHANNEL = 64
POOL_SIZES = {TEXT_CHANNEL: 150, PERIOD_CHANNEL: 75, USER_CHANNEL: 75, VECTOR_CHANNEL: 100, MEANING_CHANNEL: 100,
              TOPIC_CHANNEL: 75, INSTANCE_CHANNEL: 100}  # fmt: skip
COMPARED_ROWS_FACTOR = 4  # rows compared by full built-in vectors, per row of the channel
OWN_INSTANCE_BONUS = 1000  # larger than any word score: the user's own lines first
DURABLE_TOPIC_BONUS = 0.2  # added to a topic shared by a durable statement
HEADER_RARITY_SHARE = 0.3  # weight of a header term in the pool's score
DAY_US = 86_400_000_000
SHORT_INTERVAL_US = 8 * DAY_US  # shorter intervals are events
ROWS_PER_BLOCK, NO_SCORE = 64, -1e30
NO_COUNTS: Mapping[int, int] = {}


@dataclass(frozen=True, slots=True)
class RowValues:
    """Values of one search for all rows; None if the query does not need them."""

    matches: Matches
    frequency: Floats  # [terms] number of units with each term
    attributed: Ints  # rows that were credited with terms of an observation
    headers: Floats  # [headers, terms]
    period: Floats | None
    event: Floats | None  # match of the intervals mentioned by a row or a memory on it
    cosine: Floats | None
    topic: Floats | None
    instance: Floats | None  # above 0 if the row has one of the query's ``instances``


@np.errstate(invalid="ignore")  # OpenBLAS may report it for finite numbers (numpy #24067)
def search(
    index: Snapshot, query: Search, excluded: NDArray[np.int64], allowed: NDArray[np.int64] | None
) -> Candidates:
    """Search a snapshot.

    Args:
        index: The user's snapshot.
        query: The search.
        excluded: Numbers of turns to leave out.
        allowed: Numbers of records that match ``query.filter``; None without a filter.

    Returns:
        The best rows of each channel as columns.
    """
    visibility = look(index, query, excluded, allowed)
    terms = np.array(query.terms, np.uint32)
    matches, attributed = attribute(index, visibility, match(index, terms), len(terms))
    headers = header_matrix(index, terms)
    values = RowValues(
        matches=matches,
        frequency=frequencies(index, visibility, matches, headers),
        attributed=attributed,
        headers=headers,
        period=in_periods(index.column["time"], query.periods),
        event=events(index, visibility, query.periods),
        cosine=cosines(index, visibility, query),
        topic=shared_topics(index, visibility, query.topics),
        instance=with_instances(index, visibility, query) if query.instances else None,
    )
    weights = rarity(visibility.statistics.units, values.frequency)
    score = window_scores(index, visibility, matches, weights) + HEADER_RARITY_SHARE * (headers @ weights)[index.header]
    named = matching.naming(visibility, query, matches)
    rows, channels = pool(index, named, score, values, meaning_channel(index, named, query, values))
    return columns(index, visibility, query, values, rows, channels)


def in_periods(time: NDArray[np.int64], periods: tuple[Interval, ...]) -> Floats | None:
    """Score times: 1 inside a period, 0.5 up to 20 days after it (7 if it has up to 2 days); None without periods."""
    first, last = (int(time.min()), int(time.max())) if periods and len(time) else (0, 0)
    scores = None
    for period in periods:
        start, end = microseconds(period.start), microseconds(period.end)
        slack = end + (7 if end - start <= 2 * DAY_US else 20) * DAY_US
        if start <= last and slack > first:
            scores = np.zeros(len(time), np.float32) if scores is None else scores
            near = (time >= start) & (time < slack)
            np.maximum(scores, np.where(time < end, np.float32(1), np.float32(0.5)), out=scores, where=near)
    return scores


def cosines(index: Snapshot, visibility: Visibility, query: Search) -> Floats | None:
    """Return per row the best cosine of a turn and its observations; NaN without a vector in the query's space."""
    if query.vector is None or query.space is None or query.space != index.space or not len(index.vectors):
        return None
    cosine = index.vectors.cosines(np.asarray(query.vector, np.float32))
    if index.aligned and not index.has_observations:
        return cosine
    credited = np.full(index.rows, np.nan, np.float32)
    seen = visibility.scored[index.vector_row]
    credited_row = index.links.credited_row[index.vector_row[seen]]
    np.fmax.at(credited, credited_row[credited_row >= 0], cosine[seen][credited_row >= 0])
    return credited


def events(index: Snapshot, visibility: Visibility, periods: tuple[Interval, ...]) -> Floats | None:
    """Score mentioned intervals: 1 if inside a period, or short and overlapping it; 0.5 if long and overlapping."""
    if not periods:
        return None
    column, scores = index.column, np.zeros(index.rows, np.float32)
    for first, last in (("start", "end"), ("later_start", "later_end")):
        start, end = column[first], column[last]
        for period in periods:
            begin, until = microseconds(period.start), microseconds(period.end)
            meets = (end > 0) & (start < until) & (end > begin)
            short = (end - start <= SHORT_INTERVAL_US) | ((start >= begin) & (end <= until))
            np.maximum(scores, np.where(short, np.float32(1), np.float32(0.5)), out=scores, where=meets)
    return _credited(index, visibility, scores) if scores.any() else None


def _credited(index: Snapshot, visibility: Visibility, values: Floats) -> Floats:
    """Credit values to the rows they belong to, by maximum."""
    if not index.has_observations:
        return np.where(visibility.scored, values, np.float32(0))
    rows = np.flatnonzero(visibility.scored & (values > 0))
    credited_row = index.links.credited_row[rows]
    credited = np.zeros(index.rows, np.float32)
    np.maximum.at(credited, credited_row[credited_row >= 0], values[rows][credited_row >= 0])
    return credited


def shared_topics(
    index: Snapshot, visibility: Visibility, topics: tuple[int, ...], counts: Mapping[int, int] = NO_COUNTS
) -> Floats | None:
    """Return per row the rarity-weighted share of the query's topics in it or in a memory on it.

    ``counts``: rows of the whole scope with each topic, if the snapshot covers only a part.
    """
    total, shared = 0.0, np.zeros(index.rows, np.float32)
    for topic in topics:
        column = index.column["topics" if topic < 64 else "more_topics"]
        has = (column & np.uint64(1 << topic % 64)) != 0
        count = max(counts.get(topic, 0), int(np.count_nonzero(has & visibility.keys)))
        weight = float(np.log1p(visibility.statistics.units / (1 + count)))
        total += weight
        shared += np.float32(weight) * has
    return _credited(index, visibility, shared / np.float32(total)) if total and shared.any() else None


def with_instances(index: Snapshot, visibility: Visibility, query: Search) -> Floats:
    """Mark rows that have a term of the query's instances, themselves or in a memory on them."""
    instance = np.zeros(index.rows, np.float32)
    instance[match(index, np.array(query.instances, np.uint32)).row] = 1
    return _credited(index, visibility, instance)


def _uses_meaning(query: Search, values: RowValues) -> bool:
    """Return whether built-in vectors are needed: the query or a unit lacks a vector in the store's space."""
    return query.meaning is not None and (values.cosine is None or bool(np.isnan(values.cosine).any()))


def meaning_channel(
    index: Snapshot, visibility: Visibility, query: Search, values: RowValues
) -> NDArray[np.int64] | None:
    """Return the rows nearest by built-in vector, preselected by the leading PCA dimensions."""
    if query.meaning is None or not _uses_meaning(query, values):
        return None
    scored = visibility.scored & (index.meaning.norm > 0)
    near = index.meaning.coarse @ query.meaning[: index.meaning.coarse.shape[1]]
    rows = _best(scored, near, index.column["time"], COMPARED_ROWS_FACTOR * POOL_SIZES[MEANING_CHANNEL])
    cosine = index.meaning.cosines(rows, query.meaning)
    rows = rows[np.argsort(-cosine, kind="stable")]
    if not index.has_observations:
        return rows[visibility.keys[rows]][: POOL_SIZES[MEANING_CHANNEL]]
    credited_row = index.links.credited_row[rows]
    credited_row = credited_row[(credited_row >= 0) & visibility.keys[credited_row]]
    _, first = np.unique(credited_row, return_index=True)
    return credited_row[np.sort(first)][: POOL_SIZES[MEANING_CHANNEL]].astype(np.int64)


def meanings(
    index: Snapshot, visibility: Visibility, query: Search, values: RowValues, rows: NDArray[np.int64]
) -> Floats:
    """Return for these rows the best cosine of built-in vectors of a turn and its memories; NaN without one."""
    if query.meaning is None or not _uses_meaning(query, values):
        return np.full(len(rows), np.nan, np.float32)
    units = _crediting(index, visibility, rows)
    cosine = index.meaning.cosines(units, query.meaning)
    if units is not rows:
        best = np.full(index.rows + 1, np.nan, np.float32)
        np.fmax.at(best, index.links.credited_row[units], cosine)
        cosine = best[rows]
    if values.cosine is not None:
        cosine[~np.isnan(values.cosine[rows])] = np.nan
    return cosine.round(5)


def dated(index: Snapshot, visibility: Visibility, rows: NDArray[np.int64]) -> Bools:
    """Return for these rows whether the row or a memory on it mentions a day."""
    units = _crediting(index, visibility, rows)
    if units is rows:
        return index.column["end"][rows] > 0
    names_day = np.zeros(index.rows + 1, np.bool_)
    names_day[index.links.credited_row[units[index.column["end"][units] > 0]]] = True
    return names_day[rows]


def _crediting(index: Snapshot, visibility: Visibility, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return these rows and the memories on them."""
    if not index.has_observations:
        return rows
    wanted = np.zeros(index.rows + 1, np.bool_)  # the last entry is for row -1
    wanted[rows] = True
    return np.flatnonzero(visibility.scored & wanted[index.links.credited_row])


def greater(first: Floats | None, second: Floats | None) -> Floats | None:
    if first is None or second is None:
        return second if first is None else first
    return np.maximum(first, second)


def pool(
    index: Snapshot, visibility: Visibility, score: Floats, evidence: RowValues, meaning: NDArray[np.int64] | None
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return the best rows of all channels, and each row's channels as bits."""
    keys, time = visibility.keys, index.column["time"]
    matching = keys & (score > 0)
    channels = {TEXT_CHANNEL: _best(matching, score, time, POOL_SIZES[TEXT_CHANNEL])}
    timely = greater(evidence.period, evidence.event)
    if timely is not None:
        channels[PERIOD_CHANNEL] = _best(keys & (timely > 0), timely * 1000 + score, time, POOL_SIZES[PERIOD_CHANNEL])
    if visibility.statistics.has_roles:
        channels[USER_CHANNEL] = _best(
            matching & (index.column["role"] == USER_ROLE), score, time, POOL_SIZES[USER_CHANNEL]
        )
    if evidence.cosine is not None:
        channels[VECTOR_CHANNEL] = _best(
            keys & (evidence.cosine > -2), evidence.cosine, time, POOL_SIZES[VECTOR_CHANNEL]
        )
    if meaning is not None:
        channels[MEANING_CHANNEL] = meaning
    if evidence.topic is not None:
        durable = (index.column["flags"] & int(Flag.PERSONAL)) != 0
        topical = keys & (evidence.topic > 0)
        channels[TOPIC_CHANNEL] = _best(
            topical, evidence.topic * (1 + DURABLE_TOPIC_BONUS * durable), time, POOL_SIZES[TOPIC_CHANNEL]
        )
    if evidence.instance is not None:
        own_first = score + np.float32(OWN_INSTANCE_BONUS) * (index.column["role"] == USER_ROLE)
        channels[INSTANCE_CHANNEL] = _best(
            keys & (evidence.instance > 0), own_first, time, POOL_SIZES[INSTANCE_CHANNEL]
        )
    bits = np.zeros(index.rows, np.uint8)
    for channel, members in channels.items():
        bits[members] |= channel
    rows = np.flatnonzero(bits)
    return rows, bits[rows]


def _best(among: Bools, score: Floats, time: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return the ``most`` best rows, preferring later ones among equals."""
    if len(score) >= ROWS_PER_BLOCK * most:
        values = np.where(among, score, -np.inf)
        among = values >= max(_reached(values, most), NO_SCORE)
    rows = np.flatnonzero(among)
    if len(rows) <= most:
        return rows
    values = score[rows]
    cut = np.partition(values, -most)[-most]
    above, tied = rows[values > cut], rows[values == cut]
    tied = tied[np.lexsort((tied, time[tied]))][::-1]
    return np.concatenate((above, tied[: most - len(above)]))


def _reached(values: Floats, most: int) -> float:
    """Return a lower bound that at least ``most`` values reach, from block maxima instead of a full sort."""
    blocks = values[: len(values) // ROWS_PER_BLOCK * ROWS_PER_BLOCK].reshape(-1, ROWS_PER_BLOCK).max(axis=1)
    return float(np.partition(blocks, -most)[-most])


def columns(
    index: Snapshot,
    visibility: Visibility,
    query: Search,
    values: RowValues,
    rows: NDArray[np.int64],
    channels: NDArray[np.uint8],
) -> Candidates:
    column, links = index.column, index.links
    before, after = links.previous[rows], links.next[rows]
    places: NDArray[np.int64] = np.stack((rows, links.previous[before], before, after, links.next[after]))
    tf, around = term_frequencies(index.rows, values.matches, len(query.terms), places), places[1:].T
    conversation = links.conversation[rows]
    return Candidates(
        terms=query.terms,
        document_frequency=values.frequency,
        units=visibility.statistics.units,
        average_length=visibility.statistics.average_length,
        average_session_length=visibility.statistics.average_conversation,
        handle=column["target"][rows].tolist(),
        unit=column["seq"][rows],
        part=column["part"][rows],
        tf=tf[0],
        tf_neighbours=tf[1:].transpose(1, 0, 2),
        tf_header=values.headers[index.header[rows]],
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
        period=_column(values.period, rows, 0),
        event=_column(values.event, rows, 0),
        dated=dated(index, visibility, rows),
        topic=_column(values.topic, rows, 0),
        meaning=meanings(index, visibility, query, values, rows),
        cosine=_column(values.cosine, rows, np.nan).round(5),  # further digits depend on a vector's position
        attributed=np.isin(rows, values.attributed) if len(values.attributed) else np.zeros(len(rows), np.bool_),
        channels=channels,
    )


def _column(values: Floats | None, rows: NDArray[np.int64], otherwise: float) -> Floats:
    return np.full(len(rows), otherwise, np.float32) if values is None else values[rows]


def term_frequencies(rows: int, matches: Matches, terms: int, wanted: NDArray[np.int64]) -> Floats:
    """Return term frequencies as [*wanted, terms] for rows in any shape; zeros for row -1."""
    slot = np.full(rows + 1, -1, np.int32)  # the last entry is for row -1
    slot[wanted.ravel()] = np.arange(wanted.size)  # a row wanted twice gets its last position
    matrix = np.zeros((wanted.size, terms), np.float32)
    at = slot[matches.row]
    known = at >= 0
    matrix[at[known], matches.term[known]] = matches.tf[known]
    return matrix.take(slot[wanted], axis=0)
