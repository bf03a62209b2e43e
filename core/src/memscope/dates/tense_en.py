"""Tense of a time in an English clause, by the cue before it and the preposition between, else by the cue after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from memscope.dates.cascade import Token
from memscope.dates.cues import (
    ARRANGING_KINDS,
    DECISIVE_KINDS,
    NEUTRAL_KINDS,
    Cue,
    Direction,
    Surroundings,
    first_strong,
    hinted,
    is_determiner,
    is_thing_ahead,
    sign_of,
)

_PAST_FORMS = ARRANGING_KINDS | {"past", "participle", "ed", "report", "left", "shift", "give"}
_EVENTS = frozenset(("event", "slot"))  # nouns with a date of their own: "her wedding on the 28th"
_BOOKED = frozenset(("ticket", "slot"))  # objects that make "got" a booking
_OF_NOUNS = frozenset(("the", "article", "of", "step", "whose", "for", "at", "in", "on", "from", "by"))
_NUMBER_ROLES = frozenset("number numerals ordinal ordword numword second monthday clock".split())


def read_cues(tokens: Sequence[Token], text: str) -> Iterator[Cue]:
    signs = [_sign_at(tokens, i) for i in range(len(tokens))]
    for i, sign in enumerate(signs):
        passive = sign == "past" and i + 1 < len(signs) and signs[i + 1] in ARRANGING_KINDS  # "was postponed"
        if sign and not passive:
            yield Cue(tokens[i].start, tokens[i].end, sign, done=sign in ARRANGING_KINDS)


def _sign_at(tokens: Sequence[Token], i: int) -> str:
    sign = sign_of(tokens[i])
    if sign in _PAST_FORMS and i and (tokens[i - 1].kind in _OF_NOUNS or tokens[i - 1].value in ("own", "be")):
        return ""  # "my left knee", "the guided tour", "is booked"
    if is_thing_ahead(tokens, i):
        return ""
    return _READ[sign](tokens, i) if sign in _READ else sign


def _plan(tokens: Sequence[Token], i: int) -> str:
    """Read "plan" as a verb of the future ("I plan"), or as a noun ("a monthly plan")."""
    return "ahead" if not i or tokens[i - 1].value == "subject" or tokens[i - 1].kind == "to" else "lean"


def _going(tokens: Sequence[Token], i: int) -> str:
    """Read "going" as a future ("Going to see her"), unless it is a motion ("liked going to the aquarium").

    A motion is a plan at the beginning of a clause: "Going to the lakes in August", not "... was a mistake".
    """
    moves = i + 1 < len(tokens) and is_determiner(tokens[i + 1])
    plans = not i and all(token.kind != "pasttense" for token in tokens)
    return "ahead" if plans or not moves else ""


def _have(tokens: Sequence[Token], i: int) -> str:
    """Read "have" as present and "'d" as future ("she'd come"), unless they are part of a past tense ("have left")."""
    if any(sign_of(token) in _PAST_FORMS for token in tokens[i + 1 : i + 3]):
        return ""
    return "ahead" if tokens[i].value == "had" else "be"


def _participle(tokens: Sequence[Token], i: int) -> str:
    return "past" if any(sign_of(token) in ("have", "had", "past") for token in tokens[max(0, i - 3) : i]) else ""


def _left(tokens: Sequence[Token], i: int) -> str:
    """Read "left" as a past tense ("Anna left on Monday"), unless a noun follows ("lower left molar")."""
    noun = any(token.kind == "word" and token.value in (None, *_EVENTS) for token in tokens[i + 1 : i + 2])
    return "past" if not i or tokens[i - 1].value == "subject" or not noun else ""


def _is(tokens: Sequence[Token], i: int) -> str:
    """Read "'s" as "is" after a pronoun ("It's on the 5th"); elsewhere it may be a possessive ("Anna's")."""
    return "be" if i and tokens[i - 1].kind == "func" else ""


def _ed(tokens: Sequence[Token], i: int) -> str:
    """Read a word in -ed as a past tense, unless an event follows ("guided tour")."""
    return "" if i + 1 < len(tokens) and _is_event(tokens[i + 1]) else "past"


_READ: dict[str, Callable[[Sequence[Token], int], str]] = {
    "noun": _plan,
    "motion": _going,
    "have": _have,
    "had": _have,
    "participle": _participle,
    "left": _left,
    "whose": _is,
    "ed": _ed,
    "get": lambda tokens, i: "get" if _has_booked(tokens, i) else "past",
    "obtain": lambda tokens, i: "get" if _has_booked(tokens, i) else "hint",
}


def _has_booked(tokens: Sequence[Token], i: int) -> bool:
    """Test whether a ticket, a table or the like is the verb's object or its subject ("tickets bought"), or an event is
    its purpose ("got a dress for the wedding").
    """
    if i and tokens[i - 1].value in _BOOKED:
        return True
    for at, token in enumerate(tokens[i + 1 :], i + 2):
        if token.kind == "for":
            return any(_is_event(token) for token in tokens[at:])
        if token.kind in ("at", "in", "to", "on", "from") or sign_of(token) in DECISIVE_KINDS:
            return False
        if token.value in _BOOKED:
            return True
    return False


def direction(place: Surroundings) -> Direction | None:
    before = [cue for cue in place.cues_before if cue.sign in DECISIVE_KINDS]
    if _is_for(place):
        return "ahead"
    if before:
        return _joined(before[-1], place)
    sign = first_strong(place.cues_behind)
    if sign in ("ahead", "be"):
        return "ahead" if sign == "ahead" else hinted(place) or "lean"
    if sign:
        fronted = all(token.kind in NEUTRAL_KINDS for token in place.before)
        return "past" if fronted or sign in ("past", "shift") else ""
    return hinted(place)


def _joined(cue: Cue, place: Surroundings) -> Direction:
    """Return the direction of a time after a cue, by the preposition between them."""
    if cue.sign in ("ahead", "be", "agree"):
        return "lean" if place.before[-1].kind == "from" else "ahead"  # "the photo is from May 5"
    if cue.sign == "past" and _is_of_the_purpose(cue, place):
        return "lean"
    if cue.sign in ("past", "shift"):
        lasted = any(token.kind == "pasttense" and token.value is None for token in place.before)  # "was ill from May"
        return "lean" if place.before[-1].kind == "from" and not lasted else "past"
    if cue.sign == "report" and any(token.sign == "hint" and token.start > cue.start for token in place.cues_before):
        return "ahead"  # "was told the results come on the 3rd"
    words = [token for token in place.before if token.kind != "the"]
    if words[-1].kind not in ("on", "in", "at"):
        return "" if cue.sign == "report" else "ahead"  # "got tickets, January 25", "given me the 14th"
    if cue.sign == "give":
        return "past"
    noun = words[-2] if len(words) > 1 else words[-1]
    if noun.end <= cue.end or noun.kind == "func":
        return "past"  # "booked on the 5th", "told me on the 5th"
    if cue.sign == "enrol" or _is_event(noun):
        return "ahead"
    about = any(token.kind == "around" and token.start > cue.start for token in words)  # "told me about Coldplay"
    return "past" if cue.sign == "report" and not about else ""


def _is_of_the_purpose(cue: Cue, place: Surroundings) -> bool:
    """Test whether the time is that of an action's purpose: "paid on Friday for the trip in May"."""
    words = [token for token in place.before if token.start >= cue.end and not is_determiner(token)]
    kinds = [word.kind for word in words]
    return kinds[-3:-2] == ["for"] and _is_event(words[-2]) and kinds[-1] in ("on", "in", "at") and "to" not in kinds


def _is_event(token: Token) -> bool:
    return token.value in _EVENTS or token.kind in ("meal", "jubilee")


def _is_for(place: Surroundings) -> bool:
    """Test whether something is meant for the day, or moved to it: "for the 28th", "to the 3rd"."""
    words = [token.kind for token in place.before if token.kind != "the"]
    numbered = any(token.kind in _NUMBER_ROLES for token in place.inside)
    return numbered and words[-1:] in (["for"], ["to"])
