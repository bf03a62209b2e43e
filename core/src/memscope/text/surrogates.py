"""Repair streamed texts, which may be cut between the two surrogates of an emoji."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator

_HALF = re.compile("[\ud800-\udfff]")


def joined(text: str) -> str:
    """Join surrogate pairs; a lone surrogate becomes U+FFFD."""
    if not _HALF.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


async def whole_characters(pieces: AsyncIterator[str]) -> AsyncGenerator[str]:
    """Yield the pieces without lone surrogates: a first half at the end of a piece moves to the next one."""
    half = ""
    async for piece in pieces:
        text = half + piece
        half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        if text := text.removesuffix(half):
            yield joined(text)
    if half:
        yield joined(half)
