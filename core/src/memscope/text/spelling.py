"""The words that a language knows, and those that a slip may turn into a misspelt one.

A language knows the words with a built-in vector, most frequent first, and those of its dictionary. Slips are those of
Damerau ("A technique for computer detection and correction of spelling errors", CACM 1964): a letter too many, too few
or wrong, or two swapped; and a space too few ("icecream"). The first letter is taken to be right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from string import ascii_lowercase

from memscope.text.language import WordRules, depends_on_languages
from memscope.text.vectors import vector_words

SHARED_LETTERS = 3  # at the beginning of all forms of a word
MIN_LETTERS, MAX_LETTERS = 4, 16  # of a word with a slip
MIN_LONG_LETTERS = 6  # a shorter word is one wrong consonant away from too many others
MIN_PART_LETTERS = 3  # of a word written together with another
_KEYBOARD, _VOWELS = ("qwertyuiop", "asdfghjkl", "zxcvbnm"), "aeiouy"


def may_be_misspelt(word: str, rules: WordRules) -> bool:
    """Test whether a language with a list of words knows neither a word nor another form of it."""
    if not (MIN_LETTERS <= len(word) <= MAX_LETTERS and word.isascii() and word.isalpha()):
        return False
    return (rules.vectors or rules.dictionary) is not None and not _has_known_stem(word, rules)


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
    return rules.stem(word) in _stems(word[:SHARED_LETTERS], rules)


@depends_on_languages
@lru_cache(maxsize=1 << 10)
def _stems(beginning: str, rules: WordRules) -> frozenset[str]:
    return frozenset(map(rules.stem, _by_beginning(rules).get(beginning, ())))


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
def _by_beginning(rules: WordRules) -> Mapping[str, Sequence[str]]:
    words: dict[str, list[str]] = {}
    for word in chain(_ranks(rules), _dictionary(rules)):
        words.setdefault(word[:SHARED_LETTERS], []).append(word)
    return words
