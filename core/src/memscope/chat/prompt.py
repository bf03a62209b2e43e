"""Prompt of an answer: persona, the turns of the window, and the new turn after the memories.

The memories come last, so that a server can cache the prefix, which is the same from answer to answer. They are part of
the user's message, since earlier turns are data and no instructions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING

from memscope import dates
from memscope.models import Message
from memscope.prompts.loader import Prompts
from memscope.prompts.memory_block import block
from memscope.retrieval.context import context, line
from memscope.text.language import language

if TYPE_CHECKING:
    from memscope.records import Hit, Turn

PERSONA = {"en": "You are a helpful assistant.", "zh": "你是一个乐于助人的助手。"}


def fit_hits(found: Sequence[Hit], tokens: int, profile: Sequence[Hit] = ()) -> tuple[tuple[Hit, ...], str]:
    """Returns the hits that fit into ``tokens``, and their dated lines, which begin with the ``profile``."""
    lines = context(found, tokens=tokens, profile=profile)
    shown = tuple(hit for hit in found if line(hit) in lines)
    return shown or tuple(found[:1] if lines else ()), lines  # of one too long its beginning


def build_prompt(
    text: str, prompts: Prompts | None, persona: str | None, lines: str, window: Sequence[Turn], now: datetime,
    core: str = "",
) -> list[Message]:  # fmt: skip
    lang = "zh" if language(text) == "zh" else "en"
    today = f"{now:%Y-%m-%d}, {dates.weekday(now, lang)}"
    system = (prompts or Prompts()).text("chat", lang, persona=persona or PERSONA[lang], today=today)
    worded = [(_side_of(turn), _text_of(turn)) for turn in window]
    return [Message(role="system", content=system), *_join_sides([*worded, ("user", _add_memories(lines, core, text))])]


def _side_of(turn: Turn) -> str:
    return "assistant" if turn.role == "assistant" else "user"


def _text_of(turn: Turn) -> str:
    return f"{turn.speaker}: {turn.text}" if turn.role == "person" else turn.text


def _add_memories(lines: str, core: str, text: str) -> str:
    return f"{block(lines, core)}\n\n{text}" if lines or core else text


def _join_sides(worded: Iterable[tuple[str, str]]) -> list[Message]:
    """Join consecutive turns of one side into one message: some models refuse others."""
    sides = groupby(worded, key=lambda pair: pair[0])
    return [Message(role=side, content="\n\n".join(text for _, text in pairs)) for side, pairs in sides]
