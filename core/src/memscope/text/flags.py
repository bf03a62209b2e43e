"""Classify a unit's statement when it is written: question, instruction, lasting fact about oneself, empty answer.

Rules of wording in English and Chinese. A flag is evidence for the ranking, never a verdict on the statement.
"""

from __future__ import annotations

import re
from enum import IntFlag

from memscope.text.language import language
from memscope.text.statements import asks, unknowing


class Flag(IntFlag):
    """Kinds of units, stored in their columns."""

    QUESTION = 1
    FIRST_PERSON = 2
    DIGIT = 4
    INSTRUCTION = 8
    GREETING = 16
    CLOSED = 32  # a superseded memory
    PROPOSED = 64
    PRIMARY = 128  # the one of an insight's units that stands for it
    STATEMENT = 256
    CJK = 512  # the text is in Chinese, Japanese or Korean
    PERSONAL = 1024  # a lasting statement about oneself: "I am, have, like, never do ..."
    ASKING = 2048  # nothing but questions and greetings
    UNKNOWING = 4096  # an answer that only says it does not know


_DIGIT = re.compile(r"\d")
_FLAGS = (
    (Flag.QUESTION, re.compile(r"[?？][\s\"'”’)」』]*$")),
    (Flag.FIRST_PERSON, re.compile(r"(?i)\b(?:i|my|me|we|our)\b|我")),
    (Flag.DIGIT, _DIGIT),
    (
        Flag.INSTRUCTION,
        re.compile(
            r"(?i)^\W*(?:please\s+)?(?:always|never|from now on)\b"
            r"|^\W*(?:请)?(?:以后|总是|从现在起|从今以后|永远不要)"
        ),
    ),
    (Flag.GREETING, re.compile(r"(?i)^\W*(?:(?:hey|hi|hello|thanks|thank you|wow|great)\b|你好|您好|谢谢)")),
)
_WISH = re.compile(
    r"(?i)\bi(?:['’]d| would)?(?: \w+ly)? (?:prefer|rather)\b|\bi(?:['’]d| would) like you to\b"
    r"|我(?:更|比较)?(?:喜欢|希望)你"
)
_LASTING = re.compile(
    r"""(?ix)
    \b i (?: ['’]m | \s am | ['’]ve \s been | \s was ) \s
        (?: (?: originally | actually | still | also | really | quite | very | now ) \s )?
        (?: an? | the | from | \d+ | born | allergic | afraid | scared | married | single | divorced | vegetarian
          | vegan
          | diabetic | lactose | left-handed | colou?r-?blind | called | learning | studying | working | living ) \b
    | \b i \s
        (?: (?: really | always | never | usually | often | mostly | only | still | also | just | actually ) \s )?
        (?: live | lived | work | worked | like | love | hate | loathe | prefer | enjoy | have | own | speak | study
          | studied | play | collect | teach | drive | run | wear | eat | drink | smoke | need | avoid | dislike | grew
          | keep | take | believe | used \s to | quit | stopped | moved | switched | started | became ) \b
    | \b i \s (?: can(?:no|['’])t | don['’]?t | do \s not | never | no \s longer ) \s
        (?: stand | eat | drink | like | drive | do | have | take | smoke | swim | wear | use | own | learned ) \b
    | \b (?: my | our ) \s (?: [\w'’-]+ \s ){1,4}
        (?: is | are | was | has | have | works? | lives? | loves? | likes? | hates? ) \b
    | \b my \s (?: name | birthday | favou?rite ) \b | \b call \s me \b
    """
)
_LASTING_ZH = re.compile(
    "我(?:今年|现在|一直|从来|从小|平时|每天|每周|最|很|特别|比较|不太|真的)*"
    "(?:是|叫|姓|有|住|属|怕|信|爱|喜欢|讨厌|受不了|习惯|养|戒|搬|来自|出生|会说|学的|在.{1,8}(?:工作|上班|上学|读书|教)"
    "|不(?:吃|喝|喜欢|爱|能|会|抽|开)|从不|对.{1,10}过敏)"
    "|我(?:的|们?家)?.{1,6}(?:叫|是|在|喜欢|住|有|生日|过敏)|叫我|我(?:妈|爸|老婆|老公|儿子|女儿|哥|姐|弟|妹|男朋友|女朋友)"
)


def flags(text: str) -> Flag:
    """Returns the flags of wording; those of a memory's state are the caller's."""
    found = Flag(0) if language(text) == "en" else Flag.CJK
    for flag, pattern in _FLAGS:
        if pattern.search(text):
            found |= flag
    if found & Flag.FIRST_PERSON:  # as each wish names who has it, and each statement about oneself
        found |= Flag.INSTRUCTION if _WISH.search(text) else Flag(0)
        lasting = _LASTING_ZH if found & Flag.CJK else _LASTING
        found |= Flag.PERSONAL if lasting.search(text) else Flag(0)
    if unknowing(text):
        return (found | Flag.UNKNOWING) & ~Flag.PERSONAL
    return (found | Flag.ASKING) & ~Flag.PERSONAL if asks(text) else found
