"""Insert memory into a request, as a prefix of the user's newest message.

All earlier messages are resent unchanged, so that the provider's prompt cache works. A separate message would be
rejected by chat templates whose roles must alternate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain.agents.middleware import ModelRequest
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

CACHE_CONTROL = "cache_control"
MAX_BREAKPOINTS = 4  # Anthropic's limit per request


def with_memory(request: ModelRequest[Any], text: str, beside: str | None) -> ModelRequest[Any]:
    """Prefix ``text`` to the message with the id ``beside``, else to the user's newest message."""
    if not text:
        return request
    messages: list[Any] = list(request.messages)
    place = _place(messages, beside)
    if place is None:  # no user message yet
        place = next((at for at, one in enumerate(messages) if not isinstance(one, SystemMessage)), len(messages))
        messages.insert(place, HumanMessage(text))
    else:
        messages[place] = _with_text(messages[place], text)
    if place and _may_add_breakpoint(request):
        messages[place - 1] = _with_breakpoint(messages[place - 1], request.model_settings[CACHE_CONTROL])
    return request.override(messages=messages)


def users_newest(messages: Sequence[BaseMessage]) -> str | None:
    """Return the id of the user's newest message."""
    return next((message.id for message in reversed(messages) if isinstance(message, HumanMessage)), None)


def _place(messages: Sequence[BaseMessage], beside: str | None) -> int | None:
    users = [at for at, message in enumerate(messages) if isinstance(message, HumanMessage)]
    named = [at for at in users if beside is not None and messages[at].id == beside]
    return next(reversed(named or users), None)


def _with_text(message: BaseMessage, text: str) -> BaseMessage:
    content = message.content
    if isinstance(content, str):
        return message.model_copy(update={"content": f"{text}\n\n{content}" if content else text})
    return message.model_copy(update={"content": [{"type": "text", "text": text}, *content]})


# ---- Anthropic caches a prompt up to each breakpoint. Since memory changes the end, set one right before the memory.


def _may_add_breakpoint(request: ModelRequest[Any]) -> bool:
    """Check that AnthropicPromptCachingMiddleware or the program turned on caching, and that a breakpoint is left."""
    if CACHE_CONTROL not in request.model_settings:
        return False
    system = getattr(request, "system_message", None)
    contents = [message.content for message in (*request.messages, *([system] if system else []))]
    blocks = sum(_is_marked(block) for content in contents if not isinstance(content, str) for block in content)
    tools = sum(CACHE_CONTROL in (getattr(tool, "extras", None) or {}) for tool in request.tools)
    return 1 + blocks + tools < MAX_BREAKPOINTS


def _is_marked(block: Any) -> bool:
    return isinstance(block, Mapping) and CACHE_CONTROL in block


def _with_breakpoint(message: BaseMessage, control: Any) -> BaseMessage:
    """Add a breakpoint to the end of a message, unless it does not end with text."""
    content: Iterable[Any] = message.content
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    last = blocks[-1] if blocks else None
    if not isinstance(last, Mapping) or last.get("type") != "text" or not last.get("text"):
        return message
    return message.model_copy(update={"content": [*blocks[:-1], {**last, CACHE_CONTROL: control}]})
