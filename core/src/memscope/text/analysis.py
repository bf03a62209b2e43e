"""Terms, topics and built-in vector of a text from one folding and splitting; each distinct word is looked up once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from memscope.text.language import language
from memscope.text.terms import run_terms, term, word_terms
from memscope.text.tokens import UNSPACED_START, content_stems, fold, pieces, stems
from memscope.text.topics import topics_of_phrases, topics_of_words
from memscope.text.vectors import packed, tokens_of_piece


class Analysis(NamedTuple):
    pieces: Sequence[str]  # folded words, and runs of scripts without spaces
    terms: Sequence[int]
    topics: int  # a bit per topic
    meaning: bytes  # int8, the largest component 127; b"" for none


class _Piece(NamedTuple):
    terms: Sequence[int]
    topics: int
    tokens: Sequence[int]


def analyse(text: str) -> Analysis:
    found = pieces(fold(text))
    known = list(map(_word if text.isascii() else _piece, found))
    hashes = list(chain.from_iterable([piece.terms for piece in known]))
    about = topics_of_phrases(text)
    for topics in {piece.topics for piece in known}:
        about |= topics
    if not hashes:  # stop words only
        stopped = [word for piece in found for word in stems(piece)]
        hashes, about = [term(word) for word in stopped], about | topics_of_words(stopped)
    english = language(text) == "en"
    meaning = packed(list(chain.from_iterable([piece.tokens for piece in known]))) if english else b""
    return Analysis(found, hashes, about, meaning)


def _piece(piece: str) -> _Piece:
    """A run of a script without spaces is hardly ever met again; neither topics of words nor vectors know it."""
    return _Piece(run_terms(piece), 0, ()) if UNSPACED_START.match(piece) else _word(piece)


@lru_cache(maxsize=1 << 16)
def _word(piece: str) -> _Piece:
    return _Piece(word_terms(piece), topics_of_words(content_stems(piece)), tuple(tokens_of_piece(piece)))
