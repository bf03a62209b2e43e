"""Options of all commands (user, store, output) and of several commands, and what they open."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from memscope import validation
from memscope.errors import ClosedError, ConfigError, MemscopeError, ModelError, PluginError, StoreError
from memscope.sync import MemoryScope
from memscope_cli.commands.language import CLI_LANGUAGES, Formatter, say, say_sentence
from memscope_cli.commands.output import Display, print_error

if TYPE_CHECKING:
    from memscope.config.settings import Settings
    from memscope.transfer import Progress

BUG, USAGE, PARTLY, INTERRUPTED = 1, 2, 6, 130  # exit codes; EXIT_CODES has those of errors
EXIT_CODES: tuple[tuple[type[MemscopeError], int], ...] = (
    (ConfigError, 3),
    (PluginError, 3),
    (StoreError, 4),
    (ClosedError, 4),
    (ModelError, 5),
    (MemscopeError, USAGE),
)


def exit_code(error: MemscopeError) -> int:
    return next(code for kind, code in EXIT_CODES if isinstance(error, kind))


@dataclass
class Call:
    """Values of the shared options, which may precede or follow the command's name."""

    user: str | None = None
    agent: str | None = None
    session: str | None = None
    store: str | None = None
    config: str | None = None
    zone: str | None = None
    lang: str | None = None
    json: bool = False
    debug: bool = False

    @cached_property
    def show(self) -> Display:
        return Display(machine=self.json)

    @property
    def owner(self) -> dict[str, Any]:
        """Keyword arguments ``user`` and ``agent``. Raise ``UsageError`` without a user."""
        if not (self.user or "").strip():
            raise click.UsageError(say("whose memory? Give --user NAME, or set MEMSCOPE_USER"))
        return {"user": self.user, "agent": self.agent}

    @property
    def scope(self) -> dict[str, Any]:
        """Keyword arguments ``user``, ``agent`` and ``session``."""
        return {**self.owner, "session": self.session}

    def settings(self) -> Settings:
        return self._settings

    @cached_property
    def _settings(self) -> Settings:
        from memscope.config import files, trust
        from memscope.config.settings import load

        loaded = load(self.config)
        if self.zone is not None:
            validation.zone(self.zone)
            loaded = loaded.model_copy(update={"timezone": self.zone})
        for source in files.find(self.config, os.environ):
            if not source.named:
                print_error(say("memscope: settings are read from {file}", file=say_sentence(trust.describe(source))))
        return loaded

    def command(self, words: str) -> str:
        """Insert the options that selected this store into a "memscope ..." command that is suggested to the user."""
        named = {"--store": self.store, "--config": self.config}
        options = [f"{name} {shlex.quote(value)}" for name, value in named.items() if value is not None]
        program, _, rest = words.partition(" ")
        return " ".join([program, *options, rest])

    @property
    def location(self) -> str:
        return self.store if self.store is not None else self.settings().store

    @contextmanager
    def memory(self, *, new: bool = False, **more: Any) -> Iterator[MemoryScope]:
        """Open the memory. Raise ``ConfigError`` if there is no store, unless ``new`` allows creating it."""
        settings = self.settings()
        if not new:
            require_store(self.location)
        self.show.zone = validation.zone(settings.timezone)
        with MemoryScope(self.store, settings=settings, **more) as memory:
            yield memory

    def open(self, *, new: bool = False) -> MemoryScope:
        """Open the memory like ``memory``, and close it when the command ends."""
        return click.get_current_context().with_resource(self.memory(new=new))


def file_of(location: str) -> Path | None:
    """Return the file of a SQLite store, None for any other store."""
    if location == ":memory:" or ("://" in location and not location.startswith("sqlite:///")):
        return None
    return Path(location.removeprefix("sqlite:///")).expanduser()


def require_store(location: str, option: str = "--store") -> None:
    """Raise ``ConfigError`` if a SQLite store does not exist, so that reading does not create it.

    ``option``: the one that names the store.
    """
    path = file_of(location)
    if path is not None and not path.exists() and not path.with_name(f"{path.name}-wal").exists():
        hint = say("memscope add creates it; --store names another")
        if option != "--store":
            hint = say("give {option} a store that is there", option=option)
        raise ConfigError(say("there is no store at {path}", path=repr(str(path))), hint=hint)


def exit_partly(message: str = "") -> NoReturn:
    """Exit with ``PARTLY``: the command did only a part of its work. ``message`` is the reason."""
    if message:
        print_error(f"memscope: {message}")
    raise click.exceptions.Exit(PARTLY)


@contextmanager
def resumable(call: Call, label: str) -> Iterator[Progress]:
    """Show the progress of resumable work, and tell after Ctrl-C how to resume it."""
    with call.show.progress(say(label)) as progress:
        try:
            yield progress
        except KeyboardInterrupt:
            print_error(say("memscope: finished work is kept; the same command resumes it"))
            raise


pass_call = click.make_pass_decorator(Call, ensure=True)


# -------------------------------------------------------------------------------------------------------------- options


def shared_options(*, hidden: bool) -> list[click.Parameter]:
    """Make the options of ``Call``: listed in the program's help, and hidden ones for each command."""

    def option(*names: str, **more: Any) -> click.Option:
        return click.Option(names, expose_value=False, callback=_store_value, hidden=hidden, **more)

    variable = None if hidden else "MEMSCOPE_USER"
    return [
        option("--user", metavar="NAME", envvar=variable, show_envvar=True, help="Whose memory."),
        option("--agent", metavar="NAME", help="Only the records of this agent."),
        option("--session", metavar="NAME", help="Only this session."),
        option("--store", metavar="PLACE", help="A path, or a store's URL; by default what the settings say."),
        option("--config", metavar="FILE", is_eager=True, help="A settings file in YAML."),
        option(
            "--zone",
            metavar="NAME",
            help="The user's time zone, such as Europe/Berlin; by default the settings'.",
        ),
        option("--lang", type=click.Choice(CLI_LANGUAGES), help="Language of this program; by default the locale's."),
        option("--json", is_flag=True, help="Print JSON: one object, or one per line."),
        option("--debug", is_flag=True, help="Show the traceback of an error."),
    ]


def _store_value(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    call = ctx.ensure_object(Call)
    if value not in (None, False):
        setattr(call, str(param.name), value)


class _Context(click.Context):
    formatter_class = Formatter


SHARED_OPTIONS_EPILOG = "--user, --store, --json and the other options of 'memscope --help' work here too."


class Command(click.Command):
    """A command that also takes the shared options."""

    context_class = _Context

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        _add_shared_options(self)


class Group(click.Group):
    """A group of commands that also takes the shared options, with translated help."""

    context_class = _Context
    command_class = Command

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        _add_shared_options(self)


def _add_shared_options(command: click.Command) -> None:
    """Add those that the command does not declare itself, as the program does with all of them."""
    taken = {name for param in command.params for name in param.opts}
    if options := [option for option in shared_options(hidden=True) if not taken.intersection(option.opts)]:
        command.params += options
        command.epilog = command.epilog or SHARED_OPTIONS_EPILOG


def command(name: str, *, group: click.Group | None = None, **more: Any) -> Callable[[Callable[..., Any]], Command]:
    """Turn a function whose first argument is the ``Call`` into a command and add it to ``group``, if any."""

    def make(function: Callable[..., Any]) -> Command:
        built = click.command(name, cls=Command, **more)(pass_call(function))
        if group is not None:
            group.add_command(built)
        return built

    return make


def confirm_or_exit(call: Call, question: str) -> None:
    """Ask for confirmation and exit unless the answer is yes. Without a terminal, require ``--yes``."""
    if call.json or not sys.stdin.isatty():
        raise click.UsageError(say("{question} There is no terminal to ask on: give --yes", question=question))
    if not click.confirm(question, err=True):
        print_error(say("memscope: nothing was changed"))
        raise click.exceptions.Exit(USAGE)


def json_object(ctx: click.Context, param: click.Parameter, value: str | None) -> dict[str, Any] | None:
    """Parse the value of an option as a JSON object; a callback for click."""
    try:
        parsed = None if value is None else json.loads(value)
    except (ValueError, RecursionError):
        parsed = ()
    if parsed is not None and not isinstance(parsed, dict):
        raise click.BadParameter(say("""not a JSON object such as '{"topic": "work"}'"""), ctx, param)
    return parsed


def _validate_time(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    try:
        value and datetime.fromisoformat(value).astimezone()
    except (ValueError, OverflowError, OSError):
        message = say("{value} is not a date or time; write 2026-03-01 or 2026-03-01T10:00", value=repr(value)[:40])
        raise click.BadParameter(message, ctx, param) from None
    return value


def time_option(name: str, help: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(name, metavar="TIME", callback=_validate_time, help=help)


as_of_option = time_option("--as-of", "Only what was known at this time.")


def period_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options ``--since`` and ``--until``."""
    function = time_option("--until", "To this date (all of it) or time.")(function)
    return time_option("--since", "From this date or time on (ISO 8601).")(function)


FILTER_HELP = 'On metadata or data, such as \'{"topic": "work"}\'.'
filter_option = click.option("--filter", metavar="JSON", callback=json_object, help=FILTER_HELP)


def period(since: str | None, until: str | None) -> tuple[Any, Any] | None:
    """Combine ``--since`` and ``--until`` into an interval for ``list`` and ``forget``; a missing end is open."""
    ends = [datetime.fromisoformat(end) for end in (since, until) if end]
    if len(ends) == 2 and not any(end.tzinfo for end in ends) and ends[0].date() > ends[1].date():
        raise click.UsageError(say("--until {until} is before --since {since}", until=until, since=since))
    return (since, until) if since or until else None
