"""Keep the sentences of insights in step with the facts that each rests on.

When a fact ends, its sentences go. The facts that replace it, and the sentence's other facts that still hold, stand in
their own words until ``reflect`` rewrites them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain

from memscope.imports import pattern
from memscope.languages.insight_text import composed
from memscope.languages.names import names
from memscope.languages.similarity import closeness, form
from memscope.languages.statements import sentences as split
from memscope.languages.wording import every, worded
from memscope.prompts import visible
from memscope.records import SUMMARY_NAMESPACE, ChangeSet, Insight, Observation, Record, Sentence, Supersession
from memscope.records.identity import memory_id
from memscope.records.stored import CORRECTED
from memscope.stores import Store
from memscope.text.language import has_cjk
from memscope.text.tokens import fold

MIN_COVERED_WORD_SHARE = 0.8  # share of a fact's words that a sentence must contain to cover it
_DIGITS_OF_NUMBER = pattern(r"\d[\d.,:/-]*")


def without_heading(value: str, subject: str) -> str:
    """Join the value into one line and strip the leading subject, even if it is repeated ("Food: Food: ...")."""
    value = " ".join(visible(value).split())
    while value.casefold().startswith(subject.casefold()) and value[len(subject) : len(subject) + 1] in (":", "："):
        value = value[len(subject) + 1 :].strip()
    return value


def with_own_sentences(record: Record) -> Record:
    """Split the text of an insight that has no sentences; each then rests on all its sources. Keep other records."""
    if not isinstance(record, Insight) or record.sentences or record.namespace == SUMMARY_NAMESPACE:
        return record
    return replace(record, sentences=own_sentences(record))


def own_sentences(insight: Insight) -> tuple[Sentence, ...]:
    value = without_heading(insight.text, insight.subject)
    return insight.sentences or tuple(Sentence(part.strip(), insight.sources) for part in [*split(value)] or [value])


def attributed(insight: Insight, facts: Mapping[str, Observation]) -> tuple[Sentence, ...]:
    """Return the insight's sentences; those split from an older text rest on the facts closest to each."""
    parts = own_sentences(insight)
    if insight.sentences:
        return parts
    nearest: dict[int, list[str]] = {at: [] for at in range(len(parts))}
    for id in insight.sources:
        text = facts[id].text if id in facts else ""
        rated = [closeness(part.text, text) for part in parts]
        for at, score in enumerate(rated):
            if score >= MIN_COVERED_WORD_SHARE or score == max(rated):
                nearest[at].append(id)
    return tuple(replace(one, sources=tuple(nearest[at]) or one.sources) for at, one in enumerate(parts))


# ---- what a text must not lose


def details(text: str) -> frozenset[str]:
    """Return the names and numbers in a text, folded."""
    named = (name.text for name in names(text) if name.weight and name.kind != "topic")
    numerals = (one for one in text if one in "".join(every("digits"))) if has_cjk(text) else ()
    numbers = (one.strip(".,:/-") for one in _DIGITS_OF_NUMBER.findall(text))
    return frozenset(fold(one) for one in chain(named, numerals, numbers))


def keeps_details(text: str, old: Sentence, facts: Mapping[str, Observation]) -> bool:
    """Check that a text keeps the names and numbers of an old sentence, except those of ended facts alone."""
    lost = {one for one in details(old.text) if one not in fold(text)}
    known = [facts[id] for id in old.sources if id in facts]
    if any(fact.closed for fact in known):
        lost &= set().union(*(details(fact.text) for fact in known if not fact.closed))
    return not lost


def covers_text(sentence: str, text: str, min_share: float = MIN_COVERED_WORD_SHARE) -> bool:
    """Check that a sentence has nearly all words of a text, all its names and numbers, and the same negation."""
    content, known = form(text).topics, form(sentence).topics
    if len(content & known) < min_share * len(content) or worded("denies", text) != worded("denies", sentence):
        return False
    return all(one in fold(sentence) for one in details(text))


def with_fact(
    sentences: Sequence[Sentence], text: str, sources: Iterable[str], min_share: float = MIN_COVERED_WORD_SHARE
) -> list[Sentence]:
    """Add a text as a new sentence, or its sources to the sentence that already says it."""
    at = next((at for at, one in enumerate(sentences) if covers_text(one.text, text, min_share)), None)
    if at is None:
        return [*sentences, Sentence(text, tuple(dict.fromkeys(sources)))]
    whole = replace(sentences[at], sources=tuple(dict.fromkeys((*sentences[at].sources, *sources))))
    return [*sentences[:at], whole, *sentences[at + 1 :]]


# ---- corrections


def corrected(
    sentences: Sequence[Sentence],
    replacements: Mapping[str, Sequence[Observation]],
    facts: Mapping[str, Observation],
    worded: Collection[Sentence] = (),
) -> tuple[Sentence, ...]:
    """Drop the sentences that rest on an ended fact, and put facts that still hold in their place.

    ``replacements``: facts in place of each ended one, by its id. ``facts``: the others, by id. ``worded``: sentences
    written with the end in mind; the facts they rest on are not added again.
    """
    known = {id for one in worded for id in one.sources}
    result: list[Sentence] = []
    for one in sentences:
        if one in worded or replacements.keys().isdisjoint(one.sources):
            result.append(one)
            continue
        for id in one.sources:
            current = [facts[id]] if id in facts and not facts[id].closed else []
            for fact in replacements.get(id, current):
                result = result if fact.id in known else with_fact(result, fact.text, [fact.id])
    return tuple(result)


async def with_corrections(store: Store, user: str, change_set: ChangeSet, now: datetime) -> ChangeSet:
    """Extend the change set with new versions of the insights that rest on facts which it ends or corrects."""
    ended = {closing.id: closing for closing in change_set.closed if closing.valid_to is not None}
    memories = [revision.memory for revision in change_set.revised]
    revised = {one.id: one for one in memories if isinstance(one, Observation) and one.origin == CORRECTED}
    if not ended and not revised:
        return change_set
    derived = (await store.fetch(user, [*ended, *revised])).derived
    current = {one.id: one for group in derived.values() for one in group if isinstance(one, Insight) and one.current}
    gone = {closing.id for closing in change_set.closed} | {memory.id for memory in memories}
    insights = [memory for memory in current.values() if memory.id not in gone]
    if not insights:
        return change_set
    ids = {id for insight in insights for id in insight.sources} | {one.by for one in change_set.closed if one.by}
    records = (await store.fetch(user, sorted(ids))).records.values()
    facts = {one.id: one for one in (*records, *change_set.new) if isinstance(one, Observation)}
    replacements = {id: [facts[one.by]] if one.by in facts else [] for id, one in ended.items() if id in facts}
    replacements |= {id: [memory] for id, memory in revised.items() if memory.text != facts[id].text}
    return _replacing(change_set, insights, replacements, facts | revised, now)


def _replacing(
    change_set: ChangeSet, insights: Sequence[Insight], replacements: Mapping[str, Sequence[Observation]],
    facts: Mapping[str, Observation], now: datetime,
) -> ChangeSet:  # fmt: skip
    new, closed, expected = list[Insight](), list[Supersession](), dict(change_set.expected)
    for old in insights:
        before = attributed(old, facts)
        announced = [id for id in old.sources if id in facts and end_came_since(facts[id], old, now)]
        sentences = corrected(before, {**dict.fromkeys(announced, ()), **replacements}, facts)
        if sentences == before:
            continue
        successors = [fact for id in old.sources for fact in replacements.get(id, ())]
        said_at = max([old.said, *(fact.said for fact in successors)])
        if sentences:
            new.append(superseding(old, sentences, [fact.id for fact in successors], said_at, now))
        closed.append(Supersession(old.id, new[-1].id if sentences else None, now, said_at, said_at))
        expected[old.id] = old.version  # it may be forgotten while the facts stay
    return replace(change_set, new=(*change_set.new, *new), closed=(*change_set.closed, *closed), expected=expected)


def end_came_since(fact: Observation, insight: Insight, now: datetime) -> bool:
    """Return whether the announced end of a fact came after the insight was written."""
    return fact.ended(now) and fact.valid_to is not None and fact.valid_to > insight.recorded


def superseding(
    old: Insight, sentences: tuple[Sentence, ...], more: Iterable[str], said_at: datetime, now: datetime
) -> Insight:
    """Build the successor of an insight. It rests on the same sources and on ``more``."""
    return replace(
        old, id=memory_id(f"{old.id}/{old.version}/{'/'.join(more)}", 0), text=composed(old.subject, sentences),
        sentences=sentences, sources=tuple(dict.fromkeys((*old.sources, *more))), said=said_at, recorded=now, version=1,
        origin="reflect",
    )  # fmt: skip
