"""Tense of a time in a Chinese clause, where a day precedes its verb, by the cue after it, else by the cue before it.

The cue before it comes first if the day belongs to a noun (订了28号的酒店) or ends the clause (定在28号).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memscope.dates.cascade import Token
from memscope.dates.cues import (
    ARRANGING_KINDS,
    DECISIVE_KINDS,
    Cue,
    Direction,
    Surroundings,
    hinted,
    last_strong,
    sign_of,
)

_DONE = "了到好完"
_THAT_DAY = "那天"
_DAY_ENDS = frozenset({"date", "weekday"})


def read_cues(tokens: Sequence[Token], text: str) -> Iterator[Cue]:
    """Yield the cues; 了 after a verb of booking says that the booking was made, not that the event is past."""
    cues: list[Cue] = []
    soft = False
    for i, token in enumerate(tokens):
        sign = sign_of(token)
        if (
            i
            and token.start == tokens[i - 1].end
            and tokens[i - 1].kind in _DAY_ENDS
            and text[token.start :].startswith(_THAT_DAY)
        ):
            continue  # 周六那天 may be ahead, unlike 那天
        if sign in ("ahead", "agree") and i + 1 == len(tokens) > 1 and text[token.end - 1] not in _DONE:
            sign = "lean"  # a noun: 健康计划, 周末安排
        if sign in ("book", "get") and [following.kind for following in tokens[i + 1 : i + 2]] == ["of"]:
            sign = "bought"  # 2号订的沙发
        soft = soft or sign == "soft"  # 28号就结婚了
        if token.kind == "pasttense" and cues and cues[-1].sign in ARRANGING_KINDS:
            cues[-1] = cues[-1]._replace(done=True)
        elif sign and not (soft and sign == "past"):
            done = text[token.end - 1] in _DONE
            cues.append(Cue(token.start, token.end, sign, done))
    yield from cues
    tail = text[tokens[0].start : tokens[-1].end].rstrip("。，,！!吧呢啊呀 ")
    if tail.endswith("的") and not any(cue.sign in DECISIVE_KINDS for cue in cues):  # 我5号去的
        at = tokens[0].start + len(tail) - 1
        yield Cue(at, at + 1, "past")


def direction(place: Surroundings) -> Direction | None:
    behind = list(place.behind)
    while behind and behind[0].kind == "pasttense":  # 改到28号了
        behind.pop(0)
    if [token.kind for token in behind[:2]] == ["word", "of"] and behind[0].end - behind[0].start == 1:
        return "past"  # 一月戒的烟
    of_noun = bool(behind) and behind[0].kind == "of"
    at = behind[0].start if behind else -1
    cues = [cue for cue in place.cues_behind if cue.start >= at + of_noun and at >= 0 and cue.sign in DECISIVE_KINDS]
    signs = [_behind(cue, of_noun) for cue in cues]
    after = next((sign for sign in signs if sign is not None), None)
    before = _before(place, ends=of_noun or not behind)
    first, second = (before, after) if of_noun or not behind else (after, before)
    return first if first is not None else second if second is not None else hinted(place)


def _behind(cue: Cue, of_noun: bool) -> Direction | None:
    """Return the direction that a cue after the time gives: 5号买了车, 28号约了牙医, 28号的票买了."""
    if cue.sign in ("past", "ahead"):
        return "past" if cue.sign == "past" else "ahead"
    if cue.sign == "report":
        return None
    if cue.sign == "bought":
        return "past"
    if of_noun:
        return "ahead"
    return "lean" if cue.sign == "agree" or not cue.done else "past" if cue.sign == "get" else ""


def _before(place: Surroundings, ends: bool) -> Direction | None:
    """Return the direction of the last cue before the time; a past cue counts only if no verb follows the time."""
    sign = last_strong(place.cues_before)
    if not sign or (sign == "past" and not ends):
        return None
    if sign == "past":
        return "past"
    return "lean" if sign == "ahead" and place.behind and place.behind[0].kind == "of" else "ahead"  # 整理9月的照片
