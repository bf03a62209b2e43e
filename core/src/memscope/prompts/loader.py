"""System prompts: ``<language>/<worker>.md``, one file per worker, one system message per file.

Prompts never contain conversations; these are sent as data in the user message (``enclose``). A folder with the same
layout (setting ``prompts``) overrides single files.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from string import Template

from memscope import languages
from memscope.errors import ConfigError, nearest
from memscope.models import Message
from memscope.records import Json
from memscope.text.language import depends_on_languages
from memscope.text.language import language as language_of

COMMENT = re.compile(
    "[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
    "|(?<!\\S)[\u200c\u200d]|[\u200c\u200d](?!\\S)"
)


class Prompts:
    """The prompts, read once: those in ``folder`` override the built-in ones. ``ConfigError`` if one is invalid."""

    def __init__(self, folder: str | Path | None = None) -> None:
        self._replacements = _read_folder(Path(folder).expanduser()) if folder else {}
        built_in()  # fill the cache now: memories are opened in a thread, later calls must not block the event loop

    def text(self, name: str, language: str, **variables: str) -> str:
        """Return the prompt with its variables filled in. ``ConfigError`` for a missing or unknown variable."""
        path = _path(name, language)
        _check_known(path)
        return fill(*self._replacements.get(path, (path, built_in()[path])), variables)

    def messages(self, name: str, texts: Sequence[str], data: Json, **variables: str) -> list[Message]:
        """Return the prompt in the language of ``texts``, and ``data`` as the user message inside a random boundary."""
        inside, boundary = enclose(data)
        system = self.text(name, language_of("\n".join(texts)), boundary=boundary, **variables)
        return [Message(role="system", content=system), Message(role="user", content=inside)]


def enclose(data: Json) -> tuple[str, str]:
    """Put ``data`` as JSON between two copies of an unguessable line, and return both text and line."""
    written = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    boundary = f"<{secrets.token_hex(8)}>"
    while boundary in written:  # pragma: no cover - one in 2**64
        boundary = f"<{secrets.token_hex(8)}>"
    return f"{boundary}\n{written}\n{boundary}", boundary


def visible(text: str) -> str:
    """Remove invisible characters: tags, direction marks, and joiners at the edge of a word."""
    return text if text.isascii() else COMMENT.sub("", text)


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


@depends_on_languages
@lru_cache(1)
def built_in() -> dict[str, str]:
    """Return the prompts of all registered languages by path, "language/worker.md"."""
    folders = ((language.code, language.prompts) for language in languages.registered() if language.prompts)
    return {f"{code}/{file.name}": file.read_text("utf-8") for code, folder in folders for file in folder.glob("*.md")}


def _path(name: str, language: str) -> str:
    """Return the path of a prompt, in the first registered language if ``language`` lacks it."""
    path = f"{language}/{name}.md"
    return path if path in built_in() else f"{next(iter(built_in())).partition('/')[0]}/{name}.md"


def _check_known(path: str) -> None:
    if path not in built_in():
        raise ConfigError(f"there is no prompt {path}", hint=nearest(path, built_in()))


def _read_folder(folder: Path) -> dict[str, tuple[str, str]]:
    """Read the file name and text of each prompt in the folder, by path.

    Raise ``ConfigError`` for a prompt that no worker uses, or whose variables differ from the built-in prompt's.
    """
    if not folder.is_dir():
        hint = "set prompts to a folder that is there, or leave it out for memscope's own"
        raise ConfigError(f"the prompts folder {str(folder)!r} is not there", hint=hint)
    sources: dict[str, tuple[str, str]] = {}
    for file in sorted(folder.glob("*/*.md")):
        path, source = file.relative_to(folder).as_posix(), file.read_text("utf-8")
        _check_known(path)
        fill(str(file), source, dict.fromkeys(Template(built_in()[path]).get_identifiers(), ""))
        sources[path] = (str(file), source)
    return sources
