"""The prompt for an answer: persona, the turns of the window, and the new turn with the memories in front of it.

The memories come late, so that a server can cache the unchanged prefix. They are part of the user's message because
earlier turns are data, not instructions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING

from memscope import languages
from memscope.models import Message
from memscope.prompts.loader import Prompts
from memscope.prompts.memory_block import block
from memscope.retrieval.context import context, line

if TYPE_CHECKING:
    from memscope.records import Hit, Turn


def fit_hits(hits: Sequence[Hit], tokens: int, profile: Sequence[Hit] = ()) -> tuple[tuple[Hit, ...], str]:
    """Return the hits that fit into ``tokens``, and their dated lines preceded by those of the ``profile``."""
    lines = context(hits, tokens=tokens, profile=profile)
    shown = tuple(hit for hit in hits if line(hit) in lines)
    return shown or tuple(hits[:1] if lines else ()), lines  # the first hit is shown cut if it is too long


def build_prompt(
    text: str, prompts: Prompts | None, persona: str | None, lines: str, window: Sequence[Turn], now: datetime,
    core: str = "",
) -> list[Message]:  # fmt: skip
    users = [turn.text for turn in window if turn.role == "user"]
    language = languages.main("\n".join([*users, text]))  # of the whole conversation, so that it does not switch
    today = f"{now:%Y-%m-%d}, {language.phrases.weekdays[now.weekday()]}"
    persona = persona or language.phrases.persona
    system = (prompts or Prompts()).text("chat", language.code, persona=persona, today=today)
    worded = [("assistant" if turn.role == "assistant" else "user", _text_of(turn)) for turn in window]
    asked = f"{block(lines, core)}\n\n{text}" if lines or core else text
    return [Message(role="system", content=system), *_join_sides([*worded, ("user", asked)])]


def _text_of(turn: Turn) -> str:
    return f"{turn.speaker}: {turn.text}" if turn.role == "person" else turn.text


def _join_sides(worded: Iterable[tuple[str, str]]) -> list[Message]:
    """Join consecutive turns of one side into one message; some models reject two in a row."""
    sides = groupby(worded, key=lambda pair: pair[0])
    return [Message(role=side, content="\n\n".join(text for _, text in pairs)) for side, pairs in sides]
