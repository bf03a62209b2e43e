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
from typing import Any, NoReturn

import click

from memscope import __version__
from memscope.commands import register
from memscope.commands.options import BUG, INTERRUPTED, Call, Command, exit_code, shared_options
from memscope.commands.output import json_line, print_error
from memscope.errors import MemscopeError


class Failure(click.ClickException):
    """An error on its way to stderr."""

    def __init__(self, message: str, code: int, *, about: dict[str, Any]) -> None:
        super().__init__(message)
        self.code = code
        self.about = about


class Program(click.Group):
    """The group. Plugins other than the built-in one are loaded when a command is unknown, or to list them all."""

    command_class = Command
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
            print_error(f"memscope: plugins are left out: {error}")

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except MemscopeError as error:
            about = {"code": error.code, "message": str(error), "hint": error.hint, "retryable": error.retryable}
            self._fail(ctx, error, Failure(str(error), exit_code(error), about=about))
        except (click.ClickException, click.Abort, click.exceptions.Exit, OSError):
            raise
        except Exception as error:
            said = f"{type(error).__name__}, which is a bug of memscope or of a plugin; --debug shows where"
            self._fail(ctx, error, Failure(said, BUG, about={"code": "bug", "message": said}))

    def _fail(self, ctx: click.Context, error: Exception, failure: Failure) -> NoReturn:
        if ctx.ensure_object(Call).debug:
            traceback.print_exception(error)
        failure.about["json"] = ctx.ensure_object(Call).json
        raise failure from error

    def main(  # type: ignore[override]  # one signature for click's two overloads
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **more: Any
    ) -> Any:
        if not more.pop("standalone_mode", True):
            return super().main(args, prog_name, standalone_mode=False, **more)
        try:
            code = super().main(args, prog_name, standalone_mode=False, **more)
        except click.ClickException as error:
            code = _report(error)
        except click.Abort:
            print_error("memscope: interrupted")
            code = INTERRUPTED
        sys.exit(code if isinstance(code, int) else 0)


def _report(error: click.ClickException) -> int:
    if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):  # click 8.2
        error.show()
    elif not isinstance(error, Failure):
        hint = f" (see {error.ctx.command_path} --help)" if isinstance(error, click.UsageError) and error.ctx else ""
        print_error(f"memscope: {error.format_message()}{hint}")
    elif error.about.pop("json"):
        click.echo(json_line({"error": error.about}, ascii_only=True), err=True)
    else:
        print_error(f"memscope: {error.format_message()}")
    return error.code if isinstance(error, Failure) else error.exit_code


@click.group("memscope", cls=Program, params=shared_options(hidden=False))
@click.version_option(__version__, prog_name="memscope")
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
