"""Keep numbers and months that are no dates in the query from matching the dates in headers.

    "What's 17 * 23?" ──▶ neither lines from the 17th nor from the 23rd

A unit's header contains the date it was said on, so that "on July 17" finds that day by its words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import lru_cache

import numpy as np

from memscope import languages
from memscope.dates import Mention
from memscope.records import Candidates
from memscope.search.candidates import TEXT_CHANNEL, USER_CHANNEL
from memscope.text.language import depends_on_languages
from memscope.text.terms import terms
from memscope.text.tokens import words

MAX_YEAR_CHARS = 4


def undated_terms(asked: Mapping[int, str], named: Sequence[Mention]) -> frozenset[int]:
    """Return the terms that may occur in a header's date, except those of the days, months and years in ``named``.

    ``asked``: the query's words by term.
    """
    date_words = _date_words()
    alike = {
        one: word
        for one, word in asked.items()
        if word in date_words or (word.isdecimal() and len(word) <= MAX_YEAR_CHARS)
    }
    if not alike:
        return frozenset()
    dated = {term for mention in named for term in terms(mention.text)}
    numbers = {number for mention in named for number in _numbers(mention)}
    return frozenset(
        one for one, word in alike.items() if one not in dated or (word.isdecimal() and int(word) not in numbers)
    )


@depends_on_languages
@lru_cache(maxsize=1)
def _date_words() -> frozenset[str]:
    """Return the words in header dates besides numbers, in all languages."""
    every = [language.phrases for language in languages.registered()]
    dates = (phrases.date.format(day=1, month=month, year=1) for phrases in every for month in phrases.months)
    return frozenset(word for date in dates for word in words(date))


def _numbers(named: Mention) -> Iterator[int]:
    """Yield the numbers in the dates of a time's first and last day; "3 weeks ago" does not yield 3."""
    first, last = named.interval.start, named.interval.end - timedelta(microseconds=1)
    for day in (first, last):
        yield from (day.year, day.month, day.day, day.year % 100)


def in_bodies(candidates: Candidates, undated: Iterable[int]) -> Candidates:
    """Return the candidates as if no header had these terms, except in a speaker's name ("Speaker 2")."""
    speakers = set(candidates.speakers.tolist())
    at = [candidates.terms.index(term) for term in undated if term in candidates.terms]
    at = [i for i in at if speakers.isdisjoint(candidates.terms[max(0, i - 1) : i + 1])]
    if not at or not candidates.tf_header[:, at].any():
        return candidates
    headers, frequency = candidates.tf_header.copy(), candidates.document_frequency.copy()
    headers[:, at] = 0
    frequency[at] *= candidates.tf[:, at].any(axis=0)
    worded = candidates.tf.any(axis=1) | candidates.tf_neighbours.any(axis=(1, 2)) | headers.any(axis=1)
    channels = np.where(worded, candidates.channels, candidates.channels & ~np.uint8(TEXT_CHANNEL | USER_CHANNEL))
    return replace(candidates, tf_header=headers, document_frequency=frequency, channels=channels)
