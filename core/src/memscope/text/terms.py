"""Hash words to terms: a term is the CRC-32 of a word's UTF-8."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from sys import byteorder
from typing import TYPE_CHECKING
from zlib import crc32

from memscope.text.language import NO_RULES, WordRules, depends_on_languages, spaced_rules, usual_rules
from memscope.text.tokens import content_stems, fold, is_unspaced, pieces, stems

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Bump on any change of tokenizer, stemmer or stop list; stores rebuild units of another version.
terms_version = "1"
TERM_BYTES = 4


def term(word: str) -> int:
    return crc32(word.encode("utf-8", "surrogatepass"))


def terms(text: str) -> list[int]:
    """Hash the words of a text (``tokens.words``)."""
    parts, rules = pieces(fold(text)), spaced_rules(text)
    content = [hash for piece in parts for hash in piece_terms(piece, rules)]
    return content or [term(word) for piece in parts for word in stems(piece, rules)]


def piece_terms(piece: str, rules: WordRules) -> Sequence[int]:
    return list(map(term, stems(piece, rules))) if is_unspaced(piece) else word_terms(piece, rules)


@lru_cache(maxsize=1 << 16)
def word_terms(piece: str, rules: WordRules) -> tuple[int, ...]:
    return tuple(map(term, content_stems(piece, rules)))


def packed_runs(runs: Sequence[str]) -> Iterator[bytes]:
    """Yield the packed ``piece_terms`` of each run of a script without spaces, computed together."""
    import numpy as np

    joined = "".join(runs).encode("utf-16-le", "surrogatepass")
    codes = np.frombuffer(joined, "<u2")
    if len(codes) > sum(map(len, runs)):  # characters above U+FFFF
        yield from (packed_terms(piece_terms(run, NO_RULES)) for run in runs)
        return
    single, further = _character_terms()
    hashes = np.empty(2 * len(codes), "<u4")
    hashes[::2] = single.take(codes)
    hashes[1:-1:2] = further.take(codes[:-1]) ^ hashes[2::2]
    packed, start = hashes.tobytes(), 0
    for end in accumulate(map(len, runs)):
        yield packed[8 * start : 8 * end - 4]
        start = end


def packed_terms(terms: Sequence[int]) -> bytes:
    """Pack terms as little-endian uint32."""
    values = array("I", terms)
    if byteorder == "big":
        values.byteswap()
    return values.tobytes()


def unpacked_terms(packed: bytes) -> Sequence[int]:
    values = array("I", packed)
    if byteorder == "big":
        values.byteswap()
    return values


@lru_cache(maxsize=1)
def _character_terms() -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Compute tables of 65536 entries for characters from U+0800: their CRC-32, and their share in that of a pair.

    CRC-32 is linear: a pair's is that of the first character, advanced by three zero bytes, XOR that of the second.
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


@depends_on_languages
@lru_cache(maxsize=1 << 12)
def name_key(name: str) -> int:
    """Return the term for a speaker in a query: the first name, or a whole name in CJK; 0 for an empty one."""
    words = pieces(fold(name))
    if not words:
        return 0
    return term(words[0] if is_unspaced(words[0]) else stems(words[0], usual_rules("latin"))[0])


def names(text: str) -> frozenset[int]:
    """Return every ``name_key`` that the text may mention."""
    parts = pieces(fold(text))
    runs = set(filter(is_unspaced, parts))
    usual = usual_rules("latin")
    spaced = {hash for piece in parts if piece not in runs for hash in word_terms(piece, usual)}
    return frozenset(spaced | {term(run[i:j]) for run in runs for i in range(len(run)) for j in range(i + 2, i + 9)})
