"""Parse a text's sentences by the cascade; a token's kind tells whether it names a time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from memscope.dates.calendar import Now
from memscope.dates.cascade import Cascade, Token
from memscope.dates.lexer import blanked, sentences, tokens
from memscope.dates.rules import rows
from memscope.dates.vocabulary import WORDS
from memscope.errors import InputError

# Kinds that name no time alone: a sentence without others is skipped.
_CONNECTORS = frozenset(
    "word stop comma hyphen slash dot paren colon equals func the of in and or to article at on for from by before"
    " after since till between around every other during past later prior ago future pasttense step edge beginning"
    " rest more less duty within couple times half halfword second now hence coming onward ge di fen miao sharp ban"
    " inside amid upto whose lunar lunarcal cha seem alike jubilee".split()
)
# Of these alone no row makes anything, and no row reaches over a word beside two others.
_SILENT = frozenset(
    "stop comma dot paren hyphen func the of in and or article at on for from to around by whose".split()
)


@lru_cache(maxsize=1)
def _cascade() -> Cascade:
    return Cascade(rows())


_NAMES = re.compile("[a-z]+|[0-9]")


def parsed(text: str, reference: datetime) -> Iterator[tuple[Sequence[Token], Now]]:
    """Yield the tokens of each sentence that may name a time, and its direction."""
    for offset, sentence in sentences(text):
        for found, now in parsed_sentence(blanked(sentence), reference):
            yield [token._replace(start=token.start + offset, end=token.end + offset) for token in found], now


def parsed_sentence(blank: str, reference: datetime) -> Iterator[tuple[Sequence[Token], Now]]:
    """Yield the tokens of a blanked sentence, or of a skeleton, if it may name a time."""
    if reference.tzinfo is None:
        raise InputError("reference has no time zone", hint="give an aware datetime")
    found = _read(blank) if not blank.isascii() or not _TIMELY.isdisjoint(_NAMES.findall(blank)) else None
    if found is not None:
        now = Now(reference, found.future and not found.past, found.past, found.decided, found.due)
        yield _cascade().run(found.tokens, now), now


class _Read(NamedTuple):
    tokens: Sequence[Token]
    future: bool
    past: bool
    decided: bool
    due: bool


@lru_cache(maxsize=1 << 11)
def _read(blank: str) -> _Read | None:
    """Returns the condensed tokens and the tense of a sentence that may name a time."""
    found = tokens(blank)
    kinds = {token.kind for token in found}
    if kinds <= _CONNECTORS:
        return None
    future = "future" in kinds
    past = any(token.kind == "pasttense" and token.value is None for token in found)
    decided, due = future is not ("pasttense" in kinds), "duty" in kinds
    told = [_plain(token) for token in found] if due else found
    return _Read(condensed(told), future, past, decided, due)


def _plain(token: Token) -> Token:
    """Returns a word of duty as any other: it tells the direction, and no row asks for it."""
    return token._replace(kind="word") if token.kind == "duty" else token


def _timely() -> Iterator[str]:
    """Yield Latin words without one of which, and without a digit, a sentence names no time."""
    for words, (kind, _) in WORDS.items():
        if words.isascii() and kind not in _CONNECTORS:
            yield max(reversed(_NAMES.findall(words)), key=len)


def condensed(found: Sequence[Token]) -> list[Token]:
    """Leave out what stands between unknown words: then many sentences are built alike, and the cascade knows them."""
    kept: list[Token] = []
    silent: list[Token] = []
    for token in found:
        if token.kind in _SILENT:
            silent.append(token)
            continue
        beside = not kept or kept[-1].kind == "word"
        if token.kind != "word" or not beside:
            kept += silent
        elif len(kept) > 1 and kept[-2].kind == "word":
            kept.pop()
        kept.append(token)
        silent.clear()
    return kept if kept and kept[-1].kind == "word" else kept + silent


_TIMELY = frozenset((*"0123456789", *_timely()))
