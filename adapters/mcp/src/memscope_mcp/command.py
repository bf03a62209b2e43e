"""Command ``memscope mcp``: run the server, or (install, uninstall) edit the settings of a client that starts it."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import click

from memscope import AsyncMemoryScope
from memscope.errors import ConfigError
from memscope_cli.commands.language import say
from memscope_cli.commands.options import Call, Group, command, confirm_or_exit, pass_call, require_store
from memscope_cli.commands.output import print_error
from memscope_mcp.clients import CLIENTS, Change, config_file, entry, install, uninstall

if TYPE_CHECKING:
    from memscope.adapters.memory_tools import ToolSet


tools_option = click.option(
    "--tools", type=click.Choice(["core", "archival", "all"]), help="More tools: for core memory, or archival."
)


@click.group("mcp", cls=Group, invoke_without_command=True, short_help="Serve memory as MCP tools over stdio.")
@tools_option
@pass_call
@click.pass_context
def mcp(context: click.Context, call: Call, tools: ToolSet | None) -> None:
    """Serve one user's memory to an MCP client over stdio, as five tools, and more with --tools.

    The user is --user (or MEMSCOPE_USER), never anything a model says. Needs the extra mcp.
    """
    if context.invoked_subcommand is not None:
        return
    call.settings()
    scope = call.scope
    if call.store is not None:  # catch a misspelt location
        require_store(call.store)
    if sys.stdin.isatty():
        print_error(say("memscope: this is an MCP server: a client such as an editor starts it and speaks JSON to it."))
        print_error(say("memscope: docs/mcp.md has the lines for the client's settings; Ctrl-C ends it"))
    asyncio.run(_run_mcp(call, scope, tools))


async def _run_mcp(call: Call, scope: dict[str, Any], tools: ToolSet | None) -> None:
    from memscope.adapters.session import MemorySession
    from memscope_mcp.server import server

    async with AsyncMemoryScope(call.store, settings=call.settings()) as memory:
        served = server(MemorySession(**scope, memory=memory), tools)
        memory.admin.runtime.work.work_by_itself()
        memory.admin.runtime.work.work_for(scope["user"])
        await served.run_stdio_async()


client_argument = click.argument("client", type=click.Choice(sorted(CLIENTS)))
file_option = click.option(
    "--file", metavar="FILE", help="The client's file of settings, where it is not the usual one."
)
dry_run_option = click.option("--dry-run", is_flag=True, help="Only show what would change.")
yes_option = click.option("--yes", is_flag=True, help="Do not ask.")


@command("install", group=mcp, short_help="Add memory to the settings of an MCP client.")
@client_argument
@tools_option
@file_option
@dry_run_option
@yes_option
def install_(call: Call, client: str, tools: str | None, file: str | None, dry_run: bool, yes: bool) -> None:
    """Show how the settings of CLIENT change so that it starts this server, and write that; a person is asked first.

    The file as it was stays beside it with the ending .bak. A second time nothing changes.
    """
    options = {"--user": call.scope["user"], "--agent": call.agent, "--zone": call.zone, "--tools": tools}
    change = install(client, config_file(client, file), entry(options, call.store, call.config))
    _apply(call, change, dry_run=dry_run, yes=yes)
    try:
        require_store(call.store or ":memory:")
    except ConfigError as error:  # the client would only say that its server ended
        print_error(f"memscope: {error}")


@command("uninstall", group=mcp, short_help="Take memory out of the settings of an MCP client.")
@client_argument
@file_option
@dry_run_option
@yes_option
def uninstall_(call: Call, client: str, file: str | None, dry_run: bool, yes: bool) -> None:
    """Show the settings of CLIENT without this server, and write them; a person is asked first. Memory itself stays."""
    _apply(call, uninstall(client, config_file(client, file)), dry_run=dry_run, yes=yes)


def _apply(call: Call, change: Change, *, dry_run: bool, yes: bool) -> None:
    file = str(change.file)
    if change and not call.json:
        click.echo(change.shown())
        if not (dry_run or yes) and sys.stdin.isatty():
            confirm_or_exit(call, say("Write this to {file}?", file=file))
    if not dry_run:
        change.write()
    if call.json:
        call.show.data({"file": file, "changed": bool(change), "written": bool(change) and not dry_run})
    if not change:
        print_error(say("memscope: {file} needs no change", file=file))
    elif not dry_run:
        print_error(say("memscope: {file} is written; restart the client", file=file))
