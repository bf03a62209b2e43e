"""Flag a unit's statement when it is stored: question, instruction, lasting fact about the speaker, empty answer.

The rules of the text's languages decide by its wording. A flag is evidence for the ranking, never a verdict.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from enum import IntEnum

from memscope.imports import pattern
from memscope.languages.registry import of
from memscope.languages.requests import is_courtesy, tells_by_the_way
from memscope.languages.statement_rules import MAX_WISH_CHARS, Statements
from memscope.languages.statements import asks, is_question, pattern_of_all, sentences, unknowing
from memscope.text.language import CJK_LANGUAGES, language
from memscope.text.topics import CODING, topic_numbers


class Flag(IntEnum):
    """Kinds of units, stored in their columns."""

    QUESTION = 1
    FIRST_PERSON = 2
    DIGIT = 4
    INSTRUCTION = 8
    GREETING = 16
    CLOSED = 32  # a superseded memory
    PROPOSED = 64  # a proposal, a session's summary or a correction of an entity: excluded from every search
    PRIMARY = 128  # the unit that represents its insight
    STATEMENT = 256
    CJK = 512  # the text is in Chinese, Japanese or Korean
    PERSONAL = 1024  # a lasting statement about oneself: "I am, have, like, never do ..."
    ASKING = 2048  # only questions and greetings, or only courtesies of the assistant
    UNKNOWING = 4096  # an assistant's answer that only says it does not know


DURABILITY_SHIFT = 13  # bits above the flags: the durability of ``durable_facts.durable_terms``


_CLOSING = " \t\r\n\"'”’)」』"
_DIGIT = pattern(r"\d")
_WISH_BREAK = pattern(r"[,;:] | [-–—]+ |\.{3,}|…")
_OPENING_TEMPLATE = r"(?i)\W*+(?:ALL)"  # possessive, so that it is tried once, not after each leading mark
# Plain integers, since members of an enum are slow to look up.
_QUESTION, _FIRST_PERSON, _DIGIT_PATTERN, _INSTRUCTS = map(
    int, (Flag.QUESTION, Flag.FIRST_PERSON, Flag.DIGIT, Flag.INSTRUCTION)
)
_GREETS, _IS_CJK, _ASKING, _UNKNOWING = map(int, (Flag.GREETING, Flag.CJK, Flag.ASKING, Flag.UNKNOWING))


def flags(text: str, words: Sequence[str], role: str) -> int:
    """Compute a text's flags, without those of a memory's state; ``words``: the text's ``tokens.pieces``."""
    spoken = [one.statements for one in of(text)]
    about_oneself = any(_speaks_of_oneself(rules, text, words) for rules in spoken)
    bits = _FIRST_PERSON * about_oneself | _IS_CJK * (language(text) in CJK_LANGUAGES)
    bits |= _QUESTION * text.rstrip(_CLOSING).endswith(("?", "？"))
    numbered = _DIGIT.search(text) is not None or any(rules.numeral.search(text) for rules in spoken)
    bits |= _DIGIT_PATTERN * numbered
    bits |= _GREETS * (pattern_of_all("greeting", _OPENING_TEMPLATE).match(text) is not None)
    instructs = pattern_of_all("instruction", _OPENING_TEMPLATE).match(text) is not None
    instructs = instructs or (about_oneself and any(rules.wish.search(text) for rules in spoken))
    bits |= _INSTRUCTS * (instructs or wishes(text, words) != ("content",))
    if role == "assistant" and unknowing(text):
        return bits | _UNKNOWING
    spoken_to = role == "assistant"
    only_asks = asks(text) and (spoken_to or not tells_by_the_way(text))
    return bits | _ASKING * (only_asks or (spoken_to and is_courtesy(text)))


def wishes(text: str, words: Sequence[str], topics: int = 0) -> tuple[str, ...]:
    """Classify the standing wishes of a text: about units ("measure"), style ("manner") and, by the bits of its
    ``topics``, programs ("code"), or else ("content",).
    """
    signs = {sign for one in of(text) for sign in _forms_wanted(one.statements, text, words)}
    signs |= {"code" for number in topic_numbers(CODING) if topics >> number & 1}
    return tuple(sign for sign in ("measure", "manner", "code") if sign in signs) or ("content",)


def _forms_wanted(rules: Statements, text: str, words: Sequence[str]) -> Iterator[str]:
    """Yield the kinds of wishes about all answers: "Three sentences tops, please", but not "Cut this short"."""
    forms = {"measure": rules.measures, "manner": rules.manner}
    named: Collection[str]  # the form words in the text; "" matches any sentence
    if rules.form_words:
        parts = [part for word in words if "'" in word for part in word.split("'")]
        named = rules.form_words.intersection(words) | rules.form_words.intersection(parts)
    else:
        lowered = text.lower()
        named = [""] if any(form.search(lowered) for form in forms.values()) else []
    for sentence in sentences(text) if named else ():
        whole = rules.plain(sentence)
        clauses = _WISH_BREAK.split(whole) if len(whole) > MAX_WISH_CHARS and not rules.wide else ()
        for plain in (whole, *clauses):
            has_form = any(word in plain for word in named)
            signs = [sign for sign, form in forms.items() if form.search(plain)] if has_form else []
            insists = signs and rules.insists.search(plain) and not rules.once.search(plain)
            if insists and (rules.bids.search(plain) or not is_question(sentence)):
                yield from signs


def _speaks_of_oneself(rules: Statements, text: str, words: Sequence[str]) -> bool:
    if rules.wide:
        return any(one in text for one in rules.first_person)
    return not rules.first_person.isdisjoint(words)
