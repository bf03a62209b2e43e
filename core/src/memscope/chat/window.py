"""The window: recent turns of the same session within a budget of tokens.

It is read from the store for every answer: a forgotten turn is gone from it at once, and any process can go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from memscope.records import Interval, Scope, Select, Turn
from memscope.text.tokens import estimate_tokens

if TYPE_CHECKING:
    from memscope.stores import Store

LATELY = timedelta(hours=12)  # a conversation resumed later begins a new window: earlier turns are memory
AHEAD = timedelta(days=1)  # clocks differ
ROLES = frozenset({"user", "person", "assistant"})
FRAME = 4  # tokens around a message


async def recent_turns(store: Store, scope: Scope, now: datetime, tokens: int) -> list[Turn]:
    """Returns the last turns of exactly this session (None: of none), oldest first."""
    lately = Interval(now - LATELY, now + AHEAD)
    select = Select(scope.user, agent=scope.agent, kinds=frozenset({"turn"}), period=lately)
    found = [turn async for page in store.scan(select) for turn in page if isinstance(turn, Turn)]
    return fit_turns([turn for turn in found if turn.scope.session == scope.session and _belongs(turn)], tokens)


def _belongs(turn: Turn) -> bool:
    return turn.role in ROLES and not turn.statement


def fit_turns(turns: Sequence[Turn], tokens: int) -> list[Turn]:
    """Returns the newest turns that fit, from a user's turn on."""
    kept: list[Turn] = []
    for turn in reversed(turns):
        tokens -= estimate_tokens(turn.text) + FRAME
        if tokens < 0:
            break
        kept.append(turn)
    while kept and kept[-1].role == "assistant":
        kept.pop()
    return kept[::-1]
