"""The platform's folders for data and configuration."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Literal

from memscope.errors import ConfigError

PLACES = {
    "win32": {"data": ("LOCALAPPDATA", "AppData/Local"), "config": ("APPDATA", "AppData/Roaming")},
    "darwin": {"data": ("", "Library/Application Support"), "config": ("", "Library/Application Support")},
    "linux": {"data": ("XDG_DATA_HOME", ".local/share"), "config": ("XDG_CONFIG_HOME", ".config")},
}


def folder(kind: Literal["data", "config"]) -> Path:
    """Return memscope's folder of this kind, which may not exist. Linux follows the XDG base directories."""
    variable, below_home = PLACES.get(sys.platform, PLACES["linux"])[kind]
    place = os.environ.get(variable, "") if variable else ""
    return (Path(place) if os.path.isabs(place) else _home() / below_home) / "memscope"


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        hint = "set HOME, or XDG_CONFIG_HOME and XDG_DATA_HOME"
        raise ConfigError("this user has no home folder", hint=hint) from None
