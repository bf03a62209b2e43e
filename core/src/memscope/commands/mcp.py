"""Memory as tools for any MCP client: mcp."""

from __future__ import annotations

import asyncio

from memscope import AsyncMemoryScope
from memscope.adapters.mcp import server
from memscope.adapters.session import MemorySession
from memscope.commands.options import Call, command, pass_call


@command("mcp", short_help="Serve memory as MCP tools over stdio.")
@pass_call
def mcp(call: Call) -> None:
    """Serve one user's memory to an MCP client over stdio, as five tools.

    The user is --user (or MEMSCOPE_USER), never anything a model says. Needs the extra: memscope[mcp].
    """
    asyncio.run(serve(call))


async def serve(call: Call) -> None:
    scope = call.scope
    async with AsyncMemoryScope(call.store, settings=call.config) as memory:
        made = server(MemorySession(**scope, memory=memory))
        await memory.start()
        await made.run_stdio_async()
