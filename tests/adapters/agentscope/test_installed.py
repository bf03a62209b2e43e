"""The package gives the class for the AgentScope that is installed, and says so of the other."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError

import pytest

import memscope_agentscope
from memscope.errors import ConfigError
from memscope_agentscope import installed

NATIVE = {1: "MemoryScopeLongTermMemory", 2: "MemoryScopeMiddleware"}


def test_the_right_class():
    right = getattr(memscope_agentscope, NATIVE[installed.generation()])
    assert memscope_agentscope.MemoryScopeMemory is right


@pytest.mark.parametrize("package", ["memscope_agentscope", "memscope.adapters.agentscope"])
def test_a_star_takes_the_names_for_the_installed_version(package):
    names: dict[str, object] = {}
    exec(f"from {package} import *", names)
    right, wrong = NATIVE[installed.generation()], NATIVE[3 - installed.generation()]
    assert names["MemoryScopeMemory"] is names[right] is getattr(memscope_agentscope, right)
    assert wrong not in names


def test_the_other_class_says_which_one_to_use():
    right, wrong = NATIVE[installed.generation()], NATIVE[3 - installed.generation()]
    with pytest.raises(ImportError, match=rf"{wrong}.*{right}.*pip install "):
        getattr(memscope_agentscope, wrong)
    with pytest.raises(ConfigError):
        getattr(memscope_agentscope, wrong)


@pytest.mark.parametrize(("found", "told"), [("3.0.0", "3.0.0 is neither 1.x nor 2.x"), (None, "is not installed")])
def test_no_agentscope_that_fits(found, told, monkeypatch):
    def version(name):
        if found is None:
            raise PackageNotFoundError(name)
        return found

    monkeypatch.setattr(installed, "version", version)
    with pytest.raises(ImportError, match=told):
        memscope_agentscope.__getattr__("MemoryScopeMemory")


def test_names():
    assert set(NATIVE.values()) < set(dir(memscope_agentscope))
    with pytest.raises(AttributeError, match="Nothing"):
        memscope_agentscope.Nothing  # noqa: B018
