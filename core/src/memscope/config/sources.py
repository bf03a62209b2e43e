"""Sources of settings: arguments, environment variables and YAML files, as layers that remember places."""

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

ENVIRONMENT_PREFIX = "MEMSCOPE_"
# MEMSCOPE_ variables that are not settings; other code reads them.
OTHER_VARIABLES = frozenset({"CONFIG", "DATA", "NO_PLUGINS", "USER"})
TEST_PREFIX = "TEST_"
MODEL_SECTIONS = ("chat", "embedding", "rerank")
SERVER_FIELDS = frozenset({"provider", "preset", "base_url"})  # model fields that decide where requests are sent

# What a setting must be, by pydantic's type of the error; {0} is the limit.
NEEDED_VALUES = {
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "a whole number"),
    **dict.fromkeys(("float_parsing", "float_type"), "a number"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "yes or no"),
    **dict.fromkeys(("model_type", "dict_type"), "a mapping"),
    **dict.fromkeys(("tuple_type", "list_type", "frozen_set_type"), "a list"),
    "int_parsing_size": "a whole number of fewer digits",
    "string_type": "a text",
    "string_pattern_mismatch": "a block's label: 1 to 64 letters, digits, _, - or .",
    "string_too_long": "at most {0} characters long",
    "greater_than": "more than {0}",
    "greater_than_equal": "at least {0}",
    "less_than": "less than {0}",
    "less_than_equal": "at most {0}",
    "literal_error": "one of {0}",
}
Path_: TypeAlias = tuple[str, ...]


@dataclass
class Layer:
    """The values of one source, and the place of each: "line 3 of 'memscope.yaml'", "MEMSCOPE_STORE"."""

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
    """Return the place of the effective value at ``path``, else of its section, else of the first value below it."""
    for length in range(len(path), 0, -1):
        for layer in reversed(layers):
            if path[:length] in layer.places:
                return layer.places[path[:length]]
    places = ((below, place) for layer in reversed(layers) for below, place in layer.places.items())
    return next((place for below, place in places if below[: len(path)] == path), "settings")


def merged(layers: Layers) -> dict[str, Any]:
    return reduce(_merge, (layer.values for layer in layers), {})


def _merge(weak: dict[str, Any], strong: Mapping[str, Any]) -> dict[str, Any]:
    """Merge sections field by field; replace anything else."""
    both = {key: _merge(weak[key], value) for key, value in strong.items()
            if isinstance(value, Mapping) and isinstance(weak.get(key), dict)}  # fmt: skip
    return {**weak, **strong, **both}


@dataclass(frozen=True)
class SettingsSources:
    """The values of all sources, before their names are checked."""

    files: tuple[tuple[SettingsFile, Layer], ...]  # weakest first
    environ: Mapping[str, str]
    arguments: Layer

    @classmethod
    def read(cls, source: object, environ: Mapping[str, str]) -> SettingsSources:
        if not isinstance(source, Mapping | str | Path | None):
            hint = "give a mapping or the path of a YAML file; a store of your own goes into a MemoryScope"
            raise ConfigError(f"settings argument: {type(source).__name__} has no settings", hint=hint)
        files = find(source if isinstance(source, str | Path) else None, environ)
        mapping_source: Mapping[Any, Any] = source if isinstance(source, Mapping) else {}
        if odd := [type(name).__name__ for name in mapping_source if not isinstance(name, str)]:
            raise ConfigError(f"settings argument: the name of a setting is text, not {odd[0]}")
        places: dict[Path_, str] = {(name,): "settings argument" for name in mapping_source}
        layers = tuple((file, Layer(*parse(file))) for file in files)
        return cls(layers, environ, Layer(dict(mapping_source), places))

    def unknown(self, schema: type[BaseModel]) -> set[str]:
        """Return the names and variables that ``schema`` lacks; variables in lower case without prefix."""
        variables = {name for name, _, _ in _variables(self.environ) if variable_path(name, schema) is None}
        named = {str(name) for _, layer in self.files for name in layer.values}
        return {*named, *self.arguments.values, *variables} - schema.model_fields.keys()

    def layers(self, schema: type[BaseModel]) -> Layers:
        files = [layer for _, layer in self.files]
        files[:-1] = [_keep_keys_apart(layer, files[-1]) for layer in files[:-1]]
        return *files, _environment(self.environ, schema), self.arguments


def _keep_keys_apart(weak: Layer, strong: Layer) -> Layer:
    """Drop model sections from ``weak`` if ``strong`` sets their server, so that no key reaches the wrong address."""
    sections = {name: strong.values.get(name) for name in MODEL_SECTIONS}
    moved = {name for name, values in sections.items() if isinstance(values, Mapping) and SERVER_FIELDS & values.keys()}
    values = {
        name: {key: inner for key, inner in value.items() if key == "budget"}
        if name in moved and isinstance(value, Mapping)
        else value
        for name, value in weak.values.items()
    }
    return Layer(values, weak.places)


def origins(layers: Layers) -> dict[str, str]:
    """Return the place of every effective value by dotted name: {"redaction.mask": "line 3 of 'memscope.yaml'"}."""
    owners = {path: layer for layer in layers for path in _paths(layer.values)}  # the strongest layer comes last
    return {".".join(map(str, path)): place_of(path, owners[path]) for path in _paths(merged(layers))}


def _paths(values: Mapping[str, Any], before: Path_ = ()) -> Iterator[Path_]:
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _paths(value, (*before, name))
        else:
            yield (*before, name)


def requirement(kind: str, message: str, limits: Mapping[str, object]) -> str | None:
    """Return what a setting must be ("a whole number"), by pydantic's type of the error, or its validator's message."""
    if kind == "value_error" and message.startswith("must be "):
        return message.removeprefix("must be ")
    limit = str(next(iter(limits.values()), "")).removesuffix(".0").replace(" or ", ", ")
    return NEEDED_VALUES[kind].format(limit) if kind in NEEDED_VALUES else None


def name_hint(name: str, known: Collection[str]) -> str:
    """Return a hint for an unknown name: the successor of a MemoryScope 0.1 setting, else the nearest known name."""
    successor = _successors().get(name.removeprefix(ENVIRONMENT_PREFIX).lower())
    hint = f"MemoryScope's; here: {successor}" if successor else nearest(name, known)
    if "parameters" not in known and f"{name.rpartition('__')[0]}__PARAMETERS" not in known:
        return hint
    return f"{hint}; what the server takes, such as temperature, goes into parameters"


@cache
def _successors() -> dict[str, str]:
    """Map settings of MemoryScope to ours, from the table in docs/coming-from-memoryscope.md."""
    rows = json.loads(Path(__file__).with_name("memoryscope.json").read_text(encoding="utf-8"))
    plain = [(names, re.sub(r"\(\[(.*?)\]\(.*?\)\)", r"(docs/\1)", ours).replace("`", "")) for names, ours in rows]
    return {name: ours for names, ours in plain for name in names.split()}


def section(schema: type[BaseModel], path: Path_) -> type[BaseModel]:
    for name in path:
        schema = _section_of(schema, name) or schema
    return schema


def _section_of(schema: type[BaseModel], name: str) -> type[BaseModel] | None:
    held = schema.model_fields[name].annotation if name in schema.model_fields else None
    kinds = get_args(held) if get_origin(held) in (UnionType, Annotated) else (held,)
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)


# ---------------------------------------------------------------------------------------------------------- environment


def _environment(environ: Mapping[str, str], schema: type[BaseModel]) -> Layer:
    layer = Layer()
    for name, variable, value in _variables(environ):
        path = variable_path(name, schema)
        if path is None:
            known = [ENVIRONMENT_PREFIX + "__".join(path).upper() for path in fields(schema)]
            raise ConfigError(f"{variable} is no setting", hint=name_hint(variable, known))
        layer.put(path, value, variable)
    if environ.get("MEMSCOPE_NO_PLUGINS", "") not in ("", "0", "false"):
        layer.put(("plugins", "allow"), (), "MEMSCOPE_NO_PLUGINS")
    return layer


def _variables(environ: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield each variable that sets a setting: its name in lower case without prefix, the variable and its value."""
    for variable, value in sorted(environ.items()):
        name = variable.removeprefix(ENVIRONMENT_PREFIX)
        if name != variable and value and name not in OTHER_VARIABLES and not name.startswith(TEST_PREFIX):
            yield name.lower(), variable, value


def fields(schema: type[BaseModel], before: Path_ = ()) -> Iterator[Path_]:
    """Yield the path of every field that is not a section."""
    for name in schema.model_fields:
        inner = _section_of(schema, name)
        if inner:
            yield from fields(inner, (*before, name))
        else:
            yield (*before, name)


def variable_path(name: str, schema: type[BaseModel]) -> Path_ | None:
    """Convert "chat__model" to ("chat", "model"). A single underscore works too."""
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
