"""Find a quote in a text: literally, else by aligning it to the text's words.

The result is always a passage of the text. White space, case, punctuation shapes and invisible characters are ignored.
A model may correct a typo, leave words out ("a … b", a shortened list) or prepend the speaker ("Ann: ..."): such quotes
are aligned, unless a number, a name or a negation differs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

from memscope.languages.registry import registered
from memscope.prompts.loader import COMMENT
from memscope.text.language import CJK, has_cjk, usual_rules
from memscope.text.tokens import content_stems

MAX_ELIDED_QUOTE_CHARS = 600  # of the passage returned for an inexact quote
MIN_FOUND_WORD_SHARE = 0.8  # of the quote's words that the text must have
MIN_WORD_SIMILARITY = 0.7  # ratio of matching letters between a word and its correction
_SHAPES = str.maketrans("’‘“”„«»「」『』＂＇", '\'\'""""""""""\'')
_QUOTE_EDGES = " .…,;:!?\"'。，；：！？"
_OMISSION = re.compile(r"\s*(?:\[?…\]?|\[?\.{3,}\]?)\s*")
_SPEAKER = re.compile(r"\A\W*[^\n:：]{1,40}[:：]\s*(?=\S)")
_QUOTE_WORD = re.compile(rf"[{CJK}]|[^\W_{CJK}]+(?:'[^\W\d_{CJK}]+)?")


def find_quote(quote: str, text: str) -> str | None:
    """Return the quoted passage as ``text`` spells it; None if it is not there."""
    for words in dict.fromkeys((quote, _SPEAKER.sub("", quote))):
        span = _span(words, text, 0)
        if passage := text[slice(*span)] if span else _in_pieces(words, text):
            return passage
    return _aligned(_SPEAKER.sub("", quote), text) or _aligned(quote, text)


def _in_pieces(quote: str, text: str) -> str | None:
    """Find "a … b": the passage from first to last piece, or the longest piece alone if they are far apart."""
    pieces = [piece for piece in _OMISSION.split(quote) if piece.strip(_QUOTE_EDGES)]
    if len(pieces) < 2:
        return None
    spans: list[tuple[int, int]] = []
    for piece in pieces:
        span = _span(piece, text, spans[-1][1] if spans else 0)
        if span is None:
            return None
        spans.append(span)
    start, end = spans[0][0], spans[-1][1]
    if end - start > MAX_ELIDED_QUOTE_CHARS:
        start, end = max(spans, key=lambda span: span[1] - span[0])
    return text[start:end]


def _span(quote: str, text: str, after: int) -> tuple[int, int] | None:
    """Return the span of the words in ``text`` at or after position ``after``."""
    plain, _ = _normalised(quote)
    wanted = plain.strip(_QUOTE_EDGES) or plain.strip()
    if not wanted:
        return None
    among, places = _normalised(text)
    start = among.find(wanted)
    while 0 <= start and places[start] < after:
        start = among.find(wanted, start + 1)
    return None if start < 0 else (places[start], places[start + len(wanted) - 1] + 1)


@lru_cache(16)
def _normalised(text: str) -> tuple[str, list[int]]:
    """Lower-case, collapse white space and drop invisible characters; also return each character's position."""
    unseen = {place for comment in COMMENT.finditer(text) for place in range(*comment.span())}
    letters: list[str] = []
    places: list[int] = []
    for place, letter in enumerate(text.translate(_SHAPES)):
        letter = " " if letter.isspace() else letter
        if place in unseen or (letter == " " and letters[-1:] == [" "]):
            continue
        letters.append(low if len(low := letter.lower()) == 1 else letter)
        places.append(place)
    return "".join(letters), places


# ------------------------------------------------------------------------------------------------------------ alignment


class _Token(NamedTuple):
    """A word (in CJK text a character) with its span in the text."""

    word: str
    start: int
    end: int


def _aligned(quote: str, text: str) -> str | None:
    """Return the passage that the quote renders; None if anything but typos and small words differs."""
    wanted, among = _tokens(quote), _tokens(text)
    if len(wanted) < 3 or not among:
        return None
    among = _around(wanted, among)
    steps = SequenceMatcher(None, _words(wanted), _words(among), autojunk=False).get_opcodes()
    equal = [step for step in steps if step[0] == "equal"]
    if not equal or sum(step[2] - step[1] for step in equal) < MIN_FOUND_WORD_SHARE * len(wanted):
        return None
    first, last = equal[0][3], equal[-1][4]
    for _, wanted_from, wanted_to, from_, to in steps:
        inside = among[max(from_, first) : min(to, last)]
        if not _harmless(wanted[wanted_from:wanted_to], inside):
            return None
    start, end = among[first].start, among[last - 1].end
    return text[start:end] if end - start <= MAX_ELIDED_QUOTE_CHARS else None


def _tokens(text: str) -> list[_Token]:
    plain, places = _normalised(text)
    spans = ((one.group(), *one.span()) for one in _QUOTE_WORD.finditer(plain))
    return [_Token(word, places[start], places[end - 1] + 1) for word, start, end in spans]


def _words(tokens: Sequence[_Token]) -> list[str]:
    return [token.word for token in tokens]


def _around(wanted: Sequence[_Token], among: list[_Token]) -> list[_Token]:
    """Cut the text's words down to the surroundings of the longest run shared with the quote."""
    run = SequenceMatcher(None, _words(wanted), _words(among), autojunk=False).find_longest_match()
    room = 2 * len(wanted)
    return among[max(0, run.b - run.a - room) : run.b + len(wanted) + room]


def _harmless(quoted: Sequence[_Token], actual: Sequence[_Token]) -> bool:
    """Accept a difference of typos and function words, as long as neither side has a negation."""
    if _words(quoted) == _words(actual):
        return True
    if any(_denies(token.word) for token in (*quoted, *actual)):
        return False
    if len(quoted) > 1 and actual and any(has_cjk(token.word) for token in quoted):
        return False
    return all(_is_small(token.word) or any(_alike(token.word, other.word) for other in actual) for token in quoted)


def _denies(word: str) -> bool:
    return any(language.wording.negation.fullmatch(word) for language in registered())


def _is_small(word: str) -> bool:
    """Recognise words that change no meaning: function words, and CJK characters other than numerals."""
    if has_cjk(word):
        return not any(word in language.wording.digits for language in registered())
    return not content_stems(word, usual_rules("latin"))


def _alike(one: str, other: str) -> bool:
    if any(map(str.isdigit, one + other)) or has_cjk(one + other):
        return False
    return SequenceMatcher(None, one, other, autojunk=False).ratio() >= MIN_WORD_SIMILARITY
