"""Understand a query: its terms, the periods it names, and the cues in its wording."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import filterfalse

from memscope import dates, languages
from memscope.dates.calendar import ONE_DAY
from memscope.imports import pattern
from memscope.languages import Questions
from memscope.languages.durable_facts import (
    DURABLE_TERM,
    KIND_TERMS,
    PROFILE_TERMS,
    TASTE_TERMS,
    WISH_TERMS,
    asked_kinds,
)
from memscope.languages.questions import asks_for_list, in_first_person, max_list_hits
from memscope.languages.repetitions import days_asked, repeated_days
from memscope.languages.requests import NEEDS_USER, Need, need, remarks, wishes_heeded
from memscope.languages.statements import about_user, is_question, sentences
from memscope.pipeline import altered, worker
from memscope.records import Interval, days_after
from memscope.retrieval.features import FILLER_WEIGHT
from memscope.retrieval.follow_up import MAX_FOLLOW_UP_CHARS, follow_up
from memscope.retrieval.last_talk import last_talk
from memscope.retrieval.query import Query, Request
from memscope.retrieval.undated import undated_terms
from memscope.services import Services
from memscope.text.language import spaced_rules
from memscope.text.terms import names, piece_terms, term
from memscope.text.tokens import ends_of, fold, pieces, words
from memscope.text.topics import LIFE_TOPICS, topic_numbers, topics
from memscope.text.vectors import sentence_vector

MAX_QUERY_TERMS = 128  # only the first terms count
MAX_YEARS_BACK = 30  # "in May" means every May within this many years
MAX_PERIODS = 400
MAX_NAMED_TIMES = 32  # half from the beginning, half from the end of a query
MAX_SHORT_PERIOD = timedelta(days=8)
MAX_COMING_PERIOD = timedelta(days=32)  # "next month" begins within it
EDGE_SENTENCES = 2  # at each end of a long query, searched for questions
# of a long query, read for names and dates: half from its beginning, half from its end
MAX_ANALYSED_CHARS = 2000

PROFILE_EXPANSION = 1.5  # factor of k if the query asks for everything known about the user
_CLOCKED = frozenset({"second", "minute", "hour"})  # grains of "in 20 minutes", whose words carry no content
_Named = dates.Mention | dates.Recurrence
_ASKS = pattern(r"[?？]\W*$")
_NAMED_TIME = pattern(r"[A-Z\d]")  # of a month, a holiday, a number
# Topics that make a question one about the user's people and things.
_OWN_TOPICS = ("family", "parents", "siblings", "children", "partner", "friends", "pets", "gifts", "home")


@worker(
    reads=("text", "written", "scope", "now", "as_of", "k", "expand_lists", "speak", "asks_profile", "exclude"),
    writes=("text", "written", "exclude", "terms", "weights", "statement_terms", "undated", "kinds_asked", "names",
            "periods", "asks_number", "asks_when", "asks_assistant", "asks_personally", "recalls", "asks_ahead",
            "is_list_question", "asks_period", "said_then", "days", "topics", "meaning", "about_talk", "about_user",
            "list_k", "need"),
)  # fmt: skip
async def understand(query: Query, ctx: Services) -> Query:
    wanted = need(query.text) if query.speak == "when_needed" and query.text.strip() else "user"
    if len(query.text) <= MAX_FOLLOW_UP_CHARS:
        short, signs = fold(query.text), [language.questions for language in languages.of(query.text)]
        if _has("last_talk", short, signs) and (time := await last_talk(query, ctx)):
            return last_talk_question(query, time)
        query = await follow_up(query, ctx) if query.as_of is None and _has("refers", short, signs) else query
    text = searched(query.text)
    asked = in_first_person(text, query.scope.user)
    wording, ends = fold(asked), ends_of(asked, MAX_ANALYSED_CHARS)
    named_alone = asked != text and not any(piece_terms(one, spaced_rules(wording)) for one in pieces(wording))
    if query.asks_profile or named_alone or about_user(ends):  # "Who is Alice?"
        return profile_question(query)
    if wanted == "nothing":
        return altered(query, need=wanted)
    reference, signs = query.as_of or query.now, [language.questions for language in languages.of(ends)]
    plain, asks_when = _without_pattern("contentless", ends, signs), _has("when", wording, signs)
    about = topics(subject := _without_pattern("day_words", plain, signs) if asks_when else plain)
    word_of_term = {term(word): word for word in _content(words(asked), signs)}
    terms = tuple(word_of_term)[:MAX_QUERY_TERMS]
    content = [word_of_term[one] for one in terms if one not in _terms_of("open_words", tuple(signs))]
    days_repeated = repeated_days(ends, reference)
    repeated: list[_Named] = [*dates.recurring(ends, reference)] if days_repeated else []
    named = _named(ends, signs, reference, content)
    asks_period = ends == asked and _asks_period(ends, signs, [*named, *repeated], content)
    ahead = [one for one in named if _reaches_ahead(one, ends, signs, reference)]
    aside = [*named, *repeated] if asks_period else [one for one in named if one.grain in _CLOCKED]
    rest = words(_without(plain, signs, aside, keep_dated=True)) if aside or plain != ends else word_of_term.values()
    recalls = query.speak == "when_needed" and wanted != "task" and _has("recalls", asked, signs)
    wanted = "world" if recalls and wanted == "kind" else wanted
    personal = (remark := remarks(asked)) or _is_personal(query, wanted, wording, signs, about)
    coming = _coming_year(ends, signs, reference) if asks_when and personal and not named else ()
    wants_durable = personal and bool(terms) and not remark  # which asks for nothing
    kinds = frozenset(KIND_TERMS[kind] for kind in asked_kinds(ends)) if wants_durable else frozenset[int]()
    wordless = _wordless_terms(query, wanted, kinds, durable=wants_durable, asks_period=asks_period)
    weighed, fillers = frozenset(map(term, rest)), _terms_of("fillers", tuple(signs))
    weights = [0.0 if one not in weighed else FILLER_WEIGHT if one in fillers else 1.0 for one in terms]
    statements = [*filterfalse(_ASKS.search, sentences(ends))]
    stated = words("\n".join(statements)) if len(statements) > 1 else []
    days = tuple(dict.fromkeys((*days_asked(one.interval for one in ahead), *days_repeated)))
    is_list_question = asks_for_list(query.text)
    return altered(
        query,
        terms=(*terms, *wordless, *days), weights=(*weights, *(0.0 for _ in (*wordless, *days))),
        statement_terms=len({*terms}.intersection(map(term, stated))), undated=undated_terms(word_of_term, named),
        kinds_asked=kinds, names=names(ends_of(text, MAX_ANALYSED_CHARS)),
        periods=periods(named, reference) or coming, days=frozenset(days),
        asks_number=_has("number", wording, signs), asks_when=asks_when,
        asks_assistant=_has("assistant", wording, signs), about_talk=_has("talk", wording, signs),
        asks_personally=personal or recalls, recalls=recalls,
        asks_ahead=bool(ahead or coming), asks_period=asks_period,
        said_then=_has("past", ends, signs) or len(ahead) < len(named),
        topics=tuple(sorted(about)), meaning=sentence_vector(subject),
        is_list_question=is_list_question,
        list_k=max_list_hits(query.k) if query.expand_lists and is_list_question else 0,
        need=wanted,
    )  # fmt: skip


def _wordless_terms(
    query: Request, wanted: Need, kinds: frozenset[int], *, durable: bool, asks_period: bool
) -> tuple[int, ...]:
    """Return terms that bring in units whatever their words: durable facts for a ``durable`` question, relevant
    standing wishes, and tastes if the query asks for a choice.
    """
    facts = (DURABLE_TERM, *sorted(kinds)) if durable else ()
    heeds = wishes_heeded(query.text, wanted) if query.speak == "when_needed" else ()
    tastes = TASTE_TERMS if wanted in NEEDS_USER and "content" in heeds and not asks_period else ()
    return tuple(dict.fromkeys((*facts, *(WISH_TERMS[one] for one in heeds), *tastes)))


def profile_question(query: Query) -> Query:
    """Turn the query into one for everything known about the user."""
    weights, topics = (1.0,) * len(PROFILE_TERMS), tuple(sorted(topic_numbers(*LIFE_TOPICS)))
    most = int(PROFILE_EXPANSION * query.k) if query.expand_lists else 0
    return altered(
        query, terms=PROFILE_TERMS, weights=weights, topics=topics, about_user=True, asks_personally=True, list_k=most
    )


def last_talk_question(query: Query, time: Interval) -> Query:
    """Turn the query into one for what was said at the time of the last conversation, whatever its words."""
    most = max_list_hits(query.k) if query.expand_lists else 0
    return altered(
        query, terms=(DURABLE_TERM,), weights=(0.0,), periods=(time,), asks_period=True, asks_personally=True,
        about_talk=True, list_k=most,
    )  # fmt: skip


def _is_personal(query: Request, wanted: Need, wording: str, signs: Sequence[Questions], about: frozenset[int]) -> bool:
    """Return whether a query is about the user or their people or things, unlike "How does yeast fix carbon?"."""
    if (query.speak == "when_needed" and wanted in NEEDS_USER) or _has("personal", wording, signs):
        return True
    theirs = about & topic_numbers(*_OWN_TOPICS)
    return bool(theirs) and (theirs != topic_numbers("home") or _has("definite", wording, signs))


def searched(query: str) -> str:
    """Return the questions at both ends of a long query, whose rest may be pasted; else the whole query."""
    if len(query) <= MAX_ANALYSED_CHARS:
        return query
    first, last = (list(sentences(part)) for part in (query[:MAX_ANALYSED_CHARS], query[-MAX_ANALYSED_CHARS:]))
    return " ".join(filter(is_question, (*first[:EDGE_SENTENCES], *last[-EDGE_SENTENCES:]))) or query


def _has(sign: str, text: str, signs: Sequence[Questions]) -> bool:
    """Return whether a pattern of the text's languages matches."""
    return any(getattr(one, sign).search(text) for one in signs)


def _without_pattern(sign: str, text: str, signs: Sequence[Questions]) -> str:
    for one in signs:
        text = getattr(one, sign).sub(" ", text)
    return text


@lru_cache(maxsize=1 << 4)
def _terms_of(words_of: str, signs: tuple[Questions, ...]) -> frozenset[int]:
    return frozenset(term(word) for one in signs for word in words(getattr(one, words_of)))


def _content(asked: list[str], signs: Sequence[Questions]) -> list[str]:
    without_stops = [word for word in asked if not any(one.stop_characters.issuperset(word) for one in signs)]
    return without_stops or asked


def _asks_period(query: str, signs: Sequence[Questions], named: Sequence[_Named], asking: Sequence[str]) -> bool:
    """Return whether a query asks for anything at the named times: it has no other content word and does not ask what
    to do.
    """
    named = [one for one in named if not (isinstance(one, dates.Mention) and _is_now(one))]
    if not named or _has("choosing", query, signs):
        return False
    others = frozenset(words(_without(query, signs, named)))
    left = (word for word in asking if word in others)
    return all(any(one.open_characters.issuperset(word) for one in signs) for word in left)


def _is_now(mention: dates.Mention) -> bool:
    """Return whether a mention is a moment such as "now", which is no period; "until the end of June" is one."""
    return mention.grain == "second" and mention.shape == "point"


def _without(query: str, signs: Sequence[Questions], named: Sequence[_Named], keep_dated: bool = False) -> str:
    """Remove the named times; ``keep_dated`` leaves words that texts contain too: "May" of "the end of May"."""
    for one in named:
        words = [
            word
            for word in one.text.split()
            if keep_dated and (_NAMED_TIME.search(word) or _has("named_time", word, signs))
        ]
        query = query.replace(one.text, f" {' '.join(words)} ")
    return query


def _named(query: str, signs: Sequence[Questions], reference: datetime, asking: Sequence[str]) -> list[dates.Mention]:
    """Return the named times; "by Friday" begins today, and "Anything planned?" means the next weeks."""
    past, ahead = _has("past", query, signs), _has("ahead", query, signs)
    mentions = [one for one in dates.asked(query, reference, past=past, ahead=ahead) if not one.dayless]
    if ahead and not (mentions or past or _has("when", fold(query), signs)):
        soon = dates.asked(signs[0].soon, reference, past=False, ahead=True)
        return soon if _asks_period(query, signs, soon, asking) else []
    return mentions if past else [here for mention in mentions for here in _from_today(mention, reference)]


def _coming_year(query: str, signs: Sequence[Questions], reference: datetime) -> tuple[Interval, ...]:
    """Return the year ahead, as a coming day may answer "When do we fly?" in other words; nothing for a past event."""
    return () if _has("past", query, signs) else (Interval(reference, days_after(reference, 366)),)


def _from_today(named: dates.Mention, reference: datetime) -> Iterator[dates.Mention]:
    if named.shape not in ("before", "until"):
        yield named
    elif named.interval.end > reference:
        today = reference.replace(hour=0, minute=0, second=0, microsecond=0)
        yield replace(named, interval=Interval(today, named.interval.end))


def _reaches_ahead(named: dates.Mention, query: str, signs: Sequence[Questions], reference: datetime) -> bool:
    """Return whether a named time is not over. Without a year the words must look ahead; if it is long ("this year"),
    they must, or it must begin soon.
    """
    time, looks_ahead = named.interval, _has("ahead", query, signs)
    if named.yearless and (not looks_ahead or _has("past", query, signs)):
        return False
    short = time.end - time.start <= MAX_SHORT_PERIOD or -ONE_DAY < time.start - reference < MAX_COMING_PERIOD
    return time.end > reference and (short or looks_ahead)


def periods(mentions: Sequence[dates.Mention], reference: datetime) -> tuple[Interval, ...]:
    """Return the intervals of the named times; without a year, those of the last 30 years."""
    distinct = list({mention.interval: mention for mention in mentions}.values())
    named = [*distinct[: MAX_NAMED_TIMES // 2], *distinct[MAX_NAMED_TIMES // 2 :][-MAX_NAMED_TIMES // 2 :]]
    most = MAX_PERIODS // max(1, len(named))
    first, last = days_after(reference, -366 * min(MAX_YEARS_BACK, most)), days_after(reference, 366)
    found_in = (dates.recurrences(mention, first, last)[-most:] for mention in named)
    return tuple(dict.fromkeys(interval for intervals in found_in for interval in intervals))
