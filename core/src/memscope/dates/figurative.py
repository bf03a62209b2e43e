"""Words of time that name no time: durations, titles, ages, names of people and things, figures of speech.

Each row is a pattern of what stands before the words, of the words, and of what follows. All three must match.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

_KIN = r"(?:sister|brother|daughter|son|wife|husband|mother|aunt|cousin|niece|friend|colleague|boss|neighbou?r|dog|cat)"
_WORK = r"(?:film|movie|song|book|novel|band|show|album|play|painting|restaurant|poem)"
_CLOCK = r"\d{1,2}:\d\d"
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_RELATIVE = r"(?:today|tomorrow|yesterday)"
_SEASONED = r"(?:spring|summer|autumn|winter|january|march|april|may|june|july|august|october|november)"
_FEAST = r"(?:christmas|easter|thanksgiving|halloween|valentine'?s?|good friday)"
_THING = r"(?:trees?|carols?|cards?|lights|jumper|sweater|cookies|songs?|eggs?|bunny|island|agreement|turkey|costume)"
_ZH_KIN = r"(?:女儿|儿子|同学|同事|朋友|弟弟|妹妹|哥哥|姐姐|老师|老板|邻居|狗|猫)"
_ZH_WORK = r"(?:电影|首歌|小说|乐队|本书|电视剧|餐厅|饭店)"

_ROWS = (
    # how long something takes
    (r"\b(?:took|takes?|lasted|lasts|runs|in|time of|best (?:is|was)|chapter|verse)", _CLOCK, ""),
    (r"", _CLOCK, r"(?:long|per|flat)\b"),
    (r"(?:用时|耗时|历时|时长|片长|[频片]长|花了|跑了|游了)", _CLOCK, ""),
    (r"", r"in .* (?:seconds|minutes|hours|days)", r"flat\b"),
    (r"", r"\d{1,2}/\d{1,2}", r"(?:cups?|inch(?:es)?|miles?|teaspoons?|tablespoons?|of (?:the|it|them|my|all))\b"),
    # ages, years of a group, parts of a century
    (r"\b(?:his|her|their|my|your|our)(?: (?:early|mid|late))?", r"(?:the )?(?:\d0'?s|\w+ties)", ""),
    (r"\bclass of", r"\d{4}", ""),
    (r"\b(?:early|mid|late|turn of the)[ -]?", r".*century", ""),
    (r"", r".*世纪", r"(?:初|末|中叶|中期|早期|晚期|前期|后期|上半叶|下半叶)"),
    # titles and names
    (r"", rf"{_DAY} (?-i:N)ight", r"(?-i:[A-Z])"),
    (r"", r".*", rf"(?:\w+ ){{0,3}}(?:is|was) (?:an? |the |my )(?:\w+ ){{0,2}}{_WORK}\b"),
    (r"", r"\D*", rf".{{0,5}}是.{{0,3}}{_ZH_WORK}"),
    (r"", _SEASONED, rf"(?:is|was) (?:my|his|her|our|their) (?:\w+ )?{_KIN}\b"),
    (r"", _SEASONED, r"and I\b"),
    (r"", r"\D*", rf"是[我他她你](?:的|们)?{_ZH_KIN}"),
    (r"\b(?:freaky|manic|ruby|bloody|super|casual|any given|taking back)", _DAY, ""),
    (r"\b(?:red|sweet)", r"october|november", ""),
    (r"\bUSA", r"today", ""),
    (r"\b(?:some|any|an? (?:rainy|sunny|lazy|quiet|cold|hot|slow|busy|boring|normal|typical|random|nice))", _DAY, ""),
    (r"\bcould (?:\w+ ){1,3}", r"(?:until|till) (?:next (?:week|month|year)|tomorrow)", ""),
    (r"", r"yesterday", r"(?:,| and) today(?:,| and|, and) tomorrow\b"),
    (r"yesterday(?:,| and)", r"today", r"(?:,| and|, and) tomorrow\b"),
    (r"yesterday(?:,| and) today(?:,| and|, and)", r"tomorrow", ""),
    (r"", r"wednesday", r"addams\b"),
    (r"\b(?:man|girl|robinson and|crusoe and|TGI|thank god it's)", r"friday", ""),
    # things called after a day
    (r"", _FEAST, rf"{_THING}\b"),
    (r"", r"sunday", r"(?:school|best|roast|dress)\b"),
    (r"", r"midnight", r"(?:blue|snack|oil)\b"),
    (r"", r"five o'clock", r"shadow\b"),
    (r"\bides of", r"march", ""),
    # the present or the future at large
    (r"", _RELATIVE, r"'s (?:youth|world|society|kids|children|generation|news|leaders)\b"),
    (r"\b(?:youth|men|women|leaders|world|children|stars) of", _RELATIVE, ""),
    (r"", r"tomorrow", r"is another day\b"),
    (r"\b(?:live|living) for", r"today", ""),
    (r"\bborn", r"yesterday", ""),
    (r"\bput off", r"(?:until|till) tomorrow", ""),
    (r"\bbuilt", r"in a day", ""),
    (r"\bso", r"last (?:year|season|week)|(?:19|20)\d\d", r"(?:[.!?]|$)"),
    (r"\blike (?:it's|it is|it was|we're in)", r"(?:19|20)\d\d", ""),
    (r"\b(?:feels?|felt|looks?|sounds?|seems?) (?:like|so)(?: an?)?", rf"{_DAY}|(?:last|next) (?:week|month|year)", ""),
    (r"", rf"{_DAY}(?: morning)?", r"(?:blues|feeling|mood|vibes?)\b"),
    (r"", r"今天", r"的(?:年轻人|社会|世界|孩子|青年)"),
    (r"\bhigh", r"noon", ""),
    (r"有朝", r"一日", ""),
    (r"有", r"[两三四五六七八九]点", r"(?:要|想|需|值得|必须|很|让)"),
    (r"", r"这年", r"头"),
    (r"", r"一日", r"不见"),
    (r"今日事", r"今日", r"毕"),
    (r"", r"今日", r"事今日毕"),
    (r"活在", r"今天|今日", ""),
    (r"", r"后天", r"(?:性|的?努力|习得)"),
    (r"先天(?:和|与|或|、|还是)", r"后天", ""),
    (r"", r"十月", r"怀胎"),
)  # fmt: skip
_NEAR = 60  # characters before and after that are looked at


@lru_cache(maxsize=1 << 10)
def _surroundings(words: str) -> Sequence[tuple[re.Pattern[str], re.Pattern[str]]]:
    """Returns what must stand before and after these words in the rows that are about them."""
    return [(ahead, behind) for inside, ahead, behind in _patterns() if inside.fullmatch(words)]


@lru_cache(maxsize=1)
def _patterns() -> Sequence[tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]]:
    return [
        (
            re.compile(words, re.I),
            re.compile(rf"(?:{before})\s*$" if before else "", re.I),
            re.compile(r"\s*" + after, re.I),
        )
        for before, words, after in _ROWS
    ]


def is_figurative(text: str, start: int, end: int) -> bool:
    """Return whether ``text[start:end]``, which reads as a time, is none where it stands."""
    before, words, after = text[max(0, start - _NEAR) : start], text[start:end], text[end : end + _NEAR]
    return any(ahead.search(before) and behind.match(after) for ahead, behind in _surroundings(words))
