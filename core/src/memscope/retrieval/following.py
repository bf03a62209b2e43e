"""Lines that follow a shown one and share no word with the question: what the user said next about the same, and the
assistant's reply to a request.
"""

from __future__ import annotations

import numpy as np

from memscope import languages
from memscope.languages.requests import NEEDS_USER
from memscope.languages.statements import requests
from memscope.records import Candidates
from memscope.retrieval.features import FeatureInputs
from memscope.retrieval.hits import fetch
from memscope.retrieval.restatements import STATEMENT_LEVEL, evidence_level
from memscope.search.snapshot import TURN_BEFORE
from memscope.search.units import ASSISTANT_ROLE, USER_ROLE
from memscope.services import Services

MAX_FOLLOWED = 3  # the best ones
MAX_FOLLOWING_TURNS = 2  # of the user's next turns about the subject of one of the best lines


async def with_following(inputs: FeatureInputs, rows: tuple[int, ...], ctx: Services) -> tuple[int, ...]:
    """Insert the user's next turns about the subject of one of the best lines: "She's 74 and stubborn." after "Mum is
    having a new hip." shares no word with a question about Mum. If the best line is a request, insert its reply.
    """
    query, candidates = inputs.query, inputs.candidates
    if query.asks_period or query.is_list_question:
        return rows
    has, before = candidates.tf > 0, candidates.tf_neighbours[:, : TURN_BEFORE + 1] > 0
    after: dict[int, int] = {}
    for best in [row for row in rows[:MAX_FOLLOWED] if inputs.coverage[row] > 0 and candidates.role[row] == USER_ROLE]:
        led = (before == has[best]).all(axis=2).any(axis=1) & (candidates.session == candidates.session[best])
        led &= (candidates.role == USER_ROLE) & (candidates.time >= candidates.time[best])
        after |= {row: best for row in np.flatnonzero(led).tolist() if row not in rows[:MAX_FOLLOWED]}
    asks_user = bool(rows) and query.need in NEEDS_USER and inputs.coverage[rows[0]] > 0
    replies = _replies_to(rows[0], candidates) if asks_user else []
    read = [*after, *(rows[:1] if replies else ())]
    records = (await fetch(query, candidates, read, ctx)).records if read else {}
    texts = {row: record.text for row in read if (record := records.get(candidates.handle[row]))}
    if replies and requests(texts.pop(rows[0], "")):
        after |= dict.fromkeys(replies, rows[0])
    else:
        replies = []
    going_on = replies + [
        row for row, text in texts.items() if any(one.statements.continues.search(text) for one in languages.of(text))
    ]
    order = list(rows)
    for row in going_on[:MAX_FOLLOWING_TURNS]:
        order = [one for one in order if one != row]
        order.insert(order.index(after[row]) + 1, row)
    return tuple(order)


def _replies_to(asked: int, candidates: Candidates) -> list[int]:
    """Return the row of the assistant's statement right after the user's turn in row ``asked``, if it is there."""
    replies = (candidates.tf_neighbours[:, TURN_BEFORE] == candidates.tf[asked]).all(axis=1)
    replies &= candidates.length_neighbours[:, TURN_BEFORE] == candidates.length[asked]
    replies &= (candidates.session == candidates.session[asked]) & (candidates.role == ASSISTANT_ROLE)
    replies &= (evidence_level(candidates) == STATEMENT_LEVEL) & (candidates.role[asked] == USER_ROLE)
    return np.flatnonzero(replies).tolist()[:1]
