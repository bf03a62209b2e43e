"""Rules that weaken or reject a verdict, so that errors of the model do little harm."""

from __future__ import annotations

import re

from memscope.languages.names import names
from memscope.languages.similarity import closeness, form
from memscope.languages.wording import calls_user, every, wordings
from memscope.reconciliation.subjects import (
    NOBODY,
    USER_SUBJECT,
    People,
    may_meet,
    share_thing,
    subjects,
    tells_end_for,
)
from memscope.reconciliation.supersession import Verdict
from memscope.records import Observation
from memscope.records.filters import has_name
from memscope.text.tokens import fold
from memscope.text.topics import topics

MIN_ALIKE_WORDS = 0.25  # share of the shorter fact's words; 97 % of recorded repeats reach it, 2 % of other pairs
RECURS = "recurs"  # key in an observation's data: its recurrence rule
_DETAIL = re.compile(r"\d[\d.,:/-]*|《[^》]+》|\"[^\"]+\"|“[^”]+”|(?<=\s)[A-Z][\w'’&-]+")


def allowed_verdict(verdict: Verdict, new: Observation, old: Observation, people: People = NOBODY) -> Verdict:
    """Return the verdict that the rules allow.

    Facts of different subjects, events of different days and facts of different kinds are unrelated. So are a repeat or
    refinement without common words, and hearsay from a source that ``old`` does not name. A repeat with an additional
    number, name or day refines. A machine's note neither ends nor refines a person's fact.
    """
    met = may_meet(new, old, people) or share_thing(new, old, people)
    if not met and not (verdict == "ends" and tells_end_for(new, old, people)):
        return "unrelated"
    if verdict in ("repeats", "refines") and (are_other_events(new, old) or not are_alike(new, old)):
        return "unrelated"
    if verdict == "ends" and (is_hearsay(new, old, people) or are_of_other_kinds(new, old, people.user)):
        return "unrelated"
    if verdict == "repeats" and has_more(new, old, people.user):
        verdict = "refines"
    if verdict in ("ends", "refines") and new.by_machine and not old.by_machine:
        return "unrelated"
    return verdict


def are_other_events(one: Observation, other: Observation) -> bool:
    """Return whether both have dates that do not overlap. Recurring events have several dates and never differ."""
    dated = one.happened and other.happened and not one.happened.overlaps(other.happened)
    return bool(dated) and RECURS not in one.data and RECURS not in other.data


def is_hearsay(new: Observation, old: Observation, people: People) -> bool:
    """Return whether ``new`` quotes somebody who is neither its subject nor named in ``old``."""
    for match in (wording.hearsay.match(new.text) for wording in wordings(new.text)):
        if match:
            source = USER_SUBJECT if calls_user(match["source"]) else fold(match["source"])
            return source not in subjects(new.about, People(people.user)) and not has_name(old.text, source)
    return False


def are_of_other_kinds(one: Observation, other: Observation, own_names: frozenset[str]) -> bool:
    """Return whether the facts share no words besides names, no keyword and under half of one fact's topics.

    Always False without keywords, which tell what a fact is about.
    """
    if not (one.keywords and other.keywords) or _content(one, own_names) & _content(other, own_names):
        return False
    kinds = [topics(" ".join((fact.text, *fact.keywords))) for fact in (one, other)]
    fewest = min(map(len, kinds))
    return not (keywords(one) & keywords(other) or 2 * len(kinds[0] & kinds[1]) >= max(fewest, 1))


def are_alike(one: Observation, other: Observation) -> bool:
    """Return whether the facts share words besides their subjects, or a keyword.

    A first keyword that both share does not count: it names the field ("family"), the others name the thing.
    """
    fields = [{fold(word) for word in fact.keywords[:1]} for fact in (one, other)]
    if (keywords(one) & keywords(other)) - (fields[0] & fields[1]):
        return True
    return closeness(one.text, other.text, without=" ".join((one.about, other.about))) >= MIN_ALIKE_WORDS


def keywords(fact: Observation) -> set[str]:
    """Return the folded keywords without subjects and words like "other"."""
    return {fold(word) for word in fact.keywords} - subjects(fact.about) - every("other")


def _content(fact: Observation, own_names: frozenset[str]) -> frozenset[str]:
    called = [mention.text for mention in names(fact.text)]
    text = fact.text
    for name in called:  # in CJK text, character pairs across a name's edge are no words
        text = text.replace(name, " ")
    named = " ".join((*called, *subjects(fact.about), *own_names))
    return form(text).topics - form(named).topics - every("state_words")


def has_more(new: Observation, old: Observation, own_names: frozenset[str]) -> bool:
    """Return whether the new fact has a number, name or date that the old one lacks."""
    known = f"{old.text} {old.about} {' '.join(own_names)}"
    if new.happened and not old.happened:
        return True
    numerals = set("".join(every("digits")))  # of scripts without spaces
    return has_more_details(new.text, known) or bool(numerals.intersection(new.text).difference(old.text))


def has_more_details(text: str, known: str) -> bool:
    """Return whether a number, name or title of the text is missing in ``known``."""
    folded = known.casefold()
    return any(detail.casefold().strip(".,:") not in folded for detail in _DETAIL.findall(text))
