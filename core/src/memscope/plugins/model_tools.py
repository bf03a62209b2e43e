"""Tools for models that plugins registered, for the whole process: an adapter may know its tools before its memory."""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any

from memscope.errors import ConfigError

_tools: dict[str, object] = {}


def register(name: str, what: object) -> None:
    """Take up a tool, or the place of one, "module:function".

    Raises:
        ConfigError: another plugin's tool has this name.
    """
    if _tools.setdefault(name, what) != what:
        raise ConfigError(f"two plugins register the tool {name!r}", hint="block one of them: plugins.block")


def registered() -> Mapping[str, Any]:
    return {name: resolve_name(what) if isinstance(what, str) else what for name, what in _tools.items()}
