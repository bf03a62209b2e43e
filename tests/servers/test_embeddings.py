"""The embedding server: what comes over the wire, and that the vectors mean something."""

from __future__ import annotations

import base64
import json
import struct
import urllib.request

import pytest

from servers.embeddings.wordpiece import WordPiece, words


def ask(url: str, body: dict) -> list[list[float]]:
    request = urllib.request.Request(
        f"{url}/embeddings", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as reply:
        return [row["embedding"] for row in json.load(reply)["data"]]


def cosine(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def test_vectors_are_unit_and_closer_when_the_meaning_is(embedding_server):
    texts = ["I moved to Berlin in May.", "She relocated to the German capital.", "The soup needs more salt."]
    moved, relocated, soup = ask(embedding_server.base_url, {"input": texts})
    assert len(moved) == 384 and cosine(moved, moved) == pytest.approx(1, abs=1e-5)
    assert cosine(moved, relocated) > cosine(moved, soup) + 0.2


def test_base64_and_floats_are_the_same_and_a_batch_changes_nothing(embedding_server):
    plain = ask(embedding_server.base_url, {"input": "green tea"})[0]
    coded = ask(
        embedding_server.base_url,
        {"input": ["a longer sentence about coffee", "green tea"], "encoding_format": "base64"},
    )[1]
    assert struct.unpack("<384f", base64.b64decode(coded)) == pytest.approx(plain, abs=1e-5)


def test_words():
    assert list(words("Héllo, wörld\u200b 北京!")) == ["hello", ",", "world", "北", "京", "!"]


def test_the_longest_piece_wins_and_one_unknown_piece_makes_the_word_unknown():
    pieces = WordPiece(["[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "##a"])
    assert pieces.encode("unaffable unaffected") == [1, 3, 4, 5, 0, 2]
    assert pieces.encode("un " * 500, max_length=8) == [1, 3, 3, 3, 3, 3, 3, 2]
