"""The uncased WordPiece tokenizer of BERT (Devlin et al. 2019), as all-MiniLM-L6-v2 was trained with."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

MAX_WORD = 100
MAX_CACHED = 200_000
CJK = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
ASCII_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
DROPPED = frozenset({"Cc", "Cf", "Co", "Cn", "Cs"})


def is_space(char: str) -> bool:
    return char in " \t\n\r" or unicodedata.category(char) == "Zs"


def is_dropped(char: str) -> bool:
    return char in "\0\ufffd" or unicodedata.category(char) in DROPPED


def stands_alone(char: str) -> bool:
    code = ord(char)
    return (
        char in ASCII_PUNCTUATION
        or unicodedata.category(char).startswith("P")
        or any(low <= code <= high for low, high in CJK)
    )


def lower(text: str) -> str:
    if text.isascii():
        return text.lower()
    split = unicodedata.normalize("NFD", text)
    return "".join(char for char in split if unicodedata.category(char) != "Mn").lower()


def words(text: str) -> Iterator[str]:
    """Lower-cased words without accents; punctuation and Chinese characters one by one."""
    word = ""
    for char in lower(text):
        if not is_space(char) and is_dropped(char):
            continue
        if not (is_space(char) or stands_alone(char)):
            word += char
            continue
        if word:
            yield word
        word = ""
        if not is_space(char):
            yield char
    if word:
        yield word


class WordPiece:
    """Text → token ids, ``[CLS]`` first and ``[SEP]`` last."""

    def __init__(self, vocabulary: list[str]) -> None:
        self.ids = {token: index for index, token in enumerate(vocabulary)}
        self.unknown, self.first, self.last = self.ids["[UNK]"], self.ids["[CLS]"], self.ids["[SEP]"]
        self._cache: dict[str, list[int]] = {}

    def encode(self, text: str, max_length: int = 256) -> list[int]:
        ids = [self.first]
        for word in words(text):
            ids += self._pieces(word)
            if len(ids) >= max_length:
                break
        return [*ids[: max_length - 1], self.last]

    def _pieces(self, word: str) -> list[int]:
        known = self._cache.get(word)
        if known is None:
            known = self._split(word)
            if len(self._cache) < MAX_CACHED:
                self._cache[word] = known
        return known

    def _split(self, word: str) -> list[int]:
        """The longest known piece first, again and again; one unknown piece makes the word unknown."""
        if len(word) > MAX_WORD:
            return [self.unknown]
        ids: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            end = next((e for e in range(len(word), start, -1) if prefix + word[start:e] in self.ids), None)
            if end is None:
                return [self.unknown]
            ids.append(self.ids[prefix + word[start:end]])
            start = end
        return ids
