"""Convert Pydantic AI's messages to turns, and insert memory into a request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolReturnPart, UserPromptPart

from memscope.adapters import kit


def turns_of(messages: Iterable[ModelMessage]) -> list[kit.TurnInput]:
    """Convert messages of people and the model; skip instructions, tool calls and tool results.

    A user prompt next to a tool result may be the content of a ``ToolReturn``, so it gets the role "tool".
    """
    turns: list[kit.TurnInput] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            turns.append(kit.to_turn("assistant", words_of(message)))
        else:
            role: kit.Role = "tool" if any(isinstance(part, ToolReturnPart) for part in message.parts) else "user"
            turns += [kit.to_turn(role, _words(part)) for part in message.parts if isinstance(part, UserPromptPart)]
    return turns


def words_of(response: ModelResponse) -> str:
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))


def _words(part: UserPromptPart) -> str:
    if isinstance(part.content, str):
        return part.content
    texts = (one if isinstance(one, str) else getattr(one, "content", None) for one in part.content)
    return "\n".join(text for text in texts if isinstance(text, str))


def with_memory(messages: Sequence[ModelMessage], text: str) -> list[ModelMessage]:
    """Prefix ``text`` to the user's newest prompt, in a copy of its message."""
    shown = list(messages)
    for place in reversed(range(len(shown))):
        message = shown[place]
        parts = list(message.parts) if isinstance(message, ModelRequest) else []
        for at in reversed(range(len(parts))):
            part = parts[at]
            if isinstance(part, UserPromptPart):
                content = part.content
                parts[at] = replace(
                    part, content=f"{text}\n\n{content}" if isinstance(content, str) else [f"{text}\n\n", *content]
                )
                shown[place] = replace(message, parts=parts)  # type: ignore[arg-type]  # of a request
                return shown
    return [*shown, ModelRequest(parts=[UserPromptPart(text)])]  # no user message yet
