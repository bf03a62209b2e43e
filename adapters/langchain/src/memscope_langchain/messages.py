"""Convert between LangChain's messages and turns."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from memscope.adapters.kit import Turn, TurnInput, to_turn

SUMMARY_OPENING = "Here is a summary of the conversation to date:"
STRUCTURED_OPENING = "Returning structured response: "  # of the result of the call that is an agent's structured answer


def turn_of(message: BaseMessage, agents: Collection[str] = (), answers: Collection[str] = ()) -> TurnInput | None:
    """Convert a message of a person or the model; None for instructions, tool calls, tool results and summaries.

    ``agents``: names of other agents, whose messages may arrive as human messages. ``answers``: ids of tool calls that
    are structured answers, whose turn is their JSON.
    """
    if _is_summary(message):
        return None
    if isinstance(message, HumanMessage) and message.name in agents:
        return to_turn("assistant", text_of(message), speaker=message.name)
    if isinstance(message, HumanMessage):
        return to_turn("user", text_of(message), speaker=message.name)
    if isinstance(message, AIMessage):  # without name: resent history may lack it
        structured = [
            json.dumps(call["args"], ensure_ascii=False) for call in message.tool_calls if call["id"] in answers
        ]
        return to_turn("assistant", "\n".join(filter(None, (text_of(message), *structured))))
    return None


def _is_summary(message: BaseMessage) -> bool:
    """Check for a summary by SummarizationMiddleware; old versions are only recognisable by its opening words."""
    return message.additional_kwargs.get("lc_source") == "summarization" or text_of(message).startswith(SUMMARY_OPENING)


def turns_of(messages: Sequence[BaseMessage], agents: Collection[str] = ()) -> list[TurnInput]:
    return [turn for _, turn in with_turns(messages, agents)]


def with_turns(messages: Sequence[BaseMessage], agents: Collection[str] = ()) -> list[tuple[BaseMessage, TurnInput]]:
    answers = {
        message.tool_call_id
        for message in messages
        if isinstance(message, ToolMessage) and text_of(message).startswith(STRUCTURED_OPENING)
    }
    return [(message, turn) for message in messages if (turn := turn_of(message, agents, answers)) is not None]


def agents_in(messages: Iterable[BaseMessage], named: Iterable[str] = ()) -> set[str]:
    """Collect names of agents: the ``named`` ones and all that replied."""
    return {*named, *(message.name for message in messages if isinstance(message, AIMessage) and message.name)}


def text_of(message: BaseMessage) -> str:
    """Return the words of a message: a person's parts as lines, a model's as one text, of which they are pieces."""
    if isinstance(message, HumanMessage) and not isinstance(message.content, str):
        parts = ({"type": "text", "text": part} if isinstance(part, str) else part for part in message.content)
        return "\n".join(part["text"] for part in parts if part.get("type") == "text")
    return str(message.text)


def message_of(turn: Turn) -> BaseMessage:
    if turn.role == "assistant":
        return AIMessage(turn.text)
    return HumanMessage(turn.text, name=None if turn.speaker == turn.role else turn.speaker)


def words(value: Any) -> str:
    """Return the text of a chain's input or output: a text, a message, or the last of several messages."""
    if isinstance(value, BaseMessage):
        return text_of(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return words(value[-1]) if value else ""
    return "" if value is None else str(value)
