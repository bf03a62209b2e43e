"""Tell statements from questions, requests and "I don't know" answers; compare texts by content.

A sentence with any CJK character is read by the rules of a language of script "han", any other sentence by those of its
own language. In doubt a text is a statement: a question mistaken for a statement costs a line, but a statement mistaken
for a question is hidden.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, islice

from memscope.imports import pattern
from memscope.languages.registry import of, of_sentence, registered
from memscope.languages.statement_rules import Statements
from memscope.text.language import depends_on_languages, is_usual
from memscope.text.tokens import fold, has_words, pieces

MIN_LONG_CHARS = 300  # a text from this length on is split only as far as it is read
MIN_ADDED_WORDS = 3  # of a statement after a question: "..., its nov 24"
MAX_ABSTENTION_CHARS = 300  # a longer answer says more than that it does not know


@depends_on_languages
@lru_cache(maxsize=1 << 4)
def pattern_of_all(alternatives: str, form: str) -> re.Pattern[str]:
    """Compile one pattern from the alternatives of all languages, since a sentence may mix languages.

    ``form``: the pattern, with ALL where the alternatives go.
    """
    every = "|".join(filter(None, (getattr(language.statements, alternatives) for language in registered())))
    return pattern(form.replace("ALL", every or "(?!)"))


@depends_on_languages
@lru_cache(maxsize=1 << 4)  # called several times for each text that is stored
def sentences(text: str) -> tuple[str, ...]:
    """Split a text into sentences, with their punctuation marks; a line break ends a sentence too.

    A statement after a question is a sentence of its own: "Can you find me a lift to Leeds, | my van broke down".
    """
    return tuple(_each_sentence(text))


def _each_sentence(text: str) -> Iterator[str]:
    start, rules = 0, of_sentence(text).statements
    for match in chain(_BOUNDARY.finditer(text), (None,)):
        part = text[start : match.start() + (match[0][0] != "\n")] if match else text[start:]
        start = match.end() if match else start
        if (adds := rules.adds.search(part[:MIN_LONG_CHARS])) and rules.asks(rules.plain(part[: adds.start()]).strip()):
            rest = part[adds.end() :].rstrip("?？ ")  # the mark is the question's
            if rules.length(rest) >= MIN_ADDED_WORDS and _kind(rest, rules) == "statement":
                yield part[: adds.start()]
                part = rest
        if part and not part.isspace():
            yield part


_BOUNDARY = pattern(r"[.!?…。！？\n](?:(?<=[.!?…])\s+|(?<=[。！？])(?![。！？…”」』])|(?<=\n)\n*)")

# --------------------------------------------------------------------------------------------------------- questions

_MARKED = pattern(r"[?？][^\w]*$")
_CLAUSES = pattern(r"[,，;；:：]+\s*|\s[-–—]+\s|\s(?=but |because |and (?:what|how|do|can))")
_MAX_QUESTION_WORDS = 20  # a longer question states something too
_FILLING = r"^\W*+(?:(?:ALL)\W*)+$"


def asks(text: str) -> bool:
    """Detect texts that only ask: every sentence is a question or filling, and at least one is a question."""
    asked, usual = False, of_sentence(text).statements if text.isascii() and is_usual(text) else None
    for sentence in sentences(text) if len(text) < MIN_LONG_CHARS else _each_sentence(text):
        kind = _kind(sentence, usual or of_sentence(sentence).statements)
        if kind == "statement":
            return False
        asked = asked or kind == "question"
    return asked


def is_question(sentence: str, rules: Statements | None = None) -> bool:
    """Detect questions; ``rules``: those of the sentence's language, if the caller has them."""
    return _kind(sentence, rules or of_sentence(sentence).statements) == "question"


def is_filling(sentence: str) -> bool:
    """Detect sentences without content of their own: "Hi!", "Thanks.", 你好！"""
    return _kind(sentence, of_sentence(sentence).statements) == "filling"


@depends_on_languages
@lru_cache(maxsize=1 << 6)  # called several times for each sentence that is stored
def _kind(sentence: str, rules: Statements) -> str:
    folded = rules.plain(sentence).strip()
    if ("?" in folded or "？" in folded) and _MARKED.search(folded):
        return "statement" if _states_first(folded, rules) else "question"
    if not has_words(folded) or pattern_of_all("filling", _FILLING).match(folded):
        return "filling"
    return "question" if rules.asks(folded) else "statement"


def _states_first(folded: str, rules: Statements) -> bool:
    """Test whether a question also states something ("I moved to Lisbon, do you know it?"), or is a suggestion."""
    if rules.suggests.match(folded) or len(pieces(folded)) > _MAX_QUESTION_WORDS:
        return True
    clauses = _CLAUSES.split(folded)[:-1]
    return any(map(_states, clauses)) and not rules.question.match(folded)


def _states(clause: str) -> bool:
    rules = of_sentence(clause).statements
    long = rules.length(clause) >= rules.shortest_clause
    return long and not pattern_of_all("filling", _FILLING).match(clause) and not rules.question.search(clause)


# ----------------------------------------------------------------------------------------------------------- answers


def unknowing(answer: str) -> bool:
    """Detect an answer that only says it does not know, perhaps with an apology or advice: "Sorry, no idea."."""
    if len(answer) > MAX_ABSTENTION_CHARS:
        return False
    rules = of_sentence(answer).statements
    plain, sorry = rules.plain(answer), pattern_of_all("sorry", "ALL")
    parts = [part for part in sentences(plain) if has_words(part) and not sorry.fullmatch(part.strip(" .!。！，,…"))]
    if not parts or len(parts) > 3:
        return False
    return rules.unknowing.search(parts[0]) is not None and not pattern_of_all("but", "ALL").search(plain)


# -------------------------------------------------------------------------------------------------------- near-equality

_STATEMENT_WORD = pattern(r"[^\W_]+(?:[.:/'-][^\W_]+)*|[$€£¥%°+\-](?=\d)|(?<=\d)[%°+]")


def content_words(text: str, most: int | None = None) -> tuple[str, ...]:
    """List the words of a text in order, without case, accents, punctuation and fillers; at most the first ``most``.

    Texts with equal content words say the same. Numbers, names, tenses, persons and negations remain: texts that
    differ in one of these never have equal content words.
    """
    folded = fold(text).strip()
    if recap := pattern_of_all("recap", r"(?:ALL)\W*").match(folded):
        folded = folded[recap.end() :]
    if not folded.isascii():
        for one in registered():
            folded = one.statements.final_particles.sub("", folded)
    articles = _articles()
    words = (match[0] for match in _STATEMENT_WORD.finditer(folded))
    return tuple(islice((word for word in words if word not in articles), most))


@depends_on_languages
@lru_cache(maxsize=1)
def _articles() -> frozenset[str]:
    return frozenset(word for language in registered() for word in language.statements.articles)


# ---------------------------------------------------------------------------------------- questions about the user


def about_user(query: str) -> bool:
    """Detect a question for everything known about the user: "What do you know about me?", 你了解我吗？"""
    return any(one.statements.asks_about_user(query) for one in of(query))


def requests(text: str) -> bool:
    """Detect texts of more than one word that contain a question or a request: "Suggest a film", 帮我订票."""
    rules = of_sentence(text).statements
    folded = rules.plain(text)
    if len(text.strip()) < 3 or rules.length(folded) < rules.shortest_request:
        return False
    return any(map(is_question, sentences(text))) or rules.request.search(folded.strip()) is not None
