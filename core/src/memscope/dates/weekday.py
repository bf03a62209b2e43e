"""Names of the days of the week, for printed lines."""

from __future__ import annotations

from datetime import datetime

NAMES = {
    "en": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "zh": ("星期一", "星期二", "星期三", "星期四", "星期五", "星期六", "星期日"),
}


def weekday(when: datetime, language: str) -> str:
    """Returns "Monday" or "星期一"; English for a language without a table."""
    return NAMES.get(language, NAMES["en"])[when.weekday()]
