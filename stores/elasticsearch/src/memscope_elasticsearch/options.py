"""The address of the cluster and the options of the client, from a location and the section of the settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from memscope.errors import ConfigError, nearest

PORT, PREFIX = 9200, "memscope"
_PREFIX = re.compile(r"[a-z0-9][a-z0-9_.-]{0,80}")
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


@dataclass(frozen=True)
class Options:
    """``client`` goes to ``AsyncElasticsearch`` as it is: hosts or cloud_id, api_key or basic_auth, ca_certs, ...

    ``prefix`` begins the name of every index. ``vectors`` is the ``index_options`` type of new vector fields.
    ``request_s``: one request; ``deadline_s``: with its retries, or waiting for another writer of the same user.
    ``lease_s``: how long a writer may hold a user's lock before others finish what it began.
    """

    client: Mapping[str, Any] = field(repr=False, default_factory=dict)
    prefix: str = PREFIX
    shards: int = 1
    replicas: int | None = None
    vectors: str = "bbq_flat"
    request_s: float = 10.0
    deadline_s: float = 30.0
    lease_s: float = 15.0

    @property
    def address(self) -> str:
        """The hosts, or the id of the cloud, without passwords."""
        hosts = self.client.get("hosts") or [self.client.get("cloud_id", "")]
        return ", ".join(re.sub(r"//[^/]*@", "//", str(host)) for host in hosts)


_KINDS: Mapping[str, Any] = {
    "shards": int, "replicas": int, "vectors": str, "request_s": float, "deadline_s": float, "lease_s": float,
}  # fmt: skip
_TO_CLIENT = ("ca_certs", "ssl_assert_fingerprint", "verify_certs")


def parse_location(location: str, configured: Mapping[str, Any] | None = None) -> Options:
    """Parse ``elasticsearch[+https]://[user:password@]host[:port][,host...][/prefix][?name=value]``.

    ``configured`` is the settings' section ``elasticsearch``; the address goes before it. ``ConfigError``
    names the fault, never a password.
    """
    parts = urlsplit(location)
    given: dict[str, Any] = {name: value for name, value in (configured or {}).items() if value is not None}
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        given[name] = value
    if prefix := parts.path.strip("/"):
        given["prefix"] = prefix
    client = _client(parts.scheme, parts.netloc, given)
    made = Options(client=client, prefix=_prefix(given.pop("prefix", PREFIX)))
    unknown = given.keys() - _KINDS.keys()
    if unknown:
        known = [*_KINDS, *_TO_CLIENT, "api_key", "cloud_id", "hosts", "password", "prefix", "user"]
        raise ConfigError(f"elasticsearch has no setting {min(unknown)!r}", hint=nearest(min(unknown), known))
    return replace(made, **{name: _number(name, value) for name, value in given.items()})


def _client(scheme: str, netloc: str, given: dict[str, Any]) -> dict[str, Any]:
    """Take the arguments of the client out of ``given``."""
    login, _, where = netloc.rpartition("@")
    client: dict[str, Any] = {name: given.pop(name) for name in _TO_CLIENT if name in given}
    if "verify_certs" in client:
        client["verify_certs"] = _truth("verify_certs", client["verify_certs"])
    user, _, password = login.partition(":")
    user, password = unquote(user) or given.pop("user", ""), unquote(password) or given.pop("password", "")
    given.pop("user", None), given.pop("password", None)
    if key := given.pop("api_key", None):
        client["api_key"] = key
    elif user:
        client["basic_auth"] = (user, password)
    hosts, cloud = given.pop("hosts", None), given.pop("cloud_id", None)
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
    return host if re.search(r":\d+$", host) else f"{host}:{PORT}"


def _listed(hosts: object) -> list[str]:
    found = hosts.split(",") if isinstance(hosts, str) else list(hosts) if isinstance(hosts, list | tuple) else []
    return [str(host).strip() for host in found if str(host).strip()]


def _prefix(name: str) -> str:
    if not _PREFIX.fullmatch(name):
        raise ConfigError(f"{name!r} cannot begin the name of an index", hint="lower-case letters, digits, - _ .")
    return name


def _number(name: str, value: Any) -> Any:
    try:
        made = _KINDS[name](value)
    except (TypeError, ValueError):
        raise ConfigError(f"elasticsearch: {name} is not a {_KINDS[name].__name__}") from None
    if not isinstance(made, str) and made < (0 if name == "replicas" else 1e-3):
        raise ConfigError(f"elasticsearch: {name} is too small")
    return made


def _truth(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).lower() not in (*_TRUE, *_FALSE):
        raise ConfigError(f"elasticsearch: {name} is true or false")
    return str(value).lower() in _TRUE
