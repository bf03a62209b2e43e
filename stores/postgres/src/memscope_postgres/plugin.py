"""Register the store with memscope. Imported whenever a memory is created, so it imports neither client nor store."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memscope.config.settings import Settings
    from memscope.plugins.registry import Register
    from memscope.stores import Store


def postgres_store(location: str, settings: Settings) -> Store:
    from memscope_postgres.settings import PostgresSettings
    from memscope_postgres.store import PostgresStore

    section = settings.section("postgres", PostgresSettings)
    return PostgresStore(location, section.options(), index_cache_mb=settings.index_cache_mb)


def memscope_register_stores(register: Register) -> None:
    register("postgresql", postgres_store)
    register("postgres", postgres_store)
