"""Score how likely a Chinese sentence is to tell something lasting of its speaker, whatever its phrasing.

The score is a sum of weights, the log odds: of words of one to three characters that stand in it ("I", durations, work,
illness; words of the moment, opinions, other people, what somebody said), of how it opens, of topics, and of the kinds
of ``zh.facts``. ``data/statement_signs.txt`` has the words of each sign.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from memscope.languages.durable_facts import weight_of
from memscope.languages.word_lists import read_lists
from memscope.text.topics import names as topic_names
from memscope.text.topics import topics

# Fitted by logistic regression on noted statements and other remarks of three sets; each fit on two of them gave much
# the same weights.
WEIGHTS: Mapping[str, float] = {
    "me": 1.13, "they": 0.81, "work": 0.52, "health": 0.66, "plan": 0.75, "duration": 0.49, "have": -0.59, "not": -0.33,
    "told": -0.57, "opinion": -0.9, "moment": -0.53, "others": -0.93, "asks": -1.04, "opens_this": -0.68,
    "opens_request": -0.56,
}  # fmt: skip
BIAS, KIND_SHARE = -1.07, 0.6
TOPIC_WEIGHTS = (
    (0.8, "diet smoking allergy illness medicine injury pregnancy family parents siblings children partner friends job"
     " professions jobhunt study subjects languages residence origin garden pets dogs cats travel running watersports"
     " ballgames mountains bodywork instruments arts coding goals religion"),
    (-0.48, "tech phones"),
)  # fmt: skip
MAX_WORD_CHARS = 3
MAX_SCORED_CHARS = 200  # of a longer sentence the beginning is read


def statement_score(sentence: str, kinds: Sequence[str]) -> float:
    """Return the log odds of a sentence of these kinds of lasting statement."""
    read = sentence.strip()[:MAX_SCORED_CHARS]
    lists, opens = _signs()
    had: set[str] = set()
    for at in range(len(read)):
        for length in range(1, MAX_WORD_CHARS + 1):
            had |= lists.get(read[at : at + length], _NONE)
    had |= opens.get(read[:1], _NONE) | opens.get(read[:2], _NONE)
    about = topics(read)
    by_topic = sum(weight for weight, group in _groups() if not group.isdisjoint(about))
    return BIAS + sum(WEIGHTS[sign] for sign in had) + by_topic + KIND_SHARE * weight_of(kinds)


_NONE: frozenset[str] = frozenset()


@cache
def _signs() -> tuple[Mapping[str, frozenset[str]], Mapping[str, frozenset[str]]]:
    """Return the signs of each word wherever it stands, and of each with which a sentence opens."""
    anywhere: dict[str, frozenset[str]] = {}
    opening: dict[str, frozenset[str]] = {}
    for sign, words in read_lists(Path(__file__).parent / "data" / "statement_signs.txt").items():
        table = opening if sign.startswith("opens_") else anywhere
        for word in words:
            table[word] = table.get(word, _NONE) | {sign}
    return anywhere, opening


@cache
def _groups() -> tuple[tuple[float, frozenset[int]], ...]:
    number = {name: at for at, name in enumerate(topic_names())}
    return tuple((weight, frozenset(number[one] for one in names.split())) for weight, names in TOPIC_WEIGHTS)
