"""Hash words to terms: a term is the CRC-32 of a word's UTF-8."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from sys import byteorder
from typing import TYPE_CHECKING
from zlib import crc32

from memscope.text.tokens import content_stems, fold, is_unspaced, pieces, stems

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Names tokenizer, stemmer and stop list: other terms, other version, and a store derives its units anew.
terms_version = "1"
TERM_BYTES = 4


def term(word: str) -> int:
    return crc32(word.encode("utf-8", "surrogatepass"))


def terms(text: str) -> list[int]:
    """Returns ``words`` as term hashes."""
    found = pieces(fold(text))
    return [t for piece in found for t in piece_terms(piece)] or [term(w) for piece in found for w in stems(piece)]


def piece_terms(piece: str) -> Sequence[int]:
    return list(map(term, stems(piece))) if is_unspaced(piece) else word_terms(piece)


@lru_cache(maxsize=1 << 16)
def word_terms(piece: str) -> tuple[int, ...]:
    return tuple(map(term, content_stems(piece)))


def packed_runs(runs: Sequence[str]) -> Iterator[bytes]:
    """Yield the packed ``piece_terms`` of each of a text's runs of scripts without spaces, all computed at once."""
    import numpy as np

    joined = "".join(runs).encode("utf-16-le", "surrogatepass")
    codes = np.frombuffer(joined, "<u2")
    if len(codes) > sum(map(len, runs)):  # characters above U+FFFF
        yield from (packed_terms(piece_terms(run)) for run in runs)
        return
    single, further = _character_terms()
    made = np.empty(2 * len(codes), "<u4")
    made[::2] = single.take(codes)
    made[1:-1:2] = further.take(codes[:-1]) ^ made[2::2]
    found, start = made.tobytes(), 0
    for end in accumulate(map(len, runs)):
        yield found[8 * start : 8 * end - 4]
        start = end


def packed_terms(terms: Sequence[int]) -> bytes:
    """Returns terms as little-endian uint32."""
    made = array("I", terms)
    if byteorder == "big":
        made.byteswap()
    return made.tobytes()


@lru_cache(maxsize=1)
def _character_terms() -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """[65536] each, right from U+0800: a character's CRC-32, and what a pair's is but for that of its second.

    CRC-32 is linear: the first character's, led through the second's three bytes as if they were zeros.
    """
    import numpy as np

    steps = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        steps = np.where(steps & 1, steps >> 1 ^ 0xEDB88320, steps >> 1).astype(np.uint32)
    codes = np.arange(1 << 16, dtype=np.uint32)
    register = np.full(1 << 16, 0xFFFFFFFF, np.uint32)
    for byte in (0xE0 | codes >> 12, 0x80 | codes >> 6 & 0x3F, 0x80 | codes & 0x3F):
        register = steps[(register ^ byte) & 0xFF] ^ register >> 8
    single = further = ~register
    for _ in range(3):
        further = steps[further & 0xFF] ^ further >> 8
    return single, further


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
