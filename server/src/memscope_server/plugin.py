"""Registers the commands ``serve`` and ``token``. Loaded with all plugins, so it must not import web code."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click


def memscope_register_commands(cli: click.Group) -> None:
    from memscope_server.commands import serve, token

    cli.add_command(serve)
    cli.add_command(token)
