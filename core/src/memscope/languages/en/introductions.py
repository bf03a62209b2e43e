"""Read what people say of themselves in apposition or a chain: "I'm Nora, a vet in Bristol", "Tom here, plumber"."""

from __future__ import annotations

import re
from functools import lru_cache

from memscope.languages.en import name_lists as lists
from memscope.languages.en.stemmer import stem
from memscope.languages.en.words import WORDS
from memscope.text.topics import names as topic_names
from memscope.text.topics import topics_of_words

_NAME = r"[A-ZÀ-Þ][\w'’-]+(?: [A-ZÀ-Þ][\w'’-]+)?"
_GREETING = (
    r"(?:(?:hi|hi there|hiya|hey|hello|hallo|howdy|greetings|good (?:morning|afternoon|evening|day)|quick intro"
    r"|about me|me)\b[\W_]*)*"
)
_I_AM = r"(?:i['’]?m|i am|my name(?:['’]s| is)|name(?:['’]s|:)|it['’]s|this is|introducing myself:)"
_OPENING = re.compile(
    rf"\W*(?i:{_GREETING})"
    rf"(?:(?P<says>(?i:{_I_AM}))\s+(?={_NAME}\W|(?i:an?|\d+)\b)|(?={_NAME} here\b)|(?={_NAME}, |\d+, ))"
)
_FIRST = re.compile(rf"(?:{_NAME}|\d+)(?: here)?(?: by the way| btw)?(?=\W*$)")
_PART_ENDS = re.compile(r"\s*[,;.!:]\s+|\s[-–—]\s|\s+and (?=an?\b|I\b)")
_LEADING = re.compile(r"(?i)^(?:(?:i['’]?m|i am|currently|now|also|an?|semi-retired|retired|\d+[- ]year[- ]old) )+")
_TAIL = re.compile(r"(?i)\b(?:in|at|from|for|with|of|near|by|to|who|based|living|working|up|over|out|deep|these)\b")
_NO_TRADE = frozenset("is was are were my the your his her our their this that says said has had".split())
_TRADE_ENDING = re.compile(r"\w{2,}(?:ist|ician|smith|keeper|maker|worker)|student")
_CALENDAR = rf"(?i:{'|'.join(sorted(lists.CALENDAR))})\b"
_PLACED = re.compile(
    rf"\b(?:in|from|near|outside|out of|to|home is|around)\s+(?:the )?(?!{_CALENDAR})[A-ZÀ-Þ][\w-]*[a-zß-ÿ]"
)
_DATED = re.compile(rf"(?i)\W*(?:it['’]s |this is )?{_CALENDAR}(?! here)")  # a day, not a name
_PLACE_ALONE = re.compile(rf"{_NAME}(?: (?:girl|boy|lad|native))?")
MAX_TRADE_WORDS = 4  # "a long-distance lorry driver"


def introduction(sentence: str) -> list[str]:
    """Return the parts of a sentence in which its speaker introduces themselves; none of another.

    A name alone opens an introduction if an age or a trade follows it: "Tom, plumber, two kids". Behind a trade a place
    may stand alone: "accountant, Leicester".
    """
    opening = _OPENING.match(sentence)
    if opening is None or _DATED.match(sentence):
        return []
    parts = [part for one in _PART_ENDS.split(sentence[opening.end() :]) if (part := one.strip(" .!"))]
    if not parts or not (_FIRST.fullmatch(parts[0]) or is_trade(parts[0])):
        return []
    trades = [is_trade(part) for part in parts]
    sure = opening["says"] or parts[0].endswith(" here")
    if not sure and not any(trades[1:3]) and not any(part.isdigit() for part in parts[1:2]):
        return []
    alone = [at > 0 and any(trades) and _PLACE_ALONE.fullmatch(part) is not None for at, part in enumerate(parts)]
    return [f"in {part}" if is_place else part for part, is_place in zip(parts, alone, strict=True)]


def is_trade(part: str) -> bool:
    """Return whether a part names what somebody is by profession: "primary school teacher up in Aberdeen"."""
    bare = _TAIL.split(_LEADING.sub("", part), maxsplit=1)[0].lower().split()
    if not bare or len(bare) > MAX_TRADE_WORDS or not _NO_TRADE.isdisjoint(bare):
        return False
    return "professions" in word_topics(bare[-1]) or _TRADE_ENDING.fullmatch(bare[-1]) is not None


def introduces_home(part: str) -> bool:
    """Return whether a part names a place, as introductions do: "from Cork", "based out of Casablanca"."""
    return _PLACED.search(part) is not None


@lru_cache(maxsize=1 << 12)
def word_topics(word: str) -> frozenset[str]:
    bits = topics_of_words([stem(word)], WORDS)
    return frozenset(name for number, name in enumerate(topic_names()) if bits >> number & 1)
