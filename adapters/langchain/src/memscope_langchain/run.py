"""Determine the scope of an agent's or a graph's run: user, thread and time zone. There is no default user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig, ensure_config

from memscope.errors import ScopeError

ZONE_KEY = "timezone"
USER_KEYS = ("user_id", "langgraph_user_id")  # in the config's "configurable"; LangMem uses the second
SERVER_USER_KEY = "langgraph_auth_user_id"  # used by LangGraph Server before it had server_info


def user_of(runtime: Any, config: RunnableConfig | None = None) -> str:
    """Return ``user_id`` of the runtime's context, else of the config, else the identity verified by the server.

    ``runtime``: LangGraph's ``Runtime`` or ``ToolRuntime``, None outside of a run.
    """
    configurable = _configurable(runtime, config)
    server = getattr(getattr(runtime, "server_info", None), "user", None)
    candidates = (
        _of_context(runtime, "user_id"),
        *(configurable.get(key) for key in USER_KEYS),
        getattr(server, "identity", None),
        configurable.get(SERVER_USER_KEY),
    )
    for user in candidates:
        if user is not None:
            return user  # type: ignore[no-any-return]  # checked where it is used
    raise ScopeError(
        "nobody said whose memory this is",
        hint='give context={"user_id": ...} with a context_schema, or config={"configurable": {"user_id": ...}}',
    )


def thread_of(runtime: Any, config: RunnableConfig | None = None) -> str | None:
    thread = _configurable(runtime, config).get("thread_id")
    if thread is None:
        thread = getattr(getattr(runtime, "execution_info", None), "thread_id", None)
    return None if thread is None else str(thread)


def zone_of(runtime: Any, config: RunnableConfig | None = None) -> Any:
    """Return ``timezone`` of the runtime's context, else of the config, else None."""
    return _of_context(runtime, ZONE_KEY) or _configurable(runtime, config).get(ZONE_KEY)


def user_of_run() -> str:
    """Return the user of the current run. ``MemoryScopeStore(user=user_of_run)`` then serves many users."""
    from langgraph.runtime import get_runtime

    try:
        runtime = get_runtime()
    except (RuntimeError, KeyError):  # outside of any run
        runtime = None
    return user_of(runtime)


def _of_context(runtime: Any, name: str) -> Any:
    context = getattr(runtime, "context", None)
    return context.get(name) if isinstance(context, Mapping) else getattr(context, name, None)


def _configurable(runtime: Any, config: RunnableConfig | None) -> Mapping[str, Any]:
    """Return the "configurable" part of ``config``, else of the tool's runtime, else of the current run."""
    return ensure_config(config or getattr(runtime, "config", None)).get("configurable") or {}
