"""Parse a text's sentences by the cascade; a token's kind tells whether it names a time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from memscope.dates.calendar import Now
from memscope.dates.cascade import Token
from memscope.dates.cues import Direction, is_thing_ahead
from memscope.dates.languages import cascade_for, words_of
from memscope.dates.lexer import blanked, sentences, tokens
from memscope.dates.tense import Tenses
from memscope.dates.vocabulary import VOCABULARY
from memscope.errors import InputError

# Kinds that name no time alone: a sentence without others is skipped.
_CONNECTING_WORDS = frozenset(
    "word stop comma hyphen slash dot paren colon equals func have the of in and or to article at on for from by before"
    " after since till between around every other during past later afterwards prior ago future pasttense step edge"
    " beginning rest more less duty within couple times half halfword second now hence coming onward ge di fen miao"
    " sharp ban inside amid upto whose lunarday lunarcal cha seem alike jubilee except besides".split()
)
_CUES = frozenset("word func have future pasttense since onward".split())  # their values are cues of ``tense.py``
_LETTERS_OR_DIGIT = re.compile("[a-z]+|[0-9]")


class Parsed(NamedTuple):
    """A sentence that may name a time: its tokens from ``offset`` on, and the direction of each."""

    tokens: Sequence[Token]
    now: Now
    tenses: Tenses
    offset: int = 0

    def direction(self, token: Token, *, timed: bool) -> Direction:
        """Return whether the event at the time of a token is past or ahead."""
        return self.tenses.direction(token.start - self.offset, token.end - self.offset, timed=timed)


def parsed(text: str, reference: datetime, *, ahead: bool = False) -> Iterator[Parsed]:
    """Yield each sentence that may name a time; ``ahead``: read it as if it were in the future tense."""
    further, zoned = words_of(text), reference.tzinfo is not None
    for offset, sentence in sentences(text):
        shared = zoned and further is None and sentence.isascii()
        if shared and _TIMELY.isdisjoint(_LETTERS_OR_DIGIT.findall(sentence.lower())):
            continue  # cheaper than blanking it first
        for read in parsed_sentence(blanked(sentence, further), reference, ahead=ahead):
            tokens = [token._replace(start=token.start + offset, end=token.end + offset) for token in read.tokens]
            yield read._replace(tokens=tokens, offset=offset)


def parsed_sentence(blank: str, reference: datetime, *, ahead: bool = False) -> Iterator[Parsed]:
    """Yield a blanked sentence, or a skeleton, if it may name a time."""
    if reference.tzinfo is None:
        raise InputError("reference has no time zone", hint="give an aware datetime")
    read = _read(blank) if not blank.isascii() or not _TIMELY.isdisjoint(_LETTERS_OR_DIGIT.findall(blank)) else None
    if read is not None:
        past = read.tenses.past
        now = Now(reference, ahead or (read.future and not past), past and not ahead, read.due)
        yield Parsed(cascade_for(blank).run(read.tokens, now), now, read.tenses)


class _Read(NamedTuple):
    tokens: Sequence[Token]
    tenses: Tenses
    future: bool
    due: bool


@lru_cache(maxsize=1 << 11)
def _read(blank: str) -> _Read | None:
    """Return the tokens and the tenses of a sentence that may name a time."""
    read = tokens(blank)
    if _CONNECTING_WORDS.issuperset(token.kind for token in read):
        return None
    due = any(token.kind == "duty" or token.value == "due" for token in read)
    future = any(token.kind == "future" and not is_thing_ahead(read, i) for i, token in enumerate(read))
    return _Read(plain(read), Tenses(read, blank), future, due)


def plain(tokens: Sequence[Token]) -> list[Token]:
    """Turn tokens that only carry a tense into unknown words, as the rows expect."""
    merged: list[Token] = []
    for token in tokens:
        kind = "word" if token.kind == "duty" else token.kind
        if kind == "word" and merged and merged[-1].kind == "word":
            merged[-1] = merged[-1]._replace(end=token.end)
        elif kind in _CUES:
            merged.append(Token(kind, token.start, token.end))
        else:
            merged.append(token)
    return merged


def _timely() -> Iterator[str]:
    """Yield the Latin words of times: a sentence without one of them and without a digit names no time."""
    for words, (kind, _) in VOCABULARY.items():
        if words.isascii() and kind not in _CONNECTING_WORDS:
            yield max(reversed(_LETTERS_OR_DIGIT.findall(words)), key=len)


_TIMELY = frozenset((*"0123456789", *_timely()))
