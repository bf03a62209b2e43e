"""Add to a short question what it refers back to.

    "Who is my apprentice?" "That's Bilal." "How old is he?" ──▶ "How old is he Bilal my apprentice?"

Only the newest turns of the conversation are read, and only for a question that has "he", "it" or "and which ...?" but
no name.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from memscope import languages
from memscope.languages.names import names
from memscope.languages.statements import asks
from memscope.pipeline import altered
from memscope.records import Interval, Select, Turn
from memscope.retrieval.query import Query
from memscope.retrieval.window import SPOKEN_ROLES
from memscope.services import Services
from memscope.validation import MAX_CLOCK_SKEW

MAX_FOLLOW_UP_CHARS = 80  # of a question that may refer back
MAX_FOLLOW_UP_PAUSE = timedelta(minutes=15)  # since the turn that it refers to
MAX_TURNS_BACK = 6
MAX_TURN_CHARS = 300  # read of each turn


async def follow_up(query: Query, ctx: Services) -> Query:
    """Add the names and things of the preceding exchange to the query's text, if there are any.

    The question and the answer of that exchange are left out: they have all of its words and answer nothing new.
    """
    if any(name.weight for name in names(query.text)):
        return query
    spoken_of, exchange = await _spoken_of(query, ctx)
    if not spoken_of:
        return query
    meant, end = " ".join(spoken_of), len(query.text.rstrip("?？!. "))  # both texts have this length
    text, written = (f"{one[:end]} {meant}{one[end:]}" for one in (query.text, query.written))
    return altered(query, text=text, written=written, exclude=query.exclude.union(exchange))


async def _spoken_of(query: Query, ctx: Services) -> tuple[dict[str, None], list[str]]:
    """Collect what the newest turns mention, back to the last user turn that mentions anything, and the keys of those
    turns that only ask or answer.
    """
    period = Interval(query.now - MAX_FOLLOW_UP_PAUSE, query.now + MAX_CLOCK_SKEW)
    scope = query.scope
    select = Select(scope.user, scope.agent, scope.session, kinds=frozenset({"turn"}), period=period)
    turns = [turn async for page in ctx.store.scan(select) for turn in page if isinstance(turn, Turn)]
    spoken = [turn for turn in turns if turn.role in SPOKEN_ROLES and not turn.statement and turn.text != query.text]
    meant, exchange = dict[str, None](), list[str]()
    for turn in sorted(spoken, key=lambda one: one.time)[: -MAX_TURNS_BACK - 1 : -1]:
        text = turn.text[:MAX_TURN_CHARS]
        meant |= dict.fromkeys(_referred_to(text))
        if (turn.role == "assistant") != asks(text):
            exchange.append(turn.key)
        if meant and turn.role != "assistant":
            break
    return meant, exchange


def _referred_to(text: str) -> Iterator[str]:
    """Yield what a turn mentions: names, and things described as the user's or as known."""
    yield from (name.text for name in names(text) if name.kind != "topic" and (name.weight or name.kind != "thing"))
    for one in languages.of(text):
        things = (match[0].strip() for match in one.questions.referents.finditer(text))
        yield from (f"{thing[:1].lower()}{thing[1:]}" for thing in things)  # "The bus" is no name within a question
