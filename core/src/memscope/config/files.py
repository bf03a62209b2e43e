"""Find the YAML settings files, read them within limits, and note the line of every name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from memscope.config.paths import folder
from memscope.errors import ConfigError

FILE_NAME = "memscope.yaml"
MAX_FILE_BYTES = 128 * 1024
MAX_YAML_VALUES = 10_000  # names and values after expanding aliases
MAX_NUMBER_CHARS = 400  # the largest float has 309 digits
YAML_NUMBER_TAGS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


@dataclass(frozen=True)
class SettingsFile:
    """A settings file. ``named`` is False if it was only picked up from the current folder, and so needs trust."""

    path: Path
    named: bool
    content: bytes


def find(path: str | Path | None, environ: Mapping[str, str]) -> tuple[SettingsFile, ...]:
    """Read the requested file, which must exist. Without one, read the user's and then the current folder's file."""
    if requested := path or environ.get("MEMSCOPE_CONFIG"):
        return (read(Path(requested).expanduser(), named=True),)
    here, user_file = Path(FILE_NAME), folder("config") / FILE_NAME
    files = [read(user_file, named=True)] if _is_file(user_file) else []
    if _is_file(here) and not (files and here.samefile(user_file)):
        files.append(read(here, named=False))
    return tuple(files)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError as error:
        hint = "let it be read, or name another file with MEMSCOPE_CONFIG"
        raise ConfigError(f"cannot look for settings at {str(path)[:200]!r}: {error.strerror}", hint=hint) from None


def read(path: Path, *, named: bool) -> SettingsFile:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        hint = "write it, or name another with --config or MEMSCOPE_CONFIG"
        raise ConfigError(f"there is no settings file {str(path)[:200]!r}", hint=hint) from None
    except (OSError, ValueError) as error:  # ValueError: NUL in the path
        reason = getattr(error, "strerror", None) or error
        hint = "let it be read, or name another with --config or MEMSCOPE_CONFIG"
        raise ConfigError(f"cannot read the settings file {str(path)[:200]!r}: {reason}", hint=hint) from None
    if len(content) > MAX_FILE_BYTES:
        raise ConfigError(f"the settings file {str(path)!r} has more than {MAX_FILE_BYTES // 1024} kB")
    return SettingsFile(path, named, content)


def parse(file: SettingsFile) -> tuple[dict[str, Any], dict[tuple[str, ...], str]]:
    """Return the values in a file and the place of each: "line 3 of 'memscope.yaml'"."""
    name = repr(str(file.path))
    try:
        values, places = _construct(file.content.decode("utf-8-sig"), name)
    except UnicodeDecodeError:
        raise ConfigError(f"the settings file {name} is not UTF-8") from None
    except ConfigError:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, problem = mark.line + 1 if mark else 1, str(error.problem)[:200]
        raise ConfigError(f"line {line} of {name}: {problem}", hint=_hint(error)) from None
    except yaml.YAMLError:
        raise ConfigError(f"{name} is not YAML") from None
    except RecursionError:
        raise ConfigError(f"{name} is nested too deep") from None
    except (ArithmeticError, ValueError, LookupError, AttributeError, TypeError) as error:  # raised inside PyYAML
        raise ConfigError(f"{name} has a number, date or tag that cannot be read: {type(error).__name__}") from None
    if not isinstance(values, dict):
        raise ConfigError(f"{name} must hold settings as `name: value`")
    return values, places


def _construct(text: str, name: str) -> tuple[object, dict[tuple[str, ...], str]]:
    loader = yaml.SafeLoader(text)
    node = loader.get_single_node()
    _check_size(node, name, {})
    places = dict(_places(node, name))  # before merge keys (<<) are resolved
    return (loader.construct_document(node) if node else {}), places


def _hint(error: yaml.MarkedYAMLError) -> str:
    if "\t" in str(error.problem) or "\\t" in str(error.problem):
        return "indent with spaces, not tabs"
    if "constructor" in str(error.problem):
        return "tags are not allowed here"
    return ""


def _check_size(node: yaml.Node | None, name: str, counts: dict[int, int]) -> int:
    """Count a node and its descendants. Raise ``ConfigError`` for exploding or recursive aliases, and for numbers too
    long to parse."""
    if isinstance(node, yaml.ScalarNode) and node.tag in YAML_NUMBER_TAGS and len(node.value) > MAX_NUMBER_CHARS:
        place = f"line {node.start_mark.line + 1} of {name}"
        raise ConfigError(f"{place}: a number of {len(node.value):,} characters")
    if node is None or isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) not in counts:
        counts[id(node)] = MAX_YAML_VALUES + 1  # so that a node inside itself exceeds the limit
        below = [part for pair in node.value for part in (pair if isinstance(pair, tuple) else (pair,))]
        counts[id(node)] = 1 + sum(_check_size(part, name, counts) for part in below)
    if counts[id(node)] > MAX_YAML_VALUES:
        hint = "aliases (*name) that multiply or contain themselves are refused"
        raise ConfigError(f"{name} stands for more than {MAX_YAML_VALUES:,} values", hint=hint)
    return counts[id(node)]


def _places(node: yaml.Node | None, name: str, before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    if not isinstance(node, yaml.MappingNode):
        return
    seen = set()
    for key, value in node.value:
        place, field = f"line {key.start_mark.line + 1} of {name}", str(key.value)
        if field in seen:
            raise ConfigError(f"{place}: {field[:80]!r} stands there twice")
        seen.add(field)
        yield (*before, field), place
        yield from _places(value, name, (*before, field))
