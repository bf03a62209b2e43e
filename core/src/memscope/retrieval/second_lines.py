"""Leave out lines that only repeat a shown insight or fact.

"sailing: Bea owns a boat."    leaves out the fact "Bea owns a boat." and the turn "I own a boat" too.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace

from memscope.imports import pattern
from memscope.records import Hit, Observation, Turn
from memscope.retrieval.deduplicate import tells
from memscope.retrieval.events import with_event
from memscope.retrieval.query import Query
from memscope.text.tokens import fold, words

MIN_COVERED_SHARE = 0.8  # share of a turn's words in its facts, above which only the facts are printed
MIN_OWN_WORDS = 3  # of shorter turns ("Wow, Mel!") only numbers and names count
NAME_OR_NUMBER = pattern(r"\d[\d.,:/-]*|(?<=\s)[A-ZÀ-Þ][\w'’-]+")


def covers(facts: Sequence[Observation], turn: Turn) -> bool:
    """Return whether the facts say nearly all of the turn, including its numbers and names."""
    noted = " ".join(fact.text for fact in facts)
    content = set(words(turn.text))
    if len(content) >= MIN_OWN_WORDS and len(content.intersection(words(noted))) < MIN_COVERED_SHARE * len(content):
        return False
    return all(fold(detail).strip(".,:") in fold(noted) for detail in NAME_OR_NUMBER.findall(turn.text))


def without_second_lines(query: Query, hits: Sequence[Hit]) -> tuple[list[Hit], list[Hit]]:
    """Return the hits without what other lines say, in order, and the hits of which nothing remains.

    A fact stays if the insight's words lack its day, or if the query asks for a day.
    """
    left, dropped = list[Hit](), list[Hit]()
    insights: dict[str, set[str]] = {}
    for id, text in (pair for hit in hits for pair in insight_sentences(hit)):
        insights.setdefault(id, set()).update(words(text))
    printed = {one.id for hit in hits for one in hit.matched}
    for hit in hits:
        matched = tuple(one for one in hit.matched if not _is_in_insight(query, one, hit, insights))
        if hit.matched and not matched and not hit.beside and not hit.changed:
            dropped.append(hit)
        elif not hit.matched and _is_said_by_facts(query, hit, insights, printed):
            dropped.append(hit)
        else:
            left.append(hit if len(matched) == len(hit.matched) else replace(hit, matched=matched))
    return left, dropped


def insight_sentences(hit: Hit) -> Iterator[tuple[str, str]]:
    """Yield each sentence of an insight with the id of each fact that it rests on."""
    if hit.insight and hit.insight.sentences:
        yield from ((id, sentence.text) for sentence in hit.insight.sentences for id in sentence.sources)
    elif hit.insight:
        yield from ((id, hit.insight.text) for id in hit.insight.sources)


def _is_in_insight(query: Query, fact: Observation, hit: Hit, insights: Mapping[str, set[str]]) -> bool:
    """Return whether a shown insight says the fact, including its date unless it takes the turn's line."""
    if not set(words(fact.text)) <= insights.get(fact.id, set()):
        return False
    return hit.beside or not (query.asks_when or with_event(fact.text, fact.happened, hit.time) != fact.text)


def _is_said_by_facts(query: Query, hit: Hit, insights: Mapping[str, set[str]], printed: Container[str]) -> bool:
    """Return whether the hit is a turn's bare words, and shown facts say nearly all of it."""
    if hit.turn is None or hit.changed or query.asks_when:
        return False
    facts = [observation for observation in hit.observations if tells(hit.turn, observation)]
    shown = all(fact.id in printed or _is_in_insight(query, fact, hit, insights) for fact in facts)
    return bool(facts) and shown and covers(facts, hit.turn)
