"""Classify a unit's statement when it is written: question, instruction, lasting fact about oneself, empty answer.

Rules of wording in English and Chinese. A flag is evidence for the ranking, never a verdict on the statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from memscope.imports import pattern
from memscope.text.language import language
from memscope.text.statements import asks, unknowing


class Flag(IntEnum):
    """Kinds of units, stored in their columns."""

    QUESTION = 1
    FIRST_PERSON = 2
    DIGIT = 4
    INSTRUCTION = 8
    GREETING = 16
    CLOSED = 32  # a superseded memory
    PROPOSED = 64  # or a session's summary, a correction of an entity: no search finds it
    PRIMARY = 128  # the one of an insight's units that stands for it
    STATEMENT = 256
    CJK = 512  # the text is in Chinese, Japanese or Korean
    PERSONAL = 1024  # a lasting statement about oneself: "I am, have, like, never do ..."
    ASKING = 2048  # nothing but questions and greetings
    UNKNOWING = 4096  # an assistant's answer that only says it does not know


_CLOSING = " \t\r\n\"'”’)」』"
_DIGIT = pattern(r"\d")
_OWN = frozenset("i me my we our i'm i'd i'll i've we're we'd we'll we've".split())
_OPENING = ("hey", "hi", "hello", "thank", "wow", "great", "please", "always", "never", "from")
_GREETING = pattern(r"(?i)\W*(?:(?:hey|hi|hello|thanks|thank you|wow|great)\b|你好|您好|谢谢)")
_INSTRUCTION = pattern(
    r"(?i)\W*(?:please\s+)?(?:always|never|from now on)\b"
    r"|\W*(?:请)?(?:以后|总是|从现在起|从今以后|永远不要)"
)
_WISH = pattern(r"(?i)\bi(?:['’]d| would)?(?: \w+ly)? (?:prefer|rather)\b|\bi(?:['’]d| would) like you to\b")
_WISH_ZH = pattern("我(?:更|比较)?(?:喜欢|希望)你")
_WISHED = frozenset(("prefer", "rather", "like"))
# Members of an enum take long to look up.
_QUESTION, _FIRST_PERSON, _DIGITS, _INSTRUCTS = map(
    int, (Flag.QUESTION, Flag.FIRST_PERSON, Flag.DIGIT, Flag.INSTRUCTION)
)
_GREETS, _IS_CJK, _ASKING, _KNOWS_NOT = map(int, (Flag.GREETING, Flag.CJK, Flag.ASKING, Flag.UNKNOWING))


def flags(text: str, words: Sequence[str], role: str) -> int:
    """Returns the flags of wording, those of a memory's state being the caller's; ``words``: its ``tokens.pieces``."""
    own = not _OWN.isdisjoint(words) or "我" in text
    found = _FIRST_PERSON * own | _IS_CJK * (language(text) != "en")
    found |= _QUESTION * text.rstrip(_CLOSING).endswith(("?", "？"))
    found |= _DIGITS * (_DIGIT.search(text) is not None)
    instructs = own and _wishes(text, words)
    if not text.isascii() or (words and words[0].startswith(_OPENING)):
        found |= _GREETS * (_GREETING.match(text) is not None)
        instructs = instructs or _INSTRUCTION.match(text) is not None
    found |= _INSTRUCTS * instructs
    if role == "assistant" and unknowing(text):
        return found | _KNOWS_NOT
    return found | _ASKING * asks(text)


def _wishes(text: str, words: Sequence[str]) -> bool:
    if "你" in text and _WISH_ZH.search(text):
        return True
    return not _WISHED.isdisjoint(words) and _WISH.search(text) is not None
