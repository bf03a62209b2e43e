"""Trust in the settings file of the current folder, which somebody else may have written.

That file overrides the user's own, setting by setting. An untrusted file may set only ``PACE_SETTINGS``. Trusted files
are listed in trusted.json in memscope's configuration folder with a digest of their content, so a changed file is no
longer trusted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Literal, TypeAlias

from memscope import shared_file
from memscope.config.files import SettingsFile, read
from memscope.config.paths import folder
from memscope.config.sources import Layer, place_of
from memscope.errors import ConfigError

TrustState: TypeAlias = Literal["named", "trusted", "changed", "unknown"]
#: Settings that any file may set: the pace of background work and its use of memory. A setting needs trust if it
#: decides where texts are stored or sent, which prompts or code run, what calls cost, or what is masked or limited.
PACE_SETTINGS = frozenset(
    {"timezone", "index_cache_mb", "batch_turns", "lease_s", "retry_s", "idle_s", "poll_s", "retrieve_s"}
    | {"builtin_vectors", "concurrency"}
)


def check(file: SettingsFile, layer: Layer) -> None:
    """Raise ``ConfigError`` if ``file`` is untrusted and ``layer``, its content, has guarded settings."""
    state = state_of(file)
    if state in ("named", "trusted"):
        return
    reason = "changed since it was trusted" if state == "changed" else "was neither named nor trusted"
    for name in guarded(layer):
        hint = "look at it, then: memscope trust; or name the settings to use: --config FILE, MEMSCOPE_CONFIG"
        raise ConfigError(f"{place_of((name,), layer)}: {name} needs a trusted file, and this one {reason}", hint=hint)


def guarded(layer: Layer) -> list[str]:
    """List the settings in ``layer`` that need trust."""
    return [name for name in layer.values if name not in PACE_SETTINGS]


# ------------------------------------------------------------------------------------------------- the trusted files


def state_of(file: SettingsFile) -> TrustState:
    if file.named:
        return "named"
    known = trusted().get(_path(file.path))
    return "unknown" if known is None else "trusted" if known == _digest(file) else "changed"


def describe(file: SettingsFile) -> str:
    """Describe a file by its path and, if it is in the current folder, its trust."""
    notes = {"trusted": ", trusted", "changed": ", changed since it was trusted"}
    state, named = state_of(file), repr(str(file.path))
    if state == "named":
        return named
    return f"{named} of the current folder{notes.get(state, ', neither named nor trusted')}"


def add(path: Path) -> None:
    """Trust a file with its current content."""
    digest = _digest(read(path, named=True))
    with _changing() as known:
        known[_path(path)] = digest


def remove(path: Path) -> bool:
    """Stop trusting a file. Return False if it was not trusted."""
    with _changing() as known:
        return known.pop(_path(path), None) is not None


def trusted() -> Mapping[str, str]:
    """Read the digests of the trusted files by path."""
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


@contextmanager
def _changing() -> Iterator[dict[str, str]]:
    """Edit the list of trusted files under a lock between processes."""
    path = _list()
    try:
        with shared_file.locked(path):
            known = dict(trusted())
            before = dict(known)
            yield known
            if known != before:
                shared_file.replace(path, json.dumps({"files": known}, indent=1).encode())
    except OSError as error:
        raise ConfigError(f"cannot write the trusted files to {str(path)!r}: {error.strerror}") from None


def _list() -> Path:
    return folder("config") / "trusted.json"


def _path(path: Path) -> str:
    return str(path.resolve())


def _digest(file: SettingsFile) -> str:
    return sha256(file.content).hexdigest()
