"""Word lists for recognising names in English text."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from memscope.languages.name_rules import NameKind, kinds_of_names
from memscope.languages.word_lists import read_lists

_NAME_FOLDER = Path(__file__).parent / "data"
_LISTS = read_lists(_NAME_FOLDER / "name_words.txt")


def _word_set(name: str) -> frozenset[str]:
    return frozenset(_LISTS[name])


TITLES = _word_set("titles")
ROLE_NOUNS = _word_set("roles")
PETS = _word_set("pets")
CALENDAR = _word_set("calendar")
LANGUAGES = _word_set("languages")
PEOPLES = _word_set("peoples")
FILLERS = _word_set("fillers")
CONNECTORS = _word_set("connectors")
OF_HEADS = _word_set("of_heads")
ORGANISATION_ENDS = _word_set("organisation_ends")
PLACE_ENDS = _word_set("place_ends")
PLACE_HEADS = _word_set("place_heads")
IN_WORDS = _word_set("in")
TO_VERBS = _word_set("to_verbs")
STAYING = _word_set("staying")
WORK_WORDS = _word_set("work")
ORGANISATION_BEFORE = _word_set("organisation_before")
THING_BEFORE = _word_set("thing_before")
PERSON_BEFORE = _word_set("person_before")
PERSON_AFTER = _word_set("person_after")
SMALL = _word_set("small")
NO_TOPIC = _word_set("no_topic")
TIMES = _word_set("times")
OTHERS = CALENDAR | PEOPLES | LANGUAGES
NOUNS: Mapping[str, NameKind] = {
    **dict.fromkeys(ORGANISATION_ENDS, "organisation"),
    **dict.fromkeys(PLACE_ENDS | _word_set("place_nouns"), "place"),
    **dict.fromkeys(PETS | _word_set("thing_nouns"), "thing"),
}


@lru_cache(maxsize=1)
def known_names() -> Mapping[str, NameKind]:
    return kinds_of_names(read_lists(_NAME_FOLDER / "names.txt"))
