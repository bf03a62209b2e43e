"""Read a question: whether it asks for a list, and whom it means by the user's own name."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from memscope.languages.classes import Instances
from memscope.languages.question_rules import Questions
from memscope.languages.registry import of, registered
from memscope.text.language import CJK_CHARACTER, usual_rules
from memscope.text.tokens import ends_of, fold

LIST_EXPANSION = 2.5  # times as many hits for such a question, as far as the caller's tokens reach
MAX_LIST_HITS = 100  # hits
QUESTION_EDGE_CHARS = 200  # characters at each end of a longer query, where its question stands
MAX_FIRST_NAME_CHARS = 40  # characters of a name

_LETTERS_ONLY = re.compile(r"[^\W\d_]{2,}")


def asks_for_list(query: str) -> bool:
    """Return whether a question asks for all of a class: "Which pets do we have?", 我今年看了哪些书？"""
    ends = ends_of(query, 2 * QUESTION_EDGE_CHARS)
    return any(one.questions.list.search(ends) for one in of(ends))


def item_signs(query: str) -> list[Callable[[str], object]]:
    """Return functions of which one is true of a line that names an instance of the class asked for, or a title where
    that class is books, films or the like.
    """
    titled = any(one.questions.works.search(query) for one in of(query))
    titles = [one.questions.title.search for one in registered()] if titled else []
    return [*(one.are_in for one in _instances_asked(query)), *titles]


def instance_terms(query: str) -> tuple[int, ...]:
    """Return search terms of the instances of the class asked for."""
    return tuple(dict.fromkeys(term for one in _instances_asked(query) for term in one.terms))


def _instances_asked(query: str) -> list[Instances]:
    asked = [one.questions for one in of(query)]
    deeds = [one.deeds for one in asked if one.deeds and one.deeds.asking.search(fold(query))]
    done = [instances for one in deeds if (instances := one.asked(query))]
    return done or [instances for one in asked if one.classes and (instances := one.classes.asked(query))]


def max_list_hits(k: int) -> int:
    """Return how many hits a context takes in the place of ``k`` for such a question."""
    return min(int(LIST_EXPANSION * k), max(k, MAX_LIST_HITS))


def in_first_person(query: str, user: str) -> str:
    """Return the query with the user's name, where the id is one, replaced by the first person.

    Asked of alice's memory, "Where does Alice live?" means "Where do I live?". In scripts with capitals only a
    capitalised name counts, and at the beginning only with "'s": "Will it rain?".
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
