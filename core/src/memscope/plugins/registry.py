"""Names that plugins registered, and what they stand for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any, Protocol

from memscope.errors import ConfigError, PluginError, nearest


class Register(Protocol):
    """What a registration hook is given."""

    def __call__(self, name: str, what: object) -> None: ...


@dataclass(frozen=True, slots=True)
class Entry:
    what: object
    plugin: str


@dataclass
class Registry(Mapping[str, Any]):
    """The registered names of one kind. Looking one up imports what it stands for."""

    kind: str
    prefix: str = ""
    entries: dict[str, Entry] = field(default_factory=dict)

    def add(self, name: str, what: object, plugin: str) -> None:
        if name in self.entries:
            raise PluginError(
                f"{plugin!r} registers the name {name!r} in {self.kind}, which {self.entries[name].plugin!r} has"
            )
        self.entries[name] = Entry(what, plugin)

    def under(self, prefix: str) -> Registry:
        """Those whose name begins so, by the rest of their name."""
        return Registry(self.kind, self.prefix + prefix, self.entries)

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise ConfigError(f"no {self.prefix}{name!r} in {self.kind}", hint=nearest(name, self))
        return resolved(self.entries[self.prefix + name])

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.prefix + name in self.entries

    def __iter__(self) -> Iterator[str]:
        return (name.removeprefix(self.prefix) for name in self.entries if name.startswith(self.prefix))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def resolved(entry: Entry) -> Any:
    if not isinstance(entry.what, str):
        return entry.what
    try:
        return resolve_name(entry.what)
    except Exception as error:
        raise PluginError(f"{entry.what!r} of plugin {entry.plugin!r} cannot be imported: {said(error)}") from error


def said(error: BaseException) -> str:
    """An error in one line, for a list."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
