"""Built-in static word vectors: semantic similarity of English texts without a server or a model.

``data/word_vectors.npz`` (made by ``benchmarks/make_vectors.py`` from all-MiniLM-L6-v2, Apache-2.0: see NOTICE) has one
row per WordPiece token. A text's vector is the normalised weighted sum of its words' rows without stop words. Texts in
Chinese, Japanese and Korean have no vector. ``data/synonyms.npz``, of the same program, has the closest neighbours of
each word.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, chain, count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memscope.text.language import depends_on_languages, rules_of, usual_rules
from memscope.text.tokens import fold, pieces

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float32]

# Bump on any change of table or tokenizer; stores rebuild units of another version.
VECTORS_VERSION = "1"
DIMENSIONS = 128

VECTOR_FOLDER = Path(__file__).parent / "data"
NO_SYNONYM = 0xFFFF  # end of a row in the table of synonyms

_VECTOR_WORD = re.compile(r"[^\W\d_]+")
_MOST_PIECES = 2  # words of more pieces are names or typing errors, whose pieces carry no meaning
_MAX_WORD_LETTERS = 32
# The parts of "don't" and "I'll" that are no words.
_CONTRACTIONS = frozenset(
    "ain aren couldn didn doesn don hadn hasn haven isn ll mustn re shouldn ve wasn weren wouldn".split()
)


class _Table(NamedTuple):
    tokens: dict[str, int]
    rows: NDArray[np.int8]  # [tokens, DIMENSIONS]
    scales: Floats  # [tokens]: a row's scale times its token's weight


def sentence_vector(text: str) -> Floats | None:
    """Return the unit vector of a text, None without a known word."""
    tokens = _tokens(text)
    if not tokens:
        return None
    vector = summed(tokens)
    return vector / math.sqrt(vector @ vector)


def packed(tokens: Sequence[int]) -> bytes:
    """Return the int8 vector of tokens, b"" without tokens."""
    return scaled(summed(tokens)) if tokens else b""


def scaled(vector: Floats) -> bytes:
    """Scale a vector to int8 with 127 as its largest component."""
    import numpy as np

    sizes = np.abs(vector)
    data: bytes = np.rint(vector * (127 / sizes[sizes.argmax()])).astype(np.int8).tobytes()
    return data


def summed(tokens: Sequence[int]) -> Floats:
    """Return the weighted sum of the rows of at least one token."""
    scales, rows = _rows(tokens)
    vector: Floats = scales @ rows
    return vector


def along(texts: Sequence[Sequence[int]], direction: Floats) -> list[float]:
    """Return the component of each text's unit vector along a direction, 0 without tokens; ``texts``: their tokens."""
    import numpy as np

    known = list(filter(None, texts))
    if not known:
        return [0.0] * len(texts)
    scales, rows = _rows(list(chain.from_iterable(known)))
    rows *= scales[:, None]
    vectors = np.add.reduceat(rows, [0, *accumulate(map(len, known[:-1]))])
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    found = iter((vectors @ direction / lengths).tolist())
    return [next(found) if tokens else 0.0 for tokens in texts]


def _rows(tokens: Sequence[int]) -> tuple[Floats, Floats]:
    """Return the scales and the rows of tokens."""
    import numpy as np

    table, at = _table(), np.array(tokens, np.intp)
    return table.scales.take(at), table.rows.take(at, 0).astype(np.float32)


def synonyms(word: str) -> Sequence[str]:
    """Return the words of other stems that are closest in meaning, closest first; none for an unknown word."""
    at = _table().tokens.get(word)
    return () if at is None else [_names()[other] for other in _near()[at] if other != NO_SYNONYM]


def _tokens(text: str) -> list[int]:
    if not rules_of(text).vectors:
        return []
    return [token for piece in pieces(fold(text)) for token in tokens_of_piece(piece)]


def tokens_of_piece(piece: str) -> list[int]:
    """Return the rows of the table for a piece of ``tokens.pieces``."""
    return [token for word in _VECTOR_WORD.findall(piece) for token in _word_tokens(word)]


@depends_on_languages
@lru_cache(maxsize=1 << 16)
def _word_tokens(word: str) -> Sequence[int]:
    silent = (
        len(word) == 1
        or len(word) > _MAX_WORD_LETTERS
        or word in _CONTRACTIONS
        or word in usual_rules("latin").stop_words
    )
    parts = () if silent else word_pieces(word, _table().tokens)
    return parts if len(parts) <= _MOST_PIECES else ()


def word_pieces(word: str, known: Mapping[str, int]) -> Sequence[int]:
    """Split a word by WordPiece, longest known piece first; empty for a word with an unknown piece."""
    rows: list[int] = []
    start = 0
    while start < len(word):
        prefix = "##" if start else ""
        end = next((end for end in range(len(word), start, -1) if prefix + word[start:end] in known), None)
        if end is None:
            return ()
        rows.append(known[prefix + word[start:end]])
        start = end
    return rows


@lru_cache(maxsize=1)
def _names() -> Sequence[str]:
    return list(_table().tokens)


@lru_cache(maxsize=1)
def _near() -> NDArray[np.uint16]:
    """Return as [tokens, 6] the rows of each token's synonyms."""
    import numpy as np

    with np.load(VECTOR_FOLDER / "synonyms.npz") as stored:
        near: NDArray[np.uint16] = stored["near"]
        return near


@lru_cache(maxsize=1)
def _table() -> _Table:
    import numpy as np

    with np.load(VECTOR_FOLDER / "word_vectors.npz") as stored:
        tokens = stored["tokens"].tobytes().decode("ascii").split("\n")
        return _Table(dict(zip(tokens, count())), stored["rows"], stored["scales"][:, 0].copy())
