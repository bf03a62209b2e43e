"""Fold and split a text into words; estimate its tokens.

    text ──fold──▶ "moved to berlin 北京" ──words──▶ "move", "berlin", "北", "北京", "京"

English words are stemmed and stop words left out; scripts written without spaces, and Korean, give each character and
each adjacent pair; other scripts give their words, case and accents folded.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from memscope.imports import pattern
from memscope.text.language import CJK, cjk_count
from memscope.text.stemmer import stem

_UNSPACED = CJK + "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ede\u1000-\u103f\u1780-\u17d3"  # and Thai, Lao, Burmese, Khmer
_LETTERS = f"[^\\W_{_UNSPACED}]+|[\u0900-\u0963\u0966-\u0dff]"  # Indic vowel signs are no \w for Python


_LATIN_WORD = pattern(r"[a-z0-9]+(?:'[a-z]+)?")
_WORD = pattern(f"[{_UNSPACED}]+|(?:{_LETTERS})+(?:'[a-z]+)?")
_UNSPACED_CHARACTER = pattern(f"[{_UNSPACED}]")
# Whatever ``fold`` takes off is among these; to look up each character of a text takes ten times as long.
_MAY_COMBINE = pattern("[^\0-\u02ff\u2000-\u20cf\u3000-\u3029\u3030-\ua66e\uac00-\ud7ff\uf900-\ufb1d\uff00-\uffff]")


def estimate_tokens(text: str) -> int:
    """Characters / 4, a CJK character for one: 7-14 % above o200k's count, on chats in English and Chinese."""
    cjk = cjk_count(text)
    return math.ceil((len(text) - cjk) / 4) + cjk


STOP_WORDS = frozenset(
    """a about above after again against all also am an and another any anybody anyone anything are aren't as at be
    because been before being below between both but by can cannot cant could did do does doing done dont down during
    each either else ever every everybody everyone everything few for from further get gets getting go goes going gonna
    got had has have having he her here hers herself him himself his how however i if ill im in into is isnt it its
    itself ive just let lets like lot lots many me more most much must my myself neither no nobody nor not nothing now
    of off oh ok okay on once one only onto or other others our ours ourselves out over own quite rather really same
    shall she should since so some somebody someone something such than that thats the their theirs them themselves
    then there these they thing things this those though through thru to too toward towards under until up upon us
    very was we well were what whatever when whenever where wherever whether which whichever while who whoever whom
    whose why will with within without would yeah yes yet you your youre yours yourself yourselves""".split()
)


def fold(text: str) -> str:
    """One spelling of the same words: compatibility forms, case and accents folded, the voicing of kana kept."""
    if text.isascii() or (text := text.replace("’", "'")).isascii():
        return text.lower()
    bare = unicodedata.normalize("NFKD", text.casefold())
    if _MAY_COMBINE.search(bare):
        bare = "".join(c for c in bare if unicodedata.combining(c) < 10)
    return unicodedata.normalize("NFKC", bare).casefold()


def words(text: str) -> list[str]:
    """Returns the words a text is found by, in order; stop words only if there are no others."""
    found = pieces(fold(text))
    return [word for piece in found for word in content_stems(piece)] or [
        word for piece in found for word in stems(piece)
    ]


def pieces(folded: str) -> list[str]:
    return (_LATIN_WORD if folded.isascii() else _WORD).findall(folded)


def is_unspaced(piece: str) -> bool:
    """Returns whether a piece is a run of a script without spaces."""
    return "\u4e00" <= piece[:1] <= "\u9fff" or (not piece.isascii() and _UNSPACED_CHARACTER.match(piece) is not None)


def has_words(folded: str) -> bool:
    return (_LATIN_WORD if folded.isascii() else _WORD).search(folded) is not None


@lru_cache(maxsize=1 << 12)
def content_stems(piece: str) -> Sequence[str]:
    return () if piece.endswith("n't") or _head(piece) in STOP_WORDS else stems(piece)


def stems(piece: str) -> Sequence[str]:
    if is_unspaced(piece):
        return _grams(piece)
    head = _head(piece)
    return (stem(head) if head.isascii() and not head.isdigit() else head,)


def _head(piece: str) -> str:
    """Returns the part before the apostrophe, or after an elided article or a prefix: l'école, o'neill."""
    head, _, tail = piece.partition("'")
    return tail if len(head) == 1 and len(tail) > 2 else head


def _grams(run: str) -> list[str]:
    """Each character, and each pair after its first character."""
    grams = [gram for i in range(len(run) - 1) for gram in (run[i], run[i : i + 2])]
    return [*grams, run[-1]]
