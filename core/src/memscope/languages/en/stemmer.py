"""The Porter stemmer: M. F. Porter, "An algorithm for suffix stripping", Program 14 (1980), with its author's two
later changes (``bli`` -> ``ble``, ``logi`` -> ``log``). Lower-case ASCII words in, stems out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeAlias

_CONSONANT = r"(?:[^aeiouy]|(?<=[aeiou])y|(?<![a-z])y)"
_VOWEL = r"(?:[aeiou]|(?<=[^aeiou])y)"
_MEASURE = re.compile(f"{_VOWEL}{_CONSONANT}")  # each match is one VC of [C](VC)^m[V]
_HAS_VOWEL = re.compile(_VOWEL)
_DOUBLE = re.compile(r"([^aeiouylsz])\1$")
_SHORT = re.compile(f"{_CONSONANT}{_VOWEL}(?:(?![wxy]){_CONSONANT})$")  # the paper's *o: hop, not snow, box or tray

Rules: TypeAlias = Mapping[str, Sequence[tuple[str, str]]]


def _by_last_letter(rules: str) -> Rules:
    """Group suffixes and their replacements by last letter, so that few are tried per word."""
    table = defaultdict[str, list[tuple[str, str]]](list)
    for rule in rules.split():
        suffix, _, other = rule.partition(">")
        table[suffix[-1]].append((suffix, other))
    return table


_STEP2 = _by_last_letter(
    "ational>ate tional>tion enci>ence anci>ance izer>ize bli>ble alli>al entli>ent eli>e ousli>ous ization>ize"
    " ation>ate ator>ate alism>al iveness>ive fulness>ful ousness>ous aliti>al iviti>ive biliti>ble logi>log"
)
_STEP3 = _by_last_letter("icate>ic ative> alize>al iciti>ic ical>ic ful> ness>")
_STEP4 = _by_last_letter("ement ance ence able ible ment ant ent ion ism ate iti ous ive ize al er ic ou")


def stem(word: str) -> str:
    """Return the stem of an English word; words of one or two letters are their own stem."""
    if len(word) < 3:
        return word
    word = _past(_plural(word))
    if word.endswith("y") and _HAS_VOWEL.search(word[:-1]):
        word = word[:-1] + "i"
    return _tidy(_strip(_replace(_replace(word, _STEP2), _STEP3)))


def _measure(stem: str) -> int:
    return len(_MEASURE.findall(stem))


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix):
            stem = word.removesuffix(suffix)
            return _mend(stem) if _HAS_VOWEL.search(stem) else word
    return word


def _mend(stem: str) -> str:
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if _DOUBLE.search(stem):
        return stem[:-1]
    return stem + "e" if _measure(stem) == 1 and _SHORT.search(stem) else stem


def _replace(word: str, rules: Rules) -> str:
    """Apply the first rule whose suffix matches; no other is tried, even if the stem is too short for it (m = 0)."""
    for suffix, other in rules[word[-1]]:
        if word.endswith(suffix):
            stem = word.removesuffix(suffix)
            return stem + other if _measure(stem) else word
    return word


def _strip(word: str) -> str:
    for suffix, _ in _STEP4[word[-1]]:
        if word.endswith(suffix):
            stem = word.removesuffix(suffix)
            fits = _measure(stem) > 1 and (suffix != "ion" or stem.endswith(("s", "t")))
            return stem if fits else word
    return word


def _tidy(word: str) -> str:
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _SHORT.search(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word
