"""Sources of settings: arguments, environment variables and one YAML file, as layers that remember places."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, reduce
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeAlias, get_args, get_origin

from pydantic import BaseModel

from memscope.config.files import SettingsFile, find, parse
from memscope.errors import ConfigError, nearest

PREFIX = "MEMSCOPE_"
# Read elsewhere, or by the tests of this project.
OTHERS = frozenset({"CONFIG", "DATA", "NO_PLUGINS", "USER"})
TESTS = "TEST_"

Path_: TypeAlias = tuple[str, ...]


@dataclass
class Layer:
    """Values of one source, and the place of each: "line 3 of memscope.yaml", "MEMSCOPE_STORE"."""

    values: dict[str, Any] = field(default_factory=dict)
    places: dict[Path_, str] = field(default_factory=dict)

    def put(self, path: Path_, value: Any, place: str) -> None:
        here = self.values
        for part in path[:-1]:
            here = here.setdefault(part, {})
        here[path[-1]] = value
        self.places[path] = place


Layers: TypeAlias = tuple[Layer, ...]  # weakest first


def place_of(path: Path_, *layers: Layer) -> str:
    """Returns the place of the value in force for ``path``, or of its section."""
    for length in range(len(path), 0, -1):
        for layer in reversed(layers):
            if path[:length] in layer.places:
                return layer.places[path[:length]]
    return "settings"


def merged(layers: Layers) -> dict[str, Any]:
    return reduce(_over, (layer.values for layer in layers), {})


def _over(weak: dict[str, Any], strong: Mapping[str, Any]) -> dict[str, Any]:
    """Merge sections field by field; replace anything else."""
    both = {key: _over(weak[key], value) for key, value in strong.items()
            if isinstance(value, Mapping) and isinstance(weak.get(key), dict)}  # fmt: skip
    return {**weak, **strong, **both}


@dataclass(frozen=True)
class SettingsSources:
    """The given values, before their names are checked."""

    source: SettingsFile | None
    file: Layer
    environ: Mapping[str, str]
    given: Layer

    @classmethod
    def read(cls, given: Mapping[str, Any] | str | Path | None, environ: Mapping[str, str]) -> SettingsSources:
        source = find(given if isinstance(given, str | Path) else None, environ)
        arguments: Mapping[Any, Any] = given if isinstance(given, Mapping) else {}
        if odd := [type(name).__name__ for name in arguments if not isinstance(name, str)]:
            raise ConfigError(f"settings argument: the name of a setting is text, not {odd[0]}")
        places: dict[Path_, str] = {(name,): "settings argument" for name in arguments}
        return cls(source, Layer(*parse(source)) if source else Layer(), environ, Layer(dict(arguments), places))

    def unknown(self, schema: type[BaseModel]) -> set[str]:
        """Returns the sections and the variables that ``schema`` does not have, in lower case without prefix."""
        variables = {name for name, _, _ in _variables(self.environ) if variable_path(name, schema) is None}
        return {*map(str, self.file.values), *self.given.values, *variables} - schema.model_fields.keys()

    def layers(self, schema: type[BaseModel]) -> Layers:
        return self.file, _environment(self.environ, schema), self.given


def meant(name: str, known: Collection[str]) -> str:
    """Returns the hint for a name that is no setting: MemoryScope's successor here, else the nearest of ours."""
    successor = _successors().get(name.removeprefix(PREFIX).lower())
    return f"MemoryScope's; here: {successor}" if successor else nearest(name, known)


@cache
def _successors() -> dict[str, str]:
    """Returns ours by the names of MemoryScope's settings, from the table of docs/coming-from-memoryscope.md."""
    rows = json.loads(Path(__file__).with_name("memoryscope.json").read_text(encoding="utf-8"))
    plain = [(names, re.sub(r"\(\[(.*?)\]\(.*?\)\)", r"(docs/\1)", ours).replace("`", "")) for names, ours in rows]
    return {name: ours for names, ours in plain for name in names.split()}


def section(schema: type[BaseModel], path: Path_) -> type[BaseModel]:
    for name in path:
        schema = _section_of(schema, name) or schema
    return schema


def _section_of(schema: type[BaseModel], name: str) -> type[BaseModel] | None:
    """Returns the section that a field holds, if it holds one."""
    held = schema.model_fields[name].annotation if name in schema.model_fields else None
    kinds = get_args(held) if get_origin(held) in (UnionType, Annotated) else (held,)
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)


# ---------------------------------------------------------------------------------------------------------- environment


def _environment(environ: Mapping[str, str], schema: type[BaseModel]) -> Layer:
    layer = Layer()
    for name, variable, value in _variables(environ):
        path = variable_path(name, schema)
        if path is None:
            known = [PREFIX + "__".join(path).upper() for path in fields(schema)]
            raise ConfigError(f"{variable} is no setting", hint=meant(variable, known))
        layer.put(path, value, variable)
    if environ.get("MEMSCOPE_NO_PLUGINS", "") not in ("", "0", "false"):
        layer.put(("plugins", "allow"), (), "MEMSCOPE_NO_PLUGINS")
    return layer


def _variables(environ: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yields, per variable that is a setting: the name in lower case without prefix, the variable and its value."""
    for variable, value in sorted(environ.items()):
        name = variable.removeprefix(PREFIX)
        if name != variable and value and name not in OTHERS and not name.startswith(TESTS):
            yield name.lower(), variable, value


def fields(schema: type[BaseModel], before: Path_ = ()) -> Iterator[Path_]:
    """Returns the path of every field that is no section."""
    for name in schema.model_fields:
        inner = _section_of(schema, name)
        if inner:
            yield from fields(inner, (*before, name))
        else:
            yield (*before, name)


def variable_path(name: str, schema: type[BaseModel]) -> Path_ | None:
    """Convert "chat__model" to ("chat", "model"); one underscore is enough if unambiguous."""
    if name in schema.model_fields and not _section_of(schema, name):
        return (name,)
    for head in schema.model_fields:
        inner = _section_of(schema, head)
        if inner and name.startswith(f"{head.lower()}_"):
            short = name[len(head) :].lstrip("_")
            free = (short,) if inner.model_config.get("extra") not in (None, "forbid") else None  # takes any name
            rest = variable_path(short, inner) or free
            return rest and (head, *rest)
    return None
