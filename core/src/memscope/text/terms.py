"""Hash words to terms: a term is the CRC-32 of a word's UTF-8."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from zlib import crc32

from memscope.text.tokens import content_stems, fold, is_unspaced, pieces, stems

# Names tokenizer, stemmer and stop list: other terms, other version, and a store derives its units anew.
terms_version = "1"


def term(word: str) -> int:
    return crc32(word.encode("utf-8", "surrogatepass"))


def terms(text: str) -> list[int]:
    """Returns ``words`` as term hashes."""
    found = pieces(fold(text))
    return [t for piece in found for t in piece_terms(piece)] or [term(w) for piece in found for w in stems(piece)]


def piece_terms(piece: str) -> Sequence[int]:
    return run_terms(piece) if is_unspaced(piece) else word_terms(piece)


@lru_cache(maxsize=1 << 16)
def word_terms(piece: str) -> tuple[int, ...]:
    return tuple(map(term, content_stems(piece)))


def run_terms(run: str) -> list[int]:
    """Returns the terms of a run of a script without spaces; a pair's CRC-32 goes on from that of its first."""
    encoded = list(map(str.encode, run))
    single = list(map(crc32, encoded))
    pairs = map(crc32, encoded[1:], single)
    return [*chain.from_iterable(zip(single, pairs, strict=False)), single[-1]]


@lru_cache(maxsize=1 << 12)
def name_key(name: str) -> int:
    """Returns the term by which a query names a speaker: the first name, or a whole name in CJK; 0 for none."""
    found = pieces(fold(name))
    if not found:
        return 0
    return term(found[0] if is_unspaced(found[0]) else stems(found[0])[0])


def names(text: str) -> frozenset[int]:
    """Returns every ``name_key`` that the text may mention."""
    found = pieces(fold(text))
    runs = set(filter(is_unspaced, found))
    latin = {t for piece in found if piece not in runs for t in word_terms(piece)}
    return frozenset(latin | {term(run[i:j]) for run in runs for i in range(len(run)) for j in range(i + 2, i + 9)})
