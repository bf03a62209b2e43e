"""Convert Pydantic AI's messages to turns, and insert memory into a request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)

from memscope.adapters import kit

Content: TypeAlias = "str | Sequence[UserContent] | None"


def turns_of(messages: Sequence[ModelMessage], prompt: Content = None) -> list[kit.TurnInput]:
    """Convert messages of people and the model; skip instructions, tool calls and tool results.

    A user prompt next to a tool result may be the content of a ``ToolReturn``, so it gets the role "tool", unless it is
    the run's ``prompt``, which stands there when a run begins with the results of deferred calls.
    """
    turns: list[kit.TurnInput] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            turns.append(kit.to_turn("assistant", words_of(message)))
            continue
        unsure = any(isinstance(part, ToolReturnPart) for part in message.parts)
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                is_prompt = message is messages[-1] and part.content == prompt
                turns.append(kit.to_turn("tool" if unsure and not is_prompt else "user", _words(part)))
    return turns


def newest_turns(messages: Sequence[ModelMessage]) -> list[kit.TurnInput]:
    """Convert the user's messages after the model's last reply."""
    replies = [place for place, message in enumerate(messages, 1) if isinstance(message, ModelResponse)]
    return [turn for turn in turns_of(messages[replies[-1] if replies else 0 :]) if turn["role"] == "user"]


def newest_prompt(messages: Sequence[ModelMessage]) -> UserPromptPart | None:
    """Return the user's newest prompt."""
    parts = (part for message in reversed(messages) for part in reversed(message.parts))
    return next((part for part in parts if isinstance(part, UserPromptPart)), None)


def words_of(response: ModelResponse) -> str:
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))


def _words(part: UserPromptPart) -> str:
    if isinstance(part.content, str):
        return part.content
    texts = (one if isinstance(one, str) else getattr(one, "content", None) for one in part.content)
    return "\n".join(text for text in texts if isinstance(text, str))


def with_memory(
    messages: Sequence[ModelMessage], text: str, beside: UserPromptPart | None = None
) -> list[ModelMessage]:
    """Prefix ``text`` to the prompt ``beside``, else to the user's newest one, in a copy of its message."""
    shown: list[Any] = list(messages)
    places = [
        (place, at)
        for place, message in enumerate(shown)
        for at, part in enumerate(message.parts)
        if isinstance(part, UserPromptPart)
    ]
    if not places:  # no user message yet
        return [*shown, ModelRequest(parts=[UserPromptPart(text)])]
    named = [(place, at) for place, at in places if shown[place].parts[at] == beside]
    place, at = (named or places)[-1]
    parts = list(shown[place].parts)
    content = parts[at].content
    prefixed = f"{text}\n\n{content}" if isinstance(content, str) else [f"{text}\n\n", *content]
    parts[at] = replace(parts[at], content=prefixed)
    shown[place] = replace(shown[place], parts=parts)
    return shown
