"""Fold and split a text into words; estimate its tokens.

    text ──fold──▶ "moved to berlin" ──words──▶ "move", "berlin"

Words are stemmed and stop words left out by the rules of the text's language. Scripts without spaces, and Korean, give
each character and each adjacent pair. Words of other languages are only folded (case, accents).
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from operator import attrgetter

from memscope.imports import pattern
from memscope.text.language import (
    CJK,
    WordRules,
    cjk_count,
    depends_on_languages,
    every_rules,
    spaced_language,
    spaced_rules,
)

_UNSPACED = CJK + "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ede\u1000-\u103f\u1780-\u17d3"  # and Thai, Lao, Burmese, Khmer
_LETTER_RUN = f"[^\\W_{_UNSPACED}]+|[\u0900-\u0963\u0966-\u0dff]"  # Indic vowel signs are no \w for Python


_LATIN_WORD = pattern(r"[a-z0-9]+(?:'[a-z]+)?")
_QUOTE = pattern(r"'(?:(?<![a-z0-9].)|(?![a-z]))")  # an apostrophe that is not inside a word
_MIXED_WORD = pattern(r"'[a-z]+['0-9]")
_ANY_WORD = pattern(r"\w+")
_TO_SPACE = {code: " " for code in range(128) if not chr(code).isalnum() and chr(code) != "'"}
_TOKEN = pattern(f"[{_UNSPACED}]+|(?:{_LETTER_RUN})+(?:'[a-z]+)?")
_PUNCTUATION = r"!-/:-@\[-`{-~\u2010-\u2027\u3001-\u3020！-／：-＠"
ALL_UNSPACED = pattern(rf"[{_UNSPACED}{_PUNCTUATION}\d\s]*+")  # matches no text with a word between spaces
_UNSPACED_CHARACTER = pattern(f"[{_UNSPACED}]")
# Superset of what ``fold`` removes, since looking up each character takes ten times as long.
_MAY_COMBINE = pattern("[^\0-\u02ff\u2000-\u20cf\u3000-\u3029\u3030-\ua66e\uac00-\ud7ff\uf900-\ufb1d\uff00-\uffff]")


def estimate_tokens(text: str) -> int:
    """Estimate a token per 4 characters or per CJK character: 7-14 % above o200k on English and Chinese chats."""
    cjk = cjk_count(text)
    return math.ceil((len(text) - cjk) / 4) + cjk


def fold(text: str) -> str:
    """Fold compatibility forms, case, accents and variants of characters, but not the voicing of kana."""
    if text.isascii() or (text := text.replace("’", "'")).isascii():
        return text.lower()
    bare = unicodedata.normalize("NFKD", text.casefold())
    if _MAY_COMBINE.search(bare):
        bare = "".join(c for c in bare if unicodedata.combining(c) < 10)
    return fold_variants(unicodedata.normalize("NFKC", bare).casefold())


def fold_variants(text: str) -> str:
    """Replace variants of characters one by one: traditional Chinese characters by simplified ones."""
    if text.isascii():
        return text
    variant, originals = _variants()
    return text.translate(originals) if variant.search(text) else text


@depends_on_languages
@lru_cache(maxsize=1)
def _variants() -> tuple[re.Pattern[str], Mapping[int, str]]:
    files = [rules.variants.read_text(encoding="utf-8") for rules in every_rules() if rules.variants]
    originals = {ord(line[0]): line[1] for file in files for line in file.splitlines()}
    return re.compile(f"[{''.join(map(chr, originals))}]" if originals else r"(?!)"), originals


def usual_spelling(text: str) -> str:
    """Replace variants of characters, spellings of chats and frequent mistakes, and drop hesitations: "wheres my bday
    gift" is read as "where's my birthday gift".

    Words in capitals stay ("IM", "R"). The spellings of a language in Latin script count only if the result is in it:
    "wat" and "u" are words of Dutch.
    """
    text = fold_variants(text)
    for rules in every_rules():
        if rules.hesitations and rules.hesitations.search(text):
            is_its_own = rules.script == "han" or spaced_language(text) == rules.code
            text = (is_its_own and rules.hesitations.sub("", text)) or text
    words_written = frozenset(_ANY_WORD.findall(text.lower()))
    for rules, first, spellings in _spellings():
        if rules.script == "han" or not first.isdisjoint(words_written):
            spelled = spellings.sub(partial(respelled, rules.spellings), text)
            text = spelled if rules.script == "han" or spaced_language(spelled) == rules.code else text
    return text


@depends_on_languages
@lru_cache(maxsize=1)
def _spellings() -> Sequence[tuple[WordRules, frozenset[str], re.Pattern[str]]]:
    """Return, per language with spellings, their first words and a pattern that matches them as whole words."""
    listed = []
    for rules in filter(attrgetter("spellings"), every_rules()):
        every = "|".join(map(re.escape, sorted(rules.spellings, key=len, reverse=True)))
        whole = every if rules.script == "han" else rf"(?i)(?<![\w'’@./:-])(?:{every})(?![\w'’@/:-]|\.\w)"
        listed.append((rules, frozenset(_ANY_WORD.findall(" ".join(rules.spellings))), re.compile(whole)))
    return listed


def respelled(spellings: Mapping[str, str], match: re.Match[str]) -> str:
    """Look up another spelling of a matched word, and keep its first letter a capital; a word in capitals stays."""
    if match[0].isupper():
        return match[0]
    usual = spellings[match[0].lower()]
    return f"{usual[0].upper()}{usual[1:]}" if match[0][0].isupper() else usual


def words(text: str) -> list[str]:
    """Return the stemmed words of a text in order; stop words only if there are no others."""
    parts, rules = pieces(fold(text)), spaced_rules(text)
    return [word for piece in parts for word in content_stems(piece, rules)] or [
        word for piece in parts for word in stems(piece, rules)
    ]


def pieces(folded: str) -> list[str]:
    """Split a folded text into its words, and its runs of scripts without spaces."""
    if not folded.isascii():
        return _TOKEN.findall(folded)
    if "'" in folded:
        if _MIXED_WORD.search(folded):
            return _LATIN_WORD.findall(folded)
        folded = _QUOTE.sub(" ", folded)
    return folded.translate(_TO_SPACE).split()  # a third of the time of ``findall``


def is_unspaced(piece: str) -> bool:
    """Test whether a piece is a run of a script without spaces."""
    return "\u4e00" <= piece[:1] <= "\u9fff" or (not piece.isascii() and _UNSPACED_CHARACTER.match(piece) is not None)


def has_words(folded: str) -> bool:
    return (_LATIN_WORD if folded.isascii() else _TOKEN).search(folded) is not None


@lru_cache(maxsize=1 << 12)
def content_stems(piece: str, rules: WordRules) -> Sequence[str]:
    return () if is_stop_word(piece, rules) else stems(piece, rules)


def is_stop_word(piece: str, rules: WordRules) -> bool:
    return _head(piece) in rules.stop_words or piece.endswith(rules.stop_endings)


def stems(piece: str, rules: WordRules) -> Sequence[str]:
    if is_unspaced(piece):
        return _grams(piece)
    head = _head(piece)
    return (rules.stem(head) if head.isascii() and not head.isdigit() else head,)


def _head(piece: str) -> str:
    """Return the part before the apostrophe, or after an elided article or a prefix: l'école, o'neill."""
    head, _, tail = piece.partition("'")
    return tail if len(head) == 1 and len(tail) > 2 else head


def _grams(run: str) -> list[str]:
    """List each character, followed by the pair that it begins."""
    grams = [gram for i in range(len(run) - 1) for gram in (run[i], run[i : i + 2])]
    return [*grams, run[-1]]


def ends_of(query: str, most: int) -> str:
    """Cut a query of more than ``most`` characters to its beginning and end, half of them each."""
    return query if len(query) <= most else f"{query[: most // 2]}\n{query[-(most // 2) :]}"
