"""Built-in static word vectors: semantic similarity of English texts without a server or a model.

``data/word_vectors.npz`` (made by ``benchmarks/make_vectors.py`` from all-MiniLM-L6-v2, Apache-2.0: see NOTICE) has one
row per WordPiece token. A text's vector is the weighted sum of its words' rows at length 1, so that a dot product is a
cosine. Stop words do not count. Texts in Chinese, Japanese and Korean have no vector: the table has no words of them.
``data/synonyms.npz``, made along, has the closest neighbours of each word.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memscope.text.language import language
from memscope.text.tokens import STOP_WORDS, fold, pieces

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float32]

# Names table and tokenizer: other vectors, other version, and a store derives its units' vectors anew.
VECTORS_VERSION = "1"
DIMENSIONS = 128

DATA = Path(__file__).parent / "data"
NONE = 0xFFFF  # in the table of synonyms: no further one

_WORD = re.compile(r"[^\W\d_]+")
_MOST_PIECES = 2  # a word of more is a name, a typing error or no word: its pieces say nothing of its meaning
_LONGEST = 32  # letters: nothing longer is a word
# The parts of "don't" and "I'll" that are no words.
_CONTRACTED = frozenset(
    "ain aren couldn didn doesn don hadn hasn haven isn ll mustn re shouldn ve wasn weren wouldn".split()
)
_SILENT = STOP_WORDS | _CONTRACTED


class _Table(NamedTuple):
    tokens: dict[str, int]
    rows: NDArray[np.int8]  # [tokens, DIMENSIONS]
    scales: Floats  # [tokens]: a row's scale times its token's weight


def sentence_vector(text: str) -> Floats | None:
    """[DIMENSIONS] of length 1; None where no word is known."""
    return normal_vector(_tokens(text))


def normal_vector(found: Sequence[int]) -> Floats | None:
    """[DIMENSIONS] of length 1 of a text's tokens; None for none."""
    if not found:
        return None
    vector = summed(found)
    return vector / math.sqrt(vector @ vector)


def packed(found: Sequence[int]) -> bytes:
    """Returns the vector of a text's tokens as int8, its largest component 127; b"" for none."""
    return scaled(summed(found)) if found else b""


def scaled(vector: Floats) -> bytes:
    """Returns a vector as int8, the largest component 127."""
    import numpy as np

    sizes = np.abs(vector)
    made: bytes = np.rint(vector * (127 / sizes[sizes.argmax()])).astype(np.int8).tobytes()
    return made


def summed(found: Sequence[int]) -> Floats:
    """[DIMENSIONS]: the weighted sum of the rows of a text's tokens, of which there must be some."""
    import numpy as np

    table, rows = _table(), np.array(found, np.intp)
    vector: Floats = table.scales.take(rows) @ table.rows.take(rows, 0).astype(np.float32)
    return vector


def synonyms(word: str) -> Sequence[str]:
    """Returns the words closest in meaning, the closest first, of different stems; none for a word not known."""
    at = _table().tokens.get(word)
    return () if at is None else [_names()[other] for other in _near()[at] if other != NONE]


def _tokens(text: str) -> list[int]:
    if language(text) != "en":
        return []
    return [token for piece in pieces(fold(text)) for token in tokens_of_piece(piece)]


def tokens_of_piece(piece: str) -> list[int]:
    """Returns the rows of the table for a piece as ``tokens.pieces`` gives it."""
    return [token for word in _WORD.findall(piece) for token in _word_tokens(word)]


@lru_cache(maxsize=1 << 16)
def _word_tokens(word: str) -> Sequence[int]:
    silent = len(word) == 1 or len(word) > _LONGEST or word in _SILENT
    parts = () if silent else word_pieces(word, _table().tokens)
    return parts if len(parts) <= _MOST_PIECES else ()


def word_pieces(word: str, known: Mapping[str, int]) -> Sequence[int]:
    """WordPiece: the longest known piece first, again and again; nothing for a word with an unknown piece."""
    found: list[int] = []
    start = 0
    while start < len(word):
        prefix = "##" if start else ""
        end = next((end for end in range(len(word), start, -1) if prefix + word[start:end] in known), None)
        if end is None:
            return ()
        found.append(known[prefix + word[start:end]])
        start = end
    return found


@lru_cache(maxsize=1)
def _names() -> Sequence[str]:
    return list(_table().tokens)


@lru_cache(maxsize=1)
def _near() -> NDArray[np.uint16]:
    """[tokens, 6]: the rows of a word's synonyms."""
    import numpy as np

    with np.load(DATA / "synonyms.npz") as stored:
        near: NDArray[np.uint16] = stored["near"]
        return near


@lru_cache(maxsize=1)
def _table() -> _Table:
    import numpy as np

    with np.load(DATA / "word_vectors.npz") as stored:
        tokens = stored["tokens"].tobytes().decode("ascii").split("\n")
        return _Table(dict(zip(tokens, count())), stored["rows"], stored["scales"][:, 0].copy())
