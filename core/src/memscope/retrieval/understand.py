"""Understand a query: its terms, the periods it names, and the signs of its wording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache

from memscope import dates
from memscope.imports import pattern
from memscope.pipeline import WorkerContext, worker
from memscope.records import Interval
from memscope.retrieval.first_person import in_first_person
from memscope.retrieval.listing import asks_for_all, most_hits
from memscope.retrieval.query import Query, ends_of
from memscope.text.lasting import LASTING, MARKS, PROFILE_TERMS, asked_kinds
from memscope.text.repetitions import days_asked
from memscope.text.statements import about_user, is_question, sentences
from memscope.text.terms import names, piece_terms, term
from memscope.text.tokens import fold, pieces, words
from memscope.text.topics import names as topic_names
from memscope.text.topics import topics
from memscope.text.vectors import sentence_vector

MOST_TERMS = 128  # of one query, the first ones
YEARS_BACK = 30  # "in May" is every May of these
MOST_PERIODS = 400
MOST_NAMED = 32  # times that are named, in one query: half of them the first ones, half the last
SHORT = timedelta(days=8)
AT_EDGES = 2  # sentences at either end of a longer query, among which its questions are
MOST_READ = 2000  # characters of a longer query that are read for names and dates: half the first ones, half the last

# Words about the conversation, not its content: half a word each.
FILLERS = frozenset(
    map(
        term,
        words(
            """mention discuss conversation chat message talk tell told say said speak list order describe explain kind
            type sort way various different many much number time various summary summarize detail provide give
            want need know ask wonder please"""
        ),
    )
)
FILLER_WEIGHT = 0.5
# Words of a question for whatever happens at a time, besides the time: "What did I plan for June?"
OPEN = frozenset(
    map(
        term,
        words(
            """happen occur spend plan event appointment schedule calendar agenda busy free date commitment arrange
            diary activity book upcoming come forget remember know need list tell say mention talk tell told"""
        ),
    )
)
# Characters that carry no meaning of their own in a question; pairs of two of them neither.
CJK_STOP = frozenset(
    "的了是在我你他她它们这那有和与及就都也还不没吗呢吧啊呀么什哪谁怎样为之其把被让给对从到于上下中个些几多少请问说"
)
_CJK_OPEN = CJK_STOP | frozenset(
    "安排计計划劃事情发發生做干幹嘛活动動日程约約忙空过過去来來记記得忘能要会會没沒家里裡出想"
)

_NUMBER = pattern(
    r"\bhow (?:many|much|long|old|often|far|tall|big|large)\b|\bwhat (?:percentage|percent|number|amount|age|price)\b"
    r"|多少|几[次个天年月岁点位本家只件块]|多[大久长高远重]"
)
_WHEN = pattern(
    r"\bwhen\b|\b(?:what|which) (?:exact )?(?:date|day|month|year)\b|\bdate (?:of|is|was|did|do)\b|\bhow long ago\b"
    r"|什么时候|什麼時候|啥时候|何时|何時|哪[天日年]|哪个月|几[号月日]|幾[號月日]|日期|多久(?:以)?前"
)
_DAY_ASKED = pattern(r"(?i)\b(?:exact )?(?:date|day)(?: of)?\b|日期")  # no subject: one may date, or have a day off
_NAMED_TIME = pattern(r"[A-Z\d〇零一二三四五六七八九十節节]")  # a month, a holiday, a number
_PAST = pattern(r"(?i)\b(?:did|was|were|had|went|happened|spent|ago)\b|[了过過]|[没沒]有")
_AHEAD = pattern(
    r"(?i)\b(?:do (?:i|we) have|am i|will|going to|coming|upcoming|planned|plans?|(?:is|are) there|what['’]?s on)\b"
    r"|打算|[将將]要|有(?:什么|什麼|啥|哪些|没有|沒有)(?:安排|计划|計劃|事|活动|活動|约|約|预约|預約)"
)
_ASSISTANT = pattern(
    r"\b(?:did|have|had|do) you (?:\w+ )?(?:recommend|suggest|advise|propose|mention|tell|say|explain|give)"
    r"|\byou (?:told|said|suggested|recommended|advised|mentioned|gave|explained)\b"
    r"|\byour (?:recommend|suggest|advice|answer)|你.{0,6}(?:推荐|建议|告诉|说过|提到|提议)"
)

# No words to look for: whoever says something says how it is now, and whoever asks wants to be told.
_EMPTY = pattern(
    r"(?i)\b(?:right now|at present|at th(?:e|is) (?:moment|time|point)|current(?:ly)?|presently|nowadays|these days"
    r"|as of (?:now|today))\b"
    r"|[关關][于於]|有[关關]|[你您]?(?:知道|了解|[记記]得)(?:[些什甚]?[么麼些]|啥)|告[诉訴]我|介[绍紹]一下"
)
_TALK = pattern(
    r"\b(?:discuss|talk(?:ed)? about|ask(?:ed)?(?= (?:you|about)\b)|(?:i|we|you)(?: \w+)? ask(?:ed)?|questions?"
    r"|(?:bring|brought) up|conversations?|topics?|summar\w+|mention\w*)\b"
    r"|聊|[讨討][论論]|[问問][过過]|[话話][题題]|提到|[对對][话話]|[总總][结結]"
)


_PERSONAL = pattern(
    r"\b(?:i|i['’]?(?:m|d|ll|ve)|me|my|mine|myself|we|us|our|ours)\b"
    r"|\b(?:recommend|suggest|recipe|recipes|idea|ideas|plan|help|book|pick|choose|give|find|write|cook|order|buy|please|pls)\b"
    r"|我|咱|俺|推荐|建议|帮|给|选|订|买|安排|讲讲|说说|来[个点一份首]|写|吃[什啥]|去哪|主意|(?<![猜思理联聯感幻])想|入手|咋|怎么[办做挂选弄写搭样]|怎[麼么][樣样]|行不行|好不好|合[适適][吗嗎]|行[吗嗎]|可以[吗嗎]|要不要|[该該]不[该該]"
)
# Topics of a question about somebody or something of the user's.
_OWN_TOPICS = ("family", "parents", "siblings", "children", "partner", "friends", "pets", "gifts", "home")
# Topics of what somebody tells about themselves.
_LIFE_TOPICS = (
    "diet smoking allergy illness medicine injury pregnancy family parents siblings children partner friends job"
    " professions jobhunt study subjects languages residence origin garden pets dogs cats travel running watersports"
    " ballgames mountains bodywork instruments arts coding goals religion"
)


@worker(
    reads=("query", "scope", "now", "as_of", "k", "widen"),
    writes=("terms", "weights", "kinds_asked", "names", "periods", "asks_number", "asks_when", "asks_assistant",
            "asks_personally", "asks_ahead", "asks_all", "asks_period", "said_then", "days", "topics", "meaning",
            "about_talk", "about_user", "k", "best"),
)  # fmt: skip
async def understand(question: Query, ctx: WorkerContext) -> Query:
    query = searched(question.query)
    asked = in_first_person(query, question.scope.user)
    wording, ends = fold(asked), ends_of(asked, MOST_READ)
    only_named = asked != query and not any(map(piece_terms, pieces(wording)))  # "Who is Alice?"
    if question.about_user or only_named or about_user(ends):
        return profile_question(question)
    reference = question.as_of or question.now
    named = [one for one in dates.mentions(ends, reference) if not one.dayless]
    plain = _EMPTY.sub(" ", ends)
    asks_when = _WHEN.search(wording) is not None
    subject = _DAY_ASKED.sub(" ", plain) if asks_when else plain
    about = topics(subject)
    found = {term(word): word for word in _content(words(asked))}
    terms = tuple(found)[:MOST_TERMS]
    asks_period = ends == asked and _asks_period(ends, named, [found[one] for one in terms if one not in OPEN])
    ahead = [one for one in named if _reaches_ahead(one, ends, reference)]
    said_then = _PAST.search(ends) is not None or len(ahead) < len(named)
    aside = [one for one in named if asks_period or one.interval.start == one.interval.end]  # "right now"
    told = frozenset(map(term, words(_without(plain, aside, kept=True)))) if aside or plain != ends else found.keys()
    weights = tuple(0.0 if one not in told else FILLER_WEIGHT if one in FILLERS else 1.0 for one in terms)
    personal = _PERSONAL.search(wording) is not None or _is_about_own(wording, about)
    lasting = personal and bool(terms)  # the user's lasting statements come along; as a word the mark weighs nothing
    kinds = frozenset(MARKS[kind] for kind in asked_kinds(ends)) if lasting else frozenset[int]()
    marks = (LASTING, *sorted(kinds)) if lasting else ()
    to_come = (time for one in ahead for time in _meant(one, ends, reference) if time.end > reference)
    days = days_asked(to_come)
    asks_all = asks_for_all(question.query)
    widened = question.widen and asks_all
    return replace(
        question,
        terms=(*terms, *marks, *days),
        weights=(*weights, *(0.0 for _ in (*marks, *days))),
        kinds_asked=kinds,
        names=names(ends_of(query, MOST_READ)),
        periods=periods(named, ends, reference),
        asks_number=_NUMBER.search(wording) is not None,
        asks_when=asks_when,
        asks_assistant=_ASSISTANT.search(wording) is not None,
        asks_personally=personal,
        asks_ahead=bool(ahead),
        asks_period=asks_period,
        said_then=said_then,
        days=frozenset(days),
        topics=tuple(sorted(about)),
        meaning=sentence_vector(subject),
        asks_all=asks_all,
        k=most_hits(question.k) if widened else question.k,
        best=question.k if widened else 0,
        about_talk=_TALK.search(wording) is not None,
    )


def profile_question(question: Query) -> Query:
    """Returns the query as one for everything known about the user."""
    weights, topics = (1.0,) * len(PROFILE_TERMS), life_topics()
    return replace(question, terms=PROFILE_TERMS, weights=weights, topics=topics, about_user=True, asks_personally=True)


@lru_cache(maxsize=1)
def life_topics() -> tuple[int, ...]:
    return tuple(sorted(map(topic_names().index, _LIFE_TOPICS.split())))


def _is_about_own(wording: str, about: frozenset[int]) -> bool:
    """Returns whether a query is about somebody or something of the user's: not "How does yeast fix carbon?"."""
    own = about & _own_topics()
    return bool(own) and (
        own != {topic_names().index("home")} or not wording.isascii() or _DEFINITE.search(wording) is not None
    )


_DEFINITE = pattern(r"\b(?:the|this|that|these|those)\b")


@lru_cache(maxsize=1)
def _own_topics() -> frozenset[int]:
    return frozenset(topic_names().index(name) for name in _OWN_TOPICS)


def searched(query: str) -> str:
    """Returns the questions at the beginning and the end of a long query, if there are any: the rest may be pasted."""
    if len(query) <= MOST_READ:
        return query
    first, last = (list(sentences(part)) for part in (query[:MOST_READ], query[-MOST_READ:]))
    return " ".join(filter(is_question, (*first[:AT_EDGES], *last[-AT_EDGES:]))) or query


def _content(found: list[str]) -> list[str]:
    telling = [word for word in found if not CJK_STOP.issuperset(word)]
    return telling or found


def _asks_period(query: str, named: Sequence[dates.Mention], asking: Sequence[str]) -> bool:
    """Returns whether a query asks for whatever happens at the times named: it has no other telling word."""
    others = frozenset(words(_without(query, named))) if named else frozenset()
    return bool(named) and all(_CJK_OPEN.issuperset(word) for word in asking if word in others)


def _without(query: str, named: Sequence[dates.Mention], kept: bool = False) -> str:
    """Returns the query without the times named; ``kept``: but for what texts say too, of "the end of May" May."""
    for one in named:
        words = [word for word in one.text.split() if kept and _NAMED_TIME.search(word)]
        query = query.replace(one.text, f" {' '.join(words)} ")
    return query


def _reaches_ahead(named: dates.Mention, query: str, reference: datetime) -> bool:
    """Returns whether a time named is not over ("this week"); a longer time only if words look ahead."""
    meant = [time for time in _meant(named, query, reference) if time.end > reference]
    return any(time.end - time.start <= SHORT or _AHEAD.search(query) for time in meant)


def _meant(mention: dates.Mention, query: str, reference: datetime) -> list[Interval]:
    """Returns the times that a mention may mean; with words that look ahead "on Thursday" is the next one too."""
    if _AHEAD.search(query) and not _PAST.search(query):
        return [dates.nearest(mention, reference)] if mention.yearless else dates.readings(mention)
    return [] if mention.yearless else [mention.interval]


def periods(found: Sequence[dates.Mention], query: str, reference: datetime) -> tuple[Interval, ...]:
    """Returns the periods of the times named; without a year, every one of the last decades."""
    distinct = list({mention.interval: mention for mention in found}.values())
    named = [*distinct[: MOST_NAMED // 2], *distinct[MOST_NAMED // 2 :][-MOST_NAMED // 2 :]]
    most = MOST_PERIODS // max(1, len(named))
    first, last = _moved(reference, -366 * min(YEARS_BACK, most)), _moved(reference, 366)
    found_in = (
        (*dates.recurrences(mention, first, last)[-most:], *_meant(mention, query, reference)) for mention in named
    )
    return tuple(dict.fromkeys(interval for intervals in found_in for interval in intervals))


def _moved(when: datetime, days: int) -> datetime:
    """Move a time, at most to the ends of the calendar."""
    try:
        return when + timedelta(days=days)
    except OverflowError:
        return (datetime.max if days > 0 else datetime.min).replace(tzinfo=when.tzinfo)  # noqa: DTZ901
