"""The words and figures with which a language of a plugin tells dates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, eq=False)
class DateWords:
    """Dates of a language with spaces between its words.

    Args:
        file: words of time in lower case, a space standing for an apostrophe or a hyphen too, and rows of rules that
            precede the common ones; ``dates/data/README.md`` explains both.
        day_first: 3/5 is the 3rd of May.
    """

    file: Path
    day_first: bool = False
