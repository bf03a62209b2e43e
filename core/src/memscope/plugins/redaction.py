"""The built-in redactor: masks secrets before anything is stored. The setting ``redaction.mask`` turns it on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memscope.records import Turn
from memscope.text.secrets import mask


@dataclass(frozen=True)
class Redaction:
    """A plugin. Registered before all others, so that its hook sees what they made of the turns."""

    kinds: frozenset[str]

    def memscope_before_add_turns(self, turns: Sequence[Turn]) -> list[Turn]:
        return [replace(turn, text=mask(turn.text, self.kinds), metadata=self._masked(turn.metadata)) for turn in turns]

    def _masked(self, value: Any) -> Any:
        if isinstance(value, str):
            return mask(value, self.kinds)
        if isinstance(value, Mapping):
            return {mask(key, self.kinds): self._masked(inner) for key, inner in value.items()}
        return [self._masked(inner) for inner in value] if isinstance(value, list | tuple) else value
