"""Trust in the settings file of the current folder, which may be somebody else's.

A file that nobody named or trusted may say what stays on this machine, and no more. Trusted files stand in trusted.json
in memscope's configuration folder, each with the digest of its content: a file that changed is not trusted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from memscope.config.files import SettingsFile, read
from memscope.config.paths import folder
from memscope.config.sources import Layer, place_of
from memscope.errors import ConfigError
from memscope.models.endpoint import presets

TrustState: TypeAlias = Literal["named", "trusted", "changed", "unknown"]
MODELS = frozenset({"chat", "embedding", "rerank"})
SECRETS = frozenset({"key", "headers"})
#: What any file may set: nothing here reaches another machine, code of others, or what a model is told.
HARMLESS = frozenset(
    {"timezone", "index_cache_mb", "batch_turns", "lease_s", "retry_s", "idle_s", "poll_s", "retrieve_s", "background"}
    | {"builtin_vectors", "concurrency", "approve", "consolidation", "reflection", "context", "limits", "redaction"}
)


def check(file: SettingsFile, layer: Layer, stronger: Sequence[Layer]) -> None:
    """Raise ``ConfigError`` if ``layer``, read from a file nobody vouched for, says more than it may."""
    state = state_of(file)
    if state in ("named", "trusted"):
        return
    said = "changed since it was trusted" if state == "changed" else "was neither named nor trusted"
    for name, reason in guarded(layer, stronger):
        hint = "look at it, then: memscope trust; or name it: --config FILE, MEMSCOPE_CONFIG"
        raise ConfigError(f"{place_of((name,), layer)}: {name} {reason}, and this file {said}", hint=hint)


def guarded(layer: Layer, stronger: Sequence[Layer] = ()) -> Iterator[tuple[str, str]]:
    """Yields the names in ``layer`` that need trust, each with the reason."""
    for name, value in layer.values.items():
        if name == "store" and _is_remote_store(str(value)):
            yield name, "may be on another machine"
        elif name in MODELS and value is not None:
            if not isinstance(value, Mapping) or _is_remote_model(value):
                yield name, "may be on another machine"
            elif secret := _secret(name, stronger):
                yield name, f"would be sent {secret}"
        elif name not in HARMLESS | MODELS | {"store"}:
            yield name, "decides which code, prompts or servers are used"


def _is_remote_store(location: str) -> bool:
    if "://" in location and not location.startswith("sqlite:///"):
        return True
    return location.removeprefix("sqlite:///").startswith(("//", "\\\\"))


def _is_remote_model(section: Mapping[str, Any]) -> bool:
    preset = presets().get(str(section.get("preset")), {})
    host = urlsplit(str(section.get("base_url") or preset.get("base_url") or "")).hostname or ""
    return section.get("provider", "openai") != "openai" or not _is_loopback(host)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _secret(section: str, stronger: Sequence[Layer]) -> str:
    """Returns the place of a key or headers for a model that its file does not hold itself."""
    given = [(layer, layer.values.get(section)) for layer in stronger]
    found = (place_of((section, name), layer) for layer, values in given if isinstance(values, Mapping)
             for name in values if name in SECRETS)  # fmt: skip
    return next(found, "")


# ------------------------------------------------------------------------------------------------- the trusted files


def state_of(file: SettingsFile) -> TrustState:
    if file.named:
        return "named"
    known = trusted().get(_path(file.path))
    return "unknown" if known is None else "trusted" if known == _digest(file) else "changed"


def describe(file: SettingsFile) -> str:
    """Returns a file's path and, for one of the current folder, whether it is trusted: for a line to people."""
    said = {"trusted": ", trusted", "changed": ", changed since it was trusted"}
    state = state_of(file)
    named = repr(str(file.path))
    return (
        named if state == "named" else f"{named} of the current folder{said.get(state, ', neither named nor trusted')}"
    )


def add(path: Path) -> None:
    """Trust a file as it is now."""
    _write({**trusted(), _path(path): _digest(read(path, named=True))})


def remove(path: Path) -> bool:
    """Returns False for a file that was not trusted."""
    known = dict(trusted())
    if known.pop(_path(path), None) is None:
        return False
    _write(known)
    return True


def trusted() -> Mapping[str, str]:
    """Returns the trusted files by path, with the digest of each."""
    path = _list()
    try:
        known = json.loads(path.read_bytes())["files"]
        if all(isinstance(digest, str) for digest in known.values()):
            return dict(known)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"cannot read the trusted files in {str(path)!r}: {error.strerror}") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    raise ConfigError(f"the list of trusted files {str(path)!r} is damaged", hint="remove it, and trust again")


def _write(known: Mapping[str, str]) -> None:
    path = _list()
    part = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump({"files": known}, file, indent=1)
        part.replace(path)
    except OSError as error:
        raise ConfigError(f"cannot write the trusted files to {str(path)!r}: {error.strerror}") from None


def _list() -> Path:
    return folder("config") / "trusted.json"


def _path(path: Path) -> str:
    return str(path.resolve())


def _digest(file: SettingsFile) -> str:
    return sha256(file.content).hexdigest()
