"""Word lists for recognising names in English text."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from memscope.languages.en.words import FOLDER
from memscope.languages.name_rules import NameKind, kinds_of_names
from memscope.languages.word_lists import read_lists, read_sets

_WORD_SETS = read_sets(FOLDER / "name_words.txt")
TITLES = _WORD_SETS["titles"]
ROLE_NOUNS = _WORD_SETS["roles"]
PETS = _WORD_SETS["pets"]
CALENDAR = _WORD_SETS["calendar"]
LANGUAGES = _WORD_SETS["languages"]
PEOPLES = _WORD_SETS["peoples"]
FILLERS = _WORD_SETS["fillers"]
CONNECTORS = _WORD_SETS["connectors"]
OF_HEADS = _WORD_SETS["of_heads"]
ORGANISATION_ENDS = _WORD_SETS["organisation_ends"]
PLACE_ENDS = _WORD_SETS["place_ends"]
PLACE_HEADS = _WORD_SETS["place_heads"]
IN_WORDS = _WORD_SETS["in"]
TO_VERBS = _WORD_SETS["to_verbs"]
STAYING = _WORD_SETS["staying"]
WORK_WORDS = _WORD_SETS["work"]
ORGANISATION_BEFORE = _WORD_SETS["organisation_before"]
THING_BEFORE = _WORD_SETS["thing_before"]
PERSON_BEFORE = _WORD_SETS["person_before"]
PERSON_AFTER = _WORD_SETS["person_after"]
SMALL = _WORD_SETS["small"]
NO_TOPIC = _WORD_SETS["no_topic"]
TIMES = _WORD_SETS["times"]
OTHERS = CALENDAR | PEOPLES | LANGUAGES
NOUNS: Mapping[str, NameKind] = {
    **dict.fromkeys(ORGANISATION_ENDS, "organisation"),
    **dict.fromkeys(PLACE_ENDS | _WORD_SETS["place_nouns"], "place"),
    **dict.fromkeys(PETS | _WORD_SETS["thing_nouns"], "thing"),
}


# Names of people and places that are no other words either, when they are written without a capital.
UNMISTAKABLE_NAMES = (read_sets(FOLDER / "names.txt")["person"] | read_sets(FOLDER / "names.txt")["place"]) - (
    _WORD_SETS["words_too"]
)


@lru_cache(maxsize=1)
def known_names() -> Mapping[str, NameKind]:
    return kinds_of_names(read_lists(FOLDER / "names.txt"))
