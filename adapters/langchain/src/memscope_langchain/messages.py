"""LangChain's messages as turns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from memscope.adapters.kit import Turn, TurnInput, to_turn

SUMMARY_OPENING = "Here is a summary of the conversation to date:"


def turn_of(message: BaseMessage, agents: Collection[str] = ()) -> TurnInput | None:
    """Return a person's or the model's message as a turn; None for instructions, tool calls and results, summaries.

    ``agents``: names under which other agents hand on their words as messages of a human.
    """
    if _is_summary(message):
        return None
    if isinstance(message, HumanMessage) and message.name in agents:
        return to_turn("assistant", text_of(message), speaker=message.name)
    if isinstance(message, HumanMessage):
        return to_turn("user", text_of(message), speaker=message.name)
    if isinstance(message, AIMessage):
        return to_turn("assistant", text_of(message))  # by no name: callers who show it again leave it out
    return None


def _is_summary(message: BaseMessage) -> bool:
    """Return whether SummarizationMiddleware wrote it; old versions left no mark, so their first words tell."""
    return message.additional_kwargs.get("lc_source") == "summarization" or text_of(message).startswith(SUMMARY_OPENING)


def turns_of(messages: Iterable[BaseMessage], agents: Collection[str] = ()) -> list[TurnInput]:
    return [turn for message in messages if (turn := turn_of(message, agents)) is not None]


def agents_in(messages: Iterable[BaseMessage], named: Iterable[str] = ()) -> set[str]:
    """Names of agents: those ``named``, and those that have replied."""
    return {*named, *(message.name for message in messages if isinstance(message, AIMessage) and message.name)}


def text_of(message: BaseMessage) -> str:
    return str(message.text)


def message_of(turn: Turn) -> BaseMessage:
    if turn.role == "assistant":
        return AIMessage(turn.text)
    return HumanMessage(turn.text, name=None if turn.speaker == turn.role else turn.speaker)


def words(value: Any) -> str:
    """Return the text of a chain's input or output: text, a message, or messages (the last one)."""
    if isinstance(value, BaseMessage):
        return text_of(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return words(value[-1]) if value else ""
    return "" if value is None else str(value)
