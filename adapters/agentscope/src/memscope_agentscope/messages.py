"""Convert AgentScope's messages to turns, by the attributes that 1.x and 2.x have in common."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from memscope.adapters.kit import Role, TurnInput, to_turn


class MessageLike(Protocol):
    """The part of a ``Msg`` that both generations have."""

    @property
    def id(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def role(self) -> str: ...

    def get_text_content(self) -> str | None: ...


def key(message: MessageLike, agent: str | None) -> str:
    """Return the key of the message's turn. It includes ``agent``, so that agents can store a message separately."""
    return message.id if agent is None else f"{agent}/{message.id}"


def message_to_turn(message: MessageLike, text: str, created: str | None, agent: str | None) -> TurnInput:
    """Convert a message. ``created``: its creation time, which AgentScope writes in local time."""
    role: Role = "assistant" if message.role == "assistant" else "user"
    return to_turn(role, text, speaker=message.name, id=key(message, agent), time=_time(created))


def _time(created: str | None) -> str | None:
    try:
        return datetime.fromisoformat(created or "").astimezone().isoformat()
    except ValueError:
        return None
