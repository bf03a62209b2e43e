"""Names of the days of the week, for printed lines."""

from __future__ import annotations

from datetime import datetime

from memscope.dates import en, zh

NAMES: dict[str, tuple[str, ...]] = {"en": en.NAMES, "zh": zh.NAMES}


def weekday(when: datetime, language: str) -> str:
    """Returns "Monday" or "星期一"; English for a language without a table."""
    return NAMES.get(language, NAMES["en"])[when.weekday()]
