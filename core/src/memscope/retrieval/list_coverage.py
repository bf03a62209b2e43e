"""Add lines for a list question after the best ones.

"Which sports did I try?" ──▶ "I gave fencing a go": an item may share neither word nor topic with its question

After the best k, lines are ordered by their odds of being an item per token (Dantzig's greedy rule for the knapsack
problem). For a question about the user, another search makes all their own lines candidates; lines without evidence are
at most as many as lines with it. If items are known by signs (an instance of the class, a title), only the best three
come first, and as many lines without a sign are shown as with one; at least 13, or a quarter of a small memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from memscope import languages
from memscope.languages.durable_facts import MAX_DURABILITY
from memscope.languages.flags import DURABILITY_SHIFT, Flag
from memscope.languages.questions import item_signs
from memscope.pipeline import altered, worker
from memscope.records import Candidates, Turn
from memscope.retrieval.features import CJK_TERMS_PER_WORD, MIN_WORD_COVERAGE, FeatureInputs
from memscope.retrieval.hits import fetch
from memscope.retrieval.query import Query
from memscope.retrieval.rank import rank
from memscope.retrieval.search import search
from memscope.search.units import USER_ROLE
from memscope.services import Services
from memscope.text.language import has_cjk
from memscope.text.terms import terms
from memscope.text.vectors import sentence_vector

# Log odds of being an item: per point of the score; for the question's meaning; for the surest lasting statement.
LOG_ODDS_PER_POINT, MEANING_LOG_ODDS, LASTING_LOG_ODDS = 0.2, 1.5, 0.5
HEADER_TOKENS, TOKENS_PER_WORD = 8, 2  # of a line's date and speaker, and per content word
SHORT_LINE_WORDS = 5  # shorter lines are proportionally less likely items
QUESTION_PRIOR, OTHER_SPEAKER_PRIOR = 0.2, 0.4  # odds factors of a question, and of another speaker
MAX_BEST_LINES = 3  # lines by score alone if items are known by signs; then:
MIN_FURTHER_LINES, UNITS_PER_FURTHER_LINE, LINES_PER_ITEM = 13, 4, 2
ITEM_ODDS = 4.0  # odds factor of a line with a sign: an instance of the class, or a title for books


@worker(
    reads=(*search.reads, *rank.reads, "order", "scores", "space", "need"),
    writes=("need", "candidates", "order", "features", "values", "scores", "repeated_questions", "terms", "weights",
            "meaning"),
)  # fmt: skip
async def list_coverage(query: Query, ctx: Services) -> Query:
    """Order the rows after the best k by the expected number of items per token."""
    if not query.list_k or not query.order or query.candidates is None:
        return query
    known = {query.candidates.handle[row] for row in query.order}
    wider = await _with_own_lines(query, ctx) if query.asks_personally and not query.asks_assistant else query
    candidates = wider.candidates
    assert candidates is not None
    signs = item_signs(query.text)
    most = min(query.k, MAX_BEST_LINES if signs else query.k, len(known))
    best, rows = wider.order[:most], wider.order[most:]
    tokens = HEADER_TOKENS + TOKENS_PER_WORD * _words(wider, candidates, rows)
    value = _log_odds(wider, candidates, rows) - np.log(tokens)
    signed = await _rows_with_sign(wider, signs, ctx) if signs else []
    is_signed = np.isin(rows, signed)
    value += math.log(ITEM_ODDS) * is_signed
    if query.need == "world" and _knows_an_item(wider, signed):
        return altered(wider, order=tuple([row for row in wider.order if row in {*best, *signed}]), need="user")
    least = min(MIN_FURTHER_LINES, candidates.units // UNITS_PER_FURTHER_LINE)
    further = max(least, LINES_PER_ITEM * int(is_signed.sum())) if signed else len(rows)
    ordered = [rows[at] for at in np.argsort(-value, kind="stable")]
    added = frozenset([row for row in ordered if candidates.handle[row] not in known][: len(known)])
    rest = [row for row in ordered if row in added or candidates.handle[row] in known]
    return altered(wider, order=(*best, *rest[:further]))


def _knows_an_item(query: Query, signed: Sequence[int]) -> bool:
    """Return whether the user named an item: "Which birds came to the feeder?" is then about the user, though it does
    not mention them.
    """
    assert query.candidates is not None
    inputs = FeatureInputs(query, query.candidates)
    theirs = (query.candidates.role == USER_ROLE) & ~inputs.has(Flag.ASKING)
    return bool((theirs & (inputs.on_subject | (inputs.coverage >= MIN_WORD_COVERAGE)))[list(signed)].any())


async def _rows_with_sign(query: Query, signs: Sequence[Callable[[str], object]], ctx: Services) -> list[int]:
    """Return the rows whose text has a sign of an item."""
    candidates = query.candidates
    assert candidates is not None
    # over a network, only records that came with the search
    fetched = candidates.brought or await fetch(query, candidates, query.order, ctx)
    records = ((row, fetched.records.get(candidates.handle[row])) for row in query.order)
    return [row for row, record in records if record is not None and any(sign(record.text) for sign in signs)]


async def _with_own_lines(query: Query, ctx: Services) -> Query:
    """Append all of the user's own lines, found by the user's name in their headers."""
    candidates = query.candidates
    assert candidates is not None
    spoken = next((row for row in query.order if candidates.role[row] == USER_ROLE), None)
    if spoken is None:
        return query
    record = (await fetch(query, candidates, [spoken], ctx)).records.get(candidates.handle[spoken])
    added = [term for term in terms(record.speaker) if term not in query.terms] if isinstance(record, Turn) else []
    if not added:
        return query
    weights = (*query.weights, *(0.0 for _ in added))
    silent = frozenset[str]().union(*(language.questions.stop_characters for language in languages.of(query.text)))
    meaning = sentence_vector(query.text, silent)  # interrogatives would outweigh the requested class
    wider = altered(query, terms=(*query.terms, *added), weights=weights, meaning=meaning, candidates=None)
    ranked = await rank(await search(wider, ctx), ctx)
    assert ranked.candidates is not None
    row = {ranked.candidates.handle[at]: at for at in ranked.order}
    best = [row[candidates.handle[at]] for at in query.order[: query.k] if candidates.handle[at] in row]
    return altered(ranked, order=tuple(dict.fromkeys((*best, *ranked.order))))


def _log_odds(query: Query, candidates: Candidates, rows: Sequence[int]) -> NDArray[np.float64]:
    """[rows] log odds that a line is an item, up to a constant."""
    assert query.scores is not None
    at = np.array(rows, np.int64)
    asked = (candidates.flags[at] & int(Flag.ASKING)) != 0
    by_others = (candidates.role[at] != USER_ROLE) & (candidates.has_roles and not query.asks_assistant)
    full = np.minimum(1, (_words(query, candidates, rows) + 0.5) / SHORT_LINE_WORDS)
    meaning = FeatureInputs(query, candidates).brevity * np.fmax(candidates.meaning[at], 0)  # NaN (no vector) becomes 0
    odds: NDArray[np.float64] = (
        LOG_ODDS_PER_POINT * query.scores[at]
        + MEANING_LOG_ODDS * meaning
        + LASTING_LOG_ODDS * (candidates.flags[at] >> DURABILITY_SHIFT) / MAX_DURABILITY
        + np.log(full)
        + asked * np.log(QUESTION_PRIOR)
        + by_others * np.log(OTHER_SPEAKER_PRIOR)
    )
    return odds


def _words(query: Query, candidates: Candidates, rows: Sequence[int]) -> NDArray[np.float64]:
    return candidates.length[np.array(rows, np.int64)] / np.float64(CJK_TERMS_PER_WORD if has_cjk(query.text) else 1)
