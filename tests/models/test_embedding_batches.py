"""Vectors that cannot be used are refused, the others come in order and normalised."""

from __future__ import annotations

import base64
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memscope.errors import EmbeddingError
from memscope.models.embedding_batches import VectorCache, batches, read_vectors
from memscope.text.tokens import estimate_tokens


def reply(*rows: Any, order: list[int | None] | None = None) -> dict[str, Any]:
    places = range(len(rows)) if order is None else order
    items = [{"index": place, "embedding": row} for place, row in zip(places, rows, strict=True)]
    return {"data": [{k: v for k, v in item.items() if v is not None} for item in items]}


def coded(*numbers: float) -> str:
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


@pytest.mark.parametrize(
    "payload",
    [
        reply([3, 4], [0, 5.0]),
        reply([0, 5.0], [3, 4], order=[1, 0]),
        reply([3, 4], [0, 5.0], order=[None, None]),
        reply(coded(3, 4), coded(0, 5)),
        reply([3e30, 4e30], [0, 1e-9]),
    ],
)
def test_reads_rows_in_the_order_of_the_texts(payload: dict[str, Any]) -> None:
    rows = read_vectors(payload, 2)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0, 1]], rtol=1e-6)


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ({}, "no vectors"),
        ({"data": None}, "no vectors"),
        ({"data": [1, 2]}, "no vectors"),
        (reply([1, 2]), "2 texts were sent and 1"),
        (reply([1, 2], [1, 2], [1, 2]), "2 texts were sent and 3"),
        (reply([1, 2], [1, 2], order=[0, 0]), "indices"),
        (reply([1, 2], [1, 2], order=[0, 7]), "indices"),
        (reply([1, 2], [1, 2], order=[0, None]), "indices"),
        (reply([1, 2], [1, 2, 3]), "flat lists of one length"),
        (reply([], []), "flat lists of one length"),
        (reply([1, float("nan")], [1, 2]), r"vectors \[0\] of 2"),
        (reply([1, 2], [1, float("inf")]), r"vectors \[1\] of 2"),
        (reply([1, 2], [1, 1e39]), r"vectors \[1\] of 2"),
        (reply([1, 2], [0, 0]), r"vectors \[1\] of 2"),
        (reply([1, 2], [1, None]), r"vectors \[1\] of 2"),
        (reply([1, 2], ["1", "2"]), "neither"),
        (reply([1, 2], [[1], [2]]), "flat lists of one length"),
        (reply([1, 2], {"a": 1}), "neither"),
        (reply([1, 2], None), "neither"),
        (reply("!!!!", "!!!!"), "neither"),
        (reply("AAAA", "AAAA"), "neither"),
        (reply([10**400, 1], [1, 2]), "neither"),
    ],
)
def test_refuses_what_cannot_be_used(payload: dict[str, Any], message: str) -> None:
    with pytest.raises(EmbeddingError, match=message):
        read_vectors(payload, 2)


@given(st.lists(st.text(max_size=30), max_size=30), st.integers(1, 5), st.integers(1, 20))
def test_batches_hold_every_text_once_in_order_and_no_more_than_allowed(
    texts: list[str], most: int, tokens: int
) -> None:
    made = list(batches(texts, most, tokens))
    assert [text for batch in made for text in batch] == texts
    for batch in made:
        assert len(batch) <= most
        assert len(batch) == 1 or sum(map(estimate_tokens, batch)) <= tokens


def test_the_cache_keeps_the_latest_and_cannot_be_written_through() -> None:
    cache = VectorCache(2)
    for text in ("a", "b", "a", "c"):
        if cache.get(text) is None:
            cache.put(text, np.ones(2, np.float32))
    assert cache.get("b") is None
    row = cache.get("a")
    assert row is not None
    with pytest.raises(ValueError, match="read-only"):
        row[0] = 2
