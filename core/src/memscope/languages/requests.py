"""Decide what a message needs from memory: facts about the user, little, only wishes for a task, or nothing."""

from __future__ import annotations

from typing import Literal

from memscope.imports import pattern
from memscope.languages.need_score import need_score
from memscope.languages.registry import of_sentence
from memscope.languages.request_rules import Requests
from memscope.languages.statements import is_question, requests
from memscope.text.tokens import fold, is_unspaced, pieces
from memscope.text.topics import CODING, topic_numbers, topics

Need = Literal["user", "perhaps", "world", "kind", "talk", "task", "nothing"]
NEEDS_USER = ("user", "perhaps")
MAX_SMALL_TALK_WORDS, MAX_SMALL_TALK_CHARS = 14, 80
MAX_COURTESY_CHARS = 60  # thanks or a greeting, with a few more words
MIN_FIGURES = 2  # in a message that brings the numbers of a calculation
MAX_KEYWORD_CHARACTERS = 2  # of a script without spaces
MAX_SMALL_TALK_SCORE = 2.0  # "thank you card for the teacher" is more than thanks
# "Did I translate the contract yet?" and "We can't make it on Saturday" are no tasks; a long story with such words is.
MAX_MATERIAL_SCORE, MAX_CLEAR_CHARS = 1.5, 80
MAX_NEWS_SCORE = 1.0  # "Will it rain on my wedding day?" needs the day
MAX_SHORT_QUESTION_SCORE = 0.5  # of a question in words of small talk; "What's on the second?" is none
# Log odds that a message needs memory: from which a question is read so; from which one for advice is; from which a
# remark, an order or a question in words of a task is, whose wording says less; and below which a question surely does
# not.
MIN_NEED, MIN_ADVICE_NEED, MIN_UNASKED_NEED, MIN_DOUBT = 0.2, -0.3, -1.0, -3.0
MIN_SURE_NEED = 0.6  # below it, a message only perhaps needs memory
MIN_TALK = 1.0  # log odds that a message concerns the talk at hand alone, from which it is read so
MAX_INSTRUCTION_CHARS = 400  # read at each end of a longer message


_IN_QUOTES = r"(?:[\"“”«][^\"“”»\n]{1,400}[\"”»]|「[^」]{1,400}」|『[^』]{1,400}』|(?<!\w)['‘][^'’\n]{3,400}['’](?!\w))"
_QUOTED = pattern(_IN_QUOTES)
_QUOTED_PAIR = pattern(rf"{_IN_QUOTES} ?\w{{1,3}} ?{_IN_QUOTES}")  # "Is it 'lay' or 'lie'?", “在见”还是“再见”
_CODE_SNIPPET = pattern(
    r"```|(?m:^\s*(?:def|class|import|for .* in|while|if|return|SELECT|#include)\b.*[:;({]\s*$)|[;{}]\s*$"
    r"|(?<!\w)\w{1,60}\([^)\n]{0,200}\)\s*[:;{]?$|\w\.\w{1,40}\([^)\n]{0,80}\)|\w\[['\"]\w{1,40}['\"]\]"
    r"|\bfor \w{1,20} in \w{1,40}\(|\b(?:def|function) \w{1,40}\("
    r"|\bSELECT\b.{1,60}\bFROM\b|\b[A-Z]\w{0,40}(?:Error|Exception)\b"
    r"|\bE(?:CONN[A-Z]+|ADDR[A-Z]+|ACCES|NOENT|PERM|EXIST|PIPE|RESOLVE|TIMEDOUT)\b|\\[dws][{+*]"
    r"|\bnpm (?:ERR|i|install|run)\b"
)
_PASTED = pattern(r"[:：]\s*\n?(?=\S.{12}|[\u4e00-\u9fff]{6})|\n\s*\n")
_MARKED_QUESTION = pattern(r"[?？]")
_STRETCHED = pattern(r"([^\W\d_])\1{2,}")  # "hiii"
_ARITHMETIC = pattern(r"\d\s*(?:[+*x×÷^=]|\*\*)\s*[\d(x]|\d\s+[-/]\s+\d|\b\d*[xy]\s*[-+*/=]\s*\d")


def need(message: str) -> Need:
    """Classify what a message needs from memory.

    "user": facts about the user; the default, also in a language without rules. "perhaps": such facts, but its wording
    leaves that open. "world": a message that is hardly about the user, which needs little. "kind": one that surely is
    not ("How does a boiler work?"), which needs less still: facts about one boiler do not answer it. "task": standing
    wishes at most ("Translate this"). "talk": as little, as it concerns the talk at hand ("a bit shorter"). "nothing":
    small talk.
    """
    rules = of_sentence(message).requests
    folded = _STRETCHED.sub(r"\1", fold(message)).strip()
    asked = instruction(message)
    score = need_score(asked, rules.need_score) if rules.need_score and not _is_keyword(folded) else None
    most = MAX_SHORT_QUESTION_SCORE if is_question(folded) else MAX_SMALL_TALK_SCORE
    if _is_small_talk(folded, rules) and (score is None or score < most):
        return "nothing"
    bare = rules.addressing.sub(" ", asked)
    works = rules.material.search(asked) or _ARITHMETIC.search(bare)
    clear = score is not None and score >= MAX_MATERIAL_SCORE and len(folded) <= MAX_CLEAR_CHARS
    if _CODE_SNIPPET.search(message) or (works and not clear):
        return "task"
    if _QUOTED_PAIR.search(folded) or (_QUOTED.search(folded) and rules.brings.search(bare)) or _reckons(bare, rules):
        return "task"
    if rules.news.search(bare) and (score is None or score < MAX_NEWS_SCORE):
        return "task"  # weather and news do not depend on the user
    if rules.task.search(bare) and (score is None or score < MIN_UNASKED_NEED):
        return "task"
    asks = rules.explains.search(asked) or rules.explains.search(bare) or requests(message.strip())
    if score is not None:
        least = (MIN_ADVICE_NEED if rules.advice.search(bare) else MIN_NEED) if asks else MIN_UNASKED_NEED
        if rules.may_have.search(asked):
            return "user" if score >= MIN_SURE_NEED else "perhaps"
        if score < MIN_DOUBT and (asks or _MARKED_QUESTION.search(message)):
            return "kind"
        if _concerns_the_talk(asked, score, rules):
            return "talk"
        return "world" if score < least else "user" if score >= MIN_SURE_NEED else "perhaps"
    if rules.own.search(bare) or rules.advice.search(bare):
        return "user"
    return "world" if asks or remarks(message) else "user"


def _concerns_the_talk(asked: str, score: float, rules: Requests) -> bool:
    """Test whether a message is about the last answer or the talk alone. A likely need calls for higher odds."""
    odds = need_score(asked, rules.talk_score) if rules.talk_score else None
    return odds is not None and odds >= MIN_TALK + max(score, 0) / 2


def _is_keyword(folded: str) -> bool:
    """Test whether a message is no more than a name or a thing, which memory is to look up: "Otto"."""
    unspaced = list(filter(is_unspaced, every := pieces(folded)))
    short = len(every) - len(unspaced) <= 1 and all(len(piece) <= MAX_KEYWORD_CHARACTERS for piece in unspaced)
    return short and not _MARKED_QUESTION.search(folded)


def remarks(message: str) -> bool:
    """Detect remarks, which report something and ask for nothing: "Ugh, the wifi dropped again."."""
    rules, folded = of_sentence(message).requests, fold(message).strip()
    if _MARKED_QUESTION.search(folded) or not rules.remark.search(folded) or rules.explains.search(folded):
        return False
    return not (_has_only_small_talk(folded, rules) or requests(message))


def wishes_heeded(message: str, wanted: Need) -> tuple[str, ...]:
    """List the kinds of standing wishes that apply to a message; all kinds if it asks for a recommendation, those about
    programs ("use pnpm, not npm") if it is about some.
    """
    rules, folded = of_sentence(message).requests, instruction(message)
    has_code = _CODE_SNIPPET.search(message) is not None
    code = ("code",) * (has_code or not topic_numbers(CODING).isdisjoint(topics(folded)))
    advised = rules.may_have.search(folded) or rules.advice.search(rules.addressing.sub(" ", folded))
    chooses = wanted in NEEDS_USER and advised
    if chooses and not rules.looks_up.search(folded):
        return ("content", "manner", "measure", *code)
    if rules.material.search(folded) or has_code:
        return code
    sized = rules.measures.search(folded) or (wanted != "task" and rules.amounts.search(folded))
    return ("measure",) * bool(sized) + ("manner",) * bool(rules.tells.search(folded)) + code


def tells_by_the_way(text: str) -> bool:
    """Detect questions that tell of their speaker: "What should I wear to my sister's wedding on the 4th?", but not
    "When is my sister's wedding?", which asks for what memory holds.
    """
    rules, folded = of_sentence(text).requests, fold(text[:MAX_INSTRUCTION_CHARS])
    return rules.asides.search(folded) is not None and not rules.looks_up.search(folded)


def _reckons(bare: str, rules: Requests) -> bool:
    """Detect calculations: the message asks for an amount and contains the numbers ("split 240 three ways")."""
    return rules.reckons.search(bare) is not None and sum(map(bool, rules.numbers.findall(bare))) >= MIN_FIGURES


def is_courtesy(text: str) -> bool:
    """Detect texts that consist of greetings, thanks and remarks: "Sure, happy to help!"."""
    return len(text) <= MAX_SMALL_TALK_CHARS and _has_only_small_talk(fold(text).strip(), of_sentence(text).requests)


def _has_only_small_talk(folded: str, rules: Requests) -> bool:
    return bool(rules.small_talk_message.fullmatch(folded)) or (
        bool(rules.small_talk) and rules.small_talk.issuperset(pieces(folded))
    )


def _is_small_talk(folded: str, rules: Requests) -> bool:
    if len(folded) <= MAX_SMALL_TALK_CHARS and rules.small_talk_message.fullmatch(folded):
        return True
    if rules.courtesy.match(folded) and len(folded) <= MAX_COURTESY_CHARS and not is_question(folded):
        return not rules.asks_something.search(folded)
    words = pieces(folded)
    return bool(rules.small_talk) and len(words) <= MAX_SMALL_TALK_WORDS and rules.small_talk.issuperset(words)


def brought_along(message: str) -> str:
    """Return the text that the instruction of a message works on, after "Summarise this:"; "" without any."""
    pasted = _PASTED.search(message)
    if pasted is None:
        return ""
    instruction = message[: pasted.end()]
    if instruction.count("[") > instruction.count("]"):
        return ""  # the colon is part of a caption: "[shared image: ...]"
    rules, folded = of_sentence(instruction).requests, fold(instruction)
    return message[pasted.end() :] if rules.material.search(folded) and rules.brings.search(folded) else ""


def instruction(message: str) -> str:
    """Fold a message and cut off quotations and the text after a colon or an empty line; reduce a long message to its
    beginning and its end.
    """
    folded = _STRETCHED.sub(r"\1", fold(message)).strip()
    pasted = _PASTED.search(folded)
    if pasted is not None:
        folded = folded[: pasted.start() + 1]
    elif len(folded) > 2 * MAX_INSTRUCTION_CHARS:
        folded = folded[:MAX_INSTRUCTION_CHARS] + folded[-MAX_INSTRUCTION_CHARS:]
    return _QUOTED.sub(" ", folded)
