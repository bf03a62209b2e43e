"""Register the store with memscope. Imported with every memory, so it imports neither client nor store."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memscope.config.settings import Settings
    from memscope.plugins.registry import Register
    from memscope.stores import Store


def elasticsearch_store(location: str, settings: Settings) -> Store:
    from memscope_elasticsearch.settings import ElasticsearchSettings
    from memscope_elasticsearch.store import ElasticsearchStore

    return ElasticsearchStore(location, settings.section("elasticsearch", ElasticsearchSettings).options())


def memscope_register_stores(register: Register) -> None:
    register("elasticsearch", elasticsearch_store)
    register("elasticsearch+https", elasticsearch_store)
