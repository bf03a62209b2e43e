"""Recognise introductions, in which speakers describe themselves in a chain of parts: "I'm Nora, a vet in Bristol"; and
statements of what they avoid or suffer from: "I've sworn off sugar", "I have to avoid salt", "my hands shake".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from memscope.languages.en import name_lists as lists
from memscope.languages.en.stemmer import stem
from memscope.languages.en.words import WORDS
from memscope.languages.word_lists import read_lists
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
_OWN_NAME = (
    r"(?:(?:the|Mrs|Mr|Ms|Miss|Dr|Big|Old|Little) )?"
    rf"(?!{_CALENDAR}|(?:I|Mum|Mom|Dad|Mummy|Daddy|Love|Sir|Madam|Mate)\b)"
    r"[A-ZÀ-Þ][a-zß-ÿ]+(?:-[A-Z][a-z]+)?\b(?!['’]s)"
)
_NAMED_BY = (
    "[Cc]alls? me|[Kk]nows? me as|I (?:go by|answer to)|I(?:['’]m| am) known as|[Ss]ign (?:it|me|that|off)(?: as)?"
    "|[Ww]rite me down as"
)
# One of these stands in each match of ``NAMED``, in lower case.
NAMING = ("ll me ", "lls me ", "name", "me as ", "own as ", "sign ", "go by ", "swer to ", " with a", "spel")
NAMED = re.compile(  # "You can call me Neville", "Everyone calls me Fitz", "Name's Doyle", "It's Kerryn, with a y"
    rf"(?<!n't )(?<!n’t )(?<!not )(?<!never )\b(?:{_NAMED_BY}) {_OWN_NAME}"
    rf"|(?:^|[.!?,;:] ?)(?:[Mm]y |[Tt]he )?[Nn]ame(?:['’]?s| is) {_OWN_NAME}"
    rf"|^\W*(?:[Ii]t['’]?s|[Tt]his is) {_OWN_NAME},? (?:with an? [a-z]\b|spelt|spelled)"
)
_PLACE_ALONE = re.compile(rf"{_NAME}(?: (?:girl|boy|lad|native))?")
FACT_LISTS = read_lists(Path(__file__).parent / "data" / "fact_words.txt")
NOT_MINE = re.compile(  # "crowds aren't my thing"
    r"(?:n['’]?t|\bnot)(?: really)? (?:my (?:thing|scene|cup of tea|bag|jam)|for me)\b(?! to\b)"
)
_FORMS = frozenset(FACT_LISTS["forgoing"])
FORGOING = frozenset(form.partition("-")[0] for form in _FORMS)  # first words of ``_FORMS``, for a quick test
_NOT_FORGONE = frozenset((*FACT_LISTS["not_liked"], *FACT_LISTS["placed_by"], *FACT_LISTS["not_forgone"]))
_VERBS_OF_LIFE = frozenset((*FACT_LISTS["verbs_home"], *FACT_LISTS["verbs_work"]))
ADVERBS = frozenset(FACT_LISTS["adverbs"])
BODY = frozenset(FACT_LISTS["body"])
_ILL = frozenset((*FACT_LISTS["aches"], *FACT_LISTS["ailing"]))
_FORBIDDEN = ("not allowed", "not supposed", "not meant")
MAX_TRADE_WORDS = 4  # "a long-distance lorry driver"


def introduction(sentence: str) -> list[str]:
    """Split an introduction into its parts; any other sentence has none.

    A name alone opens an introduction if an age or a trade follows it: "Tom, plumber, two kids". Beside a trade, a
    place alone counts as a home: "accountant, Leicester".
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
    """Recognise a profession: "primary school teacher up in Aberdeen"."""
    bare = _TAIL.split(_LEADING.sub("", part), maxsplit=1)[0].lower().split()
    if not bare or len(bare) > MAX_TRADE_WORDS or not _NO_TRADE.isdisjoint(bare):
        return False
    return "professions" in word_topics(bare[-1]) or _TRADE_ENDING.fullmatch(bare[-1]) is not None


def introduces_home(part: str) -> bool:
    """Recognise a home in a part of an introduction: "from Cork", "based out of Casablanca"."""
    return _PLACED.search(part) is not None


@lru_cache(maxsize=1 << 12)
def word_topics(word: str) -> frozenset[str]:
    bits = topics_of_words([stem(word)], WORDS)
    return frozenset(name for number, name in enumerate(topic_names()) if bits >> number & 1)


def forgoes(words: Sequence[str]) -> bool:
    """Recognise what speakers avoid or limit themselves to: "I've sworn off sugar", "I've decided to stop flying", "I
    only drink decaf", "I avoid lifts"; not "I stopped at a shop", "I gave up waiting".
    """
    at = next((at for at, word in enumerate(words) if word not in ADVERBS or word == "only"), 0)
    if list(words[at : at + 2]) == ["decided", "to"]:
        at += 2
    in_two = "-".join(words[at : at + 2]) in _FORMS
    if not in_two and (not words[at:] or words[at] not in _FORMS):
        return False
    what = next(iter(words[at + 1 + in_two :]), "to")
    return what not in _NOT_FORGONE and (words[at] == "only" or what not in _VERBS_OF_LIFE)


def is_forbidden(words: Sequence[str]) -> bool:
    """Recognise what speakers must not do: "I have to avoid salt", "I'm not supposed to lift anything"."""
    opening = " ".join(words)
    return opening.startswith(_FORBIDDEN) or any(f"to {one}" in opening for one in ("avoid", "steer clear", "watch my"))


def ails(words: Sequence[str]) -> bool:
    """Recognise an ailing part of the body after "my": "hands shake", "left shoulder's frozen"."""
    at = next((at for at, word in enumerate(words) if word.removesuffix("'s") in BODY), 2)
    if at > 1:
        return False
    rest = [word for word in words[at + 1 :] if word not in ADVERBS and word not in ("is", "are", "has", "have", "a")]
    return bool(rest) and (rest[0] in _ILL or rest[0].endswith("n't") or rest[0] == "never")
