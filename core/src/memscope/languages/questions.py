"""Detect list questions and what they ask for, and put questions that name the user into the first person."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from memscope.languages.classes import Instances
from memscope.languages.question_rules import Questions
from memscope.languages.registry import of, registered
from memscope.text.language import CJK_CHARACTER, usual_rules
from memscope.text.tokens import ends_of, fold

LIST_EXPANSION = 2.5  # factor on the number of hits for a list question, within the caller's token budget
MAX_LIST_HITS = 100
QUESTION_EDGE_CHARS = 200  # read at each end of a longer query, where its question usually is
MAX_FIRST_NAME_CHARS = 40  # a longer user id is not taken for a name

_LETTERS_ONLY = re.compile(r"[^\W\d_]{2,}")


def asks_for_list(query: str) -> bool:
    """Detect list questions, which ask for every instance of a class: "Which pets do we have?", 我今年看了哪些书？"""
    ends = ends_of(query, 2 * QUESTION_EDGE_CHARS)
    return any(one.questions.list.search(ends) for one in of(ends))


def item_signs(query: str) -> list[Callable[[str], object]]:
    """Return tests for lines that answer a list question, any of which may match: the line names an instance of the
    class, or a title if the class is books, films or the like.
    """
    titled = any(one.questions.works.search(query) for one in of(query))
    titles = [language.questions.title.search for language in registered()] if titled else []
    return [*(one.are_in for one in _instances_asked(query)), *titles]


def instance_terms(query: str) -> tuple[int, ...]:
    """Return search terms for the instances of the class that a list question asks for."""
    return tuple(dict.fromkeys(term for one in _instances_asked(query) for term in one.terms))


def _instances_asked(query: str) -> list[Instances]:
    asked = [one.questions for one in of(query)]
    deeds = [one.deeds for one in asked if one.deeds and one.deeds.asking.search(fold(query))]
    done = [instances for one in deeds if (instances := one.asked(query))]
    return done or [instances for one in asked if one.classes and (instances := one.classes.asked(query))]


def max_list_hits(k: int) -> int:
    """Return the number of hits that a context takes instead of ``k`` for a list question."""
    return min(int(LIST_EXPANSION * k), max(k, MAX_LIST_HITS))


def in_first_person(query: str, user: str) -> str:
    """Replace the user's name in a query by the first person, if the user id is a name.

    For the user "alice", "Where does Alice live?" means "Where do I live?". In scripts with capitals the name must be
    capitalised; at the beginning of the query it also needs "'s", as "Will it rain?" is not about the user "will".
    """
    if (
        len(user) > MAX_FIRST_NAME_CHARS
        or not _LETTERS_ONLY.fullmatch(user)
        or fold(user) in usual_rules("latin").stop_words
    ):
        return query
    if CJK_CHARACTER.match(user):
        me = next((one.questions.me for one in of(query) if one.words.script == "han"), user)
        return query.replace(user, me)
    if user.isascii() and query.isascii() and user.lower() not in query.lower():
        return query
    spaced = next((one.questions for one in of(query) if one.questions.my and one.words.script != "han"), None)
    return re.sub(rf"(?i)\b{user}\b(['’]s\b)?", partial(_first_person, spaced), query) if spaced else query


def _first_person(questions: Questions, name: re.Match[str]) -> str:
    if not name[0][0].isupper() or (name.start() == 0 and not name[1]):
        return name[0]
    return questions.my if name[1] else questions.me
