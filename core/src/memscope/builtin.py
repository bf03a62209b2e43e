"""The built-in plugin: stores, models, workers and importers, registered through the hooks of any plugin."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from memscope.config.paths import folder
from memscope.errors import ConfigError, StoreUnavailable

if TYPE_CHECKING:
    from memscope.config.settings import ModelSettings, Settings
    from memscope.models.local import FastEmbedder
    from memscope.plugins.registry import Register
    from memscope.stores import Store


def memory_store(location: str, settings: Settings) -> Store:
    from memscope.stores.memory import InMemoryStore

    return InMemoryStore(index_cache_mb=settings.index_cache_mb)


def sqlite_store(location: str, settings: Settings) -> Store:
    """Open a path, or "sqlite:///relative" or "sqlite:////absolute" as in SQLAlchemy; create the default folder."""
    from memscope.stores.sqlite import SQLiteStore

    if location.startswith("sqlite://") and not location.startswith("sqlite:///"):
        hint = "write sqlite:///relative.db or sqlite:////absolute.db, or the path alone"
        raise ConfigError(f"the address {location!r} has two slashes", hint=hint)
    path = Path(location.removeprefix("sqlite:///")).expanduser()
    if path.parent == folder("data"):
        _make_folder(path.parent)
    return SQLiteStore(path, index_cache_mb=settings.index_cache_mb)


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        hint = "let it be written, or set MEMSCOPE_STORE"
        raise StoreUnavailable(f"cannot make the folder {str(path)!r}: {error.strerror}", hint=hint) from None


def memscope_register_languages(register: Register) -> None:
    register("en", "memscope.languages.en:ENGLISH")
    register("zh", "memscope.languages.zh:CHINESE")


def memscope_register_stores(register: Register) -> None:
    register("memory", memory_store)
    register("sqlite", sqlite_store)


def openai_model(kind: Literal["chat", "embed", "rerank"], section: ModelSettings, settings: Settings) -> object:
    from memscope.models import clients
    from memscope.models.endpoint import endpoint

    classes = {"chat": clients.OpenAIChat, "embed": clients.OpenAIEmbedder, "rerank": clients.OpenAIReranker}
    return classes[kind](endpoint(kind, **section.options()))


def local_embedding(section: ModelSettings, settings: Settings) -> FastEmbedder:
    """Load an ONNX model with fastembed; ``ConfigError`` for settings of a server, which it would ignore."""
    from memscope.models.local import FastEmbedder

    options = section.model_dump(exclude_none=True, exclude={"provider"})
    known = ("model", "parameters", "languages", "query_prefix", "deadline_s", "query_deadline_s", "batch_texts")
    if strange := [name for name, value in options.items() if value and name not in known]:
        raise ConfigError(f"embedding.{strange[0]} means nothing to fastembed", hint=f"it takes {', '.join(known)}")
    if not section.model:
        raise ConfigError("embedding needs the name of its model", hint="set embedding.model: BAAI/bge-small-en-v1.5")
    return FastEmbedder(**{name: value for name, value in options.items() if name in known})


def memscope_register_models(register: Register) -> None:
    register("chat.openai", partial(openai_model, "chat"))
    register("embedding.openai", partial(openai_model, "embed"))
    register("rerank.openai", partial(openai_model, "rerank"))
    register("embedding.fastembed", local_embedding)


def memscope_register_workers(register: Register) -> None:
    for name in ("understand", "search", "rank", "second_hop", "list_coverage", "rerank", "profile"):
        register(f"retrieve.{name}", f"memscope.retrieval.{name}:{name}")
    register("retrieve.correct_spelling", "memscope.retrieval.correct_spelling:correct_spelling")
    register("retrieve.limit_lines", "memscope.retrieval.limit_lines:limit_lines")
    register("retrieve.build_hits", "memscope.retrieval.hits:build_hits")
    register("consolidate.extract", "memscope.consolidation.extract:extract")
    register("consolidate.filter", "memscope.consolidation:by_level")
    register("consolidate.date", "memscope.consolidation.date:by_rules")
    register("consolidate.reconcile", "memscope.consolidation.reconcile:reconcile")
    register("reflect.update", "memscope.reflection.update:update")
    register("reflect.reconcile", "memscope.reflection:reconcile")


def memscope_register_importers(register: Register) -> None:
    register("openai", "memscope.transfer.importers.messages:read")
    for name in ("chatgpt", "mem0", "memoryscope", "letta"):
        register(name, f"memscope.transfer.importers.{name}:read")
