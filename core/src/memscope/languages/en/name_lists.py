"""Word lists for recognising names in English text, also in lines without capitals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from memscope.imports import pattern
from memscope.languages.en.words import FOLDER, STOP_WORDS, WORDS
from memscope.languages.name_rules import NameKind, kinds_of_names
from memscope.languages.word_lists import read_lists, read_sets
from memscope.text.language import CJK
from memscope.text.spelling import correction, may_be_misspelt
from memscope.text.vectors import tokens_of_piece

NAME_WORD = pattern(rf"[^\W\d_{CJK}][^\W{CJK}]*(?:['’.&-][^\W{CJK}]+)*")
POSSESSIVE = pattern(r"['’]s$|(?<=s)['’]$")
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
_LISTED_NAMES = read_lists(FOLDER / "names.txt")
# Names of people and places that are no other words either, when they are written without a capital.
UNMISTAKABLE_NAMES = frozenset((*_LISTED_NAMES["person"], *_LISTED_NAMES["place"])) - _WORD_SETS["words_too"]


@lru_cache(maxsize=1)
def known_names() -> Mapping[str, NameKind]:
    return kinds_of_names(_LISTED_NAMES)


def with_capitals(line: str) -> str:
    """Capitalise the names in a line without capitals: words that are only names, and others after a title or role:
    "my cousin farhan", "mrs okafor", "my old roommate is farouk".
    """
    cased, before, title = list(line), list[str](), 0
    for match in NAME_WORD.finditer(line):
        low = POSSESSIVE.sub("", match[0])
        if low in UNMISTAKABLE_NAMES or (_introduces(before) and (low in known_names() or _is_unknown(low))):
            starts = (title, match.start()) if before and before[-1] in TITLES - ROLE_NOUNS else (match.start(),)
            for start in starts:
                cased[start] = line[start].upper()
        title = match.start()
        before.append(low)
    return "".join(cased)


def unknown_words(line: str) -> list[str]:
    """List the words that English does not know, without misspelt ones: "anselm" in "bike's with anselm again"."""
    words = dict.fromkeys(POSSESSIVE.sub("", match[0]) for match in NAME_WORD.finditer(line))
    return [word for word in words if may_be_misspelt(word, WORDS) and not correction(word, WORDS)]


def _introduces(before: Sequence[str]) -> bool:
    """Test whether a name may follow these words: "my sister", "mrs", "the cat is called"."""
    *earlier, last = ["", *before[-6:]]
    theirs = not ROLE_NOUNS.isdisjoint((*earlier[-5:], last)) and not {"my", "our"}.isdisjoint(earlier)
    return last in ("named", "called", *TITLES) or (theirs and (last in ROLE_NOUNS or last == "is"))


def _is_unknown(low: str) -> bool:
    """Test whether the built-in vectors lack a word that is no form of a verb, as they do most names."""
    known = low in STOP_WORDS or len(tokens_of_piece(low, WORDS)) == 1
    return low.isalpha() and not known and not low.endswith(("s", "ed", "ing"))
