"""English and Chinese texts of the inspector."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from fastapi import Request

PAGE_LANGUAGES = {"en": "English", "zh": "中文"}


@cache
def phrases() -> dict[str, dict[str, str]]:
    texts: dict[str, dict[str, str]] = json.loads((Path(__file__).parent / "phrases.json").read_text(encoding="utf-8"))
    return texts


@cache
def _sentences() -> list[tuple[re.Pattern[str], dict[str, str]]]:
    """Compile patterns for the core's sentences that pages translate; "{}" in a phrase matches any value."""
    entries = [phrase for name, phrase in phrases().items() if name.startswith("core_")]
    return [(re.compile(re.escape(phrase["en"]).replace(r"\{\}", "(.+)")), phrase) for phrase in entries]


def language_of(request: Request) -> str:
    """Choose the page language: the reader's cookie, else the browser's first supported one, else English."""
    chosen = request.cookies.get("lang", "")
    if chosen in PAGE_LANGUAGES:
        return chosen
    for part in request.headers.get("accept-language", "").split(","):
        if (code := part.strip()[:2].lower()) in PAGE_LANGUAGES:
            return code
    return "en"


class Translation:
    """Looks up phrases in one language."""

    def __init__(self, language: str) -> None:
        self.language = language

    def say(self, phrase: str, **values: object) -> str:
        return phrases()[phrase][self.language].format(**values)

    def translate(self, sentence: str) -> str:
        """Translate a sentence of the core; leave it as it is without a translation."""
        for pattern, translations in _sentences():
            if match := pattern.fullmatch(sentence):
                return translations[self.language].format(*match.groups())
        return sentence

    def name_of(self, family: str, name: str) -> str:
        """Translate a name of the core or a plugin; leave it as it is without a phrase."""
        phrase = phrases().get(family + name)
        return phrase[self.language] if phrase else name
