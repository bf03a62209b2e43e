"""Text to tokens: numbers in any notation, and the words the languages know; everything else is ``word``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from memscope.dates import written
from memscope.dates.cascade import Token
from memscope.dates.vocabulary import WORDS, lines
from memscope.imports import pattern

# One character for one character, so that offsets stay: capitals, full-width forms, dashes, quotation marks, commas.
_FOLD = {0xFF01 + i: 0x21 + i for i in range(94)}
_FOLD |= {ord("A") + i: ord("a") + i for i in range(26)} | {0xFF21 + i: ord("a") + i for i in range(26)}
_FOLD |= dict.fromkeys(map(ord, "‐‑‒–—―−~～〜"), ord("-")) | dict.fromkeys(map(ord, "’‘ʼ"), ord("'"))
_FOLD |= dict.fromkeys(map(ord, "、"), ord(",")) | {0x3000: ord(" ")}

SIGNS = {",": "comma", "-": "hyphen", "/": "slash", ".": "dot", "=": "equals", ">": "more", "<": "less"}
SIGNS |= {"(": "paren", ")": "paren", ":": "colon", "@": "at"}

# Characters that Chinese dates and numbers begin with, and those that may be in them.
_STARTS = rf"\d{written.NUMERALS}每上{''.join(sorted({era[0] for era in written.ERAS}))}"
_TIMELY = f"{written.NUMERALS}{''.join(written.ERAS)}每个天日周星期礼拜月季度年次回世纪代元上中下初末底"
_INERT = f"[\u4e00-\u9fff](?<![{''.join(sorted({*''.join(WORDS), *_TIMELY}))}])"  # in no word of time
_NO_ONE = "(?![直向起样般边切共定些家])"  # behind a Monday: 上周一直下雨 is none


class Figures(NamedTuple):
    """A line of ``data/figures.txt``; ``begin`` is the look-ahead for where it may begin, "" for anywhere."""

    begin: str
    kind: str
    pattern: str
    read: Callable[[str, bool], Any]


def _figures() -> Iterator[Figures]:
    begin = ""
    eras = {"OLD_ERAS": "|".join(written.OLD_ERAS), "NEW_ERAS": "|".join(written.NEW_ERAS)}
    for line in lines("figures.txt", CHINESE=f"[{_STARTS}]", **eras):
        kind, _, rest = line.partition(": ")
        if kind == "at":
            begin = "" if rest == "anywhere" else f"(?={rest})"
            continue
        pattern, _, reader = rest.partition(" -> ")
        yield Figures(begin, kind, pattern, getattr(written, reader) if reader else lambda text, east: True)


FIGURES = {f"figures{n}": one for n, one in enumerate(_figures())}  # by the name of the group in the lexicon


@lru_cache(maxsize=1)
def lexicon() -> re.Pattern[str]:
    """Compiled on first use: numbers; phrases and Chinese words by their first character, the longest first; words."""
    runs = groupby(FIGURES.items(), lambda item: item[1].begin)
    numbers = "|".join(
        f"{begin}(?:{'|'.join(f'(?P<{name}>{one.pattern})' for name, one in run)})" for begin, run in runs
    )
    phrases = sorted((word for word in WORDS if not word.isalpha() or not word.isascii()), key=len, reverse=True)
    first = groupby(sorted(phrases, key=itemgetter(0)), itemgetter(0))  # a stable sort: the longest stay first
    alike = {start: f"(?:{'|'.join(map(_phrase, phrases))})" for start, phrases in first}
    latin = "|".join(words for start, words in alike.items() if start.isascii())
    others = "|".join(words for start, words in alike.items() if not start.isascii())
    blank = rf"(?P<space>\s+)|(?P<unknown>zzz+(?: +zzz+)*(?![\w'])|(?:{_INERT})+)"
    known = f"(?P<phrase>(?=[\0-\x7f])(?:{latin})|(?![\0-\x7f])(?:{others}))|(?P<numerals>[{written.NUMERALS}]+)"
    return re.compile(rf"{blank}|{numbers}|{known}|(?P<word>[a-z]+(?:'(?!s(?![a-z]))[a-z]+)?)|(?P<other>[^\sa-z0-9])")


def _phrase(words: str) -> str:
    if not words.isascii():
        return words + (_NO_ONE if words[-1] == "一" and WORDS[words][0] == "weekday" else "")
    return re.escape(words).replace(r"\ ", r"[\s-]{1,3}") + "(?![a-z0-9])"


# Unknown words are blanked first: the patterns of numbers and phrases need not be tried at each of them.
_PLAIN = pattern(r"(?<![\w$#@'])([a-z]{3,}(?:'(?!s(?![a-z]))[a-z]+)?)(?!\w)")
_PARTS = frozenset(part for word in WORDS if word.isascii() for part in (word, *re.split("[^a-z]+", word)))


@lru_cache(maxsize=1 << 14)
def _blank(word: str) -> str:
    return word if word in _PARTS or word.partition("'")[0] in _PARTS else "z" * len(word)


def blanked(sentence: str) -> str:
    """Returns a sentence folded, its unknown words blanked, all at their places."""
    folded = sentence.lower().replace("~", "-") if sentence.isascii() else sentence.translate(_FOLD)
    parts = _PLAIN.split(folded)
    parts[1::2] = map(_blank, parts[1::2])
    return "".join(parts)


def skeleton(sentence: str) -> str:
    """Returns a sentence blanked, each run of unknown words one short word: sentences built alike have one skeleton."""
    return _RUN.sub("zzz", blanked(sentence))


_RUN = pattern(r"zzz+(?: +zzz+)*(?![\w'])")


@lru_cache(maxsize=1 << 11)  # a line that is shown, and a skeleton, is read more than once
def tokens(text: str) -> Sequence[Token]:
    """Returns the tokens of a blanked sentence; a run of unknown words is one token."""
    found: list[Token] = []
    east = bool(_EAST.search(text))
    for match in lexicon().finditer(text):
        name = match.lastgroup
        if name == "space":
            continue
        kind, value = ("word", None) if name == "unknown" else lexeme(match, east)
        if kind == "word" and found and found[-1].kind == "word":
            found[-1] = Token("word", found[-1].start, match.end())
        elif kind:
            found.append(Token(kind, match.start(), match.end(), value))
    return found


def lexeme(match: re.Match[str], east: bool) -> tuple[str, Any]:
    name, text = match.lastgroup or "other", match[0]
    if name == "other":
        return ("", None) if text in "'\"" else (SIGNS.get(text, "word" if text.isalnum() else "stop"), None)
    if name == "numerals":
        number = written.numeral(text)
        return ("number", number) if number is not None else ("word", None)
    if name in FIGURES:
        figures = FIGURES[name]
        value = figures.read(text, east) if figures.kind != "word" else None
        return (figures.kind, value) if value is not None else ("word", None)
    return WORDS.get(text) or WORDS.get(" ".join(re.split(r"[\s-]+", text)) if name == "phrase" else "", ("word", None))


_EAST = pattern("[\u4e00-\u9fff]")

# No expression reaches over the end of a sentence; "a.m." and initials end none.
_END = pattern(
    r"[.!?。！？；\n](?:(?<!\.)[!?。！？；\n]*|(?<=\.)(?=\s+[A-Z])(?<![ap]\.m\.)(?<![ap]m\.)(?<!\b[A-Za-z]\.))"
)


_LONGEST = 1000  # characters of a sentence: patterns may look at each of its tokens from each other
_PAUSES = " ,;\t"


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences of a text with their offsets; an endless one is cut."""
    start = 0
    for end in (*(match.end() for match in _END.finditer(text)), len(text)):
        while end - start > _LONGEST:
            pause = max(text.rfind(sign, start + _LONGEST // 2, start + _LONGEST) for sign in _PAUSES)
            cut = pause + 1 if pause > 0 else start + _LONGEST
            yield start, text[start:cut]
            start = cut
        yield start, text[start:end]
        start = end
