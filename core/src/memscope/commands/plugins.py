"""Which plugins there are: plugins."""

from __future__ import annotations

from dataclasses import asdict

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
        call.show.data(asdict(plugin))
        origin = f"{plugin.distribution} {plugin.version}".strip()
        call.show.line((f"{plugin.state:<8}", STYLES[plugin.state]), (plugin.name, "bold"), f"  {visible(origin)}")
        if plugin.reason:
            call.show.line(visible(plugin.reason), indent=8)
        if plugin.hooks:
            call.show.line((", ".join(plugin.hooks), "dim"), indent=8, hang=2)
