"""Vectors as bytes tell nearly what float32 does, with and without simsimd."""

from __future__ import annotations

from typing import Any

import hypothesis.extra.numpy as arrays
import hypothesis.strategies as some
import numpy as np
import pytest
from hypothesis import given, settings

from memscope import AsyncMemoryScope
from memscope.records import VectorSpace
from memscope.search import vectors as module
from memscope.search.vectors import VectorMatrix, pack, stored_rows, unpack

NUMBERS = some.floats(-1, 1, width=16)


def unit_rows(seed: int, rows: int, dims: int) -> Any:
    made = np.random.default_rng(seed).standard_normal((rows, dims))
    return (made / np.linalg.norm(made, axis=1)[:, None]).astype(np.float32)


@given(arrays.arrays(np.float16, arrays.array_shapes(min_dims=2, max_dims=2, max_side=70), elements=NUMBERS))
@pytest.mark.slow
def test_a_byte_is_off_by_at_most_half_a_step(given: Any) -> None:
    packed, scale = pack(given)
    off = np.abs(packed * scale[:, None] - given.astype(np.float32))
    assert (off <= scale[:, None] / 2 + 1e-6).all()
    assert not packed[scale == 0].any()


@settings(max_examples=20)
@given(some.integers(0, 1000), some.sampled_from([1, 3, 511, 512, 1500]), some.sampled_from([1, 8, 384, 1536]))
def test_cosines_of_bytes_are_those_of_floats_but_for_the_rounding(seed: int, rows: int, dims: int) -> None:
    pytest.importorskip("simsimd")
    whole, asked = unit_rows(seed, rows, dims), unit_rows(seed + 1, 1, dims)[0]
    (packed, scale), (_, asked_scale) = pack(whole), pack(asked[None])
    exact, found = VectorMatrix(whole, None).cosines(asked), VectorMatrix(packed, scale).cosines(asked)
    rounding = (scale * np.abs(asked).sum() + asked_scale * np.abs(packed * scale[:, None]).sum(axis=1)) / 2
    assert found.dtype == np.float32
    assert (np.abs(found - exact) <= rounding + 1e-6).all()
    assert dims < 384 or np.abs(found - exact).max() < 0.005


def test_stored_vectors_are_read_beside_older_ones_of_float16() -> None:
    vectors = unit_rows(0, 4, 6)
    packed, scale = pack(vectors)
    new, old = stored_rows(vectors), [row.astype("<f2").tobytes() for row in vectors]
    for rows in (new, old, [*new[:1], *old[1:3], *new[3:]]):
        numbers, scales = unpack(rows, 6)
        np.testing.assert_allclose(scales, scale, rtol=1e-3)
        assert np.abs(numbers.astype(int) - packed).max() <= 1
    np.testing.assert_array_equal(unpack(new, 6)[0], packed)


@pytest.mark.parametrize("length", [0, 5, 9, 11, 24])
def test_a_stored_vector_of_another_length_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match="bytes"):
        unpack([*stored_rows(unit_rows(0, 1, 6)), bytes(length)], 6)


class Planets:
    """An embedder whose texts have vectors of 32 numbers by their first word."""

    space = VectorSpace("planets", 32)
    languages = None

    async def measure(self) -> VectorSpace:
        return self.space

    async def embed(self, texts: Any, *, deadline_s: float | None = None) -> Any:
        words = [text.rpartition(": ")[2].split()[0].rstrip("?") for text in texts]  # behind the date and the speaker
        return np.concatenate([unit_rows(sum(map(ord, word)), 1, 32) for word in words])

    async def embed_query(self, text: str, *, deadline_s: float | None = None) -> Any:
        return (await self.embed([text]))[0]


@pytest.mark.parametrize("installed", [True, False])
async def test_a_text_is_found_by_its_vector_with_and_without_the_library(
    installed: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    if installed:
        pytest.importorskip("simsimd")
    else:
        monkeypatch.setattr(module, "simsimd", lambda: None)
    async with AsyncMemoryScope(tmp_path / "memory.db", embedder=Planets()) as memory:
        words = ["Saturn", "Venus", "Mars", "Pluto"] * 10
        turns = [{"role": "user", "content": f"{word} {at}"} for at, word in enumerate(words)]
        await memory.add_turns(turns, user="ada")
        await memory.flush()
        found = await memory.retrieve("Venus?", user="ada", explain=True)
        await memory.add_turns([{"role": "user", "content": "Venus again"}], user="ada")
        await memory.flush()
        again = await memory.retrieve("Venus?", user="ada", k=50)
        index = memory.admin.runtime.services.store._cache.get("ada").snapshot  # type: ignore[attr-defined]
    assert [hit.turn.text.split()[0] for hit in found if hit.turn] == ["Venus"] * 10
    assert any(one.name == "cosine" and one.value == 1 for one in found[0].features)
    assert "Venus again" in {hit.text for hit in again}
    assert (index.vectors.rows.dtype == np.int8) is installed
