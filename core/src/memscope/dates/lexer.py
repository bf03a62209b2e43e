"""Text to tokens: numbers in any notation, and the words the languages know; everything else is ``word``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from memscope.dates import figure_readers
from memscope.dates.cascade import Token
from memscope.dates.languages import Further, meaning
from memscope.dates.vocabulary import VOCABULARY, lines
from memscope.imports import pattern

# Maps one character to one, so that offsets stay valid: capitals, full-width forms, dashes, quotation marks, commas.
_FOLD = {0xFF01 + i: 0x21 + i for i in range(94)}
_FOLD |= {ord("A") + i: ord("a") + i for i in range(26)} | {0xFF21 + i: ord("a") + i for i in range(26)}
_FOLD |= dict.fromkeys(map(ord, "‐‑‒–—―−~～〜"), ord("-")) | dict.fromkeys(map(ord, "’‘ʼ"), ord("'"))
_FOLD |= dict.fromkeys(map(ord, "、"), ord(",")) | {0x3000: ord(" ")}

PUNCTUATION_ROLES = {",": "comma", "-": "hyphen", "/": "slash", ".": "dot", "=": "equals", ">": "more", "<": "less"}
PUNCTUATION_ROLES |= {"(": "paren", ")": "paren", ":": "colon", "@": "at"}

# Characters with which Chinese dates and numbers begin.
_STARTS = rf"\d{figure_readers.NUMERALS}每上{''.join(sorted({era[0] for era in figure_readers.ERAS}))}"

IDEOGRAPH = pattern("[\u4e00-\u9fff]")
_SUFFIX = pattern(r"\bzz+(ed|ing)\b")
_OPENING_GERUND = pattern(r"((?:^|[,;:(!.-])\s*)([a-z]{2,}ing)(?![\w'])")
_PAST = pattern(r"[a-z]{2,}ed")
_RUN = pattern(r"zzz+(?: +zzz+)*(?![\w'])")
# "What am I up to next week?" asks for what happens then, not for what happens until then.
_BE = "(?:'[smr]e?| (?:am|is|are|was|were))"
_OCCUPIED = pattern(
    rf"\bwhat{_BE}(?: (?:the|my|our|your|his|her|their))? [\w'-]+(?: and [\w'-]+)? up to\b"
    rf"|\bwhat (?:(?:the|my|our|your|his|her|their) )?[\w-]+(?: and [\w'-]+)?{_BE} up to\b"
    r"|\b(?:been|be|gets?|got|getting) up to\b"
)
# No time expression extends over the end of a sentence; "a.m." and initials do not end one.
_SENTENCE_BREAK = pattern(
    r"[.!?。！？；\n](?:(?<!\.)[!?。！？；\n]*|(?<=\.)(?=\s+[A-Z])(?<![ap]\.m\.)(?<![ap]m\.)(?<!\b[A-Za-z]\.)(?<!\b[DM]r\.)(?<!\b[MS][st]\.)(?<!\bMrs\.))"
)
_MAX_SENTENCE_CHARS = 1000  # a bound for patterns whose time is quadratic in the tokens of a sentence
_PAUSES = " ,;\t"


class Figures(NamedTuple):
    """A line of ``data/figures.txt``; ``begin``: look-ahead for its start, "" for anywhere."""

    begin: str
    kind: str
    pattern: str
    read: Callable[[str, bool], Any]


def _figures() -> Iterator[Figures]:
    begin = ""
    eras = {"OLD_ERAS": "|".join(figure_readers.OLD_ERAS), "NEW_ERAS": "|".join(figure_readers.NEW_ERAS)}
    for line in lines("figures.txt", CHINESE=f"[{_STARTS}]", **eras):
        kind, _, rest = line.partition(": ")
        if kind == "at":
            begin = "" if rest == "anywhere" else f"(?={rest})"
            continue
        pattern, _, reader = rest.partition(" -> ")
        yield Figures(begin, kind, pattern, getattr(figure_readers, reader) if reader else lambda text, east: True)


FIGURE_PATTERNS = {f"figures{n}": one for n, one in enumerate(_figures())}  # by group name in the lexicon


def _inert() -> str:
    """Build a pattern of Chinese characters at which no word or figure of time begins, in order to skip runs at once.

    A character that begins only longer words is skipped too, unless the next one is the second character of a word.
    """
    initials = {*_STARTS, *"".join(one.begin for one in FIGURE_PATTERNS.values())}
    initials.update(word for word in VOCABULARY if len(word) == 1)
    longer = {word[:2] for word in VOCABULARY if not word[0].isascii() and word[0] not in initials}
    first, second = ("".join(sorted({pair[at] for pair in longer})) for at in (0, 1))
    begin = "".join(sorted({*initials, *first} - {*map(chr, range(128))}))
    return rf"(?:(?:[\u4e00-\u9fff](?<![{begin}]))+|[{first}](?![{second}]))+"


@lru_cache(maxsize=1)
def lexicon() -> re.Pattern[str]:
    """Compile, on first use, the pattern of numbers, of phrases and Chinese words (longest first), and of words."""
    runs = groupby(FIGURE_PATTERNS.items(), lambda item: item[1].begin)
    numbers = "|".join(
        f"{begin}(?:{'|'.join(f'(?P<{name}>{figures.pattern})' for name, figures in run)})" for begin, run in runs
    )
    phrases = sorted((word for word in VOCABULARY if not word.isalpha() or not word.isascii()), key=len, reverse=True)
    first = groupby(sorted(phrases, key=itemgetter(0)), itemgetter(0))  # a stable sort: the longest stay first
    alike = {start: f"(?:{'|'.join(map(_phrase, phrases))})" for start, phrases in first}
    latin = "|".join(words for start, words in alike.items() if start.isascii())
    others = "|".join(words for start, words in alike.items() if not start.isascii())
    blank = rf"(?P<space>\s+)|(?P<unknown>zzz+(?: +zzz+)*(?![\w'])|{_inert()})"
    known = f"(?P<phrase>(?=[\0-\x7f])(?:{latin})|(?![\0-\x7f])(?:{others}))|(?P<numerals>[{figure_readers.NUMERALS}]+)"
    further = r"(?P<own>(?P<meaning>[\U000F0000-\U000FFFFD])(?P=meaning)*)"
    return re.compile(
        rf"{blank}|{further}|{numbers}|{known}|(?P<word>[a-z]+(?:'(?!s(?![a-z]))[a-z]+)?)|(?P<other>[^\sa-z0-9])"
    )


def _phrase(words: str) -> str:
    if not words.isascii():
        return words
    return re.escape(words).replace(r"\ ", r"[\s-]{1,3}") + "(?![a-z0-9])"


# Unknown words are blanked first, so that the patterns of numbers and phrases are not tried at each of them.
_PLAIN = pattern(r"(?<![\w$#@'])(?!zz+ing\b)([a-z]{3,}(?:'(?!s(?![a-z]))[a-z]+)?)(?!\w)")
_PARTS = frozenset(part for word in VOCABULARY if word.isascii() for part in (word, *re.split("[^a-z]+", word)))


@lru_cache(maxsize=1 << 14)
def _blank(word: str) -> str:
    """Keep a known word; turn any other into "zzz" of its length, ending in "ed" if it may be a past tense."""
    if word in _PARTS or word.partition("'")[0] in _PARTS:
        return word
    return "z" * (len(word) - 2) + "ed" if word.endswith("ed") and len(word) > 3 else "z" * len(word)


def _opening(match: re.Match[str]) -> str:
    """Blank a gerund that opens a clause, but keep its "ing": "Picking it up on the 2nd"."""
    word = match[2]
    return f"{match[1]}{'z' * (len(word) - 3)}ing" if _blank(word) != word else match[0]


def blanked(sentence: str, further: Further | None = None) -> str:
    """Fold a sentence and blank its unknown words, keeping all offsets; ``further``: the words of its language."""
    if further is not None:
        sentence = further.blanked(sentence)
    folded = sentence.lower().replace("~", "-") if sentence.isascii() else sentence.translate(_FOLD)
    if "up to" in folded:
        folded = _OCCUPIED.sub(lambda match: f"{match[0][:-5]}zzzzz", folded)
    if "ing" in folded:
        folded = _OPENING_GERUND.sub(_opening, folded)
    parts = _PLAIN.split(folded)
    parts[1::2] = map(_blank, parts[1::2])
    return "".join(parts)


def skeleton(sentence: str, further: Further | None = None) -> str:
    """Blank a sentence and shorten each run of unknown words to one, so that similar sentences are equal."""
    return _SUFFIX.sub(r"zz\1", _RUN.sub("zzz", blanked(sentence, further)))


@lru_cache(maxsize=1 << 11)  # lines that are shown, and skeletons, are read several times
def tokens(text: str) -> Sequence[Token]:
    """Return the tokens of a blanked sentence; a run of unknown words is one token."""
    result: list[Token] = []
    east = bool(IDEOGRAPH.search(text))
    for match in lexicon().finditer(text):
        name = match.lastgroup
        if name == "space":
            continue
        kind, value = ("word", None) if name == "unknown" else lexeme(match, east)
        if kind == "word" and value is None and result and result[-1].kind == "word" and not result[-1].value:
            result[-1] = Token("word", result[-1].start, match.end())
        elif kind:
            result.append(Token(kind, match.start(), match.end(), value))
    return result


def lexeme(match: re.Match[str], east: bool) -> tuple[str, Any]:
    name, text = match.lastgroup or "other", match[0]
    if name == "other":
        dropped = text in "'\""
        return "" if dropped else PUNCTUATION_ROLES.get(text, "word" if text.isalnum() else "stop"), None
    if name == "own":
        return meaning(text)
    if name == "numerals":
        number = figure_readers.numeral(text)
        return ("number", number) if number is not None else ("word", None)
    if name in FIGURE_PATTERNS:
        figures = FIGURE_PATTERNS[name]
        value = figures.read(text, east) if figures.kind != "word" else None
        return (figures.kind, value) if value is not None else ("word", None)
    if name == "word" and text not in VOCABULARY and _PAST.fullmatch(text):
        return "word", "ed"
    if name == "word" and _SUFFIX.fullmatch(text):
        return "word", "hint"
    if name == "phrase" and text not in VOCABULARY:
        text = " ".join(re.split(r"[\s-]+", text))
    return VOCABULARY.get(text, ("word", None))


IDEOGRAPH = pattern("[\u4e00-\u9fff]")


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences of a text with their offsets; one that is too long is cut."""
    start = 0
    for end in (*(match.end() for match in _SENTENCE_BREAK.finditer(text)), len(text)):
        while end - start > _MAX_SENTENCE_CHARS:
            most = start + _MAX_SENTENCE_CHARS
            pause = max(text.rfind(sign, start + _MAX_SENTENCE_CHARS // 2, most) for sign in _PAUSES)
            cut = pause + 1 if pause > 0 else most
            yield start, text[start:cut]
            start = cut
        yield start, text[start:end]
        start = end
