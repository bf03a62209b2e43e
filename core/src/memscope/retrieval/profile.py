"""Summarise the user: insights, then observations, else the user's own lasting statements.

Units carry a term per kind of lasting statement (``text.statements``), so one search finds them in every store. Shown
if the query asks about the user, or if nothing was found for a question or a request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memscope.languages.durable_facts import is_durable, kinds, statement_score, statement_weight
from memscope.languages.insight_text import past_plan
from memscope.languages.own_words import parted
from memscope.languages.statements import content_words, is_question, requests, sentences
from memscope.pipeline import altered, worker
from memscope.records import Hit, Insight, Observation, Turn, days_after
from memscope.retrieval.context import profile_line
from memscope.retrieval.events import plan_is_past
from memscope.retrieval.hits import fetch, make_hit
from memscope.retrieval.query import Query
from memscope.retrieval.rank import rank
from memscope.retrieval.search import search
from memscope.retrieval.second_lines import insight_sentences
from memscope.retrieval.understand import profile_question
from memscope.search.units import IMPORTANT_LEVEL
from memscope.services import Services
from memscope.text.tokens import estimate_tokens, words
from memscope.text.topics import LIFE_TOPICS, topic_numbers, topics
from memscope.text.topics import names as topic_names

MAX_PROFILE_CANDIDATES = 100  # of one search
INSIGHT_WEIGHT = 10.0
IMPORTANT_WEIGHT = 4.0  # added for an observation of level 3
NAMED_BONUS, PERSONAL_TOPIC_BONUS = 1.0, 1.5  # added for a name, and for a topic such as family, health or work
STATEMENT_SCORE_MARGIN = 1.0  # log odds below even at which a sentence gets weight 0
MIN_ENTRY_WEIGHT = 1.0  # of an entry, unless the query asks for the profile (even odds)
UNNAMED_WEIGHT = 0.5  # of a lasting statement without a name or topic
MAX_PASSING_AGE = 180  # days, how long passing matters are shown: a trip, an errand, a wish
SAME_KIND_PENALTY = 0.75  # subtracted per earlier entry of the same kind


@dataclass(frozen=True, slots=True)
class ProfileEntry:
    hit: Hit
    weight: float
    kind: str

    def holds(self, since: datetime) -> bool:
        """Return whether it lasts or was said since then."""
        return not self.hit.recent or self.hit.time >= since


@worker(
    reads=(*search.reads, *rank.reads, "order", "scores", "features", "values", "space", "profile_tokens", "need",
           "asks_period", "expand_lists"),
    writes=("profile", "order"),
)  # fmt: skip
async def profile(query: Query, ctx: Services) -> Query:
    """Fill the profile. If the query asks for it, the hits are the lines that did not fit."""
    if query.about_user:
        entries_by_row = await _entries_by_row(query, ctx)
        weights = {row: max(entry.weight for entry in entries) for row, entries in entries_by_row.items()}
        rows = sorted(entries_by_row, key=lambda row: -weights[row])
        return altered(query, profile=_chosen(entries_by_row, query, least=0.0), order=tuple(rows) or query.order)
    if query.order or query.need != "user" or query.asks_period or not query.terms or not requests(query.text):
        return query
    about = altered(profile_question(query), periods=(), meaning=None, list_k=MAX_PROFILE_CANDIDATES)
    ranked = await rank(await search(about, replace(ctx, embedder=None)), ctx)
    return altered(query, profile=_chosen(await _entries_by_row(ranked, ctx), query))


async def _entries_by_row(query: Query, ctx: Services) -> dict[int, list[ProfileEntry]]:
    """Return the entries of each row that has any."""
    candidates, rows = query.candidates, query.order[:MAX_PROFILE_CANDIDATES]
    if candidates is None or not rows:
        return {}
    fetched = await fetch(query, candidates, rows, ctx)
    hits = ((row, make_hit(query, candidates, row, fetched)) for row in rows)
    entries_by_row = await asyncio.to_thread(lambda: {row: list(entries(hit, query, ctx)) for row, hit in hits if hit})
    since = days_after(query.as_of or query.now, -MAX_PASSING_AGE)
    held = {
        row: [one for one in row_entries if one.weight > 0 and one.holds(since)]
        for row, row_entries in entries_by_row.items()
    }
    return {row: row_entries for row, row_entries in held.items() if row_entries}


def _chosen(
    entries_by_row: Mapping[int, list[ProfileEntry]], query: Query, least: float = MIN_ENTRY_WEIGHT
) -> tuple[Hit, ...]:
    """Return the entries that fit: the name, lasting facts by weight, then recent ones, newest first."""
    sure = [entry for row_entries in entries_by_row.values() for entry in row_entries if entry.weight >= least]
    chosen = list(choose(sure, query.profile_tokens))
    recent = sorted((hit for hit in chosen if hit.recent), key=lambda hit: hit.time, reverse=True)
    lasts = sorted((hit for hit in chosen if not hit.recent), key=lambda hit: hit.category != "name")
    return (*lasts, *recent)


def entries(hit: Hit, query: Query, ctx: Services) -> Iterator[ProfileEntry]:
    """Yield a hit's entries about the user: its observations, or without them its lasting sentences."""
    if isinstance(hit.insight, Insight):
        yield ProfileEntry(replace(hit, category=hit.insight.subject), INSIGHT_WEIGHT, hit.insight.subject)
    elif hit.turn is not None and hit.observations and "observation" in query.kinds:
        when = query.as_of or query.now
        held = (one for one in hit.observations if ctx.may_state(one) and not one.fiction and not past_plan(one, when))
        yield from (_entry_of_observation(hit, memory) for memory in held)
    elif hit.turn is not None and hit.turn.role == "user" and hit.changed is None and "turn" in query.kinds:
        yield from _entries_of_turn(hit, hit.turn, query.as_of or query.now)


def _entry_of_observation(hit: Hit, memory: Observation) -> ProfileEntry:
    quoted = [sentence for quote in memory.quotes for sentence in sentences(quote.text)]
    serious = memory.level >= IMPORTANT_LEVEL
    weight = max(map(_statement_score_of, (*quoted, memory.text))) + IMPORTANT_WEIGHT * serious
    kind = memory.keywords[0] if memory.keywords else _category(quoted)
    shown = replace(hit, observations=(memory,), matched=(memory,), changed=None, category=_category(quoted))
    return ProfileEntry(replace(shown, recent=not serious and not _lasts(quoted)), weight, kind)


def _entries_of_turn(hit: Hit, turn: Turn, when: datetime) -> Iterator[ProfileEntry]:
    weights, spoken, before, at = dict[str, float](), list[str](), "", 0
    for sentence, stated, quoted in parted(turn.text):
        weight, start = _statement_score_of(stated), turn.text.find(sentence, at + len(before))
        if weight > (_statement_score_of(quoted) if quoted else 0) and not plan_is_past(sentence, turn.time, when):
            weights[sentence] = weight
            begun = is_question(before) and before[-1] not in "?？"  # "..., they're from Hull" alone would say little
            spoken.append(turn.text[at:start] + sentence if begun else sentence)
        before, at = sentence, start
    if weights:
        best = max(weights.values())
        weight = best + 0.25 * (sum(weights.values()) - best)
        shown = replace(hit, words=" ".join(dict.fromkeys(spoken)), matched=(), category=_category(weights))
        yield ProfileEntry(replace(shown, recent=not _lasts(weights)), weight, shown.category)


def _statement_score_of(sentence: str) -> float:
    """Rate how much a sentence says about the user: by log odds, else by kind, names and topics."""
    from memscope.languages.names import names  # tables that most queries do not need

    if (score := statement_score(sentence)) is not None:
        return max(0.0, score + STATEMENT_SCORE_MARGIN)
    if is_question(sentence):
        return 0.0
    named = any(name.weight and name.kind != "topic" for name in names(sentence))
    about = topics(sentence)
    stated = statement_weight(sentence) * (1.0 if named or about else UNNAMED_WEIGHT)
    return stated + NAMED_BONUS * named + PERSONAL_TOPIC_BONUS * (not topic_numbers(*LIFE_TOPICS).isdisjoint(about))


def _lasts(sentences: Iterable[str]) -> bool:
    """Return whether a sentence is a lasting statement other than a wish or a plan."""
    return any(set(stated) != {"wish"} if (stated := kinds(one)) else is_durable(one) for one in sentences)


def _category(sentences: Iterable[str]) -> str:
    about = (
        topic_names()[topic]
        for sentence in sentences
        for topic in sorted(topics(sentence) & topic_numbers(*LIFE_TOPICS))
    )
    return _kind(sentences) or next(about, "")


def _kind(sentences: Iterable[str]) -> str:
    return next((kind for sentence in sentences for kind in kinds(sentence)), "")


def choose(candidates: Sequence[ProfileEntry], tokens: int) -> Iterator[Hit]:
    """Yield the highest-weighted entries of as many kinds as fit, without repetitions.

    Facts that a shown insight contains are skipped.
    """
    distinct: dict[Hashable, ProfileEntry] = {}
    for entry in sorted(candidates, key=lambda one: one.hit.time):
        if not (entry.hit.matched and content_words(entry.hit.text) in distinct):
            distinct[content_words(entry.hit.text)] = entry
    waiting = sorted(distinct.values(), key=lambda one: (-one.weight, -one.hit.time.timestamp()))
    shown: dict[str, int] = {}
    in_insights: dict[str, set[str]] = {}  # words of the shown insights, by fact id
    while waiting:
        best = max(waiting, key=lambda one: one.weight - SAME_KIND_PENALTY * shown.get(one.kind, 0))
        waiting.remove(best)
        if any(in_insights.get(one.id, set()).issuperset(words(one.text)) for one in best.hit.matched):
            continue
        if best.weight <= 0 or estimate_tokens(" ".join(best.hit.text.split())) > tokens:
            continue  # skip early: a turn may have a megabyte
        cost = estimate_tokens(profile_line(best.hit) + "\n")
        if cost <= tokens:
            tokens -= cost
            shown[best.kind] = shown.get(best.kind, 0) + 1
            for id, text in insight_sentences(best.hit):
                in_insights.setdefault(id, set()).update(words(text))
            yield best.hit
