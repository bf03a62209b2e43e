"""Find names in English text: runs of capitalised words (their kind by the words beside them), quoted titles, topics.

The first word of a sentence is always capitalised: by itself it is a name only if it is in the table, if a verb of
people follows, or if another text confirms it (weight 0).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import NamedTuple

from memscope.imports import pattern
from memscope.languages.en import name_lists as lists
from memscope.languages.en.stemmer import stem
from memscope.languages.en.words import STOP_WORDS, WORDS
from memscope.languages.name_rules import FoundName, NameKind, NameRules
from memscope.text.topics import topics_of_words

_APPOSITION = frozenset("named called is are was were titled".split())
_DETERMINERS = frozenset("a an the my our her his their".split())
_WORDS = pattern(f"({lists.NAME_WORD.pattern})")
_ASCII_WORDS = pattern(r"([A-Za-z]\w*(?:['.&-]\w+)*)", re.A)  # the same in ASCII; compiled in a tenth of the time
_SENTENCE_END = pattern(r"[.!?…:;\"“”(\[—–*#>|]")
_TITLE_IN_QUOTES = pattern(r"[\"“]([^\"“”\n]{2,80})[\"”]")
_TOPIC = pattern(
    r"\b(?:learning|studying|interested in|obsessed with|passionate about|practi[cs](?:es|e|ing)|lessons in|took up"
    r"|taking up|(?:start|starts|started|starting) (?:learning|playing|practi[cs]ing))"
    r" ([^\W\d_][\w-]{2,})(?: and ([^\W\d_][\w-]{2,}))?",
    re.I,
)
_MAY_LEARN = pattern("ing |interested|obsessed|passionate|ractice|ractise|essons|ook up|tart", re.I)
_NAMING = frozenset("named called name call naming calling".split())  # "We named her Pepper."
_OBJECTS = frozenset("him her it them".split())
_CAPITALS = pattern("^[A-Z]{2,}$|[a-z][A-Z]{2,}$")  # MIT, NeurIPS
_HAVING = frozenset("a an my our his her their have has had got with take takes and of".split())
_ABBREVIATED = lists.TITLES | {"st"}
_MAX_NOUN_DISTANCE = 3  # words from a noun to its name: "boat is called Aurora"
_MIN_SHORT_LETTERS, _MAX_SHORT_SHARE = 3, 4 / 7  # short forms of first names: Mel, Matt and Chris, not Ann or Carol
_MIN_HEADING_WORDS = 5  # a line of at least this many words, nearly all capitalised, is a heading


class _NameToken(NamedTuple):
    text: str  # without the possessive
    low: str
    start: int
    end: int
    owns: bool  # "Kim's"
    capital: bool
    opens: bool  # begins a sentence
    near: bool  # only a space, or a comma and a space, stands between it and the token before


class _Run(NamedTuple):
    """Tokens ``first`` to ``last`` of a line."""

    first: int
    last: int


class EnglishNames(NameRules):
    role_forms = ("my {}", "user's {}", "the user's {}")

    def find(self, text: str) -> Iterator[FoundName]:
        at = 0
        for line in text.split("\n"):
            if not line.isupper():
                cased = lists.with_capitals(line) if line.islower() else line
                yield from (name._replace(start=name.start + at) for name in _of_line(cased))
            at += len(line) + 1

    def unknown(self, text: str) -> Sequence[str]:
        return lists.unknown_words(text)

    def known(self) -> Mapping[str, NameKind]:
        return lists.known_names()

    def short_forms(self, form: str) -> Sequence[str]:
        """Drop a title, or give the first name and its short forms: "Mel" for "Melanie", but not "Ann" for "Anna"."""
        first, *others = form.split() or [""]
        if first in lists.TITLES:
            return (" ".join(others),)
        cuts = range(_MIN_SHORT_LETTERS, int(len(first) * _MAX_SHORT_SHARE) + 1) if first.isalpha() else ()
        return (*super().short_forms(form), *(first[:letters] for letters in cuts))


NAMES = EnglishNames()


def _of_line(line: str) -> Iterator[FoundName]:
    titles = [match for match in _TITLE_IN_QUOTES.finditer(line) if _is_title(match[1])]
    yield from (FoundName(match[1], "thing", match.start(1), 3) for match in titles)
    tokens = _tokens(line)
    topics = list(_topics(line))
    yield from topics
    taken = [(match.start(1), match.end(1)) for match in titles]
    taken += [(name.start, name.start + len(name.text)) for name in topics]
    heading = len(tokens) >= _MIN_HEADING_WORDS and sum(one.capital for one in tokens) > 0.8 * len(tokens)
    for run in _runs(line, tokens):
        start = tokens[run.first].start
        name = None if any(a <= start < b for a, b in taken) else _judge(line, tokens, run)
        if name is not None:
            yield name._replace(weight=0) if heading and name.weight < 2 else name
    yield from _roles(tokens)


def _is_title(quoted: str) -> bool:
    words = [word for word in quoted.split() if word.lower() not in lists.SMALL]
    capitals = sum(word[0].isupper() or word[0].isdigit() for word in words)
    return quoted[0].isupper() and quoted[-1] not in ".,!?;:" and bool(words) and capitals > 0.7 * len(words)


def _topics(line: str) -> Iterator[FoundName]:
    for match in _TOPIC.finditer(line) if _MAY_LEARN.search(line) else ():
        for group in (1, 2):
            word = match[group] or ""
            if not word or not _is_topic(word) or _qualifies(line[match.end(group) :]):
                break
            yield FoundName(word, "topic", match.start(group), 3)


def _is_topic(word: str) -> bool:
    low = word.lower()
    if low in STOP_WORDS | lists.NO_TOPIC or (low.endswith("ing") and not topics_of_words([stem(low)], WORDS)):
        return False
    return word.islower() or low in lists.LANGUAGES


def _qualifies(rest: str) -> bool:
    """Test whether a word only qualifies the next one, as in "acoustic guitar"; ``rest``: the line after the word."""
    after = lists.NAME_WORD.match(rest[1:])
    return rest[:1] == " " and after is not None and after[0].islower() and after[0] not in STOP_WORDS | lists.TIMES


def _tokens(line: str) -> list[_NameToken]:
    tokens: list[_NameToken] = []
    end = 0
    parts = iter((_ASCII_WORDS if line.isascii() else _WORDS).split(line))
    for gap, piece in zip(parts, parts, strict=False):
        start = end + len(gap)
        end = start + len(piece)
        word, low, owns, capital = _word(piece)
        abbreviated = gap == ". " and bool(tokens) and (tokens[-1].low in _ABBREVIATED or len(tokens[-1].text) == 1)
        opens = not tokens or (gap != " " and _SENTENCE_END.search(gap) is not None and not abbreviated)
        near = gap == " " or abbreviated or gap in (", ", " (")
        tokens.append(_NameToken(word, low, start, start + len(word), owns, capital, opens, near))
    return tokens


@lru_cache(1 << 14)
def _word(piece: str) -> tuple[str, str, bool, bool]:
    """Return a word without the possessive, in lower case, whether it had one, and whether it is capitalised."""
    word = lists.POSSESSIVE.sub("", piece)
    capital = word[0].isupper() or (len(word) > 2 and not word.islower() and word[1:] != word[1:].lower())
    return word, word.lower(), word != piece, capital


def _runs(line: str, tokens: Sequence[_NameToken]) -> Iterator[_Run]:
    last = -1
    for at in [at for at, token in enumerate(tokens) if token.capital]:
        if at > last:
            last = at
            while (further := _joined(line, tokens, last)) > last:
                last = further
            yield from _trimmed(tokens, _Run(at, last))


def _joined(line: str, tokens: Sequence[_NameToken], last: int) -> int:
    """Return the index of the next token of the same name, as in "Bank of England"; ``last`` without one."""
    after = tokens[last + 1 : last + 3]
    if not after or line[tokens[last].end : after[0].start].strip() not in ("", ".", "&", "'s", "’s"):
        return last
    if after[0].opens or not (after[0].near or "&" in line[tokens[last].end : after[0].start]):
        return last
    if tokens[last].owns and after[0].low not in lists.ORGANISATION_ENDS | lists.PLACE_ENDS:
        return last
    if after[0].capital:
        return last + 1
    linked = after[0].low in lists.CONNECTORS or (after[0].low == "of" and tokens[last].low in lists.OF_HEADS)
    return last + 2 if linked and len(after) > 1 and after[1].near and after[1].capital else last


def _trimmed(tokens: Sequence[_NameToken], run: _Run) -> Iterator[_Run]:
    """Yield the names in a run, which words that are never part of a name delimit."""
    if _known(tokens, run):
        yield run
        return
    start = run.first
    for at in range(run.first, run.last + 2):
        ends = at > run.last or _never(tokens[at], begins=at == start, alone=start == at == run.last)
        if ends and at > start:
            yield _Run(start, at - 1)
        start = at + 1 if ends else start


def _known(tokens: Sequence[_NameToken], run: _Run) -> bool:
    return " ".join(token.low for token in tokens[run.first : run.last + 1]) in lists.known_names()


def _never(token: _NameToken, *, begins: bool, alone: bool) -> bool:
    low = token.low
    if low in lists.OTHERS:
        return alone or len(low) > 3 or low == "may"  # Jan Novak, Mar Azul
    if low in lists.ORGANISATION_ENDS and not begins:
        return False
    if low in ("best", "new", "good", "great", "happy", "love", "first", "last") and not alone and not token.opens:
        return False  # Best Buy, New Orleans
    if low in lists.FILLERS or low.replace("’", "'") in lists.FILLERS:
        return low != "new" or alone
    if low in STOP_WORDS:
        return begins
    return False


@lru_cache(1 << 14)
def _common(low: str) -> bool:
    """Test for a stop word, a filler, or a word of an everyday topic."""
    return low in STOP_WORDS or low in lists.FILLERS or bool(topics_of_words([stem(low)], WORDS))


def _judge(line: str, tokens: Sequence[_NameToken], run: _Run) -> FoundName | None:
    words = tokens[run.first : run.last + 1]
    start = words[0].start
    name = line[start : words[-1].end]
    kind, weight, role = _kind(tokens, run)
    if _is_label(tokens, run) or (kind == "person" and weight <= 2 and _is_common_noun(tokens, run)):
        return None
    if len(words) == 1 and weight < 2 and (len(name) < 2 or _common(words[0].low)):
        return None
    if words[0].opens and weight < 2:
        if len(words) > 1 and _common(words[0].low):
            return _judge(line, tokens, _Run(run.first + 1, run.last))
        weight = int(len(words) > 1 or words[0].owns or _acts(tokens, run.last) or not words[0].text[1:].islower())
    if len(words) == 1 and words[0].low in lists.TITLES | lists.ROLE_NOUNS:
        return None
    end_dot = name.split()[-1].lower() in ("inc", "corp", "ltd") and line[words[-1].end : words[-1].end + 1] == "."
    return FoundName(name + "." * end_dot, kind, start, weight, role and f"my {role}")


def _acts(tokens: Sequence[_NameToken], last: int) -> bool:
    """Test whether a verb of people follows a name ("Kim said"), or a role ("Maribel, my neighbour,")."""
    near = [token.low for token in tokens[last + 1 : last + 3] if token.near and not token.opens]
    return bool(near) and (near[0] in lists.PERSON_AFTER or (near[0] in ("my", "our") and near[-1] in lists.ROLE_NOUNS))


_LABELS = frozenset("plan option vitamin hepatitis type class group part".split())


def _is_label(tokens: Sequence[_NameToken], run: _Run) -> bool:
    """Detect labels such as "Plan B" or "Option A", and abbreviations that name a thing in general: "has ADHD"."""
    first, last = tokens[run.first], tokens[run.last].text
    if run.first < run.last:
        return len(last) == 1 and (first.opens or first.low in _LABELS)
    known = first.low in lists.known_names()
    return last.isupper() and len(last) > 1 and not known and run.first > 0 and tokens[run.first - 1].low in _HAVING


def _is_common_noun(tokens: Sequence[_NameToken], run: _Run) -> bool:
    """Detect given names used as common nouns: "a Christian", "Christmas Eve"."""
    before = tokens[run.first - 1] if run.first and tokens[run.first].near else None
    return before is not None and (before.low in ("a", "an") or tokens[run.first].low == "eve")


def _kind(tokens: Sequence[_NameToken], run: _Run) -> tuple[NameKind, int, str]:
    """Return the kind of a name, its weight, and a person's role to the user."""
    words = tokens[run.first : run.last + 1]
    several = len(words) > 1
    first, last = words[0].low, words[-1].low
    role, pet = _role_before(tokens, run.first)
    if several and first in lists.TITLES:
        return "person", 3, role
    if several and (last in lists.ORGANISATION_ENDS or (first in lists.ORGANISATION_ENDS and words[1].low == "of")):
        return "organisation", 3, ""
    if several and (last in lists.PLACE_ENDS or first in lists.PLACE_HEADS):
        return "place", 3, ""
    if pet or role:
        return ("thing" if pet else "person"), 3, role
    noun, named = _noun_before(tokens, run.first)
    called = noun if named else _noun_after(tokens, run)
    known = called or lists.known_names().get(" ".join(word.low for word in words))
    if known is not None:
        return known, 3 if called else 2, ""
    if several and lists.known_names().get(first) == "person":
        return "person", 2, ""
    if noun is not None and not _acts(tokens, run.last):
        return noun, 2, ""
    return *_kind_by_words(tokens, run.first, several=several), ""


def _role_before(tokens: Sequence[_NameToken], at: int) -> tuple[str, bool]:
    """Return the role in "my sister Kim", "my boss, Mr. Lee", "my sister's name is Kim"; and whether it is a pet."""
    if at == 0 or tokens[at].opens or not tokens[at].near:
        return "", False
    before = tokens[max(0, at - 7) : at]
    near = [token.low for token in before]
    if near[-1] in lists.ROLE_NOUNS:
        return near[-1] if "my" in near[-4:] else "", False
    if near[-1] in lists.PETS:
        return "", True
    named = near[-1] in ("named", "called") or near[-2:] == ["name", "is"] or near[-1:] == ["is"] or (
        near[-2:] == ["names", "are"])  # fmt: skip
    if not named:
        return "", False
    pet = any(word in lists.PETS for word in near)
    role = next((near[i + 1] for i in range(len(near) - 1) if near[i] == "my" and near[i + 1] in lists.ROLE_NOUNS), "")
    best = next((near[i + 2] for i in range(len(near) - 2) if near[i] == "my" and near[i + 2] in lists.ROLE_NOUNS), "")
    return role or best, pet


def _continues(token: _NameToken) -> bool:
    """Test whether a token belongs to the same clause as the token before it."""
    return token.near and not token.opens


def _noun_before(tokens: Sequence[_NameToken], at: int) -> tuple[NameKind | None, bool]:
    """Return the kind of the noun before a name ("the novel Dune"), and whether it is named so ("a car called Max")."""
    first = at
    while at - first < _MAX_NOUN_DISTANCE and first > 0 and _continues(tokens[first]) and not tokens[first - 1].capital:
        first -= 1
    before = tokens[first:at]
    named = bool(before) and before[-1].low in _APPOSITION
    noun = next((token for token in reversed(before) if token.low not in _APPOSITION), None)
    return (None if noun is None or noun.owns else lists.NOUNS.get(noun.low)), named


def _noun_after(tokens: Sequence[_NameToken], run: _Run) -> NameKind | None:
    """Return the kind of the noun after a name: "Octavia is my car", "Dune, a novel"."""
    clause = takewhile(_continues, tokens[run.last + 1 : run.last + 7])
    after = [token.low for token in clause]
    if after[:1] == ["is"]:
        del after[0]
    elif not after or tokens[run.last + 1].start - tokens[run.last].end < len(", "):
        return None
    if after[:3] == ["the", "name", "of"]:
        after = after[3:]
    plain = tokens[run.last].owns or (run.first == run.last and _common(tokens[run.last].low))
    if plain or not after or after[0] not in _DETERMINERS:
        return None
    return next((kind for word in after[1:3] if (kind := lists.NOUNS.get(word))), None)


def _kind_by_words(tokens: Sequence[_NameToken], at: int, *, several: bool) -> tuple[NameKind, int]:
    if at == 0 or tokens[at].opens or not tokens[at].near:
        return _guess(tokens[at].text), 1
    near = [token.low for token in tokens[max(0, at - 5) : at]]
    last = near[-1]
    earlier = near[:-1]
    if last in _OBJECTS and earlier and earlier[-1] in _NAMING:
        return ("thing" if last == "it" else "person"), 2
    if last in ("the", "a", "an", "new", "our", "my") and earlier and earlier[-1] not in ("at", "for"):
        return ("organisation" if several and last == "the" else "thing"), 1
    last = earlier[-1] if last == "the" and earlier else last
    if last in lists.IN_WORDS or (last in ("to", "from") and any(word in lists.TO_VERBS for word in earlier)):
        return "place", 1
    if last == "from" or (last == "to" and ("from" in earlier or "way" in earlier)):
        return "place", 1
    if last == "at" and lists.STAYING.intersection(earlier):
        return "place", 1
    if last in ("at", *lists.ORGANISATION_BEFORE) or (
        last in ("for", "from", "with") and lists.WORK_WORDS.intersection(earlier)
    ):
        return "organisation", 1
    if last in lists.THING_BEFORE or (last == "on" and not several):
        return "thing", 1
    if last in lists.PERSON_BEFORE:
        return "person", 1
    return _guess(tokens[at].text), 1


def _guess(word: str) -> NameKind:
    """Guess the kind of a name by its form alone: SUMIF is a thing, NeurIPS an organisation, Kim a person."""
    if _CAPITALS.search(word):
        return "thing" if word.isupper() else "organisation"
    return "person"


def _roles(tokens: Sequence[_NameToken]) -> Iterator[FoundName]:
    """Yield roles such as "my sister", with weight 0: they mention a person whom another text introduces."""
    for one, two in pairwise(tokens):
        if one.low == "my" and two.low in lists.ROLE_NOUNS and two.near:
            yield FoundName(f"my {two.low}", "person", one.start, 0, f"my {two.low}")
