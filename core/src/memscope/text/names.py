"""Names of people, places, organisations, things and topics in a text, by rules and context, without a model.

    "My sister Kim moved to Lisbon." ──▶ Kim (person, the user's sister), Lisbon (place)

English is read by ``names_en``, Chinese by ``names_zh``; a text of both by both. Time is linear in the text. What stop
words, days, months and the beginnings of sentences have in common with names does not make them one.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right

from memscope.text.language import has_cjk, language
from memscope.text.lexicon import NAME_KINDS, FoundName, NameKind
from memscope.text.names_en import english_names
from memscope.text.names_zh import chinese_names

LONGEST = 20_000  # characters of a text that are read
LONGEST_NAME = 80


def names(text: str) -> list[FoundName]:
    """Returns the names in a text in order, with those of weight 0, which are names only if they are so elsewhere."""
    text = text[:LONGEST]
    found: list[FoundName] = []
    chinese, script = has_cjk(text), language(text)
    if not chinese or script == "en":
        found += english_names(text)
    if chinese and script in ("zh", "en"):
        taken = sorted((one.start, one.start + len(one.text)) for one in found if one.weight)
        found += (one for one in chinese_names(text) if not _overlaps(one, taken))
    return sorted((one for one in found if len(one.text) <= LONGEST_NAME), key=lambda one: one.start)


def _overlaps(found: FoundName, taken: list[tuple[int, int]]) -> bool:
    """Returns whether a name lies on one of those taken, which are in order."""
    at = bisect_right(taken, (found.start, LONGEST + 1))
    before = at > 0 and taken[at - 1][1] > found.start
    return before or (at < len(taken) and taken[at][0] < found.start + len(found.text))


def name_form(name: str) -> str:
    """Returns the form in which names are compared: compatibility forms, case, spaces and possessives folded."""
    folded = unicodedata.normalize("NFKC", name).casefold().replace("’", "'").removesuffix("'s")
    return " ".join(folded.replace(".", " ").split())


__all__ = ["LONGEST", "NAME_KINDS", "FoundName", "NameKind", "name_form", "names"]
