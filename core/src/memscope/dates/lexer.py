"""Text to tokens: numbers in any notation, and the words the languages know; everything else is ``word``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any

from memscope.dates import written, zh
from memscope.dates.cascade import Token
from memscope.dates.vocabulary import WORDS

# One character for one character, so that offsets stay: capitals, full-width forms, dashes, quotation marks, commas.
_FOLD = {0xFF01 + i: 0x21 + i for i in range(94)}
_FOLD |= {ord("A") + i: ord("a") + i for i in range(26)} | {0xFF21 + i: ord("a") + i for i in range(26)}
_FOLD |= dict.fromkeys(map(ord, "‐‑‒–—―−~～〜"), ord("-")) | dict.fromkeys(map(ord, "’‘ʼ"), ord("'"))
_FOLD |= dict.fromkeys(map(ord, "、"), ord(",")) | {0x3000: ord(" ")}

SIGNS = {",": "comma", "-": "hyphen", "/": "slash", ".": "dot", "=": "equals", ">": "more", "<": "less"}
SIGNS |= {"(": "paren", ")": "paren", ":": "colon", "@": "at"}

# Two numbers of a date, which are not the end of a longer code.
_DAY_MONTH = "(?:" + "|".join(rf"(?<!\d{sign})\d{{1,2}}{sign}\d{{1,2}}{sign}" for sign in ("-", "/", r"\.")) + ")"

HALF = r"[ap]\s?\.?\s?m(?![a-z0-9])(?:\.(?=\s*[a-z,]))?|(?<=\d)[ap](?![a-z0-9'])"  # am, p.m.; 5p

Written = tuple[str, str, Callable[[str, bool], Any]]  # pattern, kind of the token, reader

# By the name of the pattern; the first that matches is taken.
WRITTEN: dict[str, Written] = {
    "identifier": (r"[$#@][a-z]\w*|[a-z]+\d+[a-z]\w*|\d+[a-z]+\d+[a-z]\w*|24/7(?!\d)", "word", lambda text, east: None),
    "fiscal": (r"[fs]y\s?'?\d\d(?:\d\d)?(?![a-z0-9])", "fiscal", lambda text, east: True),
    "zhtimes": (zh.TIMES, "gone", lambda text, east: True),
    "zhera": (zh.OLD_ERA, "era", lambda text, east: zh.year_of_era(text)),
    "zhnewera": (zh.NEW_ERA, "yearname", lambda text, east: zh.year_of_era(text)),
    "zhmonthday": (r"\d{1,2}月\d{1,2}(?=[\s,.;!?。；！？]|$)", "monthday", written.month_day),
    "zhdecade": (zh.DECADE, "period", lambda text, east: zh.decade(text)),
    "ymd": (r"\d{4}(?P<s1>[-/.])\d{1,2}(?P=s1)\d{1,2}(?!\d)(?:t(?=\d\d:))?", "date", written.year_month_day),
    "compact": (r"(?:19|20)\d\d[01]\d[0-3]\d(?!\d)(?:t(?=\d\d:))?", "date", written.compact_date),
    "dmy": (_DAY_MONTH + r"(?:\d{4}|\d\d)(?![\d%])", "date", written.month_day_year),
    "isoday": (r"(?:19|20)\d\d-w[0-5]\d-[1-7](?!\d)", "date", written.iso_week),
    "isoweek": (r"(?:19|20)\d\d-?w[0-5]\d(?![\d-])", "period", written.iso_week),
    "clock": (r"\d{1,2}:\d\d(?::\d\d(?:\.\d+)?(?:z|\+\d\d:?\d\d)?)?(?![\d:])", "clock", written.hour_minute),
    "ym": (r"(?:19|20)\d\d[-/.](?:0?[1-9]|1[0-2])(?![./-]*\d)", "period", written.year_month),
    "my": (r"(?<!\d[/.-])(?:0?[1-9]|1[0-2])[/.-](?:19|20)\d\d(?![/.-]*\d)", "period", written.month_year),
    "military": (r"0\d[0-5]\d(?!\d)", "clock", written.military),
    "md": (r"\d{1,2}/\d{1,2}(?![\d/%]|\.\d)", "monthday", written.month_day),
    "decimal": (r"\d{1,9}\.\d{1,3}(?![\d%])", "decimal", lambda text, east: text),
    "zhyear": (zh.YEAR, "yearname", lambda text, east: zh.year(text.rstrip("年 "))),
    "zhminute": (zh.MINUTE, "minute", lambda text, east: zh.number(text[1:])),
    "decade": (r"(?:1[5-9]|20)?\d0'?s(?![a-z])", "period", written.decade),
    "shortyear": (r"'\d\d(?![\d'a-z])", "yearlike", lambda text, east: written.short_year(int(text[1:]))),
    "ordinal": (r"\d{1,3}(?:st| ?nd| ?rd| ?th)(?![a-z])", "ordinal", lambda text, east: int(text[:-2])),
    "yearlike": (r"(?:1[5-9]|20)\d\d(?!\d|[,.]\d|%)", "yearlike", lambda text, east: int(text)),
    "number": (r"\d{1,7}(?!\d|,\d\d\d)", "number", lambda text, east: int(text)),
    "junk": (r"\d[\d,]*", "word", lambda text, east: None),
    "half": (HALF, "half", lambda text, east: text[0]),
}


# Each is tried only where it may begin: at a letter, a digit, anything but a letter, or anywhere.
_BEGIN = dict.fromkeys(
    "ymd compact dmy isoday isoweek clock ym my military md decimal ordinal yearlike number junk".split(), "(?=[0-9])"
)
_BEGIN |= dict.fromkeys("zhtimes zhera zhnewera zhmonthday zhdecade zhyear zhminute".split(), f"(?=[{zh.BEGINNINGS}])")
_BEGIN |= {"fiscal": "(?=[fs])", "half": "(?=[ap])", "shortyear": "(?=')"}
_INERT = f"[\u4e00-\u9fff](?<![{''.join(sorted({*''.join(WORDS), *zh.CHARACTERS}))}])"  # in no word of time


@lru_cache(maxsize=1)
def lexicon() -> re.Pattern[str]:
    """Compiled on first use: numbers; phrases and Chinese words by their first character, the longest first; words."""
    runs = groupby(WRITTEN.items(), lambda item: _BEGIN.get(item[0], ""))
    numbers = "|".join(f"{begin}(?:{'|'.join(map(_named, run))})" for begin, run in runs)
    phrases = sorted((word for word in WORDS if not word.isalpha() or not word.isascii()), key=len, reverse=True)
    first = groupby(sorted(phrases, key=itemgetter(0)), itemgetter(0))  # a stable sort: the longest stay first
    alike = {start: f"(?:{'|'.join(map(_phrase, phrases))})" for start, phrases in first}
    latin = "|".join(words for start, words in alike.items() if start.isascii())
    others = "|".join(words for start, words in alike.items() if not start.isascii())
    blank = rf"(?P<space>\s+)|(?P<unknown>zzz+(?: +zzz+)*(?![\w'])|(?:{_INERT})+)"
    known = f"(?P<phrase>(?=[\0-\x7f])(?:{latin})|(?![\0-\x7f])(?:{others}))|(?P<numerals>[{zh.NUMERALS}]+)"
    return re.compile(rf"{blank}|{numbers}|{known}|(?P<word>[a-z]+(?:'(?!s(?![a-z]))[a-z]+)?)|(?P<other>[^\sa-z0-9])")


def _named(item: tuple[str, Written]) -> str:
    return f"(?P<{item[0]}>{item[1][0]})"


def _phrase(words: str) -> str:
    if not words.isascii():
        return words + (zh.NO_ONE if words[-1] == "一" and WORDS[words][0] == "weekday" else "")
    return re.escape(words).replace(r"\ ", r"[\s-]{1,3}") + "(?![a-z0-9])"


# Unknown words are blanked first: the patterns of numbers and phrases need not be tried at each of them.
_PLAIN = re.compile(r"(?<![\w$#@'])([a-z]{3,}(?:'(?!s(?![a-z]))[a-z]+)?)(?!\w)")
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


_RUN = re.compile(r"zzz+(?: +zzz+)*(?![\w'])")


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
        number = zh.number(text)
        return ("number", number) if number is not None else ("word", None)
    if name in WRITTEN:
        _, kind, read = WRITTEN[name]
        value = read(text, east)
        return (kind, value) if value is not None else ("word", None)
    return WORDS.get(text) or WORDS.get(" ".join(re.split(r"[\s-]+", text)) if name == "phrase" else "", ("word", None))


_EAST = re.compile("[\u4e00-\u9fff]")

# No expression reaches over the end of a sentence; "a.m." and initials end none.
_END = re.compile(
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
