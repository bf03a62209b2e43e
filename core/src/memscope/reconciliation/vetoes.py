"""Rules that no verdict passes, so that an error of the model does little harm: it is weakened, or comes to nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memscope.languages.names import names
from memscope.languages.similarity import closeness, form
from memscope.languages.wording import calls_user, every, wordings
from memscope.reconciliation.subjects import (
    NO_ALIASES,
    NOBODY,
    USER_SUBJECT,
    Aliases,
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

MIN_ALIKE_WORDS = 0.25  # of the shorter fact; 97 % of the recorded repetitions have it, and 2 % of other pairs
RECURS = "recurs"  # in the data of an observation: the rule of what is repeated
_DETAIL = re.compile(r"\d[\d.,:/-]*|《[^》]+》|\"[^\"]+\"|“[^”]+”|(?<=\s)[A-Z][\w'’&-]+")


def weighed(
    verdict: Verdict,
    new: Observation,
    old: Observation,
    own_names: frozenset[str] = NOBODY,
    aliases: Aliases = NO_ALIASES,
) -> Verdict:
    """Return the verdict that counts.

    Facts of two subjects, two events of different days, and facts of different kinds are unrelated; so is what is said
    to repeat or refine in other words altogether. Hearsay ends only what names its source. What repeats a
    fact and has a number, name or day besides refines it. What a machine noted neither ends nor refines what
    a person said.
    """
    met = may_meet(new, old, own_names, aliases) or share_thing(new, old, own_names)
    if not met and not (verdict == "ends" and tells_end_for(new, old, own_names)):
        return "unrelated"
    if verdict in ("repeats", "refines") and (are_other_events(new, old) or not are_alike(new, old)):
        return "unrelated"
    if verdict == "ends" and (is_hearsay(new, old, own_names) or are_of_other_kinds(new, old, own_names)):
        return "unrelated"
    if verdict == "repeats" and has_more(new, old, own_names):
        verdict = "refines"
    if verdict in ("ends", "refines") and new.by_machine and not old.by_machine:
        return "unrelated"
    return verdict


def are_other_events(one: Observation, other: Observation) -> bool:
    """Return whether both have a date, and not the same; one that recurs has several."""
    dated = one.happened and other.happened and not one.happened.overlaps(other.happened)
    return bool(dated) and RECURS not in one.data and RECURS not in other.data


def is_hearsay(new: Observation, old: Observation, own_names: frozenset[str] = NOBODY) -> bool:
    """Return whether somebody else is said to say it of the new fact's subject, of whom the old one says nothing."""
    for match in (one.hearsay.match(new.text) for one in wordings(new.text)):
        if match:
            source = USER_SUBJECT if calls_user(match["source"]) else fold(match["source"])
            return source not in subjects(new.about, own_names) and not has_name(old.text, source)
    return False


def are_of_other_kinds(one: Observation, other: Observation, own_names: frozenset[str] = NOBODY) -> bool:
    """Return whether the facts share no word but names, no keyword, and less than half of the everyday topics of one.

    Without keywords nobody said what a fact is about.
    """
    if not (one.keywords and other.keywords) or _content(one, own_names) & _content(other, own_names):
        return False
    kinds = [topics(" ".join((fact.text, *fact.keywords))) for fact in (one, other)]
    fewest = min(map(len, kinds))
    return not (keywords(one) & keywords(other) or 2 * len(kinds[0] & kinds[1]) >= max(fewest, 1))


def are_alike(one: Observation, other: Observation) -> bool:
    """Return whether facts that are said to say the same have words in common, beside whom they are about.

    That both begin with one keyword, which names the field ("family"), says nothing: the others name the thing.
    """
    if (keywords(one) & keywords(other)) - (_field(one) & _field(other)):
        return True
    return closeness(one.text, other.text, without=" ".join((one.about, other.about))) >= MIN_ALIKE_WORDS


def _field(fact: Observation) -> set[str]:
    return {fold(word) for word in fact.keywords[:1]}


def keywords(fact: Observation) -> set[str]:
    """Return the folded keywords that say something."""
    return {fold(word) for word in fact.keywords} - subjects(fact.about) - every("other")


def _content(fact: Observation, own_names: frozenset[str]) -> frozenset[str]:
    called = [mention.text for mention in names(fact.text)]
    text = fact.text
    for name in called:  # in a script without spaces the pairs of characters at its ends are of no word
        text = text.replace(name, " ")
    return (
        form(text).topics - form(" ".join((*called, *subjects(fact.about), *own_names))).topics - every("state_words")
    )


def has_more(new: Observation, old: Observation, own_names: frozenset[str] = NOBODY) -> bool:
    """Return whether the new fact has a number, name or day that the old one lacks."""
    known = f"{old.text} {old.about} {' '.join(own_names)}"
    if new.happened and not old.happened:
        return True
    return any(True for _ in missing(new.text, known)) or bool(_digits(new.text) - _digits(old.text))


def missing(text: str, known: str) -> Iterator[str]:
    """Yield the numbers, names and titles of a text that another one does not have."""
    folded = known.casefold()
    return (detail for detail in _DETAIL.findall(text) if detail.casefold().strip(".,:") not in folded)


def _digits(text: str) -> frozenset[str]:
    """Return the characters that are numbers in a script without spaces."""
    return frozenset(text) & frozenset("".join(every("digits")))
