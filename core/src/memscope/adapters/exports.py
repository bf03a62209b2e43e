"""Lazy imports for an adapter's package, with one error for a framework that is missing or too old."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from importlib import import_module, metadata
from typing import Any

from memscope.errors import ConfigError, install_hint


class WrongFramework(ConfigError, ImportError):
    """The framework of an adapter is missing or too old."""

    code = "framework"


def load_name(package: str, homes: Mapping[str, str], name: str, *, extra: str, requirement: str) -> Any:
    """Import a public name of an adapter from its module.

    Args:
        package: The adapter's package, ``__name__`` of its ``__init__``.
        homes: Maps each public name to the module that defines it.
        name: The name to import.
        extra: The extra of memscope that installs the adapter, for the message.
        requirement: The framework's distribution and oldest version, such as ``"openai-agents>=0.8"``.

    Raises:
        AttributeError: The package has no such name.
        WrongFramework: The framework is missing or older than ``requirement``.
    """
    if name not in homes:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    require_version(requirement, extra=extra)
    value = getattr(import_module(f"{package}.{homes[name]}"), name)
    setattr(sys.modules[package], name, value)
    return value


def require_version(requirement: str, *, extra: str) -> None:
    """Raise ``WrongFramework`` unless the distribution is installed and new enough."""
    distribution, oldest = requirement.split(">=")
    try:
        installed = metadata.version(distribution)
    except metadata.PackageNotFoundError:
        raise WrongFramework(f"{distribution} is not installed", hint=install_hint(extra)) from None
    if _release(installed) < _release(oldest):
        hint = f'pip install "{requirement}"'
        raise WrongFramework(f"{distribution} {installed} is too old for this adapter", hint=hint)


def _release(version: str) -> tuple[int, ...]:
    """Parse the release numbers, without suffixes: 1.0.0rc2 counts as 1.0.0."""
    numbers = re.match(r"\d+(?:\.\d+)*", version)
    release = [int(number) for number in numbers[0].split(".")] if numbers else []
    return tuple([*release, 0, 0, 0][:3])
