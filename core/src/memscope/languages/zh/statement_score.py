"""Score how likely a Chinese sentence says something lasting about its speaker, whatever its phrasing.

The score is a sum of log odds: of words of one to three characters (first person, durations, work, illness; the moment,
opinions, other people, reported speech), of the opening, of topics, of the kinds of ``zh.facts``, and of the built-in
vector along ``languages.statement_direction``. ``data/statement_signs.txt`` has the words of each sign.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path

from memscope.imports import pattern
from memscope.languages.durable_facts import weight_of
from memscope.languages.statement_direction import statement_direction
from memscope.languages.word_lists import read_lists
from memscope.languages.zh.name_lists import lexicon
from memscope.text.topics import LIFE_TOPICS, topic_bits
from memscope.text.topics import names as topic_names
from memscope.text.vectors import along, tokens_of_run

# Fitted by logistic regression on statements worth noting and other remarks of three sets; fits on any two of the sets
# gave nearly the same weights.
WEIGHTS: Mapping[str, float] = {
    "me": 1.13, "they": 0.81, "work": 0.52, "health": 0.66, "plan": 0.75, "duration": 0.49, "have": -0.59, "not": -0.33,
    "told": -0.57, "opinion": -0.9, "moment": -0.53, "others": -1.1, "asks": -1.04, "opens_this": -0.68,
    "opens_request": -0.56, "place": 1.2, "home": 0.6, "habit": 0.4, "wit": -0.9,
}  # fmt: skip
BIAS, KIND_SHARE = -1.07, 0.6
MEANING_SHARE = 0.5  # factor on the vector's log odds, which were fitted on English sentences
TOPIC_WEIGHTS = ((0.8, LIFE_TOPICS), (-0.48, ("tech", "phones")))
MAX_SCORED_CHARS = 200  # the rest of a longer sentence is not read
_HAN_RUN = pattern("[\u4e00-\u9fff]+")


def statement_scores(sentences: Sequence[str], kinds: Sequence[Sequence[str]]) -> list[float]:
    """Return the log odds of sentences; ``kinds``: the kinds of lasting statement that each makes."""
    read = [sentence.strip()[:MAX_SCORED_CHARS] for sentence in sentences]
    tokens = [list(chain.from_iterable(map(tokens_of_run, _HAN_RUN.findall(one)))) for one in read]
    meant = along(tokens, statement_direction())
    sign_scores = map(_by_signs, read, topic_bits(read), kinds)
    return [by_signs + MEANING_SHARE * by_vector for by_signs, by_vector in zip(sign_scores, meant, strict=True)]


def _by_signs(read: str, about: int, kinds: Sequence[str]) -> float:
    anywhere, opens = _signs()
    had = opens.get(read[:1], 0) | opens.get(read[:2], 0)
    for first in anywhere.keys() & read:
        signs, longer = anywhere[first]
        had |= signs
        for word, signs in longer:
            if word in read:
                had |= signs
    return BIAS + _weight(had) + _topic_weight(about) + KIND_SHARE * weight_of(kinds)


@lru_cache(maxsize=1 << 12)
def _weight(signs: int) -> float:
    return sum(weight for at, weight in enumerate(WEIGHTS.values()) if signs >> at & 1)


@cache
def _signs() -> tuple[Mapping[str, tuple[int, Sequence[tuple[str, int]]]], Mapping[str, int]]:
    """Return the words that are signs anywhere in a sentence, and those that are signs at its beginning.

    The former are keyed by their first character: the signs of this character alone, and the longer words. Signs are
    bits in the order of ``WEIGHTS``.
    """
    anywhere: dict[str, dict[str, int]] = {}
    opening: dict[str, int] = {}
    bits = {sign: 1 << at for at, sign in enumerate(WEIGHTS)}
    lists = read_lists(Path(__file__).parent / "data" / "statement_signs.txt")
    places = [name for name, kind in lexicon().known.items() if kind == "place" and len(name) > 1]
    for sign, words in (*lists.items(), ("place", places)):
        for word in words:
            table = opening if sign.startswith("opens_") else anywhere.setdefault(word[0], {})
            table[word] = table.get(word, 0) | bits[sign]
    return {first: (words.pop(first, 0), tuple(words.items())) for first, words in anywhere.items()}, opening


@lru_cache(maxsize=1 << 12)
def _topic_weight(about: int) -> float:
    return sum(weight for weight, group in _groups() if group & about)


@cache
def _groups() -> tuple[tuple[float, int], ...]:
    bits = {name: 1 << at for at, name in enumerate(topic_names())}
    return tuple((weight, sum(bits[name] for name in names)) for weight, names in TOPIC_WEIGHTS)
