"""Replace a file atomically; disk access runs in threads, so that the event loop is never blocked."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import BinaryIO

from memscope.errors import InputError
from memscope.stores.unfinished import part_of


@asynccontextmanager
async def replacing(path: Path) -> AsyncIterator[BinaryIO]:
    """Open a new file, mode 0600, that replaces ``path`` at the end; an error removes it instead."""
    path = await asyncio.to_thread(_resolved, path)
    part = part_of(path)
    try:
        file = await asyncio.to_thread(_opened, part)
        try:
            yield file
            await asyncio.to_thread(_sync, file)
        finally:
            await asyncio.to_thread(file.close)
        await asyncio.to_thread(part.replace, path)
    except (Exception, asyncio.CancelledError):
        await asyncio.to_thread(part.unlink, missing_ok=True)  # it contains conversation
        raise


def _resolved(path: Path) -> Path:
    path = path.resolve()  # replace the target of a link, not the link
    if path.exists() and not path.is_file():
        raise InputError(f"{str(path)!r} is not a regular file", hint="export to a file, or to standard output")
    return path


def _opened(part: Path) -> BinaryIO:
    return open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
