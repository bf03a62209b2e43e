"""The date vocabulary of a plugin's language: words of time, and the order of day and month in figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, eq=False)
class DateWords:
    """The date vocabulary of a language that separates words by spaces.

    Args:
        file: lower-case words of time, in which a space also matches an apostrophe or a hyphen, and rules that run
            before the shared ones; ``dates/data/README.md`` explains the format of both.
        day_first: whether 3/5 is the 3rd of May.
    """

    file: Path
    day_first: bool = False
