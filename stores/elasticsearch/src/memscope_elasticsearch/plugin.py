"""What memscope loads of this package when it starts; imports no client."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memscope.config.settings import Settings
    from memscope.plugins.registry import Register
    from memscope.stores import Store


def elasticsearch_store(location: str, settings: Settings) -> Store:
    from memscope_elasticsearch import ElasticsearchStore

    return ElasticsearchStore(location, settings.elasticsearch.options())


def memscope_register_stores(register: Register) -> None:
    register("elasticsearch", elasticsearch_store)
    register("elasticsearch+https", elasticsearch_store)
