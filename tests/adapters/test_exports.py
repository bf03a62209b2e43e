"""Names of an adapter's package are lazy; a framework that is missing or too old is one typed error."""

from __future__ import annotations

import json
import re
import tomllib
from importlib import import_module, metadata
from importlib.metadata import version
from pathlib import Path

import pytest

from memscope.adapters.exports import WrongFramework, load_name, require_version

HOMES = {"JSONDecoder": "decoder"}


def test_a_name_comes_from_its_module_and_stays():
    found = load_name("json", HOMES, "JSONDecoder", extra="autogen", requirement="pydantic>=2.7")
    assert found is json.JSONDecoder


def test_an_unknown_name():
    with pytest.raises(AttributeError, match="'json' has no attribute 'Nobody'"):
        load_name("json", HOMES, "Nobody", extra="autogen", requirement="pydantic>=2.7")


def test_a_framework_that_is_missing_says_what_to_install():
    with pytest.raises(WrongFramework, match=r"nobody-has-this.*pip install \./core \./adapters/autogen"):
        require_version("nobody-has-this>=1.0", extra="autogen")


def test_a_framework_that_is_too_old_says_what_to_install():
    with pytest.raises(WrongFramework, match=rf'{version("pydantic")}.*"pydantic>=99.1"'):
        require_version("pydantic>=99.1", extra="autogen")


def test_versions_are_compared_by_number():
    require_version("pydantic>=2.7", extra="autogen")
    require_version(f"pydantic>={version('pydantic')}", extra="autogen")


ADAPTERS = Path(__file__).parents[2] / "adapters"
NAMES = {
    "agent_framework": "MemoryScopeContextProvider",
    "openai_agents": "MemoryScopeSession",
    "pydantic_ai": "MemoryScopeCapability",
    "google_adk": "MemoryScopePlugin",
    "llama_index": "MemoryScopeBlock",
}


def framework_of(adapter):
    """The framework and the oldest version that the distribution requires."""
    project = tomllib.loads((ADAPTERS / adapter / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (required,) = [one for one in project["dependencies"] if not one.startswith("memscope")]
    return re.split(">=|,", required)[:2]


@pytest.mark.parametrize(("adapter", "name"), NAMES.items())
def test_a_framework_too_old_or_missing_is_one_typed_error_of_its_adapter(monkeypatch, adapter, name):
    package = import_module(f"memscope_{adapter}")
    monkeypatch.delitem(vars(package), name, raising=False)
    framework, oldest = framework_of(adapter)
    monkeypatch.setattr(metadata, "version", lambda _: "0.0.9")
    with pytest.raises(WrongFramework) as refused:
        getattr(package, name)
    assert refused.value.code == "framework" and f"{framework} 0.0.9 is too old" in str(refused.value)
    needed = re.search(rf'pip install "{framework}>=([\d.]+)"', str(refused.value))[1]
    assert f"{needed}.0.0".startswith(oldest)

    def missing(distribution):
        raise metadata.PackageNotFoundError(distribution)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(WrongFramework, match=rf"{framework}.*pip install .*adapters/{adapter}"):
        getattr(package, name)
