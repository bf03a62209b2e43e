"""Registries of the objects that plugins register by name, and the process-wide registry of tools for models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import wraps
from pkgutil import resolve_name
from typing import Any, Protocol

from memscope.errors import ConfigError, MemscopeError, PluginError, nearest
from memscope.languages.registry import take_up


class Register(Protocol):
    """The argument of a registration hook."""

    def __call__(self, name: str, what: object) -> None: ...


@dataclass(frozen=True, slots=True)
class Registration:
    what: object
    plugin: str


@dataclass
class Registry(Mapping[str, Any]):
    """The registered objects of one kind by name. A lookup imports the object."""

    kind: str
    prefix: str = ""
    entries: dict[str, Registration] = field(default_factory=dict)

    def add(self, name: str, what: object, plugin: str) -> None:
        if name in self.entries:
            raise PluginError(
                f"{plugin!r} registers the name {name!r} in {self.kind}, which {self.entries[name].plugin!r} has"
            )
        self.entries[name] = Registration(what, plugin)

    def under(self, prefix: str) -> Registry:
        """Return a view of the names with this prefix, without the prefix."""
        return Registry(self.kind, self.prefix + prefix, self.entries)

    def names_of(self, plugin: str) -> tuple[str, ...]:
        return tuple(name for name, entry in self.entries.items() if entry.plugin == plugin)

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise ConfigError(f"no {self.prefix}{name!r} in {self.kind}", hint=nearest(name, self))
        entry = self.entries[self.prefix + name]
        if not isinstance(entry.what, str):
            return entry.what
        try:
            return resolve_name(entry.what)
        except (Exception, SystemExit) as error:
            message = f"{entry.what!r} of plugin {entry.plugin!r} cannot be imported: {one_line(error)}"
            raise PluginError(message) from error

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.prefix + name in self.entries

    def __iter__(self) -> Iterator[str]:
        return (name.removeprefix(self.prefix) for name in self.entries if name.startswith(self.prefix))

    def __len__(self) -> int:
        return sum(1 for _ in self)


# ----------------------------------------------------------------------------------------------------------- the tools

_tools: dict[str, object] = {}  # process-wide: an adapter may need its tools before it has a memory


def register_tool(name: str, what: object, plugin: str) -> None:
    """Register a tool: a function, or "module:function".

    Raises:
        ConfigError: Another plugin registered this name.
    """
    take_up(_tools, name, what, "tool", plugin)


def model_tools() -> Mapping[str, Any]:
    return {name: _typed(name, what) for name, what in _tools.items()}


def _typed(name: str, what: Any) -> Any:
    """Wrap a tool: exceptions other than memscope's become ``PluginError``."""
    try:
        tool = resolve_name(what) if isinstance(what, str) else what
    except Exception as error:
        raise PluginError(f"the tool {name!r} cannot be imported: {one_line(error)}") from error

    @wraps(tool)
    async def call(*args: Any, **arguments: Any) -> Any:
        try:
            return await tool(*args, **arguments)
        except MemscopeError:
            raise
        except Exception as error:  # its message may quote a conversation
            raise PluginError(f"the tool {name!r} failed: {type(error).__name__}") from error

    return call


def one_line(error: BaseException) -> str:
    """Format an error as one line of at most 300 characters."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
