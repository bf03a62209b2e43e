"""Record a message once although several agents of a graph hear it: after a handover, or in parallel.

LangGraph gives each message of a thread an id, but a caller that sends its history anew gets new ones. An id is
therefore no key of a turn: it only tells, within this process, whether a message is recorded already.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeAlias
from weakref import WeakKeyDictionary

from langchain_core.messages import BaseMessage

from memscope import AsyncMemoryScope
from memscope.adapters.kit import MemorySession, TurnInput

MAX_CLAIMS = 10_000  # per memory; the newest
MessageKey: TypeAlias = tuple[str | None, ...]
MessageClaims: TypeAlias = OrderedDict[MessageKey, str]  # keys of the turns, "" while they are being recorded
Spoken: TypeAlias = Sequence[tuple[BaseMessage, TurnInput]]

_claims: WeakKeyDictionary[AsyncMemoryScope, MessageClaims] = WeakKeyDictionary()


@asynccontextmanager
async def claimed(
    session: MemorySession, spoken: Spoken
) -> AsyncIterator[tuple[list[str | None], Callable[[Sequence[str]], None]]]:
    """Claim the messages that nobody of this scope has recorded or is recording.

    Yield for each message None if it is claimed now, else the key of its turn if that is known, and a function that
    takes the keys of the claimed ones. A message without a key can be claimed again.
    """
    claims = MessageClaims() if session.session is None else await _claims_of(session)
    places = [_message_key(session, *pair) for pair in spoken]
    keys = [None if place is None else claims.get(place) for place in places]
    taken = [place for place, key in zip(places, keys, strict=True) if key is None]
    claims.update((place, "") for place in taken if place is not None)
    recorded: list[str] = []
    try:
        yield keys, recorded.extend
    finally:
        recorded = [""] * (len(taken) - len(recorded)) + recorded  # of a long history, the newest turns are recorded
        for place, key in zip(taken, recorded, strict=True):
            if place is not None and key:
                claims[place] = key
            elif place is not None:
                claims.pop(place, None)
        while len(claims) > MAX_CLAIMS:
            claims.popitem(last=False)


async def _claims_of(session: MemorySession) -> MessageClaims:
    return _claims.setdefault((await session.handle.shared()).memory, MessageClaims())


def _message_key(session: MemorySession, message: BaseMessage, turn: TurnInput) -> MessageKey | None:
    if message.id is None or session.session is None:
        return None
    return session.user, session.agent, session.session, message.id, turn["content"]
