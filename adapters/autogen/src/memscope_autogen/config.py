"""The component configuration of ``MemoryScopeMemory``."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from memscope.adapters.session import Recall, Record
from memscope.records import Kind


class MemoryScopeMemoryConfig(BaseModel):
    """Settings that make the same memory again, without keys and passwords."""

    user: str
    agent: str | None = None
    session: str | None = None
    memory: dict[str, Any] | None = None
    recall: Recall = "user"
    k: int = 10
    tokens: int = 1000
    record: Record = "both"
    strict: bool = False
    kinds: list[Kind] | None = None
    zone: str | None = None
