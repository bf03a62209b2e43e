"""Convert ADK's events to turns, and insert memory into the contents of a request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from google.adk.events import Event
from google.genai import types

from memscope.adapters import kit

USER_AUTHOR = "user"
APP_NAME = "{app_name}"


def agent_of(agent: str | None, app_name: str) -> str | None:
    return agent.replace(APP_NAME, app_name) if agent else agent


def turns_of(events: Iterable[Event], *, dated: bool = False) -> list[kit.TurnInput]:
    """Convert texts of the user and of agents; skip tool calls, tool results and thoughts.

    Args:
        events: The events of a session.
        dated: Use each event's time, for events of the past; otherwise turns get the current time.
    """
    turns: list[kit.TurnInput] = []
    for event in events:
        text = "" if event.partial else words_of(event.content)
        if text.strip():
            more: dict[str, Any] = {"id": event.id} if event.id else {}
            more |= {"time": event.timestamp} if dated else {}
            role, speaker = spoken_by(event.author)
            turns.append(kit.to_turn(role, text, speaker=speaker, **more))
    return turns


def spoken_by(author: str | None) -> tuple[kit.Role, str | None]:
    """Return the role and name of an author. None means the user, as in ADK's own requests."""
    return ("user", None) if author in (None, USER_AUTHOR) else ("assistant", author)


def words_of(content: types.Content | None) -> str:
    return "\n".join(part.text for part in (content and content.parts) or () if part.text and not part.thought)


def rewound(events: Sequence[Event]) -> frozenset[str]:
    """Return the ids of the events that ``Runner.rewind_async`` took back."""
    first: dict[str, int] = {}
    for place, event in enumerate(events):
        first.setdefault(event.invocation_id, place)
    ids: set[str] = set()
    for place, event in enumerate(events):
        if before := event.actions.rewind_before_invocation_id:
            ids.update(one.id for one in events[first.get(before, place) : place])
    return frozenset(ids)


def with_memory(contents: Sequence[types.Content], text: str, question: types.Content | None) -> list[types.Content]:
    """Prefix ``text`` to the content of the user's ``question``; append it if that content is missing."""
    shown, words = list(contents), words_of(question)
    memory = types.Part(text=f"{text}\n\n")
    for place in reversed(range(len(shown))):
        content = shown[place]
        if words and content.role == USER_AUTHOR and words_of(content) == words:
            shown[place] = content.model_copy(update={"parts": [memory, *(content.parts or [])]})
            return shown
    return [*shown, types.Content(role=USER_AUTHOR, parts=[memory])]
