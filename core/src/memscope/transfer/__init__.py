"""Export and import as JSON lines, copies between stores, imports from other systems, recovery of damaged files."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from memscope.errors import InputError
from memscope.stores.held_files import held_file

Progress = Callable[[int, int | None], None]  # called with the number done and the total, if known
T = TypeVar("T")
LINES_PER_PART = 200
MAX_PART_CHARS = 16 * 1024 * 1024


@contextmanager
def accessible(path: Path) -> Iterator[None]:
    """Turn an ``OSError`` about the file into an ``InputError``. Refuse the file of a store that is open."""
    with file_errors(path):
        refuse_open_store(path)
        yield


@contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Turn an ``OSError`` about the file into an ``InputError``."""
    try:
        yield
    except OSError as error:
        hint = "check the path and its permissions"
        raise InputError(f"{str(path)[:500]!r} cannot be read or written: {error.strerror}", hint=hint) from error


def refuse_open_store(path: Path) -> None:
    if path.exists() and held_file(path):
        raise InputError(f"{str(path)!r} is an open store", hint="choose another file")


async def in_parts(items: Iterable[T], number: int, size: Callable[[T], int]) -> AsyncIterator[list[T]]:
    """Yield lists of items, read and checked in a thread, so that the event loop is never blocked."""
    parts = split(items, number, size)
    while part := await asyncio.to_thread(next, parts, None):
        yield part


def split(items: Iterable[T], number: int, size: Callable[[T], int]) -> Iterator[list[T]]:
    """Yield lists of up to ``number`` items and ``MAX_PART_CHARS``; if the source fails, yield the rest first."""
    part: list[T] = []
    left = MAX_PART_CHARS
    try:
        for item in items:
            part.append(item)
            left -= size(item)
            if len(part) == number or left <= 0:
                yield part
                part, left = [], MAX_PART_CHARS
    except Exception:
        if part:
            yield part
        raise
    if part:
        yield part
