"""Settings sections of plugins, declared by entry points of the group ``memscope.settings``.

    [project.entry-points."memscope.settings"]
    mine = "my_package.settings:MineSettings"

Settings are read before plugins are loaded because they select the plugins. A section is therefore looked up by name in
the metadata of installed distributions, and its pydantic model is imported only if the settings have that section.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import TypeAlias

from pydantic import BaseModel, ConfigDict

from memscope.errors import PluginError

GROUP = "memscope.settings"
# Stores from memscope's own distributions. Each name is also that of its settings section and of its extra.
EXTRAS = ("elasticsearch", "postgres")
Model: TypeAlias = type[BaseModel]


class UnreadSection(BaseModel):
    """Placeholder for a section whose plugin is not installed or cannot be imported; drops its values."""

    model_config = ConfigDict(extra="ignore", frozen=True)


def section_names(more: Collection[str] = ()) -> set[str]:
    """Return the names of all known sections other than the core's."""
    return {*EXTRAS, *(entry.name for entry in entry_points(group=GROUP)), *more}


def find_sections(unknown: Collection[str], models: Mapping[str, Model]) -> dict[str, Model]:
    """Return the models of the sections that ``unknown`` names or variables belong to (by name or prefix)."""
    if not unknown:
        return {}
    names = sorted(section_names(models))
    wanted = [name for name in names if any(entry == name or entry.startswith(f"{name.lower()}_") for entry in unknown)]
    return {name: models.get(name) or _section_model(name) for name in wanted}


def _section_model(name: str) -> Model:
    entries = {entry.value: entry for entry in entry_points(group=GROUP, name=name)}
    if len(entries) > 1:
        raise PluginError(f"two plugins bring the section {name!r} of the settings: {', '.join(sorted(entries))}")
    return next(map(_load_model, entries.values()), UnreadSection)


def _load_model(entry: EntryPoint) -> Model:
    try:
        model = entry.load()
    except (Exception, SystemExit):
        return UnreadSection
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise PluginError(f"the section {entry.name!r} of the settings is no pydantic model: {entry.value}")
    return model
