"""Fetch the records of the best candidates and build hits; the next best replace records forgotten meanwhile.

The line of a turn prints its words, its facts, or both:

"He started school."                     ──▶ both: the fact says who ("Anna's son Tim started school.")
"How long have you been married?"        ──▶ the fact: never show a question as the answer
"I moved to Berlin."                     ──▶ the fact, which says all of it
"My gran in Sweden gave me the necklace" ──▶ the words: the fact adds nothing to them
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Literal

from memscope.languages.flags import Flag
from memscope.languages.insight_text import past_plan
from memscope.languages.statements import asks, is_filling, sentences
from memscope.pipeline import altered, worker
from memscope.records import Candidates, FetchResult, Handle, Hit, Insight, LeftOut, Memory, Observation, Record, Turn
from memscope.retrieval.changes import changed_at, is_corrected, is_current, is_visible, mark_restated, weigh
from memscope.retrieval.deduplicate import at_first_source, deduplicate, repeats, tells
from memscope.retrieval.follow_supersession import with_successors
from memscope.retrieval.insights_as_of import insights_as_read
from memscope.retrieval.query import Query
from memscope.retrieval.rank import channels, lines, rank
from memscope.retrieval.search import search
from memscope.retrieval.second_lines import NAME_OR_NUMBER, covers, without_second_lines
from memscope.search.units import INSIGHT, MAX_WHOLE_CHARS
from memscope.services import Services
from memscope.text.language import has_cjk
from memscope.text.terms import terms
from memscope.text.tokens import words

NO_RECORDS = FetchResult({}, {})
MAX_INSIGHTS = 2
POSITIONS_PER_OWN_TURN = 2  # one of every two positions is for turns found by their own words
MAX_SHOWN_EVENT = timedelta(days=62)  # longer intervals are not the date of an event
MAX_SHORT_TURN_WORDS, MAX_SHORT_TURN_CHARS = 8, 24  # of a turn that may need its question; in CJK text
MIN_NEW_SHARE = 0.5  # share of a fact's words that the turn lacks, above which both are printed


@worker(
    reads=(*search.reads, *rank.reads, "order", "scores", "features", "values", "profile", "reranked", "space"),
    writes=("hits", "gone", "left_out"),
)  # fmt: skip
async def build_hits(query: Query, ctx: Services) -> Query:
    """Build the ``k`` best hits: without repetitions, each memory at the turn that said it first, changes marked."""
    candidates, shown = query.candidates, {hit.id for hit in query.profile}
    waiting, most = await places(query, ctx), query.list_k or query.k
    hits: list[Hit] = []
    left_out: list[LeftOut] = []
    gone = 0
    while candidates is not None and waiting and len(hits) < most:
        rows, waiting = waiting[: most - len(hits)], waiting[most - len(hits) :]
        fetched = await fetch(query, candidates, rows, ctx)
        fresh = [hit for row in rows if (hit := make_hit(query, candidates, row, fetched)) is not None]
        gone += len(rows) - len(fresh)
        left_out += [out for row in rows for out in _left_out(query, fetched, candidates.handle[row])]
        hits, equal = deduplicate([*hits, *(hit for hit in fresh if hit.id not in shown)])
        hits, second = without_second_lines(query, hits)
        equal += second
        left_out += [LeftOut(hit.id, "equal") for hit in equal]
    hits = mark_restated(query, at_first_source(hits, await repeats(query, hits, ctx)))
    hits = await with_successors(query, hits, ctx)
    return altered(query, hits=tuple(hits), gone=gone, left_out=tuple(dict.fromkeys(left_out)))


async def fetch(query: Query, candidates: Candidates, rows: Sequence[int], ctx: Services) -> FetchResult:
    """Return the records of the rows, with insights as they read at the query's time (None if nothing of one holds).

    Only records that did not come with the search are fetched.
    """
    fetched = candidates.brought or NO_RECORDS
    missing = [candidates.handle[row] for row in rows if candidates.handle[row] not in fetched.records]
    if missing:
        fetched = merge_results(fetched, await ctx.store.fetch(query.scope.user, missing))
    handles = (candidates.handle[row] for row in rows if candidates.kind[row] == INSIGHT)
    insights = {handle: one for handle in handles if isinstance(one := fetched.records.get(handle), Insight)}
    if not insights:
        return fetched
    when = query.as_of or query.now
    read = await insights_as_read(ctx.store, query.scope.user, insights.values(), when, query.now)
    pairs = zip(insights, read, strict=True)
    others: dict[Handle, Record | None] = {handle: new for handle, new in pairs if new is not insights[handle]}
    return FetchResult(ChainMap(others, fetched.records), fetched.derived) if others else fetched  # type: ignore[arg-type]  # only read


def merge_results(one: FetchResult | None, other: FetchResult | None) -> FetchResult:
    """Merge two results lazily: records that nobody reads are not parsed."""
    one, other = one or NO_RECORDS, other or NO_RECORDS
    records: ChainMap[Handle, Record] = ChainMap(other.records, one.records)  # type: ignore[arg-type]  # only read
    return FetchResult(records, {**one.derived, **other.derived})


def make_hit(query: Query, candidates: Candidates, row: int, fetched: FetchResult) -> Hit | None:
    record = fetched.records.get(candidates.handle[row])
    if record is None or isinstance(record, Observation) or query.scores is None:
        return None
    derived = fetched.derived.get(candidates.handle[row], ())
    if isinstance(record, Turn) and record.statement and any(memory.expired(query.now) for memory in derived):
        return None
    observations = [memory for memory in derived if isinstance(memory, Observation) and is_visible(memory, query)]
    current = tuple(memory for memory in observations if is_current(memory, query))
    facts: tuple[Observation, ...] = ()
    beside = False
    if isinstance(record, Turn):
        asking = bool(candidates.flags[row] & int(Flag.ASKING))
        facts, beside = choose_facts(query, record, current, bool(candidates.attributed[row]), asking)
    hit = Hit(
        turn=record if isinstance(record, Turn) else None,
        insight=record if isinstance(record, Insight) else None,
        score=float(query.scores[row]),
        found_by=channels(candidates, row),
        observations=current,
        matched=facts,
        superseded=tuple(memory for memory in observations if memory not in current),
        changed=changed_at(query, record, observations) if observations and isinstance(record, Turn) else None,
        part=int(candidates.part[row]),
        features=lines(query, row),
        zone=query.now.tzinfo,
        asked=query.as_of or query.now,
        beside=beside,
        words=without_questions(record.text) if facts and beside else "",
    )
    return None if hit.id in query.exclude else hit  # stores exclude turns only


def _left_out(query: Query, fetched: FetchResult, handle: Handle) -> list[LeftOut]:
    """List the memories on a hit's turn that the hit does not show."""
    why = [(memory, _reason_left_out(memory, query)) for memory in fetched.derived.get(handle, ())]
    return [LeftOut(memory.id, reason) for memory, reason in why if reason]


def _reason_left_out(memory: Memory, query: Query) -> Literal["superseded", "expired", "proposed", ""]:
    if memory.proposed:
        return "proposed"
    if memory.expired(query.now):
        return "expired"
    return "" if is_current(memory, query) else "superseded"


# ----------------------------------------------------------------------------------------------------------- the order


async def places(query: Query, ctx: Services) -> list[int]:
    """Limit insights to two, and move the n-th best turn by its own words to position 2 n or higher.

    Otherwise turns without facts would sink as facts accumulate, since facts raise the rank of their turns. Skipped for
    network stores, which are searched once, and after a rerank model.
    """
    candidates, best = query.candidates, query.order[: query.k]
    if candidates is None or "turn" not in query.kinds:
        return [*query.order]
    is_insight = (candidates.kind == INSIGHT).tolist()
    further = {*[row for row in query.order if is_insight[row]][MAX_INSIGHTS:]}
    order = [row for row in query.order if row not in further]
    fixed = candidates.brought is not None or query.reranked or query.about_user
    if fixed or not candidates.attributed[list(best)].any():
        return order
    asked = altered(query, kinds=frozenset({"turn"}), candidates=None, order=())
    alone = await rank(await search(asked, replace(ctx, embedder=ctx.embedder if query.space else None)), ctx)
    assert alone.candidates is not None
    row_of = {candidates.handle[row]: row for row in order}
    handles = [alone.candidates.handle[row] for row in alone.order[: query.k]]
    for number, row in enumerate([row_of[handle] for handle in handles if handle in row_of], 1):
        latest = POSITIONS_PER_OWN_TURN * number - 1
        if order.index(row) > latest:
            order.remove(row)
            order.insert(latest, row)
    return order


# ------------------------------------------------------------------------------------------- what a turn's line prints


def choose_facts(
    query: Query, turn: Turn, observations: Sequence[Observation], attributed: bool, asking: bool
) -> tuple[tuple[Observation, ...], bool]:
    """Choose the observations that the line prints; also return whether it prints the turn's words.

    An observation that only gained this turn as a further source is printed at the turn that says it.
    """
    facts = [observation for observation in observations if tells(turn, observation)]
    answers = [fact for fact in facts if _answers(query, fact)]
    met = [fact for fact in facts if fact in answers or _matches(fact, query, attributed)]
    if not met:
        return (), False
    if asking or any(is_corrected(query, turn, one) for one in met) or covers(met, turn):
        return tuple(met), False
    return tuple(_facts_that_add(query, turn, met, answers)), True


def _answers(query: Query, fact: Observation) -> bool:
    """Return whether the fact quotes a question, of this turn or the one before, that shares words with the query."""
    quotes = (quote.text for quote in fact.quotes)
    past = past_plan(fact, query.as_of or query.now)
    return not past and any(weigh(query, text) > 0 and asks(text) for text in quotes)


def _matches(memory: Observation, query: Query, attributed: bool) -> bool:
    """Return whether the fact happened in a requested period or shares words with the query.

    Past plans do not count by words, as they would read like future ones; by their period they do, marked as past.
    """
    happened = memory.happened
    if happened and happened.end - happened.start <= MAX_SHOWN_EVENT and any(map(happened.overlaps, query.periods)):
        return True
    part = weigh(query, " ".join((memory.text, *memory.keywords))) if attributed else 0.0
    return part > 0 and not past_plan(memory, query.as_of or query.now)


def _facts_that_add(
    query: Query, turn: Turn, facts: Sequence[Observation], answers: Sequence[Observation]
) -> list[Observation]:
    """Return the facts that add a requested name or mostly new words to the turn. To a short turn ("Five years!") also
    the question it answers, or a requested word that it lacks.
    """
    text, adding = f"{turn.speaker} {turn.text}", []
    cjk = has_cjk(turn.text)
    short = len(turn.text) <= MAX_SHORT_TURN_CHARS if cjk else len(words(turn.text)) <= MAX_SHORT_TURN_WORDS
    bare = short and not weigh(query, turn.text)
    for fact in sorted(facts, key=lambda one: -weigh(query, one.text)):
        content = set(terms(fact.text))
        new = len(content.difference(terms(text))) > MIN_NEW_SHARE * len(content)
        details = " ".join(NAME_OR_NUMBER.findall(f" {fact.text}"))
        named = weigh(query, f"{text} {details}") > weigh(query, text)
        worded = bare and weigh(query, f"{text} {fact.text}") > weigh(query, text)
        if (short and fact in answers) or new or named or worded:
            adding.append(fact)
            text = f"{text} {fact.text}"
    return adding


def without_questions(text: str) -> str:
    """Drop questions and filler from a short text; return "" if nothing is dropped or nothing is left."""
    every = list(sentences(text)) if len(text) <= MAX_WHOLE_CHARS else []
    parts = [one.strip() for one in every if not asks(one) and not is_filling(one)]
    return ("" if has_cjk(text) else " ").join(parts) if 0 < len(parts) < len(every) else ""
