"""Terms, topics and built-in vector of a text from one folding and splitting; each distinct word is looked up once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import NamedTuple

from memscope.text.language import language
from memscope.text.periods import TIMED, is_timed
from memscope.text.terms import packed_runs, packed_terms, term, word_terms
from memscope.text.tokens import content_stems, fold, is_unspaced, pieces, stems
from memscope.text.topics import topics_of_phrases, topics_of_words
from memscope.text.vectors import packed, tokens_of_piece

_MOST_WORDS = 1 << 16


class Analysis(NamedTuple):
    pieces: Sequence[str]  # folded words, and runs of scripts without spaces
    terms: bytes  # as ``packed_terms``
    topics: int  # a bit per topic
    meaning: bytes  # int8, the largest component 127; b"" for none
    timed: bool  # has a word of time with letters: "Monday"


class _Word(NamedTuple):
    terms: bytes
    topics: int  # TIMED stands above the topics' bits
    tokens: Sequence[int]


class _Words(dict[str, _Word | None]):
    """Words as they are met; None for one that says nothing. Emptied when full."""

    def __missing__(self, piece: str) -> _Word | None:
        topics = topics_of_words(content_stems(piece)) | TIMED * is_timed(piece)
        found = _Word(packed_terms(word_terms(piece)), topics, tuple(tokens_of_piece(piece)))
        if len(self) >= _MOST_WORDS:
            self.clear()
        self[piece] = made = found if any(found) else None
        return made


WORDS = _Words()


def analyse(text: str) -> Analysis:
    found = pieces(fold(text))
    runs = [] if text.isascii() else list(filter(is_unspaced, found))
    if runs:
        hashes, known = _with_runs(found, runs)
    else:
        known = list(filter(None, map(WORDS.__getitem__, found)))
        hashes = b"".join([word.terms for word in known])
    about = reduce(or_, {word.topics for word in known}, topics_of_phrases(text))
    if not hashes:  # stop words only
        stopped = [word for piece in found for word in stems(piece)]
        hashes, about = packed_terms(list(map(term, stopped))), about | topics_of_words(stopped)
    tokens = [token for word in known for token in word.tokens] if language(text) == "en" else ()
    return Analysis(found, hashes, about & ~TIMED, packed(tokens), bool(about & TIMED))


def _with_runs(found: Sequence[str], runs: Sequence[str]) -> tuple[bytes, list[_Word]]:
    """Returns all terms in order, and the words between runs of scripts without spaces.

    A run is hardly ever met again; neither topics of words nor vectors know it.
    """
    made, unspaced = packed_runs(runs), frozenset(runs)
    words = [None if piece in unspaced else WORDS[piece] for piece in found]
    pairs = zip(found, words, strict=True)
    terms = [next(made) if piece in unspaced else word.terms if word else b"" for piece, word in pairs]
    return b"".join(terms), list(filter(None, words))
