"""The window: recent turns of a session within a token budget, and the summary of earlier ones.

It is read from the store for every answer, so forgotten turns vanish at once and any process can continue the session.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import accumulate
from typing import TYPE_CHECKING

from memscope.records import SUMMARY_NAMESPACE, Insight, Interval, Scope, Select, Turn
from memscope.records.identity import memory_id
from memscope.text.tokens import estimate_tokens
from memscope.validation import MAX_CLOCK_SKEW

if TYPE_CHECKING:
    from memscope.stores import Store

WINDOW_AGE = timedelta(hours=12)  # a later turn begins a new window; earlier turns are then memory
SPOKEN_ROLES = frozenset({"user", "person", "assistant"})
MESSAGE_OVERHEAD_TOKENS = 4  # framing of a message


async def recent_turns(store: Store, scope: Scope, now: datetime, tokens: int) -> list[Turn]:
    """Return the last turns of exactly this session (None: without a session) that fit, oldest first."""
    return fit_turns(await current_conversation(store, scope, now), tokens)


async def current_conversation(store: Store, scope: Scope, now: datetime) -> list[Turn]:
    """Return all turns of the current conversation in exactly this session, oldest first."""
    select = Select(
        scope.user,
        agent=scope.agent,
        kinds=frozenset({"turn"}),
        period=Interval(now - WINDOW_AGE, now + MAX_CLOCK_SKEW),
    )
    turns = [turn async for page in store.scan(select) for turn in page if isinstance(turn, Turn)]
    return [turn for turn in turns if turn.scope.session == scope.session and _belongs(turn)]


def _belongs(turn: Turn) -> bool:
    return turn.role in SPOKEN_ROLES and not turn.statement


def fit_turns(turns: Sequence[Turn], tokens: int) -> list[Turn]:
    """Return the newest turns that fit, beginning with a user's turn."""
    fitting = list(turns[first_shown([cost(turn) for turn in turns], tokens) :])
    while fitting and fitting[0].role == "assistant":
        del fitting[0]
    return fitting


def first_shown(costs: Sequence[int], tokens: int) -> int:
    """Return the index of the first turn in a window of ``tokens``, given the cost of each turn.

    The window moves by half its size at a time, so that consecutive prompts share a prefix and a provider's prompt
    cache stays valid for many turns.
    """
    over, step = sum(costs) - tokens, max(1, tokens // 2)
    before = list(accumulate(costs, initial=0))[:-1]  # tokens before each turn
    for left in (-(-over // step) * step, over):  # after an overlong turn, move no further than needed
        if first := [index for index, spent in enumerate(before) if spent >= left]:
            return first[0]
    return len(costs)


def cost(turn: Turn) -> int:
    """Estimate the tokens of a turn in a prompt."""
    return estimate_tokens(turn.text) + MESSAGE_OVERHEAD_TOKENS


async def summary_of(store: Store, scope: Scope) -> Insight | None:
    """Return the summary of what left this session's window, as ``reflection.summary`` maintains it."""
    select = Select(
        scope.user,
        scope.agent,
        kinds=frozenset({"insight"}),
        name=summary_name(scope),
        namespace=SUMMARY_NAMESPACE,
        current=True,
    )
    summaries = [record async for page in store.scan(select) for record in page if isinstance(record, Insight)]
    return summaries[-1] if summaries else None


def summary_name(scope: Scope) -> str:
    """Return the name of a session's summary, a digest of fixed length."""
    return memory_id(f"{scope.agent!r} {scope.session!r}", 0)
