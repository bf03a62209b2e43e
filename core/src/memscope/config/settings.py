"""The settings, in one object. Arguments go before environment variables, these before the YAML file, then defaults.

    memscope.yaml      chat: {model: gpt-4.1-mini}
    environment        MEMSCOPE_CHAT__MODEL=gpt-4.1-mini
    arguments          MemoryScope(settings={"chat": {"model": "gpt-4.1-mini"}})

The file is MEMSCOPE_CONFIG alone; else memscope/memscope.yaml in the platform's configuration folder and, over it,
./memscope.yaml, of which ``trust.py`` says what it may set.
``sources.py`` reads them; docs/settings.md explains every field. Loaded when a memory is made, not on import.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    SecretStr,
    ValidationError,
    create_model,
    field_serializer,
    field_validator,
    model_validator,
)

from memscope.config import trust
from memscope.config.paths import folder
from memscope.config.sections import UnreadSection, find_sections, section_names
from memscope.config.sources import Layers, SettingsSources, meant, merged, origins, place_of, section
from memscope.errors import ConfigError, nearest
from memscope.models.endpoint import Format, checked_url, presets
from memscope.records import BLOCK_LABEL, MAX_WAIT_S, Speak
from memscope.text.secrets import SECRET_PATTERNS
from memscope.validation import Limits, json_object


def _listed(value: object) -> object:
    """Parse "a, b" and '["a", "b"]' as lists, for environment variables."""
    if not isinstance(value, str):
        return value
    return (
        _json(value) if value.lstrip().startswith("[") else [part for part in map(str.strip, value.split(",")) if part]
    )


def _mapping(value: object) -> object:
    return _json(value) if isinstance(value, str) else value


def _json(value: str) -> object:
    try:
        return json.loads(value)
    except RecursionError:
        raise ValueError("is nested too deep") from None


def _parameters(value: object) -> object:
    parameters = _mapping(value)
    return json_object("it", parameters, Limits()) if isinstance(parameters, Mapping) else parameters


MAX_REPR_CHARS = 4000
UNKNOWN_NAME_ERRORS = ("extra_forbidden", "invalid_key")  # pydantic's complaints of a name that is not in the schema
log = logging.getLogger("memscope")
SectionModel = TypeVar("SectionModel", bound=BaseModel)
Names: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_listed)]
Levels: TypeAlias = Annotated[tuple[Annotated[int, Field(ge=0, le=3)], ...], BeforeValidator(_listed)]
JsonObject: TypeAlias = Annotated[dict[str, Any], BeforeValidator(_parameters)]
Seconds: TypeAlias = Annotated[float, Field(gt=0, le=366 * 24 * 3600)]
Label: TypeAlias = Annotated[str, Field(pattern=BLOCK_LABEL)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Count: TypeAlias = Annotated[int, Field(ge=1, lt=1 << 31)]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, protected_namespaces=())

    def __repr__(self) -> str:
        shown = super().__repr__()
        return shown if len(shown) <= MAX_REPR_CHARS else f"{shown[:MAX_REPR_CHARS]}...)"

    __str__ = __repr__


class PluginSettings(Section):
    """Selection of entry points: all, or those in ``allow``, without those in ``block``; ``require`` must load."""

    allow: Names | None = None
    block: Names = ()
    require: Names = ()
    deadline_s: Seconds = 10.0


class PipelineSettings(Section):
    """The workers of each operation, in order."""

    retrieve: Names = (
        "understand", "search", "rank", "second_hop", "list_coverage", "limit_lines", "rerank", "profile", "build_hits",
    )  # fmt: skip
    consolidate: Names = ("extract", "filter", "date", "reconcile")
    reflect: Names = ("update", "reconcile")


class ConsolidationSettings(Section):
    """Selection of observations: ``levels`` of the 0-3 scale, said by ``roles``. A batch has ``batch_turns`` turns.

    ``instructions``: the operator's own rules on what to note, part of the prompt.
    """

    levels: Levels = (2, 3)
    roles: Names = ("user", "person")
    context_turns: Annotated[int, Field(ge=0)] = 4
    instructions: Annotated[str, Field(max_length=1_000)] = ""


class ReflectionSettings(Section):
    """A call places ``batch`` observations and updates their subjects; fewer wait until the first is ``wait_s`` old."""

    batch: Count = 30
    wait_s: Seconds = 86_400.0


class BlockSettings(Section):
    """``tokens`` of a context for blocks; ``shared``: read-only texts for all users, by label.

    ``maintain``: labels of the blocks that the back end keeps up from insights.
    """

    tokens: Count = 4000
    shared: Annotated[dict[Label, str], BeforeValidator(_mapping)] = {}
    maintain: Annotated[tuple[Label, ...], BeforeValidator(_listed)] = ()


class ContextSettings(Section):
    """Shares of one budget of tokens, for ``context(assemble=True)`` and, with ``budget``, for a chat's prompt."""

    budget: Count | None = None
    core: Share = 0.25
    entities: Share = 0.05
    recent: Share = 0.4
    summary: Share = 0.1
    speak: Speak = "when_needed"

    @model_validator(mode="after")
    def _check_shares(self) -> ContextSettings:
        if self.core + self.entities + self.recent + self.summary > 0.9:
            raise ValueError("core, entities, recent and summary must leave a tenth of the budget for what is recalled")
        return self


class LimitSettings(Section):
    """Limits of one call; the fields of ``validation.Limits``. Sizes are bytes of UTF-8."""

    text: Count = 1024 * 1024
    memory: Count = 256 * 1024
    turns: Count = 10_000
    query: Count = 32 * 1024
    k: Count = 100
    keys: Count = 64
    depth: Count = 8


class RedactionSettings(Section):
    """``mask``: kinds of secrets that are masked in all that is stored (``text/secrets.py``)."""

    mask: Annotated[frozenset[str], BeforeValidator(_listed)] = frozenset()

    @field_validator("mask")
    @classmethod
    def _check_kinds(cls, kinds: frozenset[str]) -> frozenset[str]:
        if unknown := kinds - SECRET_PATTERNS.keys():
            raise ValueError(f"has no kind {min(unknown)[:40]!r}; known: {', '.join(SECRET_PATTERNS)}")
        return kinds


class ModelSettings(Section):
    """One model: who asks it (``provider``, a registered name), and an ``Endpoint``; unset fields are the preset's."""

    provider: str = "openai"
    preset: str = ""
    model: str | None = None
    base_url: str | None = None
    key: SecretStr | None = None
    key_header: str | None = None
    headers: Annotated[dict[str, SecretStr], BeforeValidator(_mapping)] | None = None
    parameters: JsonObject | None = None
    path: str | None = None
    shape: Literal["flat", "dashscope"] | None = None
    structured: Format | None = None
    languages: Annotated[frozenset[str], BeforeValidator(_listed)] | None = None
    query_prefix: str | None = None
    deadline_s: Seconds | None = None
    query_deadline_s: Seconds | None = None
    connect_s: Seconds | None = None
    attempts: Count | None = None
    first_pause_s: Seconds | None = None
    concurrency: Count | None = None
    breaker_failures: Count | None = None
    breaker_s: Seconds | None = None
    batch_texts: Count | None = None
    batch_tokens: Count | None = None
    reply_bytes: Count | None = None
    trust_env: bool | None = None

    @field_validator("base_url")
    @classmethod
    def _check_url(cls, url: str | None) -> str | None:
        return url and checked_url(url)

    @field_validator("preset")
    @classmethod
    def _check_preset(cls, name: str) -> str:
        if name and name not in presets():
            raise ValueError(f"{name!r} is unknown; {nearest(name, presets())}")
        return name

    def options(self) -> dict[str, Any]:
        """Arguments of ``models.endpoint.endpoint``; a model without address or preset is OpenAI's."""
        values = {name: getattr(self, name) for name in type(self).model_fields if name not in ("provider", "budget")}
        values["preset"] = self.preset or ("" if self.base_url else "openai")
        values["headers"] = self.headers and {name: value.get_secret_value() for name, value in self.headers.items()}
        return values


class BudgetSettings(Section):
    """Chat calls, or tokens of prompts and replies, that the back end may use per hour or day."""

    calls_per_hour: Count | None = None
    calls_per_day: Count | None = None
    tokens_per_hour: Count | None = None
    tokens_per_day: Count | None = None


class ChatSettings(ModelSettings):
    budget: BudgetSettings | None = None


@dataclass(frozen=True, eq=False)
class Origins:
    """Places of values by dotted name. All are equal: where values stand does not make settings different."""

    places: Mapping[str, str] = field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Origins)

    def __hash__(self) -> int:
        return 0


class Settings(Section):
    """``store``: a path, "sqlite:///path", ":memory:" or another store's URL. Without its section no such model.

    Plugins add sections of their own (``config/sections.py``); ``section`` returns one of them.
    """

    store: str = Field(default_factory=lambda: str(folder("data") / "memory.db"))
    timezone: str | None = None
    index_cache_mb: Count = 256
    batch_turns: Count = 20
    lease_s: Annotated[float, Field(gt=0, le=MAX_WAIT_S)] = 60.0
    retry_s: Seconds = 5.0
    idle_s: Seconds = 900.0
    poll_s: Seconds = 30.0
    background: bool = True
    retrieve_s: Seconds = 60.0
    builtin_vectors: bool = True
    concurrency: Count = 4
    approve: bool = False
    prompts: str | None = None
    plugins: PluginSettings = PluginSettings()
    pipelines: PipelineSettings = PipelineSettings()
    consolidation: ConsolidationSettings = ConsolidationSettings()
    reflection: ReflectionSettings = ReflectionSettings()
    blocks: BlockSettings = BlockSettings()
    context: ContextSettings = ContextSettings()
    limits: LimitSettings = LimitSettings()
    redaction: RedactionSettings = RedactionSettings()
    chat: ChatSettings | None = None
    embedding: ModelSettings | None = None
    rerank: ModelSettings | None = None
    _origins: Origins = PrivateAttr(default_factory=Origins)

    @property
    def origins(self) -> Mapping[str, str]:
        """The place of every value that is not a default: {"redaction.mask": "line 3 of 'memscope.yaml'"}."""
        return self._origins.places

    def section(self, name: str, model: type[SectionModel]) -> SectionModel:
        """Return a plugin's section, the defaults of ``model`` if the settings lack it."""
        section = getattr(self, name, None)
        return section if isinstance(section, model) else model()

    @property
    def unread(self) -> tuple[str, ...]:
        """Return the names of sections that no installed plugin reads."""
        return tuple(name for name in type(self).model_fields if isinstance(getattr(self, name), UnreadSection))

    @field_validator("store")
    @classmethod
    def _check_store(cls, store: str) -> str:
        if not store.strip() or "\0" in store:
            raise ValueError("must be a path or an address")
        if urlsplit(store).scheme in ("http", "https"):
            raise ValueError("must name the kind of store: elasticsearch://host:port")
        return store

    @field_validator("timezone")
    @classmethod
    def _check_timezone(cls, name: str | None) -> str | None:
        try:
            return name and ZoneInfo(name).key
        except (LookupError, ValueError, OSError):
            raise ValueError('must be the name of a time zone, such as "Europe/Berlin"') from None

    @field_serializer("store")
    def _dump_store(self, store: str) -> str:
        return hide_credentials(store)

    def __repr_args__(self) -> Any:
        return (
            (name, hide_credentials(value) if name == "store" else value) for name, value in super().__repr_args__()
        )


def hide_credentials(location: str) -> str:
    """Return a store's location without user and password."""
    scheme, mark, rest = location.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}" if mark else location


def load(
    source: Settings | Mapping[str, Any] | str | Path | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    sections: Mapping[str, type[BaseModel]] | None = None,
) -> Settings:
    """Load the settings in force.

    Args:
        source: Arguments, or the path of a YAML file instead of the usual ones.
        environ: Environment variables.
        sections: Models of sections beside those of installed plugins.

    Returns:
        The settings.

    Raises:
        ConfigError: Names the place of the fault: the variable, the file and line, or the argument.
    """
    if isinstance(source, Settings):
        return source
    sources, more = SettingsSources.read(source, environ), sections or {}
    unknown = sources.unknown(Settings)
    schema = _extended(tuple(find_sections(unknown, more).items()))
    layers = sources.layers(schema)
    try:
        settings = schema.model_validate(merged(layers))
    except ValidationError as error:
        raise _explained(error, layers, schema, section_names(more)) from None
    for file, layer in sources.files:
        trust.check(file, layer)
        log.info("settings are read from %s", trust.describe(file))
    settings._origins = Origins(origins(layers))
    return settings


@cache
def _extended(sections: tuple[tuple[str, type[BaseModel]], ...]) -> type[Settings]:
    """Return settings with these sections. Cached, so that equal settings are equal: the class counts."""
    fields: dict[str, Any] = {name: (model, ...) for name, model in sections}
    return create_model("Settings", __base__=Settings, **fields) if fields else Settings


def _explained(
    error: ValidationError, layers: Layers, schema: type[BaseModel], sections: Collection[str]
) -> ConfigError:
    """Return the first complaint with its place, unknown names before wrong values; values are never repeated."""
    complaints = error.errors(include_url=False, include_input=False, include_context=False)
    first = min(complaints, key=lambda complaint: complaint["type"] not in UNKNOWN_NAME_ERRORS)
    path = tuple(str(part) for part in first["loc"])
    name = ".".join(path)
    if first["type"] in UNKNOWN_NAME_ERRORS:
        known = {*section(schema, path[:-1]).model_fields, *(sections if len(path) == 1 else ())}
        return ConfigError(f"{place_of(path, *layers)}: there is no setting {name[:80]!r}", hint=meant(path[-1], known))
    message = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return ConfigError(f"{place_of(path, *layers)}: {name} {message}")
