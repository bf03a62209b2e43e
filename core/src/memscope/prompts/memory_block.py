"""Build, recognise and remove the block of memories in a prompt; choose the query for a recall."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from memscope import languages
from memscope.text.tokens import ends_of

TurnInput = Mapping[str, Any]  # a turn as add_turns takes it
OPEN_MARK, CLOSE_MARK = '<memory source="memscope">', "</memory>"
MARKED_BLOCK = re.compile(re.escape(OPEN_MARK) + ".*?" + re.escape(CLOSE_MARK), re.DOTALL)
QUERY_CHARACTERS = 4_000


def block(lines: str, core: str = "") -> str:
    """Enclose core memory and the lines, introduced by a note, in marks.

    Marked text is never recorded. A closing mark inside the text is defused.
    """
    noted = f"{languages.main(lines).phrases.memory_note}\n{lines}" if lines else ""
    shown = "\n\n".join(part for part in (core, noted) if part)
    return f"{OPEN_MARK}\n{shown.replace(CLOSE_MARK, '</ memory>')}\n{CLOSE_MARK}"


def is_injected(text: str) -> bool:
    """Check whether ``text`` consists of blocks of memories only."""
    return OPEN_MARK in text and not strip_memory(text)


def strip_memory(text: str) -> str:
    """Remove blocks of memories from ``text``."""
    return MARKED_BLOCK.sub("", text).strip() if OPEN_MARK in text else text


def choose_query(turns: Sequence[TurnInput]) -> str:
    """Choose the query for the new turns: the user's latest text, else the latest of any role.

    Long texts are cut to their beginning and end: the question is usually before or after a pasted document.
    """
    worded = [turn for turn in turns if turn["content"].strip()]
    users = [turn for turn in worded if turn["role"] == "user"]
    return ends_of(str((users or worded or [{"content": ""}])[-1]["content"]), QUERY_CHARACTERS)
