"""The component configuration of ``MemoryScopeMemory``."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from memscope.adapters.kit import Kind, RecallFrom, RecordWho


class MemoryScopeMemoryConfig(BaseModel):
    """Settings that recreate the same memory, without keys and passwords."""

    user: str
    agent: str | None = None
    session: str | None = None
    memory: dict[str, Any] | None = None
    recall: RecallFrom = "user"
    k: int = 10
    tokens: int = 1000
    record: RecordWho = "both"
    strict: bool = False
    kinds: list[Kind] | None = None
    zone: str | None = None
    people: tuple[str, ...] = ()
