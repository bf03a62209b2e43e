"""Read the files of other systems: JSON, JSON lines, a zip of them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from memscope.errors import InputError


def read_json(source: Any) -> Iterator[Any]:
    """Yield the values of a file: the items of a list, else every JSON value, one per file or line."""
    path = Path(str(source)).expanduser()
    try:
        with path.open("rb") as file:
            yield from values(file, path.name)
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read: {error.strerror}") from error


def values(file: IO[bytes], name: str) -> Iterator[Any]:
    """Yield the items of a JSON list; of any other file its value, or one per line."""
    text = file.read().decode("utf-8-sig", errors="replace")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        yield from _lines(text, name)
        return
    yield from found if isinstance(found, list) else [found]


def _lines(text: str, name: str) -> Iterator[Any]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                raise InputError(f"line {number} of {name!r} is not JSON", hint="nothing after it was read") from None


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a JSON object as it is, and an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def sequence(value: Any) -> Sequence[Any]:
    """Return a JSON list as it is, and an empty one for anything else."""
    return value if isinstance(value, list) else []


def unzipped(source: Any, begins: str) -> Iterator[Any]:
    """Yield the values of the JSON files in a zip whose name begins so, or of a file that is no zip."""
    path = Path(str(source)).expanduser()
    if not zipfile.is_zipfile(path):
        yield from read_json(path)
        return
    with zipfile.ZipFile(path) as archive:
        names = [name for name in sorted(archive.namelist()) if Path(name).name.startswith(begins)]
        if not names:
            raise InputError(f"{path.name!r} has no file {begins}*.json", hint="take the zip of the data export")
        for name in names:
            with archive.open(name) as file:
                yield from values(file, name)
