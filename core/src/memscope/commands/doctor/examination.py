"""The input and output of doctor's checks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from memscope import AsyncMemoryScope
from memscope.commands.options import Call, file_of

if TYPE_CHECKING:
    from memscope.config.settings import Settings

State = Literal["ok", "warn", "fail"]


@dataclass(frozen=True)
class Finding:
    """``mend`` is the command or setting that helps; ``code`` the exit code if this fails."""

    check: str
    state: State
    said: str
    mend: str = ""
    code: int = 4


@dataclass
class Examination:
    """State shared by the checks; a field is None where it could not be opened."""

    call: Call
    opened: AsyncExitStack
    settings: Settings | None = None
    memory: AsyncMemoryScope | None = None
    status: Mapping[str, Any] = field(default_factory=dict)

    @property
    def file(self) -> Path | None:
        """The file of the store, if that is what it is."""
        return file_of(self.location)

    @property
    def location(self) -> str:
        return self.call.store or (self.settings.store if self.settings else "")


Check = Callable[[Examination], AsyncIterator[Finding]]
MemoryCheck = Callable[[Examination, AsyncMemoryScope], AsyncIterator[Finding]]
