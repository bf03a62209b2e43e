"""Registers the command ``mcp``. Imported with the other plugins, so it imports neither the SDK nor the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click


def memscope_register_commands(cli: click.Group) -> None:
    from memscope_mcp.command import mcp

    cli.add_command(mcp)
