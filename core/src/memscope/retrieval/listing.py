"""Questions for all of a class, whose answer is in many lines: "Which pets do we have?", 我今年看了哪些书？"""

from __future__ import annotations

from memscope.imports import pattern
from memscope.retrieval.query import ends_of

WIDER = 2.5  # times as many hits for such a question, as far as the caller's tokens reach
MOST = 100  # hits
ASKING = 200  # characters at each end of a longer query, where its question stands

_SINGULAR = r"(?:is|was|does|has|its|this|his|hers|us|as|always|news|chess|tennis|\w+ss|\w+us|time)\b"
_MANY = pattern(
    rf"(?i)\b(?:which|what|how many) (?:(?:kind|type|sort)s? of )?(?:(?!{_SINGULAR})[\w'’+-]+ ){{0,2}}"
    rf"(?!{_SINGULAR})[\w-]+s\b(?!['’])"
    r"|\b(?:which|what|how many) (?:people|children|men|women)\b"
    r"|\b(?:what|which|who) (?:are|were) (?!(?:you|we|they)\b)\w|\b(?:what|where|who) (?:have|has) \w"
    r"|\bwhat (?:do|does) (?:\w['’\w-]* ){1,4}(?:do|like|enjoy|love|hate)\b"
    r"|\bwhat (?:did|do) (?:i|we) .{2,60}\bthis (?:year|month|season|spring|summer|autumn|fall|winter|term|semester)\b"
    r"|\b(?:what|who|where) all\b|\ball (?:of )?(?:the|my|our|those)\b|\beach (?:of|one)\b"
    r"|\bevery(?:thing|one|body)\b|\bevery (?!day|week|month|year|time|morning|night|evening)\w"
    r"|\blist\b|\bso far\b"
)
_MANY_ZH = pattern(
    "哪些|[哪那邊边][几幾]|所有|全部|全都|[总總一]共|分[别別]|列(?:一下|出|个|個|[张張])|帮?我列|清[单單]|名[单單]|一遍|盘点|汇总|總結"
    "|都(?:有|是|在|去|跟|和|吃|看|买|買|做)?[^，。？?]{0,6}(?:什么|什麼|哪|谁|誰|啥)|[哪谁誰啥].{0,6}都|(?:什么|什麼).{0,4}都|每[个個位只本家样樣]"
)


def asks_for_all(query: str) -> bool:
    """Returns whether a question asks for all of a class rather than for one thing."""
    ends = ends_of(query, 2 * ASKING)
    return _MANY.search(ends) is not None or _MANY_ZH.search(ends) is not None


def most_hits(k: int) -> int:
    """Returns how many hits a context takes in the place of ``k`` for such a question."""
    return min(int(WIDER * k), max(k, MOST))
