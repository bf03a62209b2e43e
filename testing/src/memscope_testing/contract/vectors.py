"""Vectors: filled in by the stage embed, of one space at a time, deleted with their unit."""

from __future__ import annotations

import numpy as np
import pytest

from memscope.errors import EmbeddingError, EmbeddingMismatch, InputError
from memscope.records import ChangeSet, Claim, Select, Supersession, VectorSpace
from memscope.search.local import LocalSearch
from memscope.stores import MAX_ATTEMPTS, Store
from memscope_testing.contract import Chapter
from memscope_testing.contract.leases import claim_one
from memscope_testing.records import PAST, at, inserts, observation, remember

SMALL_SPACE, OTHER_SPACE, WIDE_SPACE = VectorSpace("small", 4), VectorSpace("other", 4), VectorSpace("wide", 6)


def number(unit: str | int) -> float:
    """Map a unit to a number that half precision represents exactly; units differ modulo 2039."""
    return float(int(unit) % 2039)


def vectors(claim: Claim, space: VectorSpace) -> ChangeSet:
    rows = {item: np.full(space.dims, number(item), np.float32) for item in claim.items}
    return ChangeSet(vectors=rows, done=claim.items)


async def fill(store: Store, space: VectorSpace, user: str | None = None) -> int:
    """Embed all waiting units and return their number."""
    count = 0
    while claims := await store.claim("embed", 3, 60, user=user):
        for claim in claims:
            assert len(claim.texts) == len(claim.items)
            await store.complete(claim, vectors(claim, space))
            count += len(claim.items)
    return count


async def _park(store: Store, user: str) -> None:
    for _ in range(MAX_ATTEMPTS):
        (claim,) = await store.claim("embed", 3, 60, user=user)
        await store.fail(claim, "embedding", PAST)


class Vectors(Chapter):
    async def test_units_wait_once_a_space_is_declared(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b", text="I moved to Berlin."))
        assert await store.claim("embed", 10, 60) == []
        await store.set_vector_space(SMALL_SPACE)
        await store.append("alice", inserts("c"))
        claim = await claim_one(store, "embed")
        assert len(claim.items) == 3
        assert all("I moved to Berlin." in text for text in claim.texts)
        await store.complete(claim, vectors(claim, SMALL_SPACE))
        stats = await store.stats("alice")
        assert (stats.vectors, stats.pending["embed"], stats.space) == (3, 0, SMALL_SPACE)
        assert await store.claim("embed", 10, 60) == []

    async def test_embedding_has_a_lane_of_its_own(self, store: Store) -> None:
        await store.set_vector_space(SMALL_SPACE)
        await store.append("alice", inserts("a"))
        await claim_one(store, "embed")
        await claim_one(store, "consolidate")
        assert await store.claim("embed", 10, 60, user="alice") == []

    async def test_vectors_of_two_models_never_meet(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        await store.set_vector_space(SMALL_SPACE)
        await fill(store, SMALL_SPACE)
        for space in (OTHER_SPACE, WIDE_SPACE):
            with pytest.raises(EmbeddingMismatch) as raised:
                await store.set_vector_space(space)
            assert "small" in str(raised.value)
            assert space.model in str(raised.value)
        await store.set_vector_space(SMALL_SPACE)
        assert (await store.stats()).space == SMALL_SPACE

    async def test_without_vectors_a_model_is_free_to_change(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        await store.set_vector_space(SMALL_SPACE)
        await store.set_vector_space(WIDE_SPACE)
        assert await fill(store, WIDE_SPACE) == 1
        assert (await store.stats()).space == WIDE_SPACE

    async def test_the_old_space_serves_until_the_new_one_is_complete(self, store: Store) -> None:
        await store.append("alice", inserts("a", "b", "c"))
        await store.append("bob", inserts("a", user="bob"))
        await store.set_vector_space(SMALL_SPACE)
        assert await fill(store, SMALL_SPACE) == 4
        await store.set_vector_space(WIDE_SPACE, replace=True)
        assert (await store.stats()).space == SMALL_SPACE
        assert await fill(store, WIDE_SPACE, "alice") == 3
        assert ((await store.stats()).space, (await store.stats()).vectors) == (SMALL_SPACE, 4)
        await store.set_vector_space(WIDE_SPACE)
        assert await fill(store, WIDE_SPACE) == 1
        assert ((await store.stats()).space, (await store.stats()).vectors) == (WIDE_SPACE, 4)

    async def test_parked_units_do_not_keep_the_old_space_unless_they_are_most(self, store: Store) -> None:
        await store.append("alice", inserts("a"))
        await store.append("bob", inserts("a", "b", user="bob"))
        await store.set_vector_space(SMALL_SPACE)
        await fill(store, SMALL_SPACE)
        await store.set_vector_space(WIDE_SPACE, replace=True)
        await _park(store, "bob")
        await fill(store, WIDE_SPACE, "alice")
        stats = await store.stats()
        assert (stats.space, stats.vectors, stats.parked["embed"]) == (SMALL_SPACE, 3, 2)
        await store.unpark("embed")
        await fill(store, WIDE_SPACE, "bob")
        await store.set_vector_space(OTHER_SPACE, replace=True)
        await fill(store, OTHER_SPACE, "bob")
        await _park(store, "alice")
        stats = await store.stats()
        assert (stats.space, stats.vectors, stats.parked["embed"]) == (OTHER_SPACE, 2, 1)
        await store.unpark("embed")
        assert await fill(store, OTHER_SPACE) == 1
        assert (await store.stats()).vectors == 3

    async def test_a_vector_of_another_length_is_refused(self, store: Store) -> None:
        await store.set_vector_space(SMALL_SPACE)
        await store.append("alice", inserts("a"))
        claim = await claim_one(store, "embed")
        with pytest.raises(EmbeddingError):
            await store.complete(claim, vectors(claim, WIDE_SPACE))
        assert (await store.stats()).vectors == 0
        await store.complete(claim, vectors(claim, SMALL_SPACE))
        assert (await store.stats()).vectors == 1

    async def test_a_vector_that_is_not_finite_is_refused(self, store: Store) -> None:
        await store.set_vector_space(SMALL_SPACE)
        await store.append("alice", inserts("a", "b"))
        claim = await claim_one(store, "embed")
        for wrong in (np.nan, np.inf, 1e30):
            rows = {**vectors(claim, SMALL_SPACE).vectors, claim.items[1]: np.full(4, wrong, np.float32)}
            with pytest.raises(EmbeddingError):
                await store.complete(claim, ChangeSet(vectors=rows, done=claim.items))
            stats = await store.stats("alice")
            assert (stats.vectors, stats.pending["embed"]) == (0, 2)
        await store.complete(claim, vectors(claim, SMALL_SPACE))
        assert (await store.stats()).vectors == 2

    async def test_a_space_has_dimensions(self, store: Store) -> None:
        for dims in (0, -1):
            with pytest.raises(InputError):
                await store.set_vector_space(VectorSpace("flat", dims))
        assert (await store.stats()).space is None

    async def test_vectors_go_with_what_is_forgotten(self, store: Store) -> None:
        await store.set_vector_space(SMALL_SPACE)
        await store.append("alice", inserts("a", "b"))
        await fill(store, SMALL_SPACE)
        report = await store.forget(Select("alice", ids=frozenset({"a"})))
        assert report.vectors == 1
        assert (await store.stats()).vectors == 1

    async def test_forgetting_does_not_stop_embedding(self, store: Store) -> None:
        await store.set_vector_space(SMALL_SPACE)
        await store.append("alice", inserts("a", "b"))
        claim = await claim_one(store, "embed")
        await store.forget(Select("alice", ids=frozenset({"a"})))
        try:
            await store.complete(claim, vectors(claim, SMALL_SPACE))
        except EmbeddingError:
            raise
        except Exception:  # the lease may have ended with the turn, which is fine too
            pass
        await fill(store, SMALL_SPACE)
        assert (await store.stats()).vectors == 1

    async def test_a_failed_batch_lets_go_of_forgotten_units(self, store: Store) -> None:
        await store.set_vector_space(SMALL_SPACE)
        await store.append("alice", inserts("a", "b"))
        await store.fail(await claim_one(store, "embed"), "model_unavailable", PAST)
        await store.forget(Select("alice", ids=frozenset({"a"})))
        assert (await store.stats("alice")).failed["embed"] == 1
        assert len((await claim_one(store, "embed")).items) == 1

    async def test_a_closed_memory_has_a_vector_still_or_again(self, store: Store) -> None:
        await store.set_vector_space(SMALL_SPACE)
        await store.append("alice", inserts("a"))
        await remember(store, observation("old", "a"), observation("new", "a"))
        await fill(store, SMALL_SPACE)
        await store.apply("alice", ChangeSet(closed=(Supersession("old", "new", at(1), at(1)),)))
        await fill(store, SMALL_SPACE)
        stats = await store.stats()
        assert (stats.vectors, stats.units) == (3, 3)

    async def test_the_index_gets_each_vector_once(self, store: Store) -> None:
        if not isinstance(store, LocalSearch):
            pytest.skip("the store searches by itself")
        await store.set_vector_space(SMALL_SPACE)
        await store.append("alice", inserts("a", "b"))
        before = await store.changes("alice", 0)
        assert len(before.vector_units) == 0
        await fill(store, SMALL_SPACE)
        after = await store.changes("alice", before.revision)
        assert (after.columns, len(after.vector_units), after.space) == (b"", 2, SMALL_SPACE)
        vectors = after.vectors * after.scale[:, None]
        rows = {int(unit): list(row) for unit, row in zip(after.vector_units, vectors, strict=True)}
        assert rows == {unit: pytest.approx([number(unit)] * 4) for unit in rows}
        assert len((await store.changes("alice", after.revision)).vector_units) == 0
