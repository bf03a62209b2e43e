"""Tools for models over a ``MemorySession``: memories, core memory, archival memory, the conversation.

Each tool is a function whose signature and docstring become its schema in every framework. The session and keyword-only
arguments come from the adapter, never from the model. ``arguments`` and ``described`` translate a tool for a framework.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from datetime import tzinfo
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_type_hints

from pydantic import Field, TypeAdapter, ValidationError

from memscope import validation
from memscope.adapters.session import MemorySession, format_hits
from memscope.errors import ConfigError, InputError, MemscopeError
from memscope.plugins.registry import model_tools
from memscope.prompts.memory_block import block, strip_memory
from memscope.records import ROLES, Block, Interval, Kind, Turn, in_zone

Tool: TypeAlias = Callable[..., Awaitable[str]]
ToolSet: TypeAlias = Literal["core", "archival", "all"] | str  # a plugin's tool by its name
RESULTS_PER_PAGE = 5
MAX_PAGES = 20

# ---- memories

QueryText = Annotated[str, Field(description="What to look for, in the user's own language.")]
Kinds = Annotated[
    list[Kind] | None,
    Field(description="Only these: turn (what was said), observation (facts made of it), insight (summaries)."),
]
Statement = Annotated[str, Field(description="One self-contained sentence, in the user's own language.")]
Ids = Annotated[list[str], Field(description="The ids of what to forget, as search_memory printed them.")]


async def search_memory(
    session: MemorySession, query: QueryText, kinds: Kinds = None, *, seen: Collection[str] = ()
) -> str:
    """Search what is remembered about this user from earlier conversations: facts, preferences, plans, what was said
    and when. Use it when the conversation does not hold the answer.
    """
    return await session.answer_search(query, exclude=seen, kinds=kinds)


async def remember(session: MemorySession, statement: Statement) -> str:
    """Remember a statement about this user for later conversations, as one self-contained sentence. Use it when the
    user asks for it, or states something lasting.
    """
    return await session.answer_remember(statement)


async def forget(session: MemorySession, ids: Ids) -> str:
    """Forget memories for good, by the ids that search_memory gave. Use it only when the user asks to have something
    forgotten.
    """
    return await session.answer_forget(ids)


# ---- core memory


async def memory_append(session: MemorySession, label: str, text: str, reason: str) -> str:
    """Add lines to a block of core memory, such as human (the user) or persona (you)."""
    return _describe(await session.edit("append", label, strip_memory(text), reason=reason))


async def memory_replace(session: MemorySession, label: str, old: str, new: str, reason: str) -> str:
    """Replace text in a block of core memory. `old` must stand there exactly once; an empty `new` removes it."""
    if not new:
        return _describe(await session.edit("remove", label, old, reason=reason))
    return _describe(await session.edit("replace", label, old, strip_memory(new), reason=reason))


async def memory_insert(session: MemorySession, label: str, text: str, line: int, reason: str) -> str:
    """Insert text into a block of core memory so that it begins at this line (1 is the first, -1 the end)."""
    return _describe(await session.edit("insert", label, strip_memory(text), line, reason=reason))


async def memory_rethink(session: MemorySession, label: str, value: str, version: int, reason: str) -> str:
    """Rewrite a whole block of core memory. `version` is the one shown with the block, 0 for one not shown."""
    return _describe(await session.edit("rethink", label, strip_memory(value), reason=reason, version=version))


def _describe(changed: Block) -> str:
    used = f"{len(changed.value)} of {changed.limit} characters"
    return f"Block {changed.label!r} is at version {changed.version}, {used}."


# ---- archival memory: the same records as ``remember`` and ``search_memory``


async def archival_insert(session: MemorySession, text: str) -> str:
    """Keep a self-contained statement for later conversations, outside core memory."""
    return await session.answer_remember(text)


async def archival_search(session: MemorySession, query: str, page: int = 0) -> str:
    """Search everything remembered about this user by meaning, best first, a page at a time."""
    first = _page_start(page)
    hits = await session.search(query, k=min(first + RESULTS_PER_PAGE + 1, 100))
    shown = format_hits(hits.hits[first : first + RESULTS_PER_PAGE])
    return f"{shown}\n{_next_page_note(page)}" if len(hits) > first + RESULTS_PER_PAGE else shown


# ---- the conversation


async def conversation_search(
    session: MemorySession, text: str = "", roles: list[str] | None = None, start: str = "", end: str = "",
    page: int = 0,
) -> str:  # fmt: skip
    """Search earlier messages for words as they were said, newest first, a page at a time.

    Days are YYYY-MM-DD, both included. Roles: user, assistant.
    """
    unknown = set(roles or ()) - set(ROLES)
    if unknown:
        raise InputError(f"there is no role {min(unknown)!r}", hint=f"roles are {', '.join(ROLES)}")
    first, owner = _page_start(page), {"user": session.user, "agent": session.agent}
    zone = await session.local_zone()
    period = days(start, end, zone)
    turns = await session.do(lambda memory: memory.list(**owner, kinds=["turn"], text=text, period=period))  # type: ignore[arg-type]
    fitting = [turn for turn in turns if isinstance(turn, Turn) and not turn.statement]
    fitting = [turn for turn in fitting if not roles or turn.role in roles]
    fitting.sort(key=lambda turn: turn.time, reverse=True)
    shown = fitting[first : first + RESULTS_PER_PAGE]
    if not shown:
        return "Nothing was said that fits."
    counted = f"{first + 1}-{first + len(shown)} of {len(fitting)}"
    more = f" {_next_page_note(page)}" if first + RESULTS_PER_PAGE < len(fitting) else ""
    return f"{block(chr(10).join(_line(turn, zone) for turn in shown))}\nShown: {counted}.{more}"


def days(start: str, end: str, zone: tzinfo | None) -> Interval | None:
    """Return the period from ``start`` to the end of the day ``end`` in the user's zone; None if both are empty."""
    return validation.period((start[:10] or None, end[:10] or None), zone)


def _line(turn: Turn, zone: tzinfo | None) -> str:
    moment = in_zone(turn.time, zone)
    return f"[id {turn.key}] [{moment.date()} {moment:%H:%M}] {turn.speaker}: {' '.join(turn.text.split())}"


def _page_start(page: int) -> int:
    if not 0 <= page < MAX_PAGES:
        raise InputError(f"there is no page {page}", hint=f"pages go from 0 to {MAX_PAGES - 1}")
    return page * RESULTS_PER_PAGE


def _next_page_note(page: int) -> str:
    if page + 1 == MAX_PAGES:
        return "Search with more words, or between two days, for the others."
    return f"More on page {page + 1}."


# ---- sets of tools, and their schemas for frameworks

BLOCK_TOOLS = (memory_append, memory_replace, memory_insert, memory_rethink)
ARCHIVAL = (archival_insert, archival_search, conversation_search)
DEFAULT_TOOLS = (search_memory, remember, forget)
READING = frozenset({"search_memory", "archival_search", "conversation_search"})
_SETS: Mapping[str, tuple[Tool, ...]] = {"core": BLOCK_TOOLS, "archival": ARCHIVAL, "all": (*BLOCK_TOOLS, *ARCHIVAL)}


def tool_set(name: str) -> dict[str, Tool]:
    """Return tools by name: the set "core", "archival" or "all" (plugins' tools included), or one plugin tool.

    Raises:
        ConfigError: There is no such set or tool.
    """
    plugin_tools = model_tools()
    if name in plugin_tools:
        return {name: plugin_tools[name]}
    if name not in _SETS:
        raise ConfigError(f"there is no set of tools {name!r}", hint=f"there are {', '.join((*_SETS, *plugin_tools))}")
    tools = {tool.__name__: tool for tool in _SETS[name]}
    return {**plugin_tools, **tools} if name == "all" else tools


def tool_named(name: str) -> Tool:
    """Return one tool of the set "all" by its name.

    Raises:
        ConfigError: There is no such tool.
    """
    tools = tool_set("all")
    if name not in tools:
        raise ConfigError(f"there is no tool {name!r}", hint=f"there are {', '.join(tools)}")
    return tools[name]


def choose_tools(which: bool | ToolSet) -> tuple[Tool, ...]:
    """Resolve an adapter's ``tools=``: True for search_memory, remember and forget, False for none."""
    if isinstance(which, bool):
        return DEFAULT_TOOLS if which else ()
    return tuple(tool_set(which).values())


async def tool_answer(
    tool: Tool, session: MemorySession, values: Mapping[str, Any], *, seen: Collection[str] = (), strict: bool = False
) -> str:
    """Call a tool with a model's arguments. A failure becomes the answer, so that the agent can continue.

    Args:
        tool: One of this module.
        session: The memory of the run's user.
        values: The arguments from the model or its framework; unknown ones are ignored.
        seen: Keys of the turns in the conversation, which a search excludes.
        strict: Raise failures instead.
    """
    extra = {"seen": seen} if tool is search_memory else {}
    try:
        return await tool(session, **_checked(tool, values), **extra)
    except MemscopeError as error:
        if strict:
            raise
        return f"Error: {error}"


def _checked(tool: Tool, values: Any) -> dict[str, Any]:
    """Check a model's arguments, which not every framework does; null leaves out one that has a default."""
    if not isinstance(values, Mapping):
        raise InputError(f"the arguments of {tool.__name__} must be a JSON object")
    fields = arguments(tool)
    chosen = {name: values[name] for name in fields if values.get(name) is not None}
    if missing := [name for name, (_, default) in fields.items() if default is ... and name not in chosen]:
        raise InputError(f"{tool.__name__} needs {', '.join(missing)}")
    plain = get_type_hints(tool)
    return {name: as_type(name, plain[name], value) for name, value in chosen.items()}


def as_type(name: str, wanted: Any, value: Any) -> Any:
    """Convert one argument: "3" to 3; for a list, the JSON list that a text holds, or the text as its only item."""
    if wanted is str and isinstance(value, str):
        return value  # pydantic refuses lone surrogates, which are repaired later
    is_list = isinstance(value, str) and _TYPES.get(wanted, {}).get("type") == "array"
    try:
        if is_list and value.lstrip().startswith("["):
            return TypeAdapter(wanted).validate_json(value)
        return TypeAdapter(wanted).validate_python([value] if is_list else value)
    except ValidationError as error:
        raise InputError(f"{name}: {error.errors(include_url=False, include_input=False)[0]['msg']}") from None


def described(tool: Tool) -> str:
    return " ".join((inspect.getdoc(tool) or "").split())


def arguments(tool: Tool) -> dict[str, tuple[Any, Any]]:
    """Return the type and default of each argument that the model fills in, as pydantic fields (``...``: required)."""
    hints = get_type_hints(tool, include_extras=True)
    return {one.name: (hints[one.name], ... if one.default is one.empty else one.default) for one in _parameters(tool)}


def _parameters(tool: Tool) -> Iterable[inspect.Parameter]:
    """List the parameters that the model fills in: all but the session and the keyword-only ones."""
    every = list(inspect.signature(tool).parameters.values())[1:]
    return [one for one in every if one.kind is not one.KEYWORD_ONLY]


def bound(tool: Tool, session: MemorySession) -> Tool:
    """Bind the tool to one session, as a function with the signature and docstring that the model sees."""

    async def call(**arguments: Any) -> str:
        return await tool(session, **_checked(tool, arguments))

    hints = get_type_hints(tool)
    shown = [one.replace(annotation=hints[one.name]) for one in _parameters(tool)]
    call.__signature__ = inspect.Signature(shown, return_annotation=str)  # type: ignore[attr-defined]
    call.__name__ = call.__qualname__ = tool.__name__
    call.__annotations__ = {one.name: one.annotation for one in shown} | {"return": str}
    call.__doc__ = described(tool)
    return call


def schema(tool: Tool) -> dict[str, Any]:
    """Return a minimal JSON schema of the arguments."""
    fields, plain = arguments(tool), get_type_hints(tool)
    required = [name for name, (_, default) in fields.items() if default is ...]
    if unknown := [name for name in fields if plain[name] not in _TYPES]:
        message = f"the argument {unknown[0]!r} of the tool {tool.__name__!r} has a type that models are not given"
        raise ConfigError(message, hint="take text, whole numbers and lists of text")
    properties = {name: dict(_TYPES[plain[name]]) for name in fields}
    for name, (kind, _) in fields.items():
        for about in getattr(kind, "__metadata__", ()):
            properties[name]["description"] = about.description
    return {"type": "object", "properties": properties, "required": required}


_TYPES: Mapping[Any, Mapping[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    list[str]: {"type": "array", "items": {"type": "string"}},
    list[str] | None: {"type": "array", "items": {"type": "string"}},
    list[Kind] | None: {"type": "array", "items": {"type": "string", "enum": list(get_args(Kind))}},
}
