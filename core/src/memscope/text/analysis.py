"""Terms, topics and built-in vector of a text in one pass, with a cache of words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, reduce
from itertools import chain
from operator import attrgetter, or_
from typing import NamedTuple

from memscope.text.language import WordRules, rules_of, spaced_rules
from memscope.text.periods import TIMED_BIT, is_timed
from memscope.text.spelling import lacks_punctuation, may_be_respelled, usual_words
from memscope.text.terms import packed_runs, packed_terms, term, unpacked_terms, word_terms
from memscope.text.tokens import content_stems, fold, fold_variants, is_unspaced, pieces, stems
from memscope.text.topics import topics_of_phrases, topics_of_words
from memscope.text.vectors import packed, tokens_of_piece, tokens_of_run

_MAX_ANALYSED_WORDS = 1 << 16


class Analysis(NamedTuple):
    text: str  # with variants of characters folded
    pieces: Sequence[str]  # folded words, and runs of scripts without spaces
    terms: bytes  # as ``packed_terms``
    topics: int  # a bit per topic
    meaning: bytes  # int8, the largest component 127; b"" for none
    timed: bool  # has a word of time such as "Monday"
    unusual: bool  # ``usual_words`` may change it


class _Word(NamedTuple):
    terms: bytes
    topics: int  # with TIMED_BIT above the topics' bits
    tokens: Sequence[int]
    unusual: bool


_terms, _topics, _tokens, _unusual = map(
    attrgetter, ("terms", "topics", "tokens", "unusual")
)  # quicker than a comprehension


class _Words(dict[str, _Word | None]):
    """Cache of a language's words, emptied when full; None for a word without terms, topics and tokens."""

    def __init__(self, rules: WordRules) -> None:
        self._rules = rules

    def __missing__(self, piece: str) -> _Word | None:
        rules = self._rules
        topics = topics_of_words(content_stems(piece, rules), rules) | TIMED_BIT * is_timed(piece)
        tokens = tuple(tokens_of_piece(piece, rules)) if rules.vectors else ()
        word = _Word(packed_terms(word_terms(piece, rules)), topics, tokens, may_be_respelled(piece, rules))
        if len(self) >= _MAX_ANALYSED_WORDS:
            self.clear()
        self[piece] = entry = word if any(word) else None
        return entry


@lru_cache(maxsize=8)
def known_words(rules: WordRules) -> Mapping[str, _Word | None]:
    return _Words(rules)


def analyse(text: str) -> Analysis:
    text = fold_variants(text)
    parts, rules = pieces(fold(text)), spaced_rules(text)
    words = known_words(rules)
    runs = [] if text.isascii() else list(filter(is_unspaced, parts))
    if runs:
        hashes, known = _with_runs(parts, runs, words)
    else:
        known = list(filter(None, map(words.__getitem__, parts)))
        hashes = b"".join(map(_terms, known))
    about = reduce(or_, set(map(_topics, known)), topics_of_phrases([text])[0])
    if not hashes:  # stop words only
        stopped = [word for piece in parts for word in stems(piece, rules)]
        hashes, about = packed_terms(list(map(term, stopped))), about | topics_of_words(stopped, rules)
    tokens = []
    if rules_of(text).vectors:
        tokens = list(chain.from_iterable((*map(_tokens, known), *map(tokens_of_run, runs))))
    unusual = bool(runs) or any(map(_unusual, known))  # spellings in runs are not looked up word by word
    return Analysis(text, parts, hashes, about & ~TIMED_BIT, packed(tokens), bool(about & TIMED_BIT), unusual)


def analyse_statement(text: str) -> Analysis:
    """Analyse a text in the usual spelling; its terms are those of both spellings."""
    read = analyse(text)
    usual = usual_words(read.text) if read.unusual or lacks_punctuation(read.text) else read.text
    if usual == read.text:
        return read
    respelled = analyse(usual)
    known = set(unpacked_terms(respelled.terms))
    written = [term for term in unpacked_terms(read.terms) if term not in known]
    return respelled._replace(terms=respelled.terms + packed_terms(written))


def _with_runs(
    parts: Sequence[str], runs: Sequence[str], known: Mapping[str, _Word | None]
) -> tuple[bytes, list[_Word]]:
    """Return all terms in order, and the words between runs of scripts without spaces.

    Runs are not cached: they rarely repeat. Their topics and vectors are looked up by word, not by run.
    """
    run_terms, unspaced = packed_runs(runs), frozenset(runs)
    words = [None if piece in unspaced else known[piece] for piece in parts]
    pairs = zip(parts, words, strict=True)
    terms = [next(run_terms) if piece in unspaced else word.terms if word else b"" for piece, word in pairs]
    return b"".join(terms), list(filter(None, words))
