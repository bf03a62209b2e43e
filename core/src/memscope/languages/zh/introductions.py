"""Recognise introductions, in which speakers describe themselves in a chain of parts: 我是小王，上海人，做会计的."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memscope.languages.zh.name_lists import lexicon
from memscope.text.topics import names as topic_names
from memscope.text.topics import topics_of_phrases

_PART_ENDS = re.compile(r"[，,。！!；;：:、\s]+")
_INTRODUCES = re.compile(
    "(?:[你您]好呀?)?(?:我(?:的名字)?(?:叫(?![了他她它人车車醒你您])|姓"
    "|是(?![说說想觉覺得不否指问問真怕在要来來被因為为了没沒昨今]))|本人|(?:自我|介[绍紹])|我$)"
)
_OF_ONESELF = re.compile("我|本人|介[绍紹]")  # each match of ``_INTRODUCES`` contains one of these
_SUBJECT = "(?:我|本人)?(?:[现現]在|目前|如今|家|人|就|也)?是?"
_DOES = "[开開做当當教干幹搞修卖賣养養种種酿釀跑送读讀念]"
_WORKS = re.compile(  # 在成都当兽医, 修手机的, 开客栈
    f"{_SUBJECT}(?:在[^，。的]{{1,14}}?(?:{_DOES}|上班|工作|打工|上[学學])[^，。了过過]{{0,8}}"
    f"|{_DOES}[^，。了过過]{{1,8}}?的|[开開][^，。了过過车車]{{1,5}})"
)
_PLACED = re.compile(f"{_SUBJECT}(?:住在?|[现現]居|居住在|坐[标標]|[来來]自|[从從]|老家是?在?|在)?")
_ACTS_ON = re.compile("[让讓给給说說问問请請找跟和把被]")


def introduced(sentence: str) -> Iterator[str]:
    """Yield "work" and "home" for the parts of an introduction, from the speaker's name on."""
    if not _OF_ONESELF.search(sentence):
        return
    clauses = [clause for clause in _PART_ENDS.split(sentence) if clause]
    first = next((at for at, clause in enumerate(clauses) if _INTRODUCES.match(clause)), None)
    for clause in clauses[first:] if first is not None else ():
        if _names_trade(clause) or _WORKS.fullmatch(clause):
            yield "work"
        if _names_home(clause):
            yield "home"


def _names_trade(clause: str) -> bool:
    """Recognise a profession: 小学老师, 我是一名麻醉科医生."""
    trade = topics_of_phrases([clause])[0] >> topic_names().index("professions") & 1
    return bool(trade) and not _ACTS_ON.search(clause)


def _names_home(clause: str) -> bool:
    """Recognise a home in a part of an introduction: 上海人, 在成都当兽医, 坐标武汉."""
    placed, table = _PLACED.match(clause), lexicon()
    start = placed.end() if placed else 0
    places = (name for name in table.by_first.get(clause[start : start + 1], ()) if table.known[name] == "place")
    return any(clause.startswith(name, start) for name in places)
