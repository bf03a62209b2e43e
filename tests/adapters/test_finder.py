"""``memscope.adapters.NAME`` is ``memscope_NAME``."""

from __future__ import annotations

import importlib
import sys

import pytest

PACKAGE = '''
class MemoryScopeMemory:
    """The adapter."""
'''


@pytest.fixture
def toy(tmp_path, monkeypatch):
    folder = tmp_path / "memscope_toyframe"
    folder.mkdir()
    (folder / "__init__.py").write_text(PACKAGE)
    (folder / "plugin.py").write_text("hooks = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in [name for name in sys.modules if "toyframe" in name]:
        del sys.modules[name]


def test_the_alias_is_the_same_object(toy):
    from memscope.adapters.toyframe import MemoryScopeMemory

    real = importlib.import_module("memscope_toyframe")
    assert MemoryScopeMemory is real.MemoryScopeMemory
    assert importlib.import_module("memscope.adapters.toyframe") is real
    assert real.__name__ == real.__spec__.name == "memscope_toyframe"


def test_modules_inside_are_the_same_too(toy):
    inside = importlib.import_module("memscope.adapters.toyframe.plugin")
    assert inside is importlib.import_module("memscope_toyframe.plugin")


def test_a_missing_adapter_says_what_to_install():
    with pytest.raises(ModuleNotFoundError, match=r"'nobodys'.*memscope plugins"):
        importlib.import_module("memscope.adapters.nobodys")
