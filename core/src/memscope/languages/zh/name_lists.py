"""Word lists and characters for recognising names in Chinese text."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from memscope.languages.name_rules import NameKind, kinds_of_names
from memscope.languages.word_lists import read_lists, read_sets
from memscope.languages.zh.words import FOLDER

_WORD_SETS = read_sets(FOLDER / "name_words.txt")
ROLE_NOUNS = _WORD_SETS["roles"]
RELATIVES = _WORD_SETS["relatives"]  # the user's relatives, even without 我: 表弟辞职了
PETS = _WORD_SETS["pets"]
PERSON_TITLES = _WORD_SETS["person_titles"]
ORGANISATION_ENDS = _WORD_SETS["organisation_ends"]
PLACE_ENDS = _WORD_SETS["place_ends"]
GENERIC = _WORD_SETS["generic"]
NO_NAMES = _WORD_SETS["no_names"]
NO_NICK = _WORD_SETS["no_nick"]
ORDINARY = _WORD_SETS["ordinary"]
SOME = frozenset(("一家", "一所", "一间", "一座", "一个"))  # 一家宠物粮公司 is not named
REGION_ENDS = "市省县镇村区岛山湖江河"
# Characters that are not part of names, or that begin the words around a name.
NEVER_IN_NAMES = frozenset(
    "我你您他她它们的了是在有和跟与从到给把被让叫这那哪什么怎吗呢吧啊呀哦就都也还又很太更最不没别会能要想去来过着为对"
    "说问看吃喝住买卖用做打玩听写读教练带帮找等请谢祝因所以但而或者如果虽每个只条部件张次年月日号点时分今明昨早晚上下"
    "于里外前后左右旁边中间几多少些两三四五六七八九十百千万零一二再已经正刚才常总将该应可且之其此各另"
) - frozenset("明文张万里常中一多时对安可正经祝前谢分早晚少其")
INSIDE = frozenset(
    "我你您他她们的了是在和跟与从到给把被让叫这那哪吗呢吧啊就都也很不没会要去说问吃住买用做打什么着得成走于现卖飞跑"
)
SURNAME_WORDS = frozenset(
    "成常应易何万安高于方向时石白文金温关全明曲项齐连钱车花水"
)  # surnames that are everyday words
DOUBLED_CHARACTERS = _WORD_SETS["doubled"]
NO_DOUBLED = _WORD_SETS["no_doubled"]


class Lexicon(NamedTuple):
    known: Mapping[str, NameKind]
    by_first: Mapping[str, tuple[str, ...]]  # by the first character, the longest name first
    surnames: frozenset[str]
    compound_surnames: frozenset[str]
    given_characters: frozenset[str]


@lru_cache(maxsize=1)
def lexicon() -> Lexicon:
    lists = read_lists(FOLDER / "names.txt")
    known = kinds_of_names(lists)
    first: dict[str, list[str]] = {}
    for name in sorted(known, key=len, reverse=True):
        first.setdefault(name[0], []).append(name)
    by_first = {char: tuple(names) for char, names in first.items()}
    surnames, given_characters = (frozenset("".join(lists[name])) for name in ("surnames", "given_characters"))
    return Lexicon(known, by_first, surnames, frozenset(lists["compound_surnames"]), given_characters)


ROLE_PATTERN = "|".join(sorted(ROLE_NOUNS | PETS, key=len, reverse=True))  # alternatives, the longest first
