"""Find the time of the conversation before the current one, for "What did we talk about last time?"."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from memscope.records import Interval, Select, Turn, days_after
from memscope.retrieval.follow_up import MAX_FOLLOW_UP_PAUSE
from memscope.retrieval.query import Query
from memscope.retrieval.window import SPOKEN_ROLES, WINDOW_AGE
from memscope.services import Services

READ_BACK = (1, 8, 64, 1000)  # days, until one is found


async def last_talk(query: Query, ctx: Services) -> Interval | None:
    """Return the time of the newest conversation before the current one; None if there is none.

    A conversation is what was said in one session within 12 hours. The current one is not it: what the model sees
    anyway (the excluded turns), the question itself, what was said within the last minutes, and their sessions.
    """
    scope, now = query.scope, query.as_of or query.now
    for back in READ_BACK:
        period = Interval(days_after(now, -back), days_after(now, 1))
        select = Select(scope.user, scope.agent, scope.session, kinds=frozenset({"turn"}), period=period)
        turns = [turn async for page in ctx.store.scan(select) for turn in page if isinstance(turn, Turn)]
        known = [one for one in turns if query.as_of is None or one.time <= query.as_of]
        spoken = sorted([one for one in known if one.role in SPOKEN_ROLES and not one.statement], key=_time)
        if earlier := _before_current(spoken, query, now):
            last = earlier[-1]
            same = [one for one in earlier if one.scope == last.scope and last.time - one.time <= WINDOW_AGE]
            return Interval(same[0].time, last.time + timedelta(microseconds=1))
    return None


def _before_current(turns: Sequence[Turn], query: Query, now: datetime) -> list[Turn]:
    """Leave the turns of the current conversation out of ``turns``, which are in the order of time."""
    current: list[Turn] = []
    following = now  # time of the turn after the one that is looked at
    for turn in reversed(turns):
        seen = turn.key in query.exclude or turn.text in (query.text, query.written)
        if seen or (following - turn.time <= MAX_FOLLOW_UP_PAUSE and (not current or turn.scope == current[-1].scope)):
            current.append(turn)
            following = turn.time
    keys, sessions = {one.key for one in current}, {one.scope for one in current if one.scope.session is not None}
    going_on = [one for one in turns if one.scope in sessions and now - one.time <= WINDOW_AGE]
    keys.update(one.key for one in going_on)
    return [one for one in turns if one.key not in keys]


def _time(turn: Turn) -> datetime:
    return turn.time
