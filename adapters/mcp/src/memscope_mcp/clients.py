"""Add and remove the memscope server in the settings files of MCP clients, according to their documented formats.

Most clients have ``{"mcpServers": {NAME: {"command": ..., "args": [...]}}}`` in a JSON file; VS Code's key is
"servers", Codex uses TOML. The rest of a file stays unchanged.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memscope.errors import ConfigError

SERVER_NAME = "memscope"
BACKUP_ENDING = ".bak"
TOML_TABLE = re.compile(rf"^\[mcp_servers\.{SERVER_NAME}(\.[^\]]+)?\][^\n]*\n((?!\[).*\n?)*", re.MULTILINE)


@dataclass(frozen=True)
class Client:
    """A client's settings ``file``, relative to the home folder or, with ``project``, to the current one.

    ``key`` is the servers' key in it. The environment ``variable`` may name another folder for the file.
    """

    file: str
    key: str = "mcpServers"
    project: bool = False
    variable: str = ""
    extra: tuple[tuple[str, str], ...] = ()


CLAUDE_DESKTOP = {
    "darwin": "Library/Application Support/Claude/claude_desktop_config.json",
    "win32": "AppData/Roaming/Claude/claude_desktop_config.json",
}
CLIENTS: Mapping[str, Client] = {
    "claude-code": Client(".mcp.json", project=True, extra=(("type", "stdio"),)),
    "claude-desktop": Client(CLAUDE_DESKTOP.get(sys.platform, ".config/Claude/claude_desktop_config.json")),
    "codex": Client(".codex/config.toml", key="mcp_servers", variable="CODEX_HOME"),
    "cursor": Client(".cursor/mcp.json"),
    "gemini-cli": Client(".gemini/settings.json"),
    "vscode": Client(".vscode/mcp.json", key="servers", project=True, extra=(("type", "stdio"),)),
    "windsurf": Client(".codeium/windsurf/mcp_config.json"),
}


@dataclass(frozen=True)
class Change:
    """A settings file before and after; false if nothing changes."""

    file: Path
    before: str
    after: str

    def __bool__(self) -> bool:
        return self.before != self.after

    def shown(self) -> str:
        lines = difflib.unified_diff(
            self.before.splitlines(), self.after.splitlines(), str(self.file), str(self.file), lineterm=""
        )
        return "\n".join(lines)

    def write(self) -> None:
        """Replace the file atomically and back up the old one next to it."""
        if not self:
            return
        self.file.parent.mkdir(parents=True, exist_ok=True)
        file = self.file.resolve()  # keep a symbolic link
        new = file.with_name(f"{file.name}.{os.getpid()}.new")
        new.write_text(self.after, encoding="utf-8")
        if file.exists():
            shutil.copymode(file, new)
            shutil.copy2(file, file.with_name(f"{file.name}{BACKUP_ENDING}"))
        new.replace(file)


def config_file(client: str, named: str | None) -> Path:
    if named is not None:
        return Path(named).expanduser()
    kind = CLIENTS[client]
    if folder := os.environ.get(kind.variable):
        return Path(folder).expanduser() / Path(kind.file).name
    return (Path.cwd() if kind.project else Path.home()) / kind.file


def entry(options: Mapping[str, str | None], store: str | None, config: str | None) -> dict[str, Any]:
    """Build the command for a client, with absolute paths since its folder and PATH may differ."""
    program = shutil.which("memscope")
    command = [str(Path(program).absolute())] if program else [sys.executable, "-m", "memscope"]
    places = {"--store": store if store is None or "://" in store else str(Path(store).expanduser().absolute()),
              "--config": config and str(Path(config).expanduser().absolute())}  # fmt: skip
    args = [part for name, value in {**options, **places}.items() if value is not None for part in (name, value)]
    return {"command": command[0], "args": [*command[1:], "mcp", *args]}


def install(client: str, file: Path, server: Mapping[str, Any]) -> Change:
    """Add the server to a client's settings, replacing one of the same name."""
    return _changed(client, file, server)


def uninstall(client: str, file: Path) -> Change:
    return _changed(client, file, None)


def _changed(client: str, file: Path, server: Mapping[str, Any] | None) -> Change:
    before = _read(file)
    kind = CLIENTS[client]
    toml = file.suffix == ".toml"
    settings = _parsed(file, before, toml=toml)
    servers = settings.get(kind.key, {})
    if not isinstance(servers, dict):
        raise ConfigError(f"{str(file)!r} has no table {kind.key!r} of servers", hint="name another file with --file")
    wanted = None if server is None else {**dict(kind.extra), **server}
    if servers.get(SERVER_NAME) == wanted:
        return Change(file, before, before)
    if toml:
        return Change(file, before, _in_toml(file, before, wanted))
    left = {name: value for name, value in servers.items() if name != SERVER_NAME}
    settings[kind.key] = left if wanted is None else {**left, SERVER_NAME: wanted}
    return Change(file, before, json.dumps(settings, indent=2, ensure_ascii=False) + "\n")


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"{str(file)!r} cannot be read: {error}") from None


def _parsed(file: Path, text: str, *, toml: bool) -> dict[str, Any]:
    try:
        settings = tomllib.loads(text) if toml else json.loads(text or "{}")
    except ValueError:
        settings = None
    if not isinstance(settings, dict):
        hint = "a file with comments is changed by hand: docs/mcp.md has the lines"
        raise ConfigError(f"{str(file)!r} is not plain {'TOML' if toml else 'JSON'}", hint=hint)
    return settings


def _in_toml(file: Path, text: str, server: Mapping[str, Any] | None) -> str:
    left = TOML_TABLE.sub("", text)
    if SERVER_NAME in tomllib.loads(left).get("mcp_servers", {}):
        raise ConfigError(f"{str(file)!r} names {SERVER_NAME} in a way that is only changed by hand")
    if server is None:
        return left.rstrip("\n") + "\n" if left.strip() else ""
    lines = [f"[mcp_servers.{SERVER_NAME}]", *(f"{name} = {json.dumps(value)}" for name, value in server.items())]
    return "\n".join([*([left.rstrip("\n"), ""] if left.strip() else []), *lines, ""])
