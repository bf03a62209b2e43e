"""Visible rows of a snapshot, the query's terms in them, and the score of each window.

Visibility ──▶ match (postings, or a scan of the unsorted rows) ──▶ attribute ──▶ window BM25
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from memscope.languages.flags import Flag
from memscope.records import Search
from memscope.search.bm25 import BM25_B, BM25_K1
from memscope.search.snapshot import (
    Bools,
    Floats,
    Ints,
    Postings,
    Snapshot,
    Statistics,
    around,
    find,
    mean,
    unique_values,
)
from memscope.search.units import ASSISTANT_ROLE, INSIGHT, NEVER_US, OBSERVATION, TURN, microseconds, scope_key

WINDOW_LENGTH = 2.9  # length of a unit with its neighbours, in average unit lengths
MAX_CELLS_AT_ONCE = 1 << 18  # terms x rows scored at once
EVERY_KIND = {"turn", "observation", "insight"}


@dataclass(frozen=True, slots=True)
class Visibility:
    """Rows that a search sees: ``scored`` count with their terms; ``keys`` are the turns and insights it can return."""

    scored: Bools
    keys: Bools
    length: Floats  # 0 for invisible neighbours
    window: Floats
    statistics: Statistics


@dataclass(frozen=True, slots=True)
class Matches:
    """Frequencies of the query's terms. Those of term i are at ``bounds[i]:bounds[i+1]``, one per row."""

    row: Ints
    term: Ints
    tf: Floats
    bounds: NDArray[np.int64]


# ---------------------------------------------------------------------------------------------------------- visibility


def look(index: Snapshot, query: Search, excluded: NDArray[np.int64], allowed: NDArray[np.int64] | None) -> Visibility:
    scope = query.scope
    narrowed = scope.agent is not None or scope.session is not None or query.as_of is not None or len(excluded)
    if not (narrowed or index.expiring or allowed is not None or query.kinds != EVERY_KIND):
        return Visibility(index.current, index.keys, index.length, index.window, index.statistics)
    seen = _seen(index, query, excluded)
    scored = seen & _fits(index, query, allowed)
    keys = seen & (index.column["kind"] != OBSERVATION)
    credited_rows = index.links.credited_row[scored & (index.column["kind"] == OBSERVATION)]
    attributed = np.zeros(index.rows, np.bool_)
    attributed[credited_rows[credited_rows >= 0]] = True
    length = np.where(keys & (index.column["kind"] == TURN), index.length, np.float32(0))
    keys &= scored | attributed
    return Visibility(scored, keys, length, around(length, index.lean, index.links), _count(index, keys))


def _seen(index: Snapshot, query: Search, excluded: NDArray[np.int64]) -> Bools:
    """Return the rows visible under agent, session, time, expiry and the caller's exclusions."""
    column, scope = index.column, query.scope
    seen: Bools = index.live & (column["flags"] & int(Flag.PROPOSED) == 0)
    as_of = NEVER_US if query.as_of is None else microseconds(query.as_of)
    seen &= (column["time"] <= as_of) & ((column["closed"] > as_of) | (column["closed"] == NEVER_US))
    if scope.session is None:
        seen &= (column["kind"] != INSIGHT) | (column["flags"] & int(Flag.PRIMARY) != 0)
    else:
        seen &= column["session"] == np.uint64(scope_key(scope.session))
    if scope.agent is not None:
        seen &= column["agent"] == np.uint64(scope_key(scope.agent))
    if query.now is not None:
        seen &= column["expires"] > microseconds(query.now)
    if len(excluded):
        seen &= ~np.isin(column["target"], excluded)
    return seen


def _fits(index: Snapshot, query: Search, allowed: NDArray[np.int64] | None) -> Bools:
    codes = [code for code, kind in enumerate(("turn", "observation", "insight")) if kind in query.kinds]
    fits: Bools = np.isin(index.column["kind"], codes)
    return fits if allowed is None else fits & np.isin(index.column["number"], allowed)


def _count(index: Snapshot, keys: Bools) -> Statistics:
    turns = np.flatnonzero(keys & (index.column["kind"] == TURN))
    conversations = np.bincount(index.links.conversation[turns], index.length[turns], minlength=1)
    return Statistics(
        units=int(np.count_nonzero(keys)),
        average_length=mean(index.length, keys),
        conversation_length=conversations.astype(np.float32),
        average_conversation=float(conversations.sum()) / max(1, len(unique_values(index.links.conversation[turns]))),
        speakers=unique_values(index.column["speaker"][turns]),
        has_roles=bool((index.column["role"][turns] == ASSISTANT_ROLE).any()),
    )


# --------------------------------------------------------------------------------------------------------------- words


def match(index: Snapshot, terms: NDArray[np.uint32]) -> Matches:
    """Return all rows with a query term, of any kind, visible or not."""
    parts = [_sorted(index.postings, terms)] if index.postings is not None else []
    parts += [_scan(index, terms)] if index.unsorted or not parts else []
    row, term, tf = (np.concatenate(part) for part in zip(*parts, strict=True))
    if len(parts) > 1:
        by_term = np.argsort(term, kind="stable")
        row, term, tf = row[by_term], term[by_term], tf[by_term]
    return Matches(row, term, tf, np.searchsorted(term, np.arange(len(terms) + 1)))


def _sorted(postings: Postings, terms: NDArray[np.uint32]) -> tuple[Ints, Ints, Floats]:
    at = find(postings.vocabulary, terms)
    starts = np.where(at >= 0, postings.starts[at], 0)
    lengths = np.where(at >= 0, postings.starts[at + 1] - starts, 0)
    slices = [slice(start, start + length) for start, length in zip(starts.tolist(), lengths.tolist(), strict=True)]
    row = np.concatenate([postings.row[part] for part in slices] or [postings.row[:0]])
    tf = np.concatenate([postings.tf[part] for part in slices] or [postings.tf[:0]])
    return row, np.repeat(np.arange(len(terms), dtype=np.int32), lengths), tf.astype(np.float32)


def _scan(index: Snapshot, terms: NDArray[np.uint32]) -> tuple[Ints, Ints, Floats]:
    """Scan the rows after the postings, first with a 16-bit lookup table, then exactly."""
    order = np.argsort(terms)
    ascending = terms[order]
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


def attribute(index: Snapshot, visibility: Visibility, matches: Matches, terms: int) -> tuple[Matches, Ints]:
    """Credit the term frequencies of visible memories to their turns, by maximum; also return the credited rows."""
    mask = visibility.scored[matches.row]
    row, term, tf = matches.row[mask], matches.term[mask], matches.tf[mask]
    attributed = row[:0]
    if index.has_observations:
        observed = index.column["kind"][row] == OBSERVATION
        row = index.links.credited_row[row]
        mask = (row >= 0) & visibility.keys[row]
        row, term, tf, observed = row[mask], term[mask], tf[mask], observed[mask]
        attributed = unique_values(row[observed])
        order = np.lexsort((-tf, row, term))
        row, term, tf = row[order], term[order], tf[order]
        first = np.ones(len(row), np.bool_)
        first[1:] = (row[1:] != row[:-1]) | (term[1:] != term[:-1])
        row, term, tf = row[first], term[first], tf[first]
    return Matches(row, term, tf, np.searchsorted(term, np.arange(terms + 1))), attributed


def naming(visibility: Visibility, query: Search, matches: Matches) -> Visibility:
    """Limit the keys to rows with all terms of a required group, if there are any groups."""
    if not query.required:
        return visibility
    named = np.zeros_like(visibility.keys)
    for group in query.required:
        places = [query.terms.index(term) for term in group]
        rows = [matches.row[matches.bounds[at] : matches.bounds[at + 1]] for at in places]
        named |= np.bincount(np.concatenate(rows), minlength=len(named)) == len(group)
    return replace(visibility, keys=visibility.keys & named)


# -------------------------------------------------------------------------------------------------------------- scores


def window_scores(index: Snapshot, visibility: Visibility, matches: Matches, weights: Floats) -> Floats:
    """Return the BM25 of every row with its neighbours, in batches of terms to bound memory."""
    norm = (
        BM25_K1 * (1 - BM25_B)
        + BM25_K1 * BM25_B / (WINDOW_LENGTH * max(visibility.statistics.average_length, 1e-9)) * visibility.window
    ).astype(np.float32)
    score = np.zeros(index.rows, np.float32)
    step = max(1, MAX_CELLS_AT_ONCE // (index.rows + 1))
    for first in range(0, len(weights), step):
        score += _some_terms(index, matches, weights, norm, range(first, min(first + step, len(weights))))
    return score


def _some_terms(index: Snapshot, matches: Matches, weights: Floats, norm: Floats, terms: range) -> Floats:
    """Score only matching rows and their neighbours. Row -1 (no neighbour) has a column of its own."""
    part, width = slice(matches.bounds[terms.start], matches.bounds[terms.stop]), index.rows + 1
    row, at = matches.row[part], (matches.term[part] - terms.start) * np.int64(width)
    previous, following = index.links.previous, index.links.next
    tf, gain = np.zeros(len(terms) * width, np.float32), np.zeros(len(terms) * width, np.float32)
    tf[at + row] = matches.tf[part]
    touched = np.concatenate((row, previous[row], following[row]))
    at = np.concatenate((at, at, at))
    near = tf[at + touched] + index.lean[touched] * (tf[at + previous[touched]] + tf[at + following[touched]])
    weight = weights[matches.term[part]] * np.float32(BM25_K1 + 1)
    gain[at + touched] = (
        np.concatenate((weight, weight, weight)) * near / (near + norm[touched])
    )  # duplicates write the same value
    total: Floats = gain.reshape(len(terms), width)[:, :-1].sum(axis=0)
    return total


def frequencies(index: Snapshot, visibility: Visibility, matches: Matches, headers: Floats) -> Floats:
    """Return the number of units with each term; for terms in no body, the number of units with it in the header."""
    bodies = np.diff(matches.bounds).astype(np.float32)
    if bodies.all() or not headers[:, bodies == 0].any():
        return bodies
    units = np.bincount(index.header[visibility.keys], minlength=index.headers).astype(np.float32)
    return np.where(bodies > 0, bodies, units @ headers).astype(np.float32)


def header_matrix(index: Snapshot, terms: NDArray[np.uint32]) -> Floats:
    """Return as [headers, terms] which distinct headers have which query terms."""
    order = np.argsort(terms)
    at = find(terms[order], index.header_terms)
    matrix = np.zeros((index.headers, len(terms)), np.float32)
    matrix[index.header_of[at >= 0], order[at[at >= 0]]] = 1
    return matrix
