"""The program ``memscope``: a click group whose commands plugins register, the built-in ones included.

Exit codes: 0 done, 1 a bug or a closed pipe, 2 wrong usage or input, 3 configuration or plugin, 4 store, 5 model,
6 partly done, 130 interrupted. An error is one line on stderr, or one object with ``--json``; ``--debug`` adds the
traceback.
"""

from __future__ import annotations

import io
import signal
import sys
import traceback
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NoReturn

import click

from memscope import __version__
from memscope.commands import register
from memscope.commands.language import say, say_error, speaking
from memscope.commands.options import BUG, INTERRUPTED, Call, Group, exit_code, shared_options
from memscope.commands.output import json_line, print_error
from memscope.errors import MemscopeError


class Failure(click.ClickException):
    """An error on its way to stderr; ``about`` is its object for programs."""

    def __init__(self, message: str, exits: int, **about: Any) -> None:
        super().__init__(message)
        self.exits = exits
        self.about = about


class Program(Group):
    """The group. Plugins other than the built-in one are loaded when a command is unknown, or to list them all."""

    _discovered = False

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = super().get_command(ctx, cmd_name)
        if found is None:
            self._discover(ctx)
        return found or super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        self._discover(ctx)
        return list(self.commands)

    def _discover(self, ctx: click.Context) -> None:
        if self._discovered:
            return
        self._discovered = True
        from memscope.plugins.loader import Plugins

        try:
            Plugins(ctx.ensure_object(Call).settings().plugins).add_commands(self)
        except MemscopeError as error:
            print_error(say("memscope: plugins are left out: {error}", error=error))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except MemscopeError as error:
            about = {"code": error.code, "hint": error.hint, "retryable": error.retryable}
            self._fail(ctx, error, Failure(say_error(error), exit_code(error), **about))
        except (click.ClickException, click.Abort, click.exceptions.Exit, OSError):
            raise
        except Exception as error:
            told = say("{error}, which is a bug of memscope or of a plugin; --debug shows where",
                       error=type(error).__name__)  # fmt: skip
            self._fail(ctx, error, Failure(told, BUG, code="bug"))

    def _fail(self, ctx: click.Context, error: Exception, failure: Failure) -> NoReturn:
        if ctx.ensure_object(Call).debug:
            traceback.print_exception(error)
        raise failure from error

    def main(  # type: ignore[override]  # one signature for click's two overloads
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **more: Any
    ) -> Any:
        given = list(sys.argv[1:] if args is None else args)
        standalone = more.pop("standalone_mode", True)
        with speaking(_asked_language(given)):
            try:
                code = super().main(given, prog_name, standalone_mode=False, **more)
            except (click.ClickException, click.Abort) as error:
                if not standalone:
                    raise
                code = _report(error, machine="--json" in given)
        if not standalone:
            return code
        sys.exit(code if isinstance(code, int) else 0)


def _asked_language(args: Sequence[str]) -> str | None:
    """Returns the value of --lang, read before anything else: help is printed while options are read."""
    words = [part for arg in args for part in (arg.split("=", 1) if arg.startswith("--lang=") else [arg])]
    return next((value for name, value in pairwise(words) if name == "--lang"), None)


def _report(error: click.ClickException | click.Abort, *, machine: bool) -> int:
    """Print an error, for programs as an object; returns its exit code."""
    about: dict[str, Any] = {"code": "usage", "hint": "", "retryable": False}
    if isinstance(error, click.Abort):
        code, message, about["code"] = INTERRUPTED, say("interrupted"), "interrupted"
    elif isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):  # click 8.2
        error.show()
        return error.exit_code
    else:
        code, message = error.exit_code, error.format_message()
    if isinstance(error, Failure):
        code, about = error.exits, about | error.about
    elif isinstance(error, click.UsageError) and error.ctx:
        about["hint"] = say("see {command} --help", command=error.ctx.command_path)
    if machine:
        told = {"code": about["code"], "message": message, "hint": about["hint"], "retryable": about["retryable"]}
        click.echo(json_line({"error": told}, ascii_only=True), err=True)
    else:
        see = say(" ({hint})", hint=about["hint"]) if about["code"] == "usage" and about["hint"] else ""
        print_error(f"memscope: {message}{see}")
    return code


@click.group("memscope", cls=Program, params=shared_options(hidden=False))
@click.version_option(__version__, prog_name="memscope", help="Show the version and exit.")
def cli() -> None:
    """Long-term memory for LLM agents.

    Try it without a server, a key or a model: memscope demo
    """


register(cli)


def main() -> None:
    """Entry point. What a console cannot encode is escaped, never an error."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a background shell's: an interrupt sent on purpose ends us
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    cli(prog_name="memscope")


if __name__ == "__main__":
    main()
