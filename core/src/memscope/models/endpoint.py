"""``Endpoint``: a model's address and request options, spelled out or from a preset."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args
from urllib.parse import SplitResult, urlsplit

from memscope.errors import ConfigError, nearest
from memscope.records import Json

if TYPE_CHECKING:
    from pydantic import SecretStr

ModelKind: TypeAlias = Literal["chat", "embed", "rerank"]
Format: TypeAlias = Literal["json_schema", "json_object", "prompt"]

PATHS: Mapping[str, str] = {"chat": "/chat/completions", "embed": "/embeddings", "rerank": "/rerank"}
RESERVED = frozenset({"model", "messages", "input", "query", "documents", "stream", "response_format"})
_TAILS = (*PATHS.values(), "/completions", "/models")


class Secret:
    """An API key that ``repr``, ``vars``, ``pickle`` and logs do not reveal."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def get_secret_value(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "Secret('***')"

    def __reduce__(self) -> str:
        raise TypeError("a key is not pickled; name the environment variable that holds it")


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One model at one address. Raise ``ConfigError`` for invalid options.

    ``parameters`` (temperature, dimensions, ...) are added to every request; ``model`` is the name that the server
    knows. ``languages`` None means any. ``shape`` is the rerank format, ``structured`` the strictest format for JSON
    replies. ``deadline_s`` limits a call including retries, ``query_deadline_s`` calls that a query waits for (its
    vector, rerank). After ``breaker_failures`` failed calls in a row, the circuit breaker rejects calls for
    ``breaker_s``. ``concurrency`` is per event loop.
    """

    model: str
    base_url: str
    key: SecretStr | Secret | str | None = field(default=None, repr=False)
    key_header: str = "Authorization"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    parameters: Mapping[str, Json] = field(default_factory=dict)
    path: str = ""
    shape: Literal["flat", "dashscope"] = "flat"
    structured: Format = "json_schema"
    languages: frozenset[str] | None = None
    query_prefix: str = ""
    deadline_s: float = 60.0
    query_deadline_s: float = 5.0
    connect_s: float = 10.0
    attempts: int = 3
    first_pause_s: float = 0.5
    concurrency: int = 8
    breaker_failures: int = 5
    breaker_s: float = 30.0
    batch_texts: int = 64
    batch_tokens: int = 16_000
    reply_bytes: int = 32 << 20
    trust_env: bool = False

    def __post_init__(self) -> None:
        if not self.model.strip():
            raise ConfigError("an endpoint needs the name of its model", hint="set model")
        set_ = object.__setattr__
        set_(self, "base_url", checked_url(self.base_url))
        set_(self, "key", _concealed(self.key))
        set_(self, "languages", None if self.languages is None else frozenset(self.languages))
        _check_header(self.key_header, self.secret)
        for name, value in self.headers.items():
            _check_header(name, value)
        if wrong := sorted(RESERVED & set(self.parameters)):
            hint = "the model is chosen by model, the rest by memscope"
            raise ConfigError(f"parameters cannot hold {wrong}", hint=hint)
        _check_limits(self)

    @property
    def secret(self) -> str:
        """The key in plain text, "" if there is none. Use it for request headers only."""
        return self.key.get_secret_value() if self.key is not None and not isinstance(self.key, str) else ""


def checked_url(url: str) -> str:
    """Validate ``url`` and strip a final slash. Raise ``ConfigError``, which never repeats a password."""
    parts = _split(url.strip())
    if parts.username is not None or parts.password is not None:
        raise ConfigError("base_url holds a user name or password", hint="put the key into key, not into the address")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"base_url must start with http:// or https://, not {parts.scheme!r}")
    if parts.query or parts.fragment:
        raise ConfigError("base_url has a query or fragment", hint="leave out what follows ? or #")
    _refuse_metadata_service(parts.hostname)
    clean = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
    for tail in _TAILS:
        if clean.endswith(tail):
            raise ConfigError(f"base_url has a path too many, {tail!r}", hint=f"use {clean.removesuffix(tail)!r}")
    return clean


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        parts = None
    if parts is None or any(c.isspace() or not c.isprintable() for c in url):
        raise ConfigError("base_url is no address", hint="it looks like https://host/v1")
    return parts


def _refuse_metadata_service(host: str) -> None:
    """Refuse link-local addresses, where clouds serve credentials and nobody serves models."""
    try:
        local = ipaddress.ip_address(host.partition("%")[0]).is_link_local
    except ValueError:
        local = host.rstrip(".").lower() == "metadata.google.internal"
    if local:
        raise ConfigError(f"base_url names a link-local address, {host!r}", hint="no model is served there")


def _concealed(key: SecretStr | Secret | str | None) -> Secret | None:
    value = key if isinstance(key, str) or key is None else key.get_secret_value()
    return Secret(value.strip()) if value and value.strip() else None


def _check_header(name: str, value: str) -> None:
    for text in (name, value):
        if not text.isascii() or not text.isprintable():
            hint = "check key and headers"
            raise ConfigError(f"header {name!r} would hold characters that a header cannot", hint=hint)


def _check_limits(endpoint: Endpoint) -> None:
    for column in fields(endpoint):
        value = getattr(endpoint, column.name)
        if isinstance(value, int | float) and not isinstance(value, bool) and not 0 < value < float("inf"):
            raise ConfigError(f"{column.name} must be above 0, got {value!r}")
    for name, allowed in (("structured", get_args(Format)), ("shape", ("flat", "dashscope"))):
        if getattr(endpoint, name) not in allowed:
            raise ConfigError(f"{name} must be one of {', '.join(allowed)}, got {getattr(endpoint, name)!r}")


# -------------------------------------------------------------------------------------------------------------- presets


@cache
def presets() -> Mapping[str, Mapping[str, Any]]:
    """Load the presets of common servers from ``presets.yaml``."""
    import yaml

    known: Mapping[str, Mapping[str, Any]] = yaml.safe_load(files(__package__).joinpath("presets.yaml").read_bytes())
    return known


def endpoint(
    kind: ModelKind, preset: str = "", *, environ: Mapping[str, str] = os.environ, **settings: Any
) -> Endpoint:
    """Build an endpoint from ``settings`` over those of a preset, if one is named.

    ``environ`` supplies the address and key variables that the preset names. The key is sent only to the preset's own
    ``hosts`` or the address in the environment, never to another ``base_url``, so that no other server receives it.
    """
    configured = {name: value for name, value in settings.items() if value is not None}
    if preset and preset not in presets():
        raise ConfigError(f"no preset {preset!r}", hint=nearest(preset, presets()))
    known = presets()[preset] if preset else {}
    values = {**known.get(kind, {}), **configured}
    example = values.pop("example", "")
    if "model" not in values:
        raise ConfigError(f"no model is named for {kind}", hint=f"set model{example and f', e.g. {example!r}'}")
    if "base_url" not in configured:
        default_url = values.get("base_url") or known.get("base_url")
        values["base_url"] = environ.get(known.get("base_url_env", "")) or default_url
    if not values["base_url"]:
        raise ConfigError(f"no base_url for {kind}", hint=known.get("base_url_hint", "set base_url or a preset"))
    if "base_url" not in configured or _belongs(values["base_url"], known.get("hosts", ())):
        values.setdefault("key", environ.get(known.get("key_env", "")))
    values.setdefault("key_header", known.get("key_header", "Authorization"))
    values["parameters"] = {**known.get(kind, {}).get("parameters", {}), **values.get("parameters", {})}
    columns = [column.name for column in fields(Endpoint)]
    if (unknown := next((name for name in values if name not in columns), None)) is not None:
        raise ConfigError(f"an endpoint has no {unknown!r}", hint=nearest(unknown, columns))
    return Endpoint(**values)


def key_variable(url: str) -> str:
    """Return the environment variable for the key of the preset server at ``url``, "" for other servers."""
    variables = (preset.get("key_env", "") for preset in presets().values() if _belongs(url, preset.get("hosts", ())))
    return str(next(variables, ""))


def _belongs(url: str, hosts: Sequence[str]) -> bool:
    """Check that ``url`` is https at one of ``hosts``; ".example.com" matches all its subdomains."""
    parts = _split(url.strip())
    host = parts.hostname or ""
    return parts.scheme == "https" and any(
        host == allowed or (allowed[0] == "." and host.endswith(allowed)) for allowed in hosts
    )
