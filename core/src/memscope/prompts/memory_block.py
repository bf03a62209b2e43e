"""The block of memories in a prompt: built, recognised, removed; and the choice of a query."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from memscope import languages
from memscope.text.tokens import ends_of

TurnInput = Mapping[str, Any]  # a turn as add_turns takes it
OPEN_MARK, CLOSE_MARK = '<memory source="memscope">', "</memory>"
_MARKED_BLOCK = re.compile(re.escape(OPEN_MARK) + ".*?" + re.escape(CLOSE_MARK), re.DOTALL)
QUERY_CHARACTERS = 4_000


def block(lines: str, core: str = "") -> str:
    """Return core memory, then the lines with a note, between marks.

    Marked text is never recorded; nothing in it can close the mark.
    """
    noted = f"{languages.main(lines).phrases.memory_note}\n{lines}" if lines else ""
    shown = "\n\n".join(part for part in (core, noted) if part)
    return f"{OPEN_MARK}\n{shown.replace(CLOSE_MARK, '</ memory>')}\n{CLOSE_MARK}"


def is_injected(text: str) -> bool:
    """Return whether ``text`` is nothing but a block of memories."""
    return OPEN_MARK in text and not strip_memory(text)


def strip_memory(text: str) -> str:
    """Return ``text`` without blocks of memories."""
    return _MARKED_BLOCK.sub("", text).strip() if OPEN_MARK in text else text


def choose_query(turns: Sequence[TurnInput]) -> str:
    """Choose the query for the new turns: the user's latest words, else the latest of anyone.

    A pasted document is cut to its beginning and its end, where the question stands.
    """
    worded = [turn for turn in turns if turn["content"].strip()]
    users = [turn for turn in worded if turn["role"] == "user"]
    return ends_of(str((users or worded or [{"content": ""}])[-1]["content"]), QUERY_CHARACTERS)
