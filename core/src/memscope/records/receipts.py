"""The receipt of a forget, as a store keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memscope.records.entities import Scope


@dataclass(frozen=True, slots=True)
class Receipt:
    """Counts of a forget, its time and scope. No content.

    ``ids``: at most 1,000 of the forgotten ids; none if a whole user was forgotten.
    """

    id: str
    scope: Scope
    at: datetime
    turns: int = 0
    observations: int = 0
    insights: int = 0
    blocks: int = 0
    ids: tuple[str, ...] = ()
