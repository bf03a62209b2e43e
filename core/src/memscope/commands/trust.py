"""Command that trusts settings files: trust."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import click

from memscope.commands.options import Call, command, pass_call
from memscope.commands.output import visible
from memscope.errors import ConfigError, InputError


@command("trust", short_help="Trust the settings file of a folder.")
@click.argument("file", default="memscope.yaml", type=click.Path(dir_okay=False))
@click.option("--list", "listing", is_flag=True, help="Show the trusted files.")
@click.option("--revoke", is_flag=True, help="Trust FILE no more.")
@pass_call
def trust(call: Call, file: str, listing: bool, revoke: bool) -> None:
    """Trust FILE, by default ./memscope.yaml, as it is now: it may name models, servers, prompts and plugins.

    A settings file of the current folder that was neither named (--config, MEMSCOPE_CONFIG) nor trusted may not.
    """
    from memscope.config import trust

    if listing:
        _show(call, trust.trusted())
    elif revoke:
        if not trust.remove(Path(file)):
            raise InputError(f"{file!r} is not trusted", hint="memscope trust --list shows what is")
        call.show.data({"file": file, "state": "unknown"})
        call.show.line(f"{visible(file)} is not trusted any more")
    else:
        _trust(call, Path(file))


def _trust(call: Call, path: Path) -> None:
    from memscope.config import trust
    from memscope.config.settings import load
    from memscope.config.sources import Sources

    load(path)  # mistakes are told before it is trusted
    names = [name for name, _ in trust.guarded(Sources.read(path, os.environ).file)]
    trust.add(path)
    call.show.data({"file": str(path.resolve()), "state": "trusted", "settings": names})
    call.show.line(
        f"{visible(str(path.resolve()))} is trusted as it is now; what needs it: {', '.join(names) or 'nothing'}"
    )


def _show(call: Call, known: Mapping[str, str]) -> None:
    from memscope.config import files, trust

    for name in known:
        try:
            state = trust.state_of(files.read(Path(name), named=False))
        except ConfigError:
            state = "unknown"
        call.show.data({"file": name, "state": state})
        note = {"changed": "  changed since, so not trusted now", "unknown": "  cannot be read"}.get(state, "")
        call.show.line(f"{visible(name)}{note}")
