"""Classify a unit's statement when it is written: question, instruction, lasting fact about oneself, empty answer.

Rules of wording of the text's languages. A flag is evidence for the ranking, never a verdict on the statement.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from enum import IntEnum

from memscope.imports import pattern
from memscope.languages.registry import of
from memscope.languages.requests import is_courtesy
from memscope.languages.statement_rules import Statements
from memscope.languages.statements import asks, is_question, pattern_of_all, sentences, unknowing
from memscope.text.language import CJK_LANGUAGES, language


class Flag(IntEnum):
    """Kinds of units, stored in their columns."""

    QUESTION = 1
    FIRST_PERSON = 2
    DIGIT = 4
    INSTRUCTION = 8
    GREETING = 16
    CLOSED = 32  # a superseded memory
    PROPOSED = 64  # or a session's summary, a correction of an entity: no search finds it
    PRIMARY = 128  # the one of an insight's units that stands for it
    STATEMENT = 256
    CJK = 512  # the text is in Chinese, Japanese or Korean
    PERSONAL = 1024  # a lasting statement about oneself: "I am, have, like, never do ..."
    ASKING = 2048  # nothing but questions and greetings, or courtesies of the assistant
    UNKNOWING = 4096  # an assistant's answer that only says it does not know


DURABILITY_SHIFT = 13  # the bits above the flags grade how surely a unit is a lasting statement about the user


_CLOSING = " \t\r\n\"'”’)」』"
_DIGIT = pattern(r"\d")
_OPENING_TEMPLATE = r"(?i)\W*+(?:ALL)"  # tried once, not behind each mark
# Members of an enum take long to look up.
_QUESTION, _FIRST_PERSON, _DIGIT_PATTERN, _INSTRUCTS = map(
    int, (Flag.QUESTION, Flag.FIRST_PERSON, Flag.DIGIT, Flag.INSTRUCTION)
)
_GREETS, _IS_CJK, _ASKING, _KNOWS_NOT = map(int, (Flag.GREETING, Flag.CJK, Flag.ASKING, Flag.UNKNOWING))


def flags(text: str, words: Sequence[str], role: str) -> int:
    """Return the flags of wording, those of a memory's state being the caller's; ``words``: its ``tokens.pieces``."""
    spoken = [one.statements for one in of(text)]
    about_oneself = any(_speaks_of_oneself(one, text, words) for one in spoken)
    bits = _FIRST_PERSON * about_oneself | _IS_CJK * (language(text) in CJK_LANGUAGES)
    bits |= _QUESTION * text.rstrip(_CLOSING).endswith(("?", "？"))
    numbered = _DIGIT.search(text) is not None or any(one.numeral.search(text) for one in spoken)
    bits |= _DIGIT_PATTERN * numbered
    bits |= _GREETS * (pattern_of_all("greeting", _OPENING_TEMPLATE).match(text) is not None)
    instructs = pattern_of_all("instruction", _OPENING_TEMPLATE).match(text) is not None
    instructs = instructs or (about_oneself and any(one.wish.search(text) for one in spoken))
    bits |= _INSTRUCTS * (instructs or wishes(text, words) != ("content",))
    if role == "assistant" and unknowing(text):
        return bits | _KNOWS_NOT
    return bits | _ASKING * (asks(text) or (role == "assistant" and is_courtesy(text)))


def wishes(text: str, words: Sequence[str]) -> tuple[str, ...]:
    """Return what the standing wishes of a text are about: "measure", "manner", else the "content" of answers."""
    signs = {sign for one in of(text) for sign in _forms_wanted(one.statements, text, words)}
    return tuple(sign for sign in ("measure", "manner") if sign in signs) or ("content",)


def _forms_wanted(rules: Statements, text: str, words: Sequence[str]) -> Iterator[str]:
    """Yield the forms in which a sentence wants all answers: "Three sentences tops, please", not "Cut this short"."""
    forms = {"measure": rules.measures, "manner": rules.manner}
    named: Collection[str]  # words of a form; "" stands in any sentence
    if rules.form_words:
        parts = [part for word in words if "'" in word for part in word.split("'")]
        named = rules.form_words.intersection(words) | rules.form_words.intersection(parts)
    else:
        lowered = text.lower()
        named = [""] if any(form.search(lowered) for form in forms.values()) else []
    for sentence in sentences(text) if named else ():
        plain = rules.plain(sentence)
        if any(word in plain for word in named):
            signs = [sign for sign, form in forms.items() if form.search(plain)]
            if signs and _insists(rules, plain) and not is_question(sentence):
                yield from signs


def _insists(rules: Statements, plain: str) -> bool:
    return rules.insists.search(plain) is not None and not rules.once.search(plain)


def _speaks_of_oneself(rules: Statements, text: str, words: Sequence[str]) -> bool:
    if rules.wide:
        return any(one in text for one in rules.first_person)
    return not rules.first_person.isdisjoint(words)
