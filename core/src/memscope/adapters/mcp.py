"""Memory as an MCP server: tools for one user, whom a setting names and no model can choose.

Translation only: the tools are a ``MemorySession``'s. Runs with the SDK's versions 1 and 2 (extra ``mcp``).
"""

from __future__ import annotations

from contextlib import suppress
from datetime import tzinfo
from functools import wraps
from pkgutil import resolve_name
from typing import Any

from memscope.adapters.memory_tools import Tool, ToolSet, bound, described, tool_set
from memscope.adapters.session import FORGET, REMEMBER, SEARCH_MEMORY, MemorySession
from memscope.errors import ConfigError, MemscopeError, install_hint
from memscope.prompts.memory_block import block
from memscope.records import Kind, Record, Turn, WorkReport

SERVERS = (("mcp.server.mcpserver", "MCPServer"), ("mcp.server.fastmcp", "FastMCP"))  # versions 2 and 1
INSTRUCTIONS = (
    "Long-term memory of the user. Search it before you answer what the conversation does not hold; "
    "add what the user wants remembered."
)
LIST = "List this user's newest memories, each with its id: facts and insights, or what was said if there are none."
REFLECT = "Make memories of what was said since the last time, and bring what is known about the user up to date."
MOST = 100  # memories of one list


def server(session: MemorySession, more: ToolSet | None = None) -> Any:
    """The SDK's server with the five tools, and those of the set ``more``; ``run_stdio_async()`` serves it.

    ``ConfigError`` without the SDK.
    """
    server_class, tool_error = _sdk()
    made = server_class("memscope", instructions=INSTRUCTIONS)
    named = {name: bound(tool, session) for name, tool in tool_set(more).items()} if more else {}
    every = tools(session) | {name: (described(tool), tool) for name, tool in named.items()}
    for name, (about, tool) in every.items():
        made.add_tool(_refusing(tool, tool_error), name=name, description=about)
    return made


def _sdk() -> tuple[Any, type[Exception]]:
    """The server's class and the error that a client is told."""
    for place, name in SERVERS:
        with suppress(ImportError, AttributeError):
            return resolve_name(f"{place}:{name}"), resolve_name(f"{place}.exceptions:ToolError")
    raise ConfigError("this needs the MCP SDK", hint=install_hint("mcp"))


def _refusing(tool: Tool, tool_error: type[Exception]) -> Tool:
    @wraps(tool)
    async def called(*args: Any, **given: Any) -> str:
        try:
            return await tool(*args, **given)
        except MemscopeError as error:
            raise tool_error(str(error)) from None

    return called


def tools(session: MemorySession) -> dict[str, tuple[str, Tool]]:
    """Descriptions and functions of the tools. A model gives their arguments only: no user, no agent, no session."""

    async def add_memory(text: str) -> str:
        return await session.answer_remember(text)

    async def search_memory(query: str, kinds: list[Kind] | None = None) -> str:
        return await session.answer_search(query, kinds=kinds)

    async def list_memories(limit: int = 20) -> str:
        return _format_records(await _newest(session, max(1, min(limit, MOST))), await session.local_zone())

    async def forget_memory(ids: list[str]) -> str:
        return await session.answer_forget(ids)

    async def reflect() -> str:
        zone = await session.local_zone()
        return _summarize(await session.do(lambda memory: memory.reflect(user=session.user, zone=zone)))

    return {
        "add_memory": (REMEMBER.description, add_memory),
        "search_memory": (SEARCH_MEMORY.description, search_memory),
        "list_memories": (LIST, list_memories),
        "forget_memory": (FORGET.description, forget_memory),
        "reflect": (REFLECT, reflect),
    }


async def _newest(session: MemorySession, limit: int) -> list[Record]:
    whose: dict[str, Any] = {"user": session.user, "agent": session.agent, "limit": limit}
    found = await session.do(lambda memory: memory.list(**whose, kinds=["observation", "insight"]))
    return found or await session.do(lambda memory: memory.list(**whose, kinds=["turn"]))


def _format_records(records: list[Record], zone: tzinfo | None) -> str:
    if not records:
        return "Nothing is remembered yet."
    return block("\n".join(_line(record, zone) for record in records))


def _line(record: Record, zone: tzinfo | None) -> str:
    text = " ".join(record.text.split())
    if isinstance(record, Turn):
        return f"[id {record.key}] [{record.time.astimezone(zone):%Y-%m-%d}] {record.speaker}: {text}"
    return f"[id {record.id}] [{record.said.astimezone(zone):%Y-%m-%d}] {text}"


def _summarize(report: WorkReport) -> str:
    if report.model == "none":
        return f"There is no chat model: {report.pending} turns stay as they were said, and are found all the same."
    waiting = f" {report.pending} wait: {', '.join(report.errors)}." if report.pending else ""
    return f"{report.new} new memories, {report.merged} merged, {report.superseded} superseded.{waiting}"
