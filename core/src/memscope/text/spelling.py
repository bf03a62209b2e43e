"""Find misspelt words, and the words that they may stand for.

A language knows the words with a built-in vector, most frequent first, and those of its dictionary. Slips are those of
Damerau ("A technique for computer detection and correction of spelling errors", CACM 1964): a letter too many, too few
or wrong, or two swapped; and a space too few ("icecream"). The first letter is taken to be right.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import pairwise
from string import ascii_lowercase

from memscope.imports import pattern
from memscope.text.language import WordRules, depends_on_languages, spaced_rules
from memscope.text.tokens import usual_spelling
from memscope.text.vectors import vector_words

MIN_SHARED_LETTERS = 3  # all forms of a word share at least these, or its stem but for the last letter ("happi")
MIN_LETTERS, MAX_LETTERS = 4, 16  # of a word with a slip
MIN_LONG_LETTERS = 6  # a shorter word is one wrong consonant away from too many others
MIN_PART_LETTERS = 3  # of a word written together with another
_LOWER_CASE_WORD = pattern(r"(?<![\w'’@./-])[a-z]{4,16}(?![\w@/-]|\.\w)")  # but no part of an address or a file's name
_SPACE_BETWEEN_HAN = pattern(r"(?<=[\u4e00-\u9fff])[ \u3000]+(?=[\u4e00-\u9fff])")
_FULL_STOP = "\u3002"
_SENTENCE_MARK = pattern(r"[.,;:!?\u3002\uff0c\uff01\uff1f\n](?!\d)")
MIN_SPACES_WITHOUT_SENTENCE_MARK = 9  # a shorter text without punctuation is one sentence
_LETTERS_AND_DIGITS = pattern(r"\w+")
_KEYBOARD, _VOWELS = ("qwertyuiop", "asdfghjkl", "zxcvbnm"), "aeiouy"


def usual_words(statement: str) -> str:
    """Read a statement in the usual spelling: "my wfie's bday is tmrw" as "my wife's birthday is tomorrow".

    A word with a capital stays, since it may be a name.
    """
    text = punctuated(usual_spelling(statement))
    return _LOWER_CASE_WORD.sub(partial(_corrected, spaced_rules(text)), text)


def punctuated(text: str) -> str:
    """Put full stops where a text without punctuation begins a new sentence: at a space between Chinese characters,
    or before a subject ("popped to the vet i'm fine").
    """
    if not text.isascii():
        text = _SPACE_BETWEEN_HAN.sub(_FULL_STOP, text)
    rules = spaced_rules(text)
    if not (rules.subjects and lacks_punctuation(text)):
        return text
    return _subjects(rules).sub(partial(_after_full_stop, rules), text)


def lacks_punctuation(text: str) -> bool:
    return text.count(" ") >= MIN_SPACES_WITHOUT_SENTENCE_MARK and not _SENTENCE_MARK.search(text)


def _after_full_stop(rules: WordRules, match: re.Match[str]) -> str:
    return match[0] if match[1].lower() in rules.stop_words else f"{match[1]}. "


@depends_on_languages
@lru_cache(maxsize=8)
def _subjects(rules: WordRules) -> re.Pattern[str]:
    return re.compile(rf"(?i)(\w+) (?=(?:{'|'.join(rules.subjects)})(?!['\w]))")


def _corrected(rules: WordRules, match: re.Match[str]) -> str:
    return correction(match[0], rules) or match[0]


@depends_on_languages
@lru_cache(maxsize=1 << 12)
def correction(word: str, rules: WordRules) -> str:
    """Return the most frequent word that a slip may have turned into a misspelt one; "" for other words."""
    if not may_be_misspelt(word, rules):
        return ""
    ranks = {one: rank for one in without_slip(word) if (rank := frequency_rank(one, rules)) is not None}
    return min(ranks, key=ranks.__getitem__, default="")


def rare_correction(word: str, rules: WordRules) -> str:
    """Return the only word of the dictionary that a slip may have turned into this one; "" if there are several."""
    candidates = dict.fromkeys(without_slip(word)) if may_be_misspelt(word, rules) else ()
    rare = [one for one in candidates if is_word(one, rules)]
    return rare[0] if len(rare) == 1 else ""


def may_be_respelled(word: str, rules: WordRules) -> bool:
    """Test whether ``usual_words`` may replace a text with this folded word."""
    is_hesitation = rules.hesitations is not None and rules.hesitations.fullmatch(word) is not None
    return is_hesitation or word in _rarest_of_spellings(rules) or correction(word, rules) != ""


@depends_on_languages
@lru_cache(maxsize=8)
def _rarest_of_spellings(rules: WordRules) -> frozenset[str]:
    """Return the rarest word of each spelling that ``usual_spelling`` replaces: "4" of "4 my"."""
    ranks = _ranks(rules)
    every = (_LETTERS_AND_DIGITS.findall(spelling) for spelling in rules.spellings)
    return frozenset(max(words, key=lambda word: ranks.get(word, len(ranks))) for words in every)


def may_be_misspelt(word: str, rules: WordRules) -> bool:
    """Test whether a language with a list of words knows neither a word nor another form of it."""
    if not (MIN_LETTERS <= len(word) <= MAX_LETTERS and word.isascii() and word.isalpha()):
        return False
    has_words = (rules.vectors or rules.dictionary) is not None
    return has_words and not (is_word(word, rules) or _has_known_stem(word, rules))


def is_plausible(word: str, misspelt: str, rules: WordRules) -> bool:
    """Accept words, a form of one whose slip is not in the ending, and a name, but no word that merely has the stem of
    another: "sitted" is no correction of "sitter".
    """
    if " " in word:
        return all(is_word(part, rules) for part in word.split())
    stem = rules.stem(word)
    ending = word[len(stem) :]
    inflected = misspelt.endswith(ending) and ending[:1] != stem[-1:] and is_word(stem, rules)
    return (inflected and word.startswith(stem)) or is_word(word, rules) or not _has_known_stem(word, rules)


def is_word(word: str, rules: WordRules) -> bool:
    return word in _ranks(rules) or word in _dictionary(rules)


def frequency_rank(word: str, rules: WordRules) -> int | None:
    """Return the rank of a word with a vector, 0 for the most frequent one; None for others."""
    return _ranks(rules).get(word)


def without_slip(word: str) -> Iterator[str]:
    """Yield the words, real or not, that one slip turns into this one: fewer slips for shorter words."""
    wrong = _NEAR if len(word) >= MIN_LONG_LETTERS else _VOWELS_NEAR if len(word) > MIN_LETTERS else {}
    for at in range(1, len(word)):
        head, letter, tail = word[:at], word[at], word[at + 1 :]
        if tail:
            yield f"{head}{tail[0]}{letter}{tail[1:]}"
        if len(word) > MIN_LETTERS and (letter == head[-1] or letter in _NEAR[head[-1]] or letter in _NEAR[tail[:1]]):
            yield f"{head}{tail}"
        yield from (f"{head}{other}{tail}" for other in wrong.get(letter, ""))
    yield from (f"{word[:at]} {word[at:]}" for at in range(MIN_PART_LETTERS, len(word) - MIN_PART_LETTERS + 1))
    yield from (f"{word[:at]}{letter}{word[at:]}" for at in range(1, len(word) + 1) for letter in ascii_lowercase)


def other_spellings(word: str, rules: WordRules) -> Sequence[str]:
    """List the words that are this one as other countries spell it: "color" for "colour"."""
    pairs = (pair for one in rules.other_spellings.items() for pair in (one, one[::-1]))
    others = dict.fromkeys(word.replace(part, other) for part, other in pairs if part in word)
    return [other for other in others if other != word and is_word(other, rules)]


def _near_letters() -> Mapping[str, str]:
    """Map each letter to those that it may stand for: its neighbours on the keyboard, and the vowels if it is one."""
    near = {letter: {*_VOWELS} if letter in _VOWELS else set[str]() for letter in ascii_lowercase}
    for row, below in pairwise((*_KEYBOARD, "")):
        for one, other in (*pairwise(row), *zip(row, below, strict=False), *zip(row[1:], below, strict=False)):
            near[one].add(other)
            near[other].add(one)
    return {"": "", **{letter: "".join(sorted(others - {letter})) for letter, others in near.items()}}


_NEAR = _near_letters()
_VOWELS_NEAR = dict.fromkeys(_VOWELS, _VOWELS)


def load(rules: WordRules) -> None:
    """Read the dictionary of a language, so that the first query need not."""
    _dictionary(rules)


def _has_known_stem(word: str, rules: WordRules) -> bool:
    stem = rules.stem(word)
    return stem in _stems(stem[: max(MIN_SHARED_LETTERS, len(stem) - 1)], rules)


@depends_on_languages
@lru_cache(maxsize=1 << 12)
def _stems(beginning: str, rules: WordRules) -> frozenset[str]:
    """Return the stems of the words with this beginning."""
    every = _in_order(rules)
    return frozenset(map(rules.stem, every[bisect_left(every, beginning) : bisect_left(every, f"{beginning}{{")]))


@depends_on_languages
@lru_cache(maxsize=8)
def _ranks(rules: WordRules) -> Mapping[str, int]:
    return {word: rank for rank, word in enumerate(vector_words(rules))}


@depends_on_languages
@lru_cache(maxsize=8)
def _dictionary(rules: WordRules) -> frozenset[str]:
    return frozenset(rules.dictionary.read_text(encoding="utf-8").split() if rules.dictionary else ())


@depends_on_languages
@lru_cache(maxsize=8)
def _in_order(rules: WordRules) -> Sequence[str]:
    return sorted({*_ranks(rules), *_dictionary(rules)})
