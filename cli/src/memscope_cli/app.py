"""The program ``memscope``: a click group with the built-in commands and those of plugins.

Exit codes: 0 success, 1 bug or output that is closed or full, 2 wrong usage or input, 3 configuration or plugin,
4 store, 5 model, 6 partial success, 130 interrupted. An error is one line on stderr, or one JSON object with
``--json``; ``--debug`` adds the traceback.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import traceback
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

import click

from memscope import __version__
from memscope.errors import ConfigError, InputError, MemscopeError, install_hint
from memscope_cli.commands import register
from memscope_cli.commands.language import say, say_error, use_language
from memscope_cli.commands.options import BUG, INTERRUPTED, Call, Group, exit_code, shared_options
from memscope_cli.commands.output import json_line, print_error

COMMANDS_OF_EXTRAS = {"mcp": "mcp", "serve": "server", "token": "server"}
#: Hidden aliases of commands, for names that people try.
COMMAND_ALIASES = {
    "ask": "context",
    **dict.fromkeys(("search", "find", "recall", "query"), "retrieve"),
    **dict.fromkeys(("remember", "save", "store"), "add"),
    **dict.fromkeys(("get", "cat"), "show"),
    "ls": "list",
}
#: Names that only get a pointer to the right command, because a guess must not delete anything.
SUGGESTED_COMMANDS = {
    **dict.fromkeys(("delete", "remove", "rm"), "forget"),
    **dict.fromkeys(("ui", "web", "inspector", "dashboard"), "serve"),
    "edit": "update",
    "talk": "chat",
}
QUIT_WORDS = ("q", "quit", "exit", "bye")


class Program(Group):
    """The root group. It loads plugins only for an unknown command or to list all commands."""

    _discovered = False

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = super().get_command(ctx, cmd_name) or super().get_command(ctx, COMMAND_ALIASES.get(cmd_name, ""))
        if command is None:
            self._discover(ctx)
            command = super().get_command(ctx, cmd_name)
        if command is None:
            _explain_unknown(cmd_name, self.commands)
        return command

    def list_commands(self, ctx: click.Context) -> list[str]:
        try:
            self._discover(ctx)
        except MemscopeError as error:
            print_error(say("memscope: plugins are left out: {error}", error=say_error(error)))
        return list(self.commands)

    def _discover(self, ctx: click.Context) -> None:
        if self._discovered:
            return
        from memscope.plugins.loader import Plugins

        Plugins(ctx.ensure_object(Call).settings().plugins).add_commands(self)
        self._discovered = True

    def main(  # type: ignore[override]  # one signature for click's two overloads
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **more: Any
    ) -> Any:
        arguments = list(sys.argv[1:] if args is None else args)
        standalone = more.pop("standalone_mode", True)
        with use_language(_language_option(arguments)):
            try:
                code = super().main(arguments, prog_name, standalone_mode=False, **more)
            except BrokenPipeError:
                raise
            except Exception as error:
                if not standalone:
                    raise
                code = _report_error(error, machine="--json" in arguments, debug="--debug" in arguments)
        if not standalone:
            return code
        sys.exit(code if isinstance(code, int) else 0)


def _explain_unknown(name: str, commands: Iterable[str]) -> None:
    """Raise an error with specific advice about an unknown command, if its name suggests what was meant."""
    if extra := COMMANDS_OF_EXTRAS.get(name):
        message = say("{command} comes with the extra {extra}, which is not loaded", command=name, extra=extra)
        raise ConfigError(message, hint=install_hint(extra))
    if name in SUGGESTED_COMMANDS:
        command = f"memscope {SUGGESTED_COMMANDS[name]}"
        raise InputError(say("no command {name}; see {command} --help", name=repr(name), command=command))
    if name in QUIT_WORDS:
        raise InputError(say("nothing is open: each command ends by itself, and /exit ends memscope chat"))
    near = get_close_matches(name, [*commands, *COMMAND_ALIASES], 1)
    if near and near[0] in COMMAND_ALIASES:  # click itself suggests listed commands
        raise InputError(say("no command {name}; did you mean {near}?", name=repr(name), near=repr(near[0])))


def _language_option(args: Sequence[str]) -> str | None:
    """Find the value of --lang before click parses the options, since --help prints during parsing."""
    words = [part for arg in args for part in (arg.split("=", 1) if arg.startswith("--lang=") else [arg])]
    return next((value for name, value in pairwise(words) if name == "--lang"), None)


def _report_error(error: Exception, *, machine: bool, debug: bool) -> int:
    """Print an error, as JSON if ``machine``, and return its exit code."""
    shows_help = getattr(click.exceptions, "NoArgsIsHelpError", ())  # new in click 8.2
    if isinstance(error, click.UsageError) and isinstance(error, shows_help):
        error.show()
        return error.exit_code
    code, about = _describe_error(error)
    if debug and not isinstance(error, click.ClickException | click.Abort):
        traceback.print_exception(error)
    if machine:
        details = {"code": "usage", "message": "", "hint": "", "retryable": False} | about
        click.echo(json_line({"error": details}, ascii_only=True), err=True)
    else:
        see = say(" ({hint})", hint=about["hint"]) if isinstance(error, click.UsageError) and "hint" in about else ""
        print_error(f"memscope: {about['message']}{see}")
    return code


def _describe_error(error: Exception) -> tuple[int, dict[str, Any]]:
    """Return the exit code of an error and the fields of its JSON object."""
    if isinstance(error, MemscopeError):
        about = {"code": error.code, "hint": error.hint, "retryable": error.retryable}
        return exit_code(error), {**about, "message": say_error(error)}
    if isinstance(error, click.Abort):
        return INTERRUPTED, {"code": "interrupted", "message": say("interrupted")}
    if isinstance(error, click.ClickException):
        seen = error.ctx if isinstance(error, click.UsageError) else None
        hint = {"hint": say("see {command} --help", command=seen.command_path)} if seen else {}
        return error.exit_code, {"message": error.format_message().rstrip(".。"), **hint}
    if isinstance(error, OSError) and error.filename is None and error.strerror:
        return BUG, {"code": "output", "message": say("the output cannot be written: {error}", error=error.strerror)}
    words = "{error}, which is a bug of memscope or of a plugin; --debug shows where"
    return BUG, {"code": "bug", "message": say(words, error=type(error).__name__)}


@click.group("memscope", cls=Program, params=shared_options(hidden=False))
@click.version_option(__version__, prog_name="memscope", help="Show the version and exit.")
def cli() -> None:
    """Long-term memory for LLM agents.

    Try it without a server, a key or a model: memscope demo
    """


register(cli)


def main() -> None:
    """Run the program. Characters that the console cannot encode are escaped."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # inherited from a shell's "&"; react to SIGINT nevertheless
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if sys.stdin is None:  # the caller has closed it, as some daemons do
        sys.stdin = open(os.devnull, encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    cli(prog_name="memscope")


if __name__ == "__main__":
    main()
