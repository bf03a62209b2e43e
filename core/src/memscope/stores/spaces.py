"""Rules of vector spaces: one is active, at most one is being filled to replace it; vectors never mix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memscope.errors import EmbeddingError, EmbeddingMismatch, InputError
from memscope.records import VectorSpace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Spaces:
    """The active vector space, and the space being filled to replace it."""

    serving: VectorSpace | None = None
    filling: VectorSpace | None = None

    @property
    def target(self) -> VectorSpace | None:
        """The space to which new vectors belong."""
        return self.filling or self.serving

    def declare(self, space: VectorSpace, *, has_vectors: bool, replace: bool) -> Spaces:
        """Return the spaces after an embedder was declared; the same object if nothing changes."""
        if space == self.target or (space == self.serving and not replace):
            return self
        serving = self.serving if has_vectors else None
        if not replace:
            check_replaceable(serving, space)
        return Spaces(space) if serving in (None, space) else Spaces(serving, space)


def is_complete(parked: int, embedded: int) -> bool:
    """Return whether a filled space may serve although ``parked`` units have no vector in it.

    A text that the embedder always refuses must not keep the old space for ever, an embedder that fails at most texts
    must not replace it.
    """
    return not parked or parked < embedded


def check_space(space: VectorSpace) -> None:
    if space.dims < 1:
        raise InputError(f"{space.model!r} declares vectors of {space.dims} numbers", hint="at least 1 is needed")


def check_replaceable(held: VectorSpace | None, space: VectorSpace) -> None:
    """Refuse a change of embedder without ``replace``; ``held``: space of the stored vectors."""
    if held not in (None, space):
        raise EmbeddingMismatch(
            f"the store holds vectors of {describe(held)}, the embedder makes {describe(space)}",
            hint="configure the old model, or run 'memscope reembed'",
        )


def check_declared(target: VectorSpace | None, declared: VectorSpace | None) -> None:
    """Refuse vectors of another embedder than the store's, even of the same length."""
    if target != declared:
        raise EmbeddingMismatch(f"the store takes vectors of {describe(target)}, not of {describe(declared)}")


def checked_vectors(
    vectors: Mapping[str, Sequence[float] | NDArray[np.float32]], space: VectorSpace | None
) -> dict[str, NDArray[np.float32]]:
    """Convert vectors to arrays; refuse a wrong length or a number beyond half precision."""
    import numpy as np

    arrays = {id: np.asarray(vector, np.float32) for id, vector in vectors.items()}
    for id, values in arrays.items():
        if space is None or values.shape != (space.dims,):
            raise EmbeddingMismatch(f"a vector has shape {values.shape}, the store takes {describe(space)}")
        if not np.all(np.abs(values) <= np.finfo(np.float16).max):
            raise EmbeddingError(f"the vector of unit {id!r} is not finite in half precision")
    return arrays


def describe(space: VectorSpace | None) -> str:
    return f"{space.model!r} with {space.dims} numbers" if space else "no model"
