"""Demote turns that are no evidence: the same question asked earlier, "I don't know", restatements by the assistant.

A repeated question adds no words to its neighbours, except to the answer that follows. Questions and "I don't know"
rank below every statement; an assistant's turn ranks below newer turns of the user with the same query terms.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from memscope.languages.flags import Flag
from memscope.records import Candidates
from memscope.search.snapshot import TURN_BEFORE
from memscope.search.units import ASSISTANT_ROLE, TURN, USER_ROLE

Values: TypeAlias = Any  # array with one entry per candidate

STATEMENT_LEVEL = 2
MIN_REPEATED_COVERAGE = 0.75  # idf-weighted share of the query's words in a repetition of it
MAX_LENGTH_RATIO_AND_EXTRA = 2, 4  # a repetition has at most 2 x the query's terms + 4


def repeated_questions(candidates: Candidates, weights: Values) -> Values:
    """[n] true for turns that only repeat the query, unless a fact on the turn has the words."""
    total, (times, more) = float(weights.sum()), MAX_LENGTH_RATIO_AND_EXTRA
    asking = (
        (_has(candidates, Flag.ASKING) | _unanswered(candidates))
        & ~candidates.attributed
        & (candidates.length <= times * len(candidates.terms) + more)
        & (total > 0)
    )
    rows = np.flatnonzero(asking)
    if len(rows):
        asking[rows] = ((candidates.tf[rows] > 0) @ weights) / total >= MIN_REPEATED_COVERAGE
    return asking


def _unanswered(candidates: Candidates) -> Values:
    """[n] true for turns answered by "I don't know": they are questions, whatever their form."""
    asked = np.zeros(len(candidates.unit), np.bool_)
    for row in np.flatnonzero(_has(candidates, Flag.UNKNOWING) & (candidates.role == ASSISTANT_ROLE)).tolist():
        before = (candidates.tf == candidates.tf_neighbours[row, TURN_BEFORE]).all(axis=1)
        before &= candidates.length == candidates.length_neighbours[row, TURN_BEFORE]
        asked |= before & (candidates.session == candidates.session[row]) & (candidates.role == USER_ROLE)
    return asked


def without_repeated_questions(candidates: Candidates, asking: Values) -> Candidates:
    """Return the candidates as if nobody had asked this before."""
    tf, near = candidates.tf.copy(), candidates.tf_neighbours.copy()
    for row in np.flatnonzero(asking).tolist():
        beside = (near == candidates.tf[row]).all(axis=2) & (candidates.length_neighbours == candidates.length[row])
        beside &= (candidates.session == candidates.session[row])[:, None]
        # an answer by another speaker keeps its question
        beside[:, TURN_BEFORE] &= candidates.speaker == candidates.speaker[row]
        near[beside] = 0
    tf[asking] = 0
    return replace(candidates, tf=tf, tf_neighbours=near)


def evidence_level(candidates: Candidates) -> Values:
    """[n] 2 for a statement, 1 for a mere question, 0 for an answer without knowledge."""
    level = np.full(len(candidates.unit), STATEMENT_LEVEL, np.int8)
    level[_has(candidates, Flag.ASKING) & ~candidates.attributed] = 1
    level[_has(candidates, Flag.UNKNOWING) & (candidates.role == ASSISTANT_ROLE) & ~candidates.attributed] = 0
    return level


def demote_restated(candidates: Candidates, scores: Values) -> Values:
    """Lower the scores of assistants' turns below newer turns of the user that have the same query terms."""
    turns = candidates.kind == TURN
    old = np.flatnonzero(turns & (candidates.role == ASSISTANT_ROLE))
    old = old[(candidates.tf[old] > 0).any(axis=1)] if len(old) else old
    newer = (
        np.flatnonzero(turns & (candidates.role == USER_ROLE) & (evidence_level(candidates) == STATEMENT_LEVEL))
        if len(old)
        else old
    )
    if not len(newer):
        return scores
    present = (candidates.tf > 0).astype(np.float32)
    both = present[old] @ present[newer].T
    covered = (both == present[old].sum(axis=1)[:, None]) & (candidates.time[old][:, None] < candidates.time[newer])
    best = np.where(covered, scores[newer], -np.inf).max(axis=1)
    lowered = scores.copy()
    lowered[old] = np.where(np.isfinite(best), np.minimum(scores[old], best - 1e-3), scores[old])
    return lowered


def _has(candidates: Candidates, flag: Flag) -> Values:
    return (candidates.flags & int(flag)) != 0
