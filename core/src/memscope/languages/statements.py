"""Tell statements from questions, requests and answers without knowledge; compare texts by content.

A sentence with characters of a script without spaces is read by the rules of a language in that script, any other by
those of its own. In doubt a text is a statement: a question taken
for a statement costs a line, a statement taken for a question is hidden.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice

from memscope.imports import pattern
from memscope.languages.registry import of, of_sentence, registered
from memscope.languages.statement_rules import Statements
from memscope.text.language import depends_on_languages
from memscope.text.tokens import fold, has_words, pieces

MAX_ABSTENTION_CHARS = 300  # characters of an answer that only says it does not know


def rules_on(text: str) -> Statements:
    """Return the rules for a sentence: those of its script without spaces, if it has such characters."""
    return of_sentence(text).statements


@depends_on_languages
@lru_cache(maxsize=1 << 4)
def pattern_of_all(alternatives: str, form: str) -> re.Pattern[str]:
    """Return one pattern of the alternatives of all languages, which may stand side by side in a sentence.

    ``form``: the pattern, with ALL in their place.
    """
    every = "|".join(filter(None, (getattr(one.statements, alternatives) for one in registered())))
    return pattern(form.replace("ALL", every or "(?!)"))


@lru_cache(maxsize=1 << 4)  # asked several times for the text that is being written
def sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a text with their marks; a line break ends one too."""
    parts, start = list[str](), 0
    for match in _BOUNDARY.finditer(text):
        parts.append(text[start : match.start() + (match[0][0] != "\n")])
        start = match.end()
    return tuple(part for part in (*parts, text[start:]) if part and not part.isspace())


_BOUNDARY = pattern(r"[.!?…。！？\n](?:(?<=[.!?…])\s+|(?<=[。！？])(?![。！？…”」』])|(?<=\n)\n*)")

# --------------------------------------------------------------------------------------------------------- questions

_MARKED = pattern(r"[?？][^\w]*$")
_CLAUSES = pattern(r"[,，;；:：]+\s*|\s[-–—]+\s|\s(?=but |because |and (?:what|how|do|can))")
_MOST_ASKED = 20  # words; a longer question tells something too
_FILLING = r"^\W*+(?:(?:ALL)\W*)+$"


def asks(text: str) -> bool:
    """Return whether a text only asks: every sentence is a question or filling, and there is a question."""
    asked = False
    for sentence in sentences(text):
        kind = _kind(sentence)
        if kind == "statement":
            return False
        asked = asked or kind == "question"
    return asked


def is_question(sentence: str) -> bool:
    return _kind(sentence) == "question"


def is_marked_question(sentence: str) -> bool:
    """Return whether a sentence is a question with a question mark; quick to tell for one without a mark."""
    return ("?" in sentence or "？" in sentence) and _kind(sentence) == "question"


def is_filling(sentence: str) -> bool:
    """Return whether a sentence has no content of its own: "Hi!", "Thanks."."""
    return _kind(sentence) == "filling"


@depends_on_languages
@lru_cache(maxsize=1 << 6)  # asked several times for the sentences of the text that is being written
def _kind(sentence: str) -> str:
    rules = rules_on(sentence)
    folded = rules.plain(sentence).strip()
    if ("?" in folded or "？" in folded) and _MARKED.search(folded):
        return "statement" if _states_first(folded, rules) else "question"
    if not has_words(folded) or pattern_of_all("filling", _FILLING).match(folded):
        return "filling"
    return "question" if rules.asks(folded) else "statement"


def _states_first(folded: str, rules: Statements) -> bool:
    """Return whether a clause before the question states ("I moved to Lisbon, do you know it?") or suggests."""
    if rules.suggests.match(folded) or len(pieces(folded)) > _MOST_ASKED:
        return True
    clauses = _CLAUSES.split(folded)[:-1]
    return any(map(_states, clauses)) and not rules.question.match(folded)


def _states(clause: str) -> bool:
    rules = rules_on(clause)
    long = rules.length(clause) >= rules.shortest_clause
    return long and not pattern_of_all("filling", _FILLING).match(clause) and not rules.question.search(clause)


# ----------------------------------------------------------------------------------------------------------- answers


def unknowing(answer: str) -> bool:
    """Return whether an answer only says that it does not know, apart from an apology or advice beside it."""
    if len(answer) > MAX_ABSTENTION_CHARS:
        return False
    rules = rules_on(answer)
    plain, sorry = rules.plain(answer), pattern_of_all("sorry", "ALL")
    parts = [part for part in sentences(plain) if has_words(part) and not sorry.fullmatch(part.strip(" .!。！，,…"))]
    if not parts or len(parts) > 3:
        return False
    return rules.unknowing.search(parts[0]) is not None and not pattern_of_all("but", "ALL").search(plain)


# -------------------------------------------------------------------------------------------------------- near-equality

_STATEMENT_WORD = pattern(r"[^\W_]+(?:[.:/'-][^\W_]+)*|[$€£¥%°+\-](?=\d)|(?<=\d)[%°+]")


def content_words(text: str, most: int | None = None) -> tuple[str, ...]:
    """Return the words of a text in order, without case, accents, marks and fillers; ``most``: the first ones.

    Texts with equal content words say the same. Numbers, names, tenses, persons and negations are kept: texts that
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
    return frozenset(word for one in registered() for word in one.statements.articles)


# ---------------------------------------------------------------------------------------- questions about the user


def about_user(query: str) -> bool:
    """Return whether a question asks for everything known about the user."""
    return any(one.statements.asks_about_user(query) for one in of(query))


def requests(text: str) -> bool:
    """Return whether a text of more than one word asks or bids for something."""
    rules = rules_on(text)
    folded = rules.plain(text)
    if len(text.strip()) < 3 or rules.length(folded) < rules.shortest_request:
        return False
    return any(map(is_question, sentences(text))) or rules.request.search(folded.strip()) is not None
