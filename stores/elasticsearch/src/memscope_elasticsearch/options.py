"""Address of the cluster and options of the client, from a location and the settings' section ``elasticsearch``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from memscope.errors import ConfigError, nearest

DEFAULT_PORT, DEFAULT_PREFIX = 9200, "memscope"
_PREFIX = re.compile(r"[a-z0-9][a-z0-9_.-]{0,80}")
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


@dataclass(frozen=True)
class Options:
    """Options of a store.

    Attributes:
        client: Arguments of ``AsyncElasticsearch``: hosts or cloud_id, api_key or basic_auth, ca_certs, ...
        prefix: Start of the names of the indices.
        shards: Shards of a new index.
        replicas: Replicas of a new index; None for the cluster's default.
        vectors: ``index_options`` type of new vector fields.
        request_s: Timeout of one request.
        deadline_s: Timeout of a call with its retries, and of waiting for another writer of the same user.
        lease_s: Lease of a writer on a user's lock, after which others replay its intent.
    """

    client: Mapping[str, Any] = field(repr=False, default_factory=dict)
    prefix: str = DEFAULT_PREFIX
    shards: int = 1
    replicas: int | None = None
    vectors: str = "bbq_flat"
    request_s: float = 10.0
    deadline_s: float = 30.0
    lease_s: float = 15.0

    @property
    def address(self) -> str:
        """The hosts or the cloud id, without passwords."""
        hosts = self.client.get("hosts") or [self.client.get("cloud_id", "")]
        return ", ".join(re.sub(r"//[^/]*@", "//", str(host)) for host in hosts)


_OPTION_TYPES: Mapping[str, Any] = {
    "shards": int, "replicas": int, "vectors": str, "request_s": float, "deadline_s": float, "lease_s": float,
}  # fmt: skip
_TO_CLIENT = ("ca_certs", "ssl_assert_fingerprint", "verify_certs")


def parse_location(location: str, configured: Mapping[str, Any] | None = None) -> Options:
    """Parse ``elasticsearch[+https]://[user:password@]host[:port][,host...][/prefix][?name=value]``.

    Args:
        location: The address; its values override the configured ones.
        configured: The settings' section ``elasticsearch``.

    Returns:
        The options.

    Raises:
        ConfigError: Names the fault, never a password.
    """
    parts = urlsplit(location)
    values: dict[str, Any] = {name: value for name, value in (configured or {}).items() if value is not None}
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        values[name] = value
    if prefix := parts.path.strip("/"):
        values["prefix"] = prefix
    client = _client(parts.scheme, parts.netloc, values)
    options = Options(client=client, prefix=_prefix(values.pop("prefix", DEFAULT_PREFIX)))
    unknown = values.keys() - _OPTION_TYPES.keys()
    if unknown:
        known = [*_OPTION_TYPES, *_TO_CLIENT, "api_key", "cloud_id", "hosts", "password", "prefix", "user"]
        raise ConfigError(f"elasticsearch has no setting {min(unknown)!r}", hint=nearest(min(unknown), known))
    return replace(options, **{name: _number(name, value) for name, value in values.items()})


def _client(scheme: str, netloc: str, values: dict[str, Any]) -> dict[str, Any]:
    """Pop the arguments of the client from ``values``."""
    login, _, where = netloc.rpartition("@")
    client: dict[str, Any] = {name: values.pop(name) for name in _TO_CLIENT if name in values}
    if "verify_certs" in client:
        client["verify_certs"] = _truth("verify_certs", client["verify_certs"])
    user, _, password = login.partition(":")
    user, password = unquote(user) or values.pop("user", ""), unquote(password) or values.pop("password", "")
    values.pop("user", None), values.pop("password", None)
    if key := values.pop("api_key", None):
        client["api_key"] = key
    elif user:
        client["basic_auth"] = (user, password)
    hosts, cloud = values.pop("hosts", None), values.pop("cloud_id", None)
    if cloud and not where:
        return {**client, "cloud_id": cloud}
    web = "https" if scheme.endswith("+https") else "http"
    names = [f"{web}://{_with_port(host)}" for host in where.split(",") if host] or _listed(hosts)
    if not names:
        raise ConfigError(
            "elasticsearch needs a host", hint="elasticsearch://host:9200, or hosts or cloud_id in the settings"
        )
    return {**client, "hosts": names}


def _with_port(host: str) -> str:
    return host if re.search(r":\d+$", host) else f"{host}:{DEFAULT_PORT}"


def _listed(hosts: object) -> list[str]:
    names = hosts.split(",") if isinstance(hosts, str) else list(hosts) if isinstance(hosts, list | tuple) else []
    return [str(host).strip() for host in names if str(host).strip()]


def _prefix(name: str) -> str:
    if not _PREFIX.fullmatch(name):
        raise ConfigError(
            f"{name!r} is not a valid prefix of an index", hint="use lower-case letters, digits, - _ and ."
        )
    return name


def _number(name: str, value: Any) -> Any:
    try:
        number = _OPTION_TYPES[name](value)
    except (TypeError, ValueError):
        raise ConfigError(f"elasticsearch: {name} is not a {_OPTION_TYPES[name].__name__}") from None
    if not isinstance(number, str) and number < (0 if name == "replicas" else 1e-3):
        raise ConfigError(f"elasticsearch: {name} is too small", hint="give a larger number")
    return number


def _truth(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).lower() not in (*_TRUE, *_FALSE):
        raise ConfigError(f"elasticsearch: {name} is neither true nor false", hint=f"set {name}=true or {name}=false")
    return str(value).lower() in _TRUE
