"""Commands about this installation: plugins, trust, completion."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import asdict
from importlib import metadata
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from memscope.errors import ConfigError, InputError
from memscope_cli.commands.language import join, say
from memscope_cli.commands.options import Call, command
from memscope_cli.commands.output import pad, visible

STATE_STYLES = {"loaded": "green", "blocked": "dim", "broken": "red", "missing": "red"}


@command("plugins", short_help="Show the plugins, loaded or not and why.")
@click.option("--hook", metavar="NAME", help="Only plugins with this hook.")
def plugins(call: Call, hook: str | None) -> None:
    """Show the plugins with their hooks, and whether each is loaded, blocked by the settings, broken or missing."""
    from memscope.plugins.loader import Plugins

    listed = [one for one in Plugins(call.settings().plugins).listed() if hook is None or hook in one.hooks]
    for plugin in listed:
        requires = installed_requirements(plugin.distribution)
        call.show.data({**asdict(plugin), "requires": requires})
        origin = f"{plugin.distribution} {plugin.version}".strip()
        state = (pad(say(plugin.state), 8), STATE_STYLES[plugin.state])
        call.show.line(state, (plugin.name, "bold"), f"  {visible(origin)}")
        if plugin.reason:
            call.show.line(visible(plugin.reason), indent=8)
        if plugin.adapters:
            frameworks = join(f"{name} {version}" for name, version in requires.items())
            words = say("adapter for {names}", names=join(plugin.adapters))
            framework = visible(frameworks) or say("its framework is not installed")
            call.show.line(f"{words}: {framework}", indent=8, hang=2)
        if plugin.hooks:
            call.show.line((join(plugin.hooks), "dim"), indent=8, hang=2)


def installed_requirements(distribution: str) -> dict[str, str]:
    """Map the requirements of a distribution, such as an adapter's framework, to installed versions; omit memscope."""
    if not distribution:
        return {}
    needed = [text for text in metadata.requires(distribution) or () if "extra ==" not in text]
    names = [name for text in needed if (name := re.split(r"[^\w.-]", text)[0]) != "memscope"]
    return {name: version for name in names if (version := installed_version(name))}


def installed_version(name: str) -> str:
    """Return the version of a distribution, "" if it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


# ---------------------------------------------------------------------------------------------------------------- trust


@command("trust", short_help="Trust the settings file of a folder.")
@click.argument("file", default="memscope.yaml", type=click.Path(dir_okay=False))
@click.option("--list", "listing", is_flag=True, help="Show the trusted files.")
@click.option("--revoke", is_flag=True, help="Stop trusting FILE.")
def trust(call: Call, file: str, listing: bool, revoke: bool) -> None:
    """Trust the present contents of FILE, by default ./memscope.yaml; they override your own settings file.

    A settings file of the current folder that was neither named (--config, MEMSCOPE_CONFIG) nor trusted may set only
    the pace of the work: no store, model, prompt, plugin, redaction, approval or limit.
    """
    from memscope.config import trust

    if listing:
        _show_trusted(call, trust.trusted())
    elif revoke:
        if not trust.remove(Path(file)):
            hint = say("memscope trust --list shows what is")
            raise InputError(say("{file} is not trusted", file=repr(file)), hint=hint)
        call.show.report({"file": file, "state": "unknown"}, say("{file} is not trusted any more", file=visible(file)))
    else:
        _trust(call, Path(file))


def _trust(call: Call, path: Path) -> None:
    from memscope.config import trust
    from memscope.config.settings import load
    from memscope.config.sources import SettingsSources

    load(path)  # raise for mistakes before trusting the file
    names = [name for _, layer in SettingsSources.read(path, os.environ).files for name in trust.guarded(layer)]
    trust.add(path)
    file = str(path.resolve())
    words = say("{file} is trusted as it is now; settings that need it: {names}", file=visible(file),
                names=join(names) or say("nothing"))  # fmt: skip
    call.show.report({"file": file, "state": "trusted", "settings": names}, words)


def _show_trusted(call: Call, known: Mapping[str, str]) -> None:
    from memscope.config import files, trust

    notes = {"changed": "  changed since, so not trusted now", "unknown": "  cannot be read"}
    for name in known:
        try:
            state = trust.state_of(files.read(Path(name), named=False))
        except ConfigError:
            state = "unknown"
        call.show.report({"file": name, "state": state}, visible(name) + (say(notes[state]) if state in notes else ""))


# ----------------------------------------------------------------------------------------------------------- completion

COMPLETION_MARK = "# memscope: completion of commands and options"
RC_FILES = {"bash": "~/.bashrc", "zsh": "~/.zshrc", "fish": "~/.config/fish/completions/memscope.fish"}
SHELLS = click.Choice(list(RC_FILES))


@command("completion", short_help="Let the shell complete commands and options.")
@click.argument("shell", required=False, type=SHELLS)
@click.option("--install", is_flag=True, help="Add it to the shell's startup file.")
def completion(call: Call, shell: str | None, install: bool) -> None:
    """Print a script that lets SHELL (bash, zsh or fish; by default $SHELL) complete commands and options.

    --install adds it, once, to ~/.bashrc, ~/.zshrc or fish's own folder.
    """
    shell = shell or Path(os.environ.get("SHELL", "")).name
    kind = get_completion_class(shell) if shell in RC_FILES else None
    if kind is None:
        raise click.UsageError(say("which shell? Give bash, zsh or fish"))
    script = kind(click.Command("memscope"), {}, "memscope", "_MEMSCOPE_COMPLETE").source()
    path = Path(RC_FILES[shell]).expanduser()
    if not install:
        call.show.data({"shell": shell, "script": script})
        if not call.json:
            click.echo(script)
        return
    done = _append_once(path, f"\n{COMPLETION_MARK}\n{script}")
    words = "{file} completes memscope from the next shell on" if done else "{file} completes memscope already"
    call.show.report({"shell": shell, "file": str(path), "written": done}, say(words, file=visible(str(path))))


def _append_once(path: Path, lines: str) -> bool:
    try:
        if path.exists() and COMPLETION_MARK in path.read_text(encoding="utf-8", errors="replace"):
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(lines)
    except OSError as error:
        raise InputError(say("cannot write {file}: {error}", file=repr(str(path)), error=error.strerror)) from None
    return True
