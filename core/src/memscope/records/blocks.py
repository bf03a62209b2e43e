"""Blocks of core memory: short texts that are always in the context."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from memscope.records.entities import Scope

Author = Literal["person", "model", "backend", "operator"]
AUTHORS: tuple[Author, ...] = ("person", "model", "backend", "operator")
BlockKey: TypeAlias = tuple[str | None, str]  # agent and label, unique per user
BLOCK_LIMIT = 2000  # default limit in characters
BLOCK_ORDERS = range(-1000, 1001)
BLOCK_LABEL = r"^\w[\w.-]{0,63}$"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One version of a block. Without an agent in its scope it belongs to all agents of the user.

    ``limit`` is in characters, ``description`` tells the model its purpose, ``order`` its place in the context.
    ``author`` wrote this version at ``recorded`` for a ``reason``; ``sources`` are the turns and memories of this edit.
    Version 0 is a default or a text of the settings, and not stored.
    """

    scope: Scope
    label: str
    recorded: datetime
    value: str = ""
    limit: int = BLOCK_LIMIT
    description: str = ""
    read_only: bool = False
    order: int = 0
    version: int = 0
    author: Author = "person"
    reason: str = ""
    sources: tuple[str, ...] = ()

    @property
    def key(self) -> BlockKey:
        return self.scope.agent, self.label
