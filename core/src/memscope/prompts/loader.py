"""System prompts: ``<language>/<worker>.md``, one file per worker, one system message per file.

Conversations never stand in them; they come as data in the user message (``enclose``). A folder of the user's with the
same layout replaces single files.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from string import Template

from memscope.errors import ConfigError, nearest
from memscope.models import Message
from memscope.records import Json
from memscope.text.language import language as language_of

LANGUAGES = ("en", "zh")
HIDDEN = re.compile(
    "[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
    "|(?<!\\S)[\u200c\u200d]|[\u200c\u200d](?!\\S)"
)


class Prompts:
    """Prompts in force, read once: those of ``folder`` before the built-in ones. ``ConfigError`` for an invalid one."""

    def __init__(self, folder: str | Path | None = None) -> None:
        own = _own(Path(folder).expanduser()) if folder else {}
        self._sources = {path: (path, source) for path, source in built_in().items()} | own

    def text(self, name: str, language: str, **variables: str) -> str:
        """Returns the prompt with its variables filled in; ``ConfigError`` names any that is missing or unknown."""
        path = f"{language if language in LANGUAGES else 'en'}/{name}.md"
        _check_known(path)
        return fill(*self._sources[path], variables)

    def messages(self, name: str, said: Sequence[str], data: Json, **variables: str) -> list[Message]:
        """Returns the prompt in the language of ``said``; ``data`` stands inside a boundary that is new each time."""
        inside, boundary = enclose(data)
        system = self.text(name, language_of("\n".join(said)), boundary=boundary, **variables)
        return [Message(role="system", content=system), Message(role="user", content=inside)]


def enclose(data: Json) -> tuple[str, str]:
    """Put ``data`` as JSON between two unguessable lines; also returns that line."""
    written = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    boundary = f"<{secrets.token_hex(8)}>"
    while boundary in written:  # pragma: no cover - one in 2**64
        boundary = f"<{secrets.token_hex(8)}>"
    return f"{boundary}\n{written}\n{boundary}", boundary


def visible(text: str) -> str:
    """Returns ``text`` without invisible characters: tags, directions, joiners that join nothing."""
    return text if text.isascii() else HIDDEN.sub("", text)


def fill(where: str, source: str, variables: dict[str, str]) -> str:
    template = Template(source.strip())
    if not template.is_valid():
        raise ConfigError(f"prompt {where} has a $ that begins no variable", hint="write $$ for a dollar")
    wanted = set(template.get_identifiers())
    if unknown := sorted(wanted - set(variables)):
        raise ConfigError(f"prompt {where} has an unknown variable ${unknown[0]}", hint=nearest(unknown[0], variables))
    if missing := sorted(set(variables) - wanted):
        raise ConfigError(f"prompt {where} lacks the variable ${missing[0]}", hint="the worker needs it there")
    return template.substitute(variables)


@lru_cache(1)
def built_in() -> dict[str, str]:
    """Returns every built-in prompt, by "language/worker.md"."""
    folders = ((lang, files("memscope.prompts").joinpath(lang)) for lang in LANGUAGES)
    return {f"{lang}/{file.name}": file.read_text("utf-8") for lang, folder in folders for file in folder.iterdir()}


def _check_known(path: str) -> None:
    if path not in built_in():
        raise ConfigError(f"there is no prompt {path}", hint=nearest(path, built_in()))


def _own(folder: Path) -> dict[str, tuple[str, str]]:
    """Returns the file and the text of each prompt in the folder.

    ``ConfigError`` at once for one that no worker reads, or with variables that its worker does not give.
    """
    if not folder.is_dir():
        raise ConfigError(f"the prompts folder {str(folder)!r} is not there")
    found: dict[str, tuple[str, str]] = {}
    for file in sorted(folder.glob("*/*.md")):
        path, source = file.relative_to(folder).as_posix(), file.read_text("utf-8")
        _check_known(path)
        fill(str(file), source, dict.fromkeys(Template(built_in()[path]).get_identifiers(), ""))
        found[path] = (str(file), source)
    return found
