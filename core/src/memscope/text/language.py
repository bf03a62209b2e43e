"""Guess a text's language by its scripts."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, TypeAlias

from memscope.imports import pattern

Language: TypeAlias = Literal["en", "zh", "ja", "ko"]

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
_KANA = "\u3041-\u3096\u30a1-\u30ff\uff66-\uff9f"
_HANGUL = "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"
CJK = _HAN + _KANA + _HANGUL
CJK_CHARACTER = pattern(f"[{CJK}]")
_CJK_RUN = pattern(f"[{CJK}]+")
_KANA_CHARACTER = pattern(f"[{_KANA}]")
_HANGUL_CHARACTER = pattern(f"[{_HANGUL}]")


def has_cjk(text: str) -> bool:
    return not text.isascii() and CJK_CHARACTER.search(text) is not None


def cjk_count(text: str) -> int:
    """Returns how many of its characters are Chinese, Japanese or Korean."""
    return 0 if text.isascii() else sum(map(len, _CJK_RUN.findall(text)))


@lru_cache(maxsize=1 << 4)  # asked several times for the text that is being written
def language(text: str) -> Language:
    """Guess by code points: kana is Japanese, Hangul Korean, else Chinese or English by the number of characters.

    A CJK character counts for two letters. Text in any other script is treated as English.
    """
    if text.isascii():
        return "en"
    cjk = cjk_count(text)
    if not cjk or (3 * cjk < len(text) and 3 * cjk < sum(map(str.isalpha, text))):
        return "en"
    if len(_HANGUL_CHARACTER.findall(text)) * 2 > cjk:
        return "ko"
    return "ja" if len(_KANA_CHARACTER.findall(text)) * 10 > cjk else "zh"
