"""Parse a text's sentences by the cascade; a token's kind tells whether it names a time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from memscope.dates.calendar import Now
from memscope.dates.cascade import Cascade, Token
from memscope.dates.lexer import fold, sentences, tokens
from memscope.dates.rules import ROWS
from memscope.errors import InputError

# Kinds that name no time alone: a sentence without others is skipped.
_CONNECTORS = frozenset(
    "word stop comma hyphen slash dot paren colon equals func the of in and or to article at on for from by before"
    " after since till between around every other during past later prior ago future pasttense step edge beginning"
    " rest more less within couple times half halfword second now hence coming onward ge di fen miao sharp ban"
    " inside amid upto whose lunar lunarcal cha seem alike jubilee".split()
)


_CASCADE = Cascade(ROWS)


def parsed(text: str, reference: datetime) -> Iterator[tuple[list[Token], Now]]:
    """Yield the tokens of each sentence that may name a time, and its direction."""
    if reference.tzinfo is None:
        raise InputError("reference has no time zone", hint="give an aware datetime")
    for offset, sentence in sentences(text):
        found = tokens(fold(sentence), offset)
        kinds = {token.kind for token in found}
        if not kinds <= _CONNECTORS:
            now = Now(reference, "future" in kinds and "pasttense" not in kinds, "pasttense" in kinds)
            yield _CASCADE.run(found, now), now
