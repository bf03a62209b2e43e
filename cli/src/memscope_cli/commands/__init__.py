"""The commands of ``memscope``, grouped in one module per topic."""

from __future__ import annotations

from importlib import import_module

import click

COMMAND_MODULES = {
    "demo": ("demo",),
    "chat": ("chat",),
    "turns": ("add", "import_", "export"),
    "memories": (
        *("retrieve", "context", "profile", "list_", "show", "history"),
        *("update", "review", "forget", "sweep", "audit"),
    ),
    "entities": ("entities", "entity", "timeline", "graph", "reindex"),
    "block": ("block",),
    "work": ("consolidate", "reflect", "reembed", "unpark", "worker"),
    "store": ("backup", "restore", "recover", "copy", "compact", "receipts", "users", "status"),
    "installation": ("plugins", "trust", "completion"),
    "doctor": ("doctor",),
    "agent_hook": ("agent_hook",),
}


def register(cli: click.Group) -> None:
    """Add the built-in commands. Plugins add theirs with the hook ``memscope_register_commands``."""
    for module_name, names in COMMAND_MODULES.items():
        module = import_module(f"{__name__}.{module_name}")
        for name in names:
            cli.add_command(getattr(module, name))
