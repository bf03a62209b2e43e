"""Detect the installed generation (major version) of AgentScope."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from memscope.errors import ConfigError

# What to install for each generation. The first needs a checkout of memscope.
REQUIREMENTS = {1: '"./adapters/agentscope[v1]"', 2: '"agentscope>=2.0.1,<3"'}


class WrongAgentScope(ConfigError, ImportError):
    """AgentScope is not installed, or a class does not support the installed generation."""

    code = "agentscope"


def _version() -> str:
    try:
        return version("agentscope")
    except PackageNotFoundError:
        raise WrongAgentScope(
            "agentscope is not installed", hint=f"pip install {REQUIREMENTS[2]} (or {REQUIREMENTS[1]})"
        ) from None


def generation() -> int:
    """Return 1 or 2."""
    version = _version()
    major = int(version.partition(".")[0])
    if major not in REQUIREMENTS:
        raise WrongAgentScope(f"agentscope {version} is neither 1.x nor 2.x", hint=f"pip install {REQUIREMENTS[2]}")
    return major


def require(name: str, wanted: int, native: Mapping[int, str]) -> None:
    """Raise ``WrongAgentScope`` unless ``name`` is for the installed generation."""
    if generation() != wanted:
        raise WrongAgentScope(
            f"{name} is for agentscope {wanted}.x, and {_version()} is installed",
            hint=f"use {native[3 - wanted]}, or pip install {REQUIREMENTS[wanted]}",
        )
