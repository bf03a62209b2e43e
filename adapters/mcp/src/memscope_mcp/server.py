"""Memory as an MCP server: tools for one user, whom the settings name and a model cannot choose.

The tools only wrap a ``MemorySession``. Works with versions 1 and 2 of the MCP SDK (extra ``mcp``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import replace
from datetime import tzinfo
from functools import wraps
from pkgutil import resolve_name
from typing import Any

from memscope.adapters import memory_tools
from memscope.adapters.memory_tools import READING, Tool, ToolSet, bound, described, tool_set
from memscope.adapters.session import MemorySession
from memscope.errors import VERSION, ConfigError, MemscopeError, install_hint
from memscope.prompts.memory_block import block
from memscope.records import Record, Turn, WorkReport, in_zone
from memscope.validation import count

SERVERS = (("mcp.server.mcpserver", "MCPServer"), ("mcp.server.fastmcp", "FastMCP"))  # versions 2 and 1
SERVER_INSTRUCTIONS = (
    "Long-term memory of the user. Search it before you answer what the conversation does not hold; "
    "add what the user wants remembered."
)
LIST = "List this user's newest memories, each with its id: facts and insights, or what was said if there are none."
REFLECT = "Make memories of what was said since the last time, and bring what is known about the user up to date."
MAX_LISTED_MEMORIES = 100
READ_ONLY = frozenset({"search_memory", "list_memories"}) | READING
ReportProgress = Callable[[int, int], Awaitable[None]]
_context: ContextVar[Any] = ContextVar("memscope_mcp_context", default=None)  # the running call's, set by SDK 2
#: Our messages for pydantic's error types.
ARGUMENT_ERRORS: Mapping[str, str] = {
    "missing": "is missing",
    "string_type": "must be text",
    "list_type": "must be a list",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
}


def server(session: MemorySession, more: ToolSet | None = None) -> Any:
    """Create the SDK's server with the five tools and those of the set ``more``. ``run_stdio_async()`` runs it.

    Raise ``ConfigError`` without the SDK.
    """
    server_class, tool_error = _sdk()
    served = _with_own_errors(server_class, tool_error)("memscope", instructions=SERVER_INSTRUCTIONS)
    for part in (served, *vars(served).values()):  # SDK 1 would report its own version
        if hasattr(part, "create_initialization_options"):
            part.version = VERSION
    named = {name: bound(tool, session) for name, tool in tool_set(more).items()} if more else {}
    all_tools = tools(session, _progress(served)) | {name: (described(tool), tool) for name, tool in named.items()}
    for name, (about, tool) in all_tools.items():
        served.add_tool(_with_errors(tool, tool_error), name=name, description=about, annotations=_annotations(name))
    return served


def _annotations(name: str) -> Any:
    """Return hints for clients: which tools only read, and which one deletes."""
    hints = {"readOnlyHint": name in READ_ONLY, "destructiveHint": name == "forget_memory", "openWorldHint": False}
    return resolve_name("mcp.types:ToolAnnotations").model_validate(hints)


def _progress(server: Any) -> ReportProgress:
    """Return a function that reports the progress of a call to clients that asked for it."""

    async def report(done: int, total: int) -> None:
        context = _context.get() or server.get_context()  # the latter with SDK 1
        await context.report_progress(done, total)

    return report


def _with_own_errors(server_class: Any, tool_error: type[Exception]) -> Any:
    """Subclass the server so that errors are in our words, without the SDK's prefix and pydantic's messages."""

    async def call_tool(self: Any, name: str, *args: Any, **more: Any) -> Any:
        token = _context.set(more.get("context") or next(iter(args[1:]), None))
        try:
            return await server_class.call_tool(self, name, *args, **more)
        except tool_error as error:
            raise tool_error(_reword(error)) from None
        finally:
            _context.reset(token)

    return type("MemoryServer", (server_class,), {"call_tool": call_tool})


def _reword(error: Exception) -> str:
    cause = error.__cause__
    if cause is None or not hasattr(cause, "errors"):
        return str(cause or error)
    first = cause.errors(include_url=False, include_input=False, include_context=False)[0]
    name = str(first["loc"][0]) if first["loc"] else "the arguments"
    return f"{name} {ARGUMENT_ERRORS.get(first['type'], 'cannot be taken: ' + first['msg'])}"


def _sdk() -> tuple[Any, type[Exception]]:
    """Return the SDK's server class, and the exception whose text is reported to a client."""
    for place, name in SERVERS:
        with suppress(ImportError, AttributeError):
            return resolve_name(f"{place}:{name}"), resolve_name(f"{place}.exceptions:ToolError")
    raise ConfigError("this needs the MCP SDK", hint=install_hint("mcp"))


def _with_errors(tool: Tool, tool_error: type[Exception]) -> Tool:
    @wraps(tool)
    async def call(*args: Any, **arguments: Any) -> str:
        try:
            return await tool(*args, **arguments)
        except MemscopeError as error:
            raise tool_error(str(error)) from None
        except Exception as error:  # its message may quote a conversation
            raise tool_error(f"{type(error).__name__}, which is a bug of memscope or of a plugin") from None

    return call


def tools(session: MemorySession, progress: ReportProgress) -> dict[str, tuple[str, Tool]]:
    """Return description and function of each tool. The model fills in no user, agent or session."""

    async def add_memory(text: str) -> str:
        return await session.answer_remember(text)

    async def list_memories(limit: int = 20) -> str:
        return _format_records(
            await _newest(session, count("limit", limit, MAX_LISTED_MEMORIES)), await session.local_zone()
        )

    async def forget_memory(ids: list[str] | str) -> str:
        return await session.answer_forget([ids] if isinstance(ids, str) else ids)

    async def reflect() -> str:
        zone = await session.local_zone()
        await progress(0, 2)
        read = await session.do(lambda memory: memory.consolidate(user=session.user, zone=zone))
        await progress(1, 2)
        if read.errors:
            return _summarize(read)
        thought = await session.do(lambda memory: memory.reflect(user=session.user, zone=zone))
        await progress(2, 2)
        counts = {
            name: getattr(read, name) + getattr(thought, name) for name in ("new", "merged", "superseded", "proposed")
        }
        return _summarize(replace(thought, **counts))

    return {
        "add_memory": (described(memory_tools.remember), add_memory),
        "search_memory": (described(memory_tools.search_memory), bound(memory_tools.search_memory, session)),
        "list_memories": (LIST, list_memories),
        "forget_memory": (described(memory_tools.forget), forget_memory),
        "reflect": (REFLECT, reflect),
    }


async def _newest(session: MemorySession, limit: int) -> list[Record]:
    owner: dict[str, Any] = {"user": session.user, "agent": session.agent, "limit": limit}
    memories = await session.do(lambda memory: memory.list(**owner, kinds=["observation", "insight"]))
    return memories or await session.do(lambda memory: memory.list(**owner, kinds=["turn"]))


def _format_records(records: list[Record], zone: tzinfo | None) -> str:
    if not records:
        return "Nothing is remembered yet."
    return block("\n".join(_line(record, zone) for record in records))


def _line(record: Record, zone: tzinfo | None) -> str:
    text = " ".join(record.text.split())
    if isinstance(record, Turn):
        return f"[id {record.key}] [{in_zone(record.time, zone).date()}] {record.speaker}: {text}"
    return f"[id {record.id}] [{in_zone(record.said, zone).date()}] {text}"


def _summarize(report: WorkReport) -> str:
    if report.model == "none":
        return f"There is no chat model: {report.pending} turns stay as they were said, and are found all the same."
    why = report.reason or ", ".join(report.errors)
    waiting = f" {report.pending} wait: {why}." if report.pending else ""
    proposed = f" {report.proposed} proposed to a person." if report.proposed else ""
    return f"{report.new} new memories, {report.merged} merged, {report.superseded} superseded.{proposed}{waiting}"
