"""Terms, topics and built-in vector of a text from one folding and splitting; each distinct word is looked up once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from memscope.text.language import language
from memscope.text.terms import content_terms, term
from memscope.text.tokens import content_stems, fold, pieces, stems
from memscope.text.topics import topics_of_phrases, topics_of_words
from memscope.text.vectors import packed, tokens_of_piece


class Analysis(NamedTuple):
    pieces: Sequence[str]  # folded words, and runs of scripts without spaces
    terms: Sequence[int]
    topics: int  # a bit per topic
    meaning: bytes  # int8, the largest component 127; b"" for none


class _Piece(NamedTuple):
    terms: tuple[int, ...]
    topics: int
    tokens: Sequence[int]


def analyse(text: str) -> Analysis:
    found = pieces(fold(text))
    known = [_piece(piece) for piece in found]
    hashes = list(chain.from_iterable([piece.terms for piece in known]))
    about = bits(topics_of_phrases(text))
    for piece in known:
        about |= piece.topics
    if not hashes:  # stop words only
        stopped = [word for piece in found for word in stems(piece)]
        hashes, about = [term(word) for word in stopped], about | bits(topics_of_words(stopped))
    english = language(text) == "en"
    meaning = packed(list(chain.from_iterable([piece.tokens for piece in known]))) if english else b""
    return Analysis(found, hashes, about, meaning)


@lru_cache(maxsize=1 << 16)
def _piece(piece: str) -> _Piece:
    topics = bits(topics_of_words(content_stems(piece)))
    return _Piece(content_terms(piece), topics, tuple(tokens_of_piece(piece)))


def bits(numbers: frozenset[int]) -> int:
    return sum(1 << number for number in numbers)
