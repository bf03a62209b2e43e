"""The memory of memscope in Elasticsearch. ``store.py`` lists the modules; each is imported when a name is used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memscope_elasticsearch.options import Options, parse_location
    from memscope_elasticsearch.settings import ElasticsearchSettings
    from memscope_elasticsearch.store import ElasticsearchStore

__version__ = "0.2.0"

_HOMES = {
    "ElasticsearchSettings": "settings",
    "ElasticsearchStore": "store",
    "Options": "options",
    "parse_location": "options",
}

__all__ = ["ElasticsearchSettings", "ElasticsearchStore", "Options", "__version__", "parse_location"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
