"""Translation: English is in the code, Chinese in the catalogue ``locale/zh/LC_MESSAGES/memscope.po``.

gettext selects the catalogue by the locale (LANGUAGE, LC_ALL, LC_MESSAGES, LANG), for click's own messages too.
``tests/catalogue.py`` compiles it and lists missing translations.
"""

from __future__ import annotations

import gettext
import locale
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import click

from memscope.errors import MemscopeError
from memscope_cli.commands.output import columns, wrapped

LOCALE_FOLDER = Path(__file__).parents[1] / "locale"
DOMAIN = "memscope"
CLI_LANGUAGES = ("en", "zh")
LOCALE_VARIABLES = ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")
_PLACEHOLDER = re.compile(r"\b[A-Z]{2,}\b")  # NAME in "--user NAME"
gettext.bindtextdomain(DOMAIN, str(LOCALE_FOLDER))
gettext.textdomain(DOMAIN)


@cache
def _translations(locale: tuple[str | None, ...]) -> gettext.NullTranslations:
    return gettext.translation(DOMAIN, str(LOCALE_FOLDER), fallback=True)


def _catalogue() -> gettext.NullTranslations:
    """Return the cached catalogue of the locale; gettext's own functions would search for its file on every call."""
    return _translations(tuple(map(os.environ.get, LOCALE_VARIABLES)))


def say(text: str, /, **values: object) -> str:
    """Translate a text and fill in its fields."""
    translated = _catalogue().gettext(text) if text else ""
    return translated.format(**values) if values else translated


def say_error(error: MemscopeError) -> str:
    """Format an error with its hint, translated if the catalogue has them."""
    message = say_sentence(error.message)
    return say("{message}; {hint}", message=message, hint=say_sentence(error.hint)) if error.hint else message


def say_sentence(text: str) -> str:
    """Translate a sentence of the core, whose names and numbers are already filled in."""
    for pattern, translation in _sentences(_catalogue()) if text == say(text) else ():
        if match := pattern.fullmatch(text):
            return translation.format(*(say_sentence(group) if " " in group else group for group in match.groups()))
    return say(text)


@cache
def _sentences(catalogue: gettext.NullTranslations) -> list[tuple[re.Pattern[str], str]]:
    """Compile patterns for catalogue entries with numbered fields ("{0}"), longest first."""
    entries = {key: text for key, text in vars(catalogue).get("_catalog", {}).items() if "{0}" in key}
    ordered = sorted(entries, key=len, reverse=True)
    patterns = [re.sub(r"\\{\d\\}", "(.+?)", re.escape(key)) for key in ordered]
    return [(re.compile(pattern, re.DOTALL), entries[key]) for pattern, key in zip(patterns, ordered, strict=True)]


def count_nouns(number: int, noun: str, plural: str = "") -> str:
    """Format a number with its noun: "1 turn", "2 turns"."""
    return _catalogue().ngettext(f"{{}} {noun}", f"{{}} {plural or noun + 's'}", number).format(f"{number:,}")


def join(parts: Iterable[str]) -> str:
    return say(", ").join(parts)


def language() -> str:
    return "zh" if isinstance(_catalogue(), gettext.GNUTranslations) else "en"


@contextmanager
def use_language(asked: str | None) -> Iterator[None]:
    """Use this language, or with None the locale's, which Windows and macOS may not put into the environment."""
    if asked is None and not any(map(os.environ.get, LOCALE_VARIABLES)):
        asked = "zh" if (locale.getlocale()[0] or "").startswith(("zh", "Chinese")) else None
    before = os.environ.get("LANGUAGE")
    if asked in CLI_LANGUAGES:
        os.environ["LANGUAGE"] = asked
    try:
        yield
    finally:
        os.environ.pop("LANGUAGE", None)
        if before is not None:
            os.environ["LANGUAGE"] = before


class Formatter(click.HelpFormatter):
    """Translated help, with Chinese text wrapped by display width."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        super().write_usage(prog, _translate_names(args), prefix)

    def write_text(self, text: str) -> None:
        if language() == "en":
            super().write_text(text)
            return
        indent, whole = " " * self.current_indent, False
        for line in say(text).split("\n"):
            whole = line == "\b" or (whole and bool(line))  # click's mark of a paragraph that must not be wrapped
            if line != "\b":
                self._write_lines([line] if whole else _wrap(line, self.width - self.current_indent), indent)

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        translated = [(_translate_names(first), _translate_help(second)) for first, second in rows]
        if language() == "en":
            super().write_dl(translated, col_max, col_spacing)
            return
        column = self.current_indent + col_spacing + min(col_max, max(columns(first) for first, _ in translated))
        for first, second in translated:
            gap = column - self.current_indent - columns(first)
            self.write(" " * self.current_indent + first + (" " * gap if gap >= col_spacing else f"\n{' ' * column}"))
            head, *rest = _wrap(second, self.width - column) or [""]
            self.write(f"{head}\n")
            self._write_lines(rest, " " * column)

    def _write_lines(self, lines: Iterable[str], indent: str) -> None:
        for line in lines:
            self.write(f"{indent}{line}".rstrip() + "\n")


def _translate_names(text: str) -> str:
    return _PLACEHOLDER.sub(lambda name: say(name[0]), text)


def _translate_help(text: str) -> str:
    """Translate an option's help, except for what click appended in brackets."""
    words, gap, extra = text.partition("  [")
    return (say(words) if words else "") + gap + extra


def _wrap(text: str, width: int) -> list[str]:
    return [text[start:end] for start, end in wrapped(text, width)]
