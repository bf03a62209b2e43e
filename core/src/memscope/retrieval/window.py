"""The window: recent turns of the same session within a budget of tokens, and the summary of what left it.

It is read from the store for every answer: a forgotten turn is gone from it at once, and any process can go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from memscope.records import SUMMARY, Insight, Interval, Scope, Select, Turn
from memscope.records.identity import memory_id
from memscope.text.tokens import estimate_tokens

if TYPE_CHECKING:
    from memscope.stores import Store

LATELY = timedelta(hours=12)  # a conversation resumed later begins a new window: earlier turns are memory
AHEAD = timedelta(days=1)  # clocks differ
ROLES = frozenset({"user", "person", "assistant"})
FRAME = 4  # tokens around a message


async def recent_turns(store: Store, scope: Scope, now: datetime, tokens: int) -> list[Turn]:
    """Returns the last turns of exactly this session (None: of none) that fit, oldest first."""
    return fit_turns(await said_lately(store, scope, now), tokens)


async def said_lately(store: Store, scope: Scope, now: datetime) -> list[Turn]:
    """Returns all turns of the conversation that goes on in exactly this session, oldest first."""
    select = Select(
        scope.user, agent=scope.agent, kinds=frozenset({"turn"}), period=Interval(now - LATELY, now + AHEAD)
    )
    found = [turn async for page in store.scan(select) for turn in page if isinstance(turn, Turn)]
    return [turn for turn in found if turn.scope.session == scope.session and _belongs(turn)]


def _belongs(turn: Turn) -> bool:
    return turn.role in ROLES and not turn.statement


def fit_turns(turns: Sequence[Turn], tokens: int) -> list[Turn]:
    """Returns the newest turns that fit, from a user's turn on."""
    kept: list[Turn] = []
    for turn in reversed(turns):
        tokens -= cost(turn)
        if tokens < 0:
            break
        kept.append(turn)
    while kept and kept[-1].role == "assistant":
        kept.pop()
    return kept[::-1]


def cost(turn: Turn) -> int:
    """Returns the tokens of a turn in a prompt."""
    return estimate_tokens(turn.text) + FRAME


async def summary_of(store: Store, scope: Scope) -> Insight | None:
    """Returns the summary of what left the window of exactly this session, as ``reflection.summary`` keeps it."""
    select = Select(
        scope.user, scope.agent, kinds=frozenset({"insight"}), name=summary_name(scope), namespace=SUMMARY, current=True
    )
    found = [one async for page in store.scan(select) for one in page if isinstance(one, Insight)]
    return found[-1] if found else None


def summary_name(scope: Scope) -> str:
    """Returns the name of a session's summary, which is of fixed length."""
    return memory_id(f"{scope.agent!r} {scope.session!r}", 0)
