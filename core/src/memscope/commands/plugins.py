"""Command that lists plugins: plugins."""

from __future__ import annotations

import re
from dataclasses import asdict
from importlib import metadata

import click

from memscope.commands.options import Call, command, pass_call
from memscope.commands.output import visible

STYLES = {"loaded": "green", "blocked": "dim", "broken": "red"}


@command("plugins", short_help="Show the plugins, loaded or not and why.")
@click.option("--hook", metavar="NAME", help="Only those with this hook.")
@pass_call
def plugins(call: Call, hook: str | None) -> None:
    """Show the plugins: loaded, blocked by the settings, or broken and why; with what they take part in."""
    from memscope.plugins.loader import Plugins

    listed = [one for one in Plugins(call.settings().plugins).listed() if hook is None or hook in one.hooks]
    for plugin in listed:
        requires = installed_requirements(plugin.distribution)
        call.show.data({**asdict(plugin), "requires": requires})
        origin = f"{plugin.distribution} {plugin.version}".strip()
        call.show.line((f"{plugin.state:<8}", STYLES[plugin.state]), (plugin.name, "bold"), f"  {visible(origin)}")
        if plugin.reason:
            call.show.line(visible(plugin.reason), indent=8)
        if plugin.adapters:
            frameworks = ", ".join(f"{name} {found}" for name, found in requires.items())
            call.show.line(f"adapter for {', '.join(plugin.adapters)}: {visible(frameworks)}", indent=8, hang=2)
        if plugin.hooks:
            call.show.line((", ".join(plugin.hooks), "dim"), indent=8, hang=2)


def installed_requirements(distribution: str) -> dict[str, str]:
    """Versions of the installed distributions that one requires, memscope and extras aside: an adapter's framework."""
    if not distribution:
        return {}
    needed = [text for text in metadata.requires(distribution) or () if "extra ==" not in text]
    names = [name for text in needed if (name := re.split(r"[^\w.-]", text)[0]) != "memscope"]
    return {name: found for name in names if (found := installed_version(name))}


def installed_version(name: str) -> str:
    """Returns "" for a distribution that is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
