"""Built-in static word vectors: semantic similarity of texts without a server or a model.

A language brings a folder (``WordRules.vectors``) with ``word_vectors.npz``: ``tokens``, UTF-8 with one per line;
``rows``, [tokens, DIMENSIONS] int8; ``scales``, [tokens, 1] float32. Tokens are WordPiece tokens in scripts with
spaces, else words of up to ``MAX_UNSPACED_LETTERS`` characters. A text's vector is the normalised weighted sum of its
words' rows. ``synonyms.npz`` beside it: ``near``, [tokens, 6] uint16, the closest neighbours of each word.

``benchmarks/make_vectors.py`` makes the English table from all-MiniLM-L6-v2, ``make_chinese_vectors.py`` the Chinese
one from bge-small-zh-v1.5 (see NOTICE). Their spaces are aligned: a question in one finds statements in the other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, chain, count, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memscope.text.language import WordRules, depends_on_languages, every_rules, rules_of, spaced_rules, usual_rules
from memscope.text.tokens import fold, is_unspaced, pieces

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float32]

# Bump on any change of table or tokenizer; stores rebuild units of another version.
VECTORS_VERSION = "2"
DIMENSIONS = 128

WORD_VECTORS, SYNONYMS = "word_vectors.npz", "synonyms.npz"
MAX_UNSPACED_LETTERS = 4  # of a word in a script without spaces
NO_SYNONYM = 0xFFFF  # end of a row in the table of synonyms

_VECTOR_WORD = re.compile(r"[^\W\d_]+")
_MAX_WORD_PIECES = 2  # words of more pieces are names or typos, whose pieces carry no meaning
_MAX_WORD_LETTERS = 32


class _Table(NamedTuple):
    """The rows of all languages, each after those of the languages registered before."""

    tokens: Mapping[str, Mapping[str, int]]  # by language
    rows: NDArray[np.int8]  # [tokens, DIMENSIONS]
    scales: Floats  # [tokens]: a row's scale times its token's weight


def sentence_vector(text: str, silent: frozenset[str] = frozenset()) -> Floats | None:
    """Return the unit vector of a text, None without a known word.

    In scripts without spaces, words of only ``silent`` characters do not count, unless there are no others.
    """
    every = _tokens(text)
    tokens = [token for token in every if token not in _tokens_within(silent)] or every
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
    vector: Floats = scales.dot(rows)
    return vector


def along(texts: Sequence[Sequence[int]], direction: Floats) -> list[float]:
    """Return the component of each text's unit vector along a direction, 0 without tokens; ``texts``: their tokens."""
    scales, rows = _rows(list(chain.from_iterable(texts)))
    components = []
    for start, end in pairwise((0, *accumulate(map(len, texts)))):
        vector = scales[start:end].dot(rows[start:end])
        components.append(float(vector.dot(direction)) / math.sqrt(vector.dot(vector)) if start < end else 0.0)
    return components


def _rows(tokens: Sequence[int]) -> tuple[Floats, Floats]:
    """Return the scales and the rows of tokens."""
    import numpy as np

    table, at = _table(), np.array(tokens, np.intp)
    return table.scales.take(at), table.rows.take(at, 0).astype(np.float32)


def synonyms(word: str, rules: WordRules) -> Sequence[str]:
    """Return the words of other stems that are closest in meaning, closest first; none for an unknown word."""
    near = None if rules.vectors is None else _near(rules.vectors)
    if near is None or (at := _tokens_of(rules).get(word)) is None:
        return ()
    names = vector_words(rules)
    first = _tokens_of(rules)[names[0]]
    return [names[other] for other in near[at - first] if other != NO_SYNONYM]


def _tokens(text: str) -> list[int]:
    if rules_of(text).vectors is None:
        return []
    rules = spaced_rules(text)
    return [token for piece in pieces(fold(text)) for token in tokens_of_piece(piece, rules)]


def tokens_of_piece(piece: str, rules: WordRules) -> Sequence[int]:
    """Return the rows for a piece of ``tokens.pieces``: read a word by ``rules``, a run by the rules of its script."""
    if is_unspaced(piece):
        return tokens_of_run(piece)
    return [token for word in _VECTOR_WORD.findall(piece) for token in _word_tokens(word, rules)]


@depends_on_languages
@lru_cache(maxsize=1 << 10)  # the sentences of a text repeat its runs
def tokens_of_run(run: str) -> Sequence[int]:
    """Return the rows of a run's words: at each character the longest known word, then those after it."""
    known, longest = _tokens_of(usual_rules("han")), _longest()
    rows: list[int] = []
    at, end = 0, len(run) if known else 0
    while at < end:
        stop = at + longest.get(run[at : at + 2], 1)
        while (row := known.get(run[at:stop])) is None and stop > at + 1:
            stop -= 1
        if row is not None:
            rows.append(row)
        at = stop
    return rows


@depends_on_languages
@lru_cache(maxsize=1 << 16)
def _word_tokens(word: str, rules: WordRules) -> Sequence[int]:
    silent = not 1 < len(word) <= _MAX_WORD_LETTERS or word in rules.contraction_parts or word in rules.stop_words
    parts = () if silent else word_pieces(word, _tokens_of(rules))
    return parts if len(parts) <= _MAX_WORD_PIECES else ()


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


@depends_on_languages
@lru_cache(maxsize=8)
def vector_words(rules: WordRules) -> Sequence[str]:
    """List the tokens of a language, the most frequent first."""
    return list(_tokens_of(rules))


@lru_cache(maxsize=8)
def _near(folder: Path) -> NDArray[np.uint16] | None:
    """Load [tokens, 6], the rows of each token's synonyms; None if the language has none."""
    import numpy as np

    if not (folder / SYNONYMS).exists():
        return None
    with np.load(folder / SYNONYMS) as stored:
        near: NDArray[np.uint16] = stored["near"]
        return near


@depends_on_languages
@lru_cache(maxsize=1)
def _longest() -> Mapping[str, int]:
    """Map the first two characters of words of scripts without spaces to the length of the longest word."""
    longest: dict[str, int] = {}
    for word in sorted(_tokens_of(usual_rules("han")), key=len):
        if 1 < len(word) <= MAX_UNSPACED_LETTERS:
            longest[word[:2]] = len(word)
    return longest


@depends_on_languages
@lru_cache(maxsize=8)
def _tokens_within(characters: frozenset[str]) -> frozenset[int]:
    known = _tokens_of(usual_rules("han")) if characters else {}
    return frozenset(token for word, token in known.items() if characters.issuperset(word))


def _tokens_of(rules: WordRules) -> Mapping[str, int]:
    return _table().tokens.get(rules.code, {})


@depends_on_languages
@lru_cache(maxsize=1)
def _table() -> _Table:
    import numpy as np

    tokens: dict[str, Mapping[str, int]] = {}
    rows, scales, first = [np.empty((0, DIMENSIONS), np.int8)], [np.empty(0, np.float32)], 0
    for rules in every_rules():
        if rules.vectors is not None:
            with np.load(rules.vectors / WORD_VECTORS) as stored:
                names = stored["tokens"].tobytes().decode().split("\n")
                rows.append(stored["rows"])
                scales.append(stored["scales"][:, 0])
            tokens[rules.code] = dict(zip(names, count(first)))
            first += len(names)
    return _Table(tokens, np.concatenate(rows), np.concatenate(scales))
