"""The plugin module, which registers the command ``mcp``. It is always imported, so it must not import the SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click


def memscope_register_commands(cli: click.Group) -> None:
    from memscope_mcp.command import mcp

    cli.add_command(mcp)
