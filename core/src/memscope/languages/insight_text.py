"""Compose the text of an insight, and adapt it to the day it is read: leave out ended facts, mark past plans.

This happens on reading, since a fact can end without any new turn that would trigger reflection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from memscope import languages
from memscope.languages.wording import worded
from memscope.records import Insight, Observation, Sentence
from memscope.text.tokens import fold, words


def headed(subject: str, value: str) -> str:
    return f"{subject}{languages.main(value).phrases.colon}{value}"


def composed(subject: str, sentences: Sequence[Sentence]) -> str:
    """Join sentences to the text of an insight, with a separator after a sentence that has no punctuation mark."""
    texts = [sentence.text for sentence in sentences]
    phrases = languages.main(" ".join(texts)).phrases
    parts = [part for text in texts for part in (text, phrases.separator if text[-1:].isalnum() else phrases.space)]
    return headed(subject, "".join(parts[:-1]))


def told_as_ahead(text: str) -> bool:
    """Detect the wording of a plan or a future event: "plans to move", 打算搬家."""
    return worded("plan", text) or worded("future", text)


def past_plan(fact: Observation, when: datetime) -> bool:
    """Test whether a fact is worded as a plan or future event but its date is over at ``when``."""
    return fact.happened is not None and fact.happened.end <= when and told_as_ahead(fact.text)


def as_read(insight: Insight, facts: Mapping[str, Observation], when: datetime) -> Insight | None:
    """Adapt an insight to the day ``when``; None if nothing of it still holds. ``facts``: its sources by id."""
    if not any(fact.ended(when) or past_plan(fact, when) for id in insight.sources if (fact := facts.get(id))):
        return insight
    if not insight.sentences:
        return _marked(insight, facts, when)
    held = [sentence for sentence in insight.sentences if not _outlived(insight, sentence, facts, when)]
    vocabularies = [set(words(one.text)) for one in held]
    for one in insight.sentences:
        if one in held:
            continue
        for id in one.sources:
            fact = facts.get(id)
            rest = fact is not None and fact.current and not fact.ended(when)
            if fact is not None and rest and not any(set(words(fact.text)) <= known for known in vocabularies):
                held.append(Sentence(fact.text, (id,)))
                vocabularies.append(set(words(fact.text)))
    shown = tuple(_with_mark(one, facts, when) for one in held)
    if shown == insight.sentences:
        return insight
    return replace(insight, text=composed(insight.subject, shown), sentences=shown) if shown else None


def _outlived(insight: Insight, sentence: Sentence, facts: Mapping[str, Observation], when: datetime) -> bool:
    """Test whether a sentence rests on a fact that ended after the insight was written, or repeats an ended fact."""
    ended = [fact for id in sentence.sources if (fact := facts.get(id)) and fact.ended(when)]
    folded = fold(sentence.text)
    return any(fact.valid_to and (fact.valid_to > insight.recorded or fold(fact.text) in folded) for fact in ended)


def _with_mark(sentence: Sentence, facts: Mapping[str, Observation], when: datetime) -> Sentence:
    sources = [facts[id] for id in sentence.sources if id in facts]
    if told_as_ahead(sentence.text) and any(past_plan(fact, when) for fact in sources):
        return replace(sentence, text=sentence.text + languages.main(sentence.text).phrases.past)
    return sentence


def _marked(insight: Insight, facts: Mapping[str, Observation], when: datetime) -> Insight:
    """Mark the whole text of an insight without sentences, as written by a person or an earlier version."""
    phrases = languages.main(insight.text).phrases
    sources = [facts[id] for id in insight.sources if id in facts]
    ends = [fact.valid_to for fact in sources if fact.ended(when) and fact.valid_to]
    if ends:
        return replace(insight, text=insight.text + phrases.changed.format(date=f"{max(ends):%Y-%m-%d}"))
    ahead = told_as_ahead(insight.text) and any(past_plan(fact, when) for fact in sources)
    return replace(insight, text=insight.text + phrases.past) if ahead else insight
