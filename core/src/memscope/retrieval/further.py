"""Further lines of a question for all of a class, behind the best ones.

"Which sports did I try?" ──▶ "I gave fencing a go": an item may share neither word nor topic with its question

Behind the best, lines stand by how likely they are to be an item, over what they cost (Dantzig's greedy rule for the
knapsack problem). A question about the user has all of their own lines as candidates, by one more search; of those
without evidence it takes up to as many as there are with.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from memscope.imports import pattern
from memscope.pipeline import WorkerContext, worker
from memscope.records import Candidates, Turn
from memscope.retrieval.hits import fetch
from memscope.retrieval.query import Query
from memscope.retrieval.rank import CJK_TERMS, USER, rank
from memscope.retrieval.search import search
from memscope.text.flags import Flag
from memscope.text.language import has_cjk
from memscope.text.terms import terms

ODDS = 0.3  # log odds of an item per point of the score, as fitted on hits behind the best of three data sets
HEAD, WORD = 11, 2  # tokens of a line's date and speaker, and per word that counts
FEW = 5  # words; of a shorter line an item is as much less likely
ASKED, TOLD = 0.2, 0.4  # times as likely: what asks; what another than the user says
TITLED = 2.0  # times as likely: what names a title, for a question for books and the like
READ = 4  # times as many texts are looked at for titles as lines are wanted

_WORKS = pattern(
    r"(?i)\b(?:books?|novels?|films?|movies?|plays|series|albums?|songs?|games|podcasts?|magazines?)\b"
    r"|书|書|电影|電影|戏|戲|剧|劇|小说|小說|歌|游戏|遊戲|专辑|專輯|动画|動畫|番"
)
_TITLE = pattern(
    r"《[^》]+》|「[^」]+」|“[^”]{2,60}”|\"[^\"]{2,60}\"|\*[^*\n]{2,60}\*"
    r"|(?<=[a-z,] )(?!(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)[A-Z][a-z]{2,}"
)


@worker(
    reads=("query", "order", "candidates", "scores", "terms", "weights", "scope", "asks_all", "asks_personally",
           "asks_assistant", "best", "k"),
    writes=("candidates", "order", "values", "scores", "askings", "terms", "weights"),
)  # fmt: skip
async def further(question: Query, ctx: WorkerContext) -> Query:
    """Returns the query with its rows behind the best in the order of what is to be expected of them."""
    if not question.best or not question.order or question.candidates is None:
        return question
    known = {question.candidates.handle[row] for row in question.order}
    wider = await _with_own(question, ctx) if question.asks_personally and not question.asks_assistant else question
    found = wider.candidates
    assert found is not None
    most = min(question.best, len(known))
    best, rows = wider.order[:most], wider.order[most:]
    value = _likely(wider, found, rows) - np.log(HEAD + WORD * _words(wider, found, rows))
    ordered = [rows[at] for at in np.argsort(-value, kind="stable")]
    if _WORKS.search(question.query):
        ordered = await _titles_first(wider, dict(zip(rows, value.tolist(), strict=True)), ordered, ctx)
    own = frozenset([row for row in ordered if found.handle[row] not in known][: len(known)])
    kept = (row for row in ordered if row in own or found.handle[row] in known)
    return replace(wider, order=(*best, *kept))


async def _titles_first(question: Query, value: dict[int, float], ordered: list[int], ctx: WorkerContext) -> list[int]:
    """Returns the rows by their value, that of a title's counted more; only texts near enough to be shown are read."""
    read, found = ordered[: READ * (question.k - question.best)], question.candidates
    assert found is not None
    records = (found.brought or await fetch(question, found, read, ctx)).records  # over a network, those that are here
    for row in read:
        record = records.get(found.handle[row])
        value[row] += math.log(TITLED) * (record is not None and _TITLE.search(record.text) is not None)
    return sorted(ordered, key=lambda row: -value[row])


async def _with_own(question: Query, ctx: WorkerContext) -> Query:
    """Returns the query with the user's own lines behind its rows: those with the name in their header."""
    found = question.candidates
    assert found is not None
    if found.brought is not None:
        return question  # a store that brings records with its search is asked over a network
    said = next((row for row in question.order if found.role[row] == USER), None)
    record = None if said is None else (await fetch(question, found, [said], ctx)).records.get(found.handle[said])
    added = [one for one in terms(record.speaker) if one not in question.terms] if isinstance(record, Turn) else []
    if not added:
        return question
    weights = (*question.weights, *(0.0 for _ in added))
    wider = replace(question, terms=(*question.terms, *added), weights=weights, candidates=None)
    ranked = await rank(await search(wider, ctx), ctx)
    assert ranked.candidates is not None
    row = {ranked.candidates.handle[at]: at for at in ranked.order}
    best = [row[found.handle[at]] for at in question.order[: question.best] if found.handle[at] in row]
    return replace(ranked, order=tuple(dict.fromkeys((*best, *ranked.order))))


def _likely(question: Query, found: Candidates, rows: Sequence[int]) -> NDArray[np.float64]:
    """[rows] log odds that a line is an item, but for a constant."""
    assert question.scores is not None
    at = np.array(rows, np.int64)
    asked = (found.flags[at] & int(Flag.ASKING)) != 0
    told = (found.role[at] != USER) & (found.has_roles and not question.asks_assistant)
    full = np.minimum(1, (_words(question, found, rows) + 0.5) / FEW)
    odds: NDArray[np.float64] = ODDS * question.scores[at] + np.log(full) + asked * np.log(ASKED) + told * np.log(TOLD)
    return odds


def _words(question: Query, found: Candidates, rows: Sequence[int]) -> NDArray[np.float64]:
    return found.length[np.array(rows, np.int64)] / np.float64(CJK_TERMS if has_cjk(question.query) else 1)
