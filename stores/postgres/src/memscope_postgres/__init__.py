"""The memory of memscope in PostgreSQL. ``store.py`` lists the modules; each is imported when a name is used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memscope_postgres.options import PostgresOptions, parse_location
    from memscope_postgres.settings import PostgresSettings
    from memscope_postgres.store import PostgresStore

__version__ = "0.2.0"

_HOMES = {
    "PostgresOptions": "options",
    "PostgresSettings": "settings",
    "PostgresStore": "store",
    "parse_location": "options",
}

__all__ = ["PostgresOptions", "PostgresSettings", "PostgresStore", "__version__", "parse_location"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
