"""all-MiniLM-L6-v2 (Wang et al. 2020, sentence-transformers) in numpy: six layers, mean pooling, unit vectors."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .wordpiece import WordPiece

Floats = NDArray[np.float32]

SIZE, LAYERS, HEADS, MAX_TOKENS, VOCABULARY = 384, 6, 12, 256, 30522
HEAD = SIZE // HEADS


def load_safetensors(path: Path) -> dict[str, Floats]:
    """The float32 tensors of a safetensors file, mapped and not read."""
    data = np.memmap(path, np.uint8, "r")
    start = 8 + struct.unpack("<Q", bytes(data[:8]))[0]
    header = json.loads(bytes(data[8:start]))

    def tensor(entry: dict[str, list[int]]) -> Floats:
        low, high = entry["data_offsets"]
        return data[start + low : start + high].view(np.float32).reshape(entry["shape"])

    entries = {name: entry for name, entry in header.items() if name != "__metadata__" and entry["dtype"] == "F32"}
    return {name: tensor(entry) for name, entry in entries.items()}


def erf(x: Floats) -> Floats:
    """Abramowitz and Stegun 7.1.26, within 1.5e-7."""
    p, a = np.float32(0.3275911), [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592]
    t = 1.0 / (1.0 + p * np.abs(x))
    poly = np.zeros_like(x)
    for factor in a:
        poly = (poly + np.float32(factor)) * t
    return np.sign(x) * (1.0 - poly * np.exp(-x * x))


def gelu(x: Floats) -> Floats:
    return 0.5 * x * (1 + erf(x * np.float32(1 / math.sqrt(2))))


@dataclass(frozen=True)
class Dense:
    weight: Floats  # [in, out]
    bias: Floats

    def __call__(self, x: Floats) -> Floats:
        return x @ self.weight + self.bias


@dataclass(frozen=True)
class Norm:
    weight: Floats
    bias: Floats

    def __call__(self, x: Floats) -> Floats:
        x = x - x.mean(-1, keepdims=True)
        variance = np.einsum("ij,ij->i", x, x)[:, None] / x.shape[-1]
        return x / np.sqrt(variance + 1e-12) * self.weight + self.bias


@dataclass(frozen=True)
class Layer:
    query_key_value: Dense
    output: Dense
    output_norm: Norm
    expand_lists: Dense
    narrow: Dense
    narrow_norm: Norm


class Weights:
    """Names of the published file → layers."""

    def __init__(self, path: Path) -> None:
        self.tensors = load_safetensors(path)

    def __getitem__(self, name: str) -> Floats:
        return np.array(self.tensors[name], np.float32)

    def dense(self, name: str) -> Dense:
        return Dense(np.ascontiguousarray(self[f"{name}.weight"].T), self[f"{name}.bias"])

    def norm(self, name: str) -> Norm:
        return Norm(self[f"{name}.LayerNorm.weight"], self[f"{name}.LayerNorm.bias"])

    def layer(self, index: int) -> Layer:
        name = f"encoder.layer.{index}"
        query, key, value = (self.dense(f"{name}.attention.self.{part}") for part in ("query", "key", "value"))
        scale = np.float32(1 / math.sqrt(HEAD))
        return Layer(
            Dense(
                np.concatenate([query.weight * scale, key.weight, value.weight], axis=1),
                np.concatenate([query.bias * scale, key.bias, value.bias]),
            ),
            self.dense(f"{name}.attention.output.dense"),
            self.norm(f"{name}.attention.output"),
            self.dense(f"{name}.intermediate.dense"),
            self.dense(f"{name}.output.dense"),
            self.norm(f"{name}.output"),
        )


class MiniLM:
    """``embed`` gives one unit vector of 384 a text."""

    def __init__(self, weights: Path, vocabulary: Path) -> None:
        source = Weights(weights)
        self.tokens = WordPiece(vocabulary.read_text(encoding="utf-8").split("\n")[:VOCABULARY])
        self.words = source.tensors["embeddings.word_embeddings.weight"]
        positions = source["embeddings.position_embeddings.weight"][:MAX_TOKENS]
        self.positions = positions + source["embeddings.token_type_embeddings.weight"][0]
        self.norm = source.norm("embeddings")
        self.layers = [source.layer(index) for index in range(LAYERS)]

    def embed(self, texts: list[str], batch_tokens: int = 2048) -> Floats:
        """[len(texts), 384]"""
        return self.embed_tokens([self.tokens.encode(text, MAX_TOKENS) for text in texts], batch_tokens)

    def embed_tokens(self, ids: list[list[int]], batch_tokens: int = 2048) -> Floats:
        """[len(ids), 384] of rows as ``WordPiece.encode`` gives them."""
        vectors = np.empty((len(ids), SIZE), np.float32)
        for batch in batches([len(row) for row in ids], batch_tokens):
            vectors[batch] = self._forward([ids[i] for i in batch])
        return vectors

    def _forward(self, rows: list[list[int]]) -> Floats:
        """Rows sorted by length, laid end to end: no padding; attention by groups of one length."""
        lengths = [len(row) for row in rows]
        places = np.concatenate([np.arange(length) for length in lengths])
        x = self.norm(self.words[np.concatenate(rows)] + self.positions[places])
        groups = list(equal_lengths(lengths))
        for layer in self.layers:
            x = layer.output_norm(layer.output(attention(layer.query_key_value(x), groups)) + x)
            x = layer.narrow_norm(layer.narrow(gelu(layer.expand_lists(x))) + x)
        means = [x[at : at + count * length].reshape(count, length, SIZE).mean(1) for at, count, length in groups]
        pooled = np.concatenate(means)
        return pooled / np.linalg.norm(pooled, axis=1, keepdims=True)


def batches(lengths: list[int], most: int) -> Iterator[list[int]]:
    """Indices by rising length, in runs of at most ``most`` tokens."""
    batch: list[int] = []
    total = 0
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and total + lengths[i] > most:
            yield batch
            batch, total = [], 0
        batch.append(i)
        total += lengths[i]
    if batch:
        yield batch


def equal_lengths(lengths: list[int]) -> Iterator[tuple[int, int, int]]:
    """(first token, rows, length) of each run of rows of one length."""
    at = first = 0
    for i in range(1, len(lengths) + 1):
        if i == len(lengths) or lengths[i] != lengths[first]:
            count = i - first
            yield at, count, lengths[first]
            at, first = at + count * lengths[first], i


def attention(projected: Floats, groups: list[tuple[int, int, int]]) -> Floats:
    mixed = np.empty((projected.shape[0], SIZE), np.float32)
    for at, count, length in groups:
        stop = at + count * length
        parts = projected[at:stop].reshape(count, length, 3, HEADS, HEAD).transpose(2, 0, 3, 1, 4)
        query, key, value = parts
        scores = query @ key.transpose(0, 1, 3, 2)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        mixed[at:stop] = (scores @ value).transpose(0, 2, 1, 3).reshape(count * length, SIZE)
    return mixed
