"""Output of commands: lines for people, JSON for programs, progress on stderr.

Colours, wrapping and progress bars appear on a terminal only. Control and other invisible characters in conversation
text are escaped, because they could control the terminal or deceive the reader.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, tzinfo
from functools import cached_property
from typing import TYPE_CHECKING, Any, TextIO

import click

from memscope.records import in_zone

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from memscope.transfer import Progress

StyledText = str | tuple[str, str]  # text, or (text, style)

UNPRINTABLE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
PIPE_WIDTH = 100  # columns for wrapped output that does not go to a terminal
MAX_COLUMNS = 120
_WIDE = r"\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef"
_UNBROKEN = re.compile(rf"\s*(?:[^\s{_WIDE}]{{1,60}}|[{_WIDE}]?)[，。、！？；：”’）》」』…]*")  # never wrapped inside


def visible(text: str) -> str:
    r"""Put a text on one line and escape every invisible character, as ``\u202e``."""
    return _escaped(" ".join(text.split()), _escape)


def visible_columns(line: str) -> str:
    """Escape invisible characters in a line and preserve its spacing."""
    return _escaped(line.replace("\t", " "), _escape)


def visible_text(text: str) -> str:
    """Escape invisible characters in a text of several lines; only line breaks remain."""
    return "\n".join(visible_columns(line.expandtabs(4)) for line in text.split("\n"))


def _escaped(text: str, escape: Callable[[str], str]) -> str:
    if text.isprintable():
        return text
    return "".join(escape(char) if unicodedata.category(char) in UNPRINTABLE_CATEGORIES else char for char in text)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode()


def json_line(value: Any, *, ascii_only: bool) -> str:
    """Serialize to one line of JSON with invisible characters as JSON escapes, which no terminal acts on."""
    line = json.dumps(value, ensure_ascii=ascii_only, allow_nan=False, default=_plain)
    return _escaped(line, lambda char: json.dumps(char)[1:-1])


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, frozenset | set):
        return sorted(value)
    if hasattr(value, "items"):
        return dict(value.items())
    return str(value)


def speaks_unicode(stream: TextIO) -> bool:
    return (getattr(stream, "encoding", None) or "").lower().replace("-", "").startswith("utf")


class Display:
    """Output of a command. With ``machine``, only ``data`` prints to stdout."""

    def __init__(self, *, machine: bool) -> None:
        self.machine = machine
        self.zone: tzinfo | None = None  # for times; None is the system's zone
        self.laid_out = False  # wrap lines even if stdout is not a terminal

    def data(self, value: Any) -> None:
        """Print one line of JSON with ``machine``, else nothing."""
        if self.machine:
            click.echo(json_line(value, ascii_only=not speaks_unicode(sys.stdout)))

    def report(self, value: Any, *parts: StyledText) -> None:
        """Print ``value`` as JSON for programs, or ``parts`` as a line for people."""
        self.data(value)
        self.line(*parts)

    def line(self, *parts: StyledText, indent: int = 0, hang: int = 0, whole: bool = False) -> None:
        """Print a line for people, wrapped on a terminal unless ``whole``; later lines are indented by ``hang``."""
        if self.machine:
            return
        from rich.text import Text

        text = Text.assemble(*parts)
        if (self.terminal or self.laid_out) and not whole:
            for number, (start, end) in enumerate(wrapped(text.plain, max(40, self.width - indent), hang)):
                self._print(text[start:end], indent + (hang if number else 0))
        else:
            self._print(text, indent)

    def minute(self, when: datetime) -> str:
        """Format a time to the minute in the reader's zone."""
        return in_zone(when, self.zone).isoformat(" ", "minutes")[:16]

    def rule(self, title: str) -> None:
        """Print a title followed by a horizontal line."""
        stroke = "─" if speaks_unicode(sys.stdout) else "-"
        left = min(self.width, PIPE_WIDTH) - columns(title) - 2
        self.line((f"{title} ", "bold cyan"), (stroke * max(0, left), "dim"))

    def _print(self, text: Text, indent: int) -> None:
        text.pad_left(indent)
        text.rstrip()
        try:
            self.console.print(text, soft_wrap=True)
        except BaseException:
            self.__dict__.pop("console", None)  # after an interrupt, rich may stay in buffering mode and print nothing
            raise

    @cached_property
    def console(self) -> Console:
        return _console(sys.stdout)

    @property
    def terminal(self) -> bool:
        return self.console.is_terminal

    @property
    def width(self) -> int:
        return min(self.console.width, MAX_COLUMNS) if self.terminal else PIPE_WIDTH

    @contextmanager
    def progress(self, label: str) -> Iterator[Progress]:
        """Show a progress bar on stderr until the context exits, if stderr is a terminal."""
        if self.machine or not sys.stderr.isatty():
            yield lambda done, total: None
            return
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bars

        parts = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        with Bars(*parts, console=_console(sys.stderr), transient=True) as bars:
            task = bars.add_task(label, total=None)
            yield lambda done, total: bars.update(task, completed=done, total=total)


def columns(text: str) -> int:
    """Measure the width of a text in terminal columns; a Chinese character takes two."""
    from rich.cells import cell_len

    return cell_len(text)


def pad(text: str, width: int) -> str:
    """Pad a text with spaces to a width in columns."""
    return text + " " * (width - columns(text))


def wrapped(text: str, width: int, hang: int = 0) -> Iterator[tuple[int, int]]:
    """Yield start and end of each line of a wrapped text; breaks are between words or CJK characters.

    All lines but the first are ``hang`` columns narrower.
    """
    start, used = 0, 0
    for piece in filter(lambda piece: piece[0], _UNBROKEN.finditer(text)):
        size = columns(piece[0])
        if used and used + size > width:
            yield start, piece.start()
            start, used = piece.start() + len(piece[0]) - len(piece[0].lstrip()), 0
            size = hang + columns(piece[0].lstrip())
        used += size
    yield start, len(text)


def _console(stream: TextIO) -> Console:
    from rich.console import Console

    return Console(file=stream, highlight=False, markup=False, emoji=False)


def print_error(message: str) -> None:
    """Print one line to stderr, with invisible characters escaped."""
    click.echo(visible(message), err=True)
