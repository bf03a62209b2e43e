"""The settings in one object. Precedence: arguments, environment variables, YAML files, defaults.

    memscope.yaml      chat: {model: gpt-4.1-mini}
    environment        MEMSCOPE_CHAT__MODEL=gpt-4.1-mini
    arguments          MemoryScope(settings={"chat": {"model": "gpt-4.1-mini"}})

If MEMSCOPE_CONFIG is set, it is the only file. Otherwise ./memscope.yaml overrides memscope/memscope.yaml in the
platform's configuration folder; ``trust.py`` restricts what an untrusted ./memscope.yaml may set.
``sources.py`` reads them; docs/settings.md explains every field. Loaded when a memory is created, not on import.
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
from memscope.config.locations import without_secret_parameters
from memscope.config.paths import folder
from memscope.config.sections import UnreadSection, find_sections, section_names
from memscope.config.sources import Layers, SettingsSources, merged, name_hint, origins, place_of, requirement, section
from memscope.errors import ConfigError, nearest
from memscope.models.endpoint import Format, checked_url, presets
from memscope.records import BLOCK_LABEL, MAX_WAIT_S, Role, Speak
from memscope.text.secrets import SECRET_PATTERNS
from memscope.validation import Limits, json_object

log = logging.getLogger("memscope")
SectionModel = TypeVar("SectionModel", bound=BaseModel)
MAX_REPR_CHARS = 4000
A_STORE, A_ZONE = "a path or an address", 'the name of a time zone, such as "Europe/Berlin"'
DEFAULT_LIMITS = Limits()
UNKNOWN_NAME_ERRORS = ("extra_forbidden", "invalid_key")  # pydantic's error types for names outside the schema


def _parse_list(value: object) -> object:
    """Parse lists in environment variables: "a, b" or '["a", "b"]'."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        return _parse_json(value)
    return [part for part in map(str.strip, value.split(",")) if part]


def _parse_mapping(value: object) -> object:
    return _parse_json(value) if isinstance(value, str) else value


def _parse_json(value: str) -> object:
    try:
        return json.loads(value)
    except RecursionError:
        raise ValueError("is nested too deep") from None
    except ValueError:
        raise ValueError("must be JSON") from None


def _parse_parameters(value: object) -> object:
    parameters = _parse_mapping(value)
    return json_object("it", parameters, Limits()) if isinstance(parameters, Mapping) else parameters


Names: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_parse_list)]
Levels: TypeAlias = Annotated[tuple[Annotated[int, Field(ge=0, le=3)], ...], BeforeValidator(_parse_list)]
JsonObject: TypeAlias = Annotated[dict[str, Any], BeforeValidator(_parse_parameters)]
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
    """The plugins to load: all or those in ``allow``, minus those in ``block``; those in ``require`` must load."""

    allow: Names | None = None
    block: Names = ()
    require: Names = ()
    deadline_s: Seconds = 10.0


class PipelineSettings(Section):
    """The workers of each operation, in order."""

    retrieve: Names = (
        "understand", "search", "correct_spelling", "rank", "second_hop", "list_coverage", "limit_lines", "rerank",
        "profile", "build_hits",
    )  # fmt: skip
    consolidate: Names = ("extract", "filter", "date", "reconcile")
    reflect: Names = ("update", "reconcile")


class ConsolidationSettings(Section):
    """The observations to store: ``levels`` of importance from 0 to 3, and ``roles`` of the speaker.

    ``instructions``: the operator's own rules on what to note, added to the prompt.
    """

    levels: Levels = (2, 3)
    roles: Annotated[tuple[Role, ...], BeforeValidator(_parse_list)] = ("user", "person")
    context_turns: Annotated[int, Field(ge=0)] = 4
    instructions: Annotated[str, Field(max_length=1_000)] = ""


class ReflectionSettings(Section):
    """Reflect when ``batch`` observations are pending, or when the oldest pending one is ``wait_s`` seconds old."""

    batch: Count = 30
    wait_s: Seconds = 86_400.0


class BlockSettings(Section):
    """``tokens``: limit for all blocks in a context. ``shared``: read-only texts for all users, by label.

    ``maintain``: labels of the blocks that the back end updates from insights.
    """

    tokens: Count = 4000
    shared: Annotated[dict[Label, str], BeforeValidator(_parse_mapping)] = {}
    maintain: Annotated[tuple[Label, ...], BeforeValidator(_parse_list)] = ()


class ContextSettings(Section):
    """Shares of the token budget for ``context(assemble=True)`` and, if ``budget`` is set, for a chat's prompt."""

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
    """Limits per call, the fields of ``validation.Limits``. Sizes are in bytes of UTF-8."""

    text: Count = DEFAULT_LIMITS.text
    memory: Count = DEFAULT_LIMITS.memory
    turns: Count = DEFAULT_LIMITS.turns
    query: Count = DEFAULT_LIMITS.query
    k: Count = DEFAULT_LIMITS.k
    keys: Count = DEFAULT_LIMITS.keys
    depth: Count = DEFAULT_LIMITS.depth


class RedactionSettings(Section):
    """``mask``: kinds of secrets to mask in everything that is stored (``text/secrets.py``)."""

    mask: Annotated[frozenset[str], BeforeValidator(_parse_list)] = frozenset()

    @field_validator("mask")
    @classmethod
    def _check_kinds(cls, kinds: frozenset[str]) -> frozenset[str]:
        if unknown := kinds - SECRET_PATTERNS.keys():
            raise ValueError(f"has no kind {min(unknown)[:40]!r}; known: {', '.join(SECRET_PATTERNS)}")
        return kinds


class ModelSettings(Section):
    """One model: its client (``provider``, a registered name) and ``Endpoint``. Unset fields come from the preset."""

    provider: str = "openai"
    preset: str = ""
    model: str | None = None
    base_url: str | None = None
    key: SecretStr | None = None
    key_header: str | None = None
    headers: Annotated[dict[str, SecretStr], BeforeValidator(_parse_mapping)] | None = None
    parameters: JsonObject | None = None
    path: str | None = None
    shape: Literal["flat", "dashscope"] | None = None
    structured: Format | None = None
    languages: Annotated[frozenset[str], BeforeValidator(_parse_list)] | None = None
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
        """Return arguments of ``models.endpoint.endpoint``. Without address and preset, the preset is "openai"."""
        values = {name: getattr(self, name) for name in type(self).model_fields if name not in ("provider", "budget")}
        values["preset"] = self.preset or ("" if self.base_url else "openai")
        values["headers"] = self.headers and {name: value.get_secret_value() for name, value in self.headers.items()}
        return values


class BudgetSettings(Section):
    """Limits on chat calls and tokens (prompts plus replies) of background work per hour or day."""

    calls_per_hour: Count | None = None
    calls_per_day: Count | None = None
    tokens_per_hour: Count | None = None
    tokens_per_day: Count | None = None


class ChatSettings(ModelSettings):
    budget: BudgetSettings | None = None


@dataclass(frozen=True, eq=False)
class Origins:
    """Places of values by dotted name. All instances are equal, so that places do not affect equality of settings."""

    places: Mapping[str, str] = field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Origins)

    def __hash__(self) -> int:
        return 0


class Settings(Section):
    """``store``: a path, "sqlite:///path", ":memory:" or another store's URL. A model without a section is off.

    Plugins add sections of their own (``config/sections.py``), which ``section`` returns.
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
        """The place of every non-default value: {"redaction.mask": "line 3 of 'memscope.yaml'"}."""
        return self._origins.places

    def section(self, name: str, model: type[SectionModel]) -> SectionModel:
        """Return a plugin's section, or the defaults of ``model`` if the settings lack it."""
        section = getattr(self, name, None)
        return section if isinstance(section, model) else model()

    @property
    def unread(self) -> tuple[str, ...]:
        """The names of sections that no installed plugin reads."""
        return tuple(name for name in type(self).model_fields if isinstance(getattr(self, name), UnreadSection))

    @field_validator("store")
    @classmethod
    def _check_store(cls, store: str) -> str:
        if not store.strip() or "\0" in store:
            raise ValueError(f"must be {A_STORE}")
        if urlsplit(store).scheme in ("http", "https"):
            raise ValueError("must name the kind of store: elasticsearch://host:port")
        return store

    @field_validator("timezone")
    @classmethod
    def _check_timezone(cls, name: str | None) -> str | None:
        try:
            return name and ZoneInfo(name).key
        except (LookupError, ValueError, OSError):
            raise ValueError(f"must be {A_ZONE}") from None

    @field_serializer("store")
    def _dump_store(self, store: str) -> str:
        return hide_credentials(store)

    def __repr_args__(self) -> Any:
        return (
            (name, hide_credentials(value) if name == "store" else value) for name, value in super().__repr_args__()
        )


def hide_credentials(location: str) -> str:
    """Remove user name, password and secret parameters from a store's location."""
    scheme, mark, rest = without_secret_parameters(location).partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}" if mark else location


def load(
    source: Settings | Mapping[str, Any] | str | Path | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    sections: Mapping[str, type[BaseModel]] | None = None,
) -> Settings:
    """Load the settings in force.

    Args:
        source: Arguments, or the path of a YAML file that replaces the default ones.
        environ: Environment variables.
        sections: Models of sections in addition to those of installed plugins.

    Returns:
        The settings.

    Raises:
        ConfigError: Names the place of the error: the variable, the file and line, or the argument.
    """
    if isinstance(source, Settings):
        return source
    sources, more = SettingsSources.read(source, environ), sections or {}
    unknown = sources.unknown(Settings)
    schema = _with_sections(tuple(find_sections(unknown, more).items()))
    layers = sources.layers(schema)
    try:
        settings = schema.model_validate(merged(layers))
    except ValidationError as error:
        raise _config_error(error, layers, schema, section_names(more)) from None
    for file, layer in sources.files:
        trust.check(file, layer)
        log.info("settings are read from %s", trust.describe(file))
    settings._origins = Origins(origins(layers))
    return settings


@cache
def _with_sections(sections: tuple[tuple[str, type[BaseModel]], ...]) -> type[Settings]:
    """Extend ``Settings`` with these sections. Cached because settings of different classes are never equal."""
    fields: dict[str, Any] = {name: (model, ...) for name, model in sections}
    return create_model("Settings", __base__=Settings, **fields) if fields else Settings


def _config_error(
    error: ValidationError, layers: Layers, schema: type[BaseModel], sections: Collection[str]
) -> ConfigError:
    """Convert the first error, unknown names before wrong values, with its place but never with its value."""
    complaints = error.errors(include_url=False, include_input=False)
    first = min(complaints, key=lambda complaint: complaint["type"] not in UNKNOWN_NAME_ERRORS)
    path = tuple(str(part) for part in first["loc"])
    name, place = ".".join(path), place_of(path, *layers)
    if first["type"] in UNKNOWN_NAME_ERRORS:
        known = {*section(schema, path[:-1]).model_fields, *(sections if len(path) == 1 else ())}
        return ConfigError(f"{place}: there is no setting {name[:80]!r}", hint=name_hint(path[-1], known))
    message = first["msg"].removeprefix("Value error, ").removeprefix("Input ").removeprefix(f"{path[-1]} ")
    if needed := requirement(first["type"], message, first.get("ctx", {})):
        return ConfigError(f"{place}: {name} has to be {needed}")
    return ConfigError(f"{place}: {name} {message}")
