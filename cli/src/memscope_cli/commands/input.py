"""Reading of chat messages of one or more lines, typed, pasted or piped.

With GNU readline, a paste is one message (bracketed paste). The line history is not saved.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import ModuleType

import click

QUOTES = '"""'
MAX_INPUT_LINE_BYTES = 4 * 1024 * 1024  # longer lines are cut off, and refused as too long
CLEAR_LINE = "\r\x1b[K"  # return to column 1 and erase the line


def read_line() -> bytes:
    """Read the next line of stdin, b"" at the end; cut it off at ``MAX_INPUT_LINE_BYTES`` to bound memory."""
    stdin = sys.stdin.buffer
    line = rest = stdin.readline(MAX_INPUT_LINE_BYTES)
    while len(rest) == MAX_INPUT_LINE_BYTES and not rest.endswith(b"\n"):
        rest = stdin.readline(MAX_INPUT_LINE_BYTES)
    return line


def read_message(keyboard: Pipe, prompt: str) -> str:
    """Read a message: one line, lines continued by a backslash at their end, or lines between two lines of quotes."""
    lines = [keyboard.line(prompt)]
    while lines[-1].endswith("\\"):
        lines[-1] = lines[-1][:-1]
        lines.append(keyboard.line("… "))
    if lines[0].strip() != QUOTES:
        return "\n".join(lines)
    lines = []
    while not lines or lines[-1].strip() != QUOTES:
        lines.append(keyboard.line("… "))
    return "\n".join(lines[:-1])


class Pipe:
    """Reads messages from a standard input that is not a terminal."""

    asks = False  # whether a person can answer questions

    def line(self, prompt: str) -> str:
        """Read the next line. Raise ``EOFError`` at the end."""
        if line := read_line():
            return line.decode("utf-8-sig", errors="replace").rstrip("\r\n")
        raise EOFError

    def above(self, say: Callable[[], None]) -> None:
        """Call ``say``, which prints, and restore a line that is being typed below its output."""
        say()


class Terminal(Pipe):
    """Reads messages from a person at a terminal, with readline if Python has it."""

    asks = True

    def __init__(self, complete: Callable[[str], Sequence[str]]) -> None:
        self._readline = _readline()
        self._complete = complete
        self._prompt: str | None = None
        if self._readline is not None:
            self._set_up(self._readline)

    def line(self, prompt: str) -> str:
        self._prompt = prompt
        try:
            return input(prompt)
        finally:
            self._prompt = None

    def above(self, say: Callable[[], None]) -> None:
        prompt = self._prompt
        if prompt is None:
            say()
            return
        click.echo(CLEAR_LINE, nl=False)
        say()
        typed = self._readline.get_line_buffer() if self._readline else ""
        click.echo(prompt + typed, nl=False)

    def _set_up(self, readline: ModuleType) -> None:
        readline.set_completer_delims(" \n")
        readline.set_completer(self._candidate)
        libedit = "libedit" in (readline.__doc__ or "")
        readline.parse_and_bind("bind ^I rl_complete" if libedit else "tab: complete")
        if not libedit:
            readline.parse_and_bind("set enable-bracketed-paste on")

    def _candidate(self, text: str, number: int) -> str | None:
        assert self._readline is not None
        candidates = self._complete(self._readline.get_line_buffer()[: self._readline.get_endidx()])
        return candidates[number] if number < len(candidates) else None


def _readline() -> ModuleType | None:
    try:
        import readline
    except ImportError:  # Windows
        return None
    return readline
