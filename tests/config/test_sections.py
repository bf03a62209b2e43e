"""Sections of the settings that plugins bring: found by name, read by their models, missing without harm."""

from __future__ import annotations

import importlib
import sys

import pytest
from pydantic import BaseModel, ConfigDict, SecretStr

from memscope import MemoryScope
from memscope.config import sections
from memscope.config.settings import Settings, load
from memscope.errors import ConfigError, PluginError
from memscope.plugins import loader
from memscope.plugins.loader import Plugins

SOURCE = """
from pydantic import BaseModel, ConfigDict, SecretStr

class MineSettings(BaseModel):
    model_config = ConfigDict(extra="forbid")
    folder: str = "here"
    token: SecretStr | None = None
"""


class Own(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)
    folder: str = "here"
    token: SecretStr | None = None


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """No settings of the person who runs the tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install a distribution that brings the section ``mine``: ``installed("its source", "its entry point")``."""
    monkeypatch.syspath_prepend(tmp_path)

    def install(source: str = SOURCE, *values: str) -> None:
        (tmp_path / "dist_section.py").write_text(source)
        for number, value in enumerate(values or ("dist_section:MineSettings",)):
            folder = tmp_path / f"dist_section{number}-1.0.dist-info"
            folder.mkdir()
            (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: dist-section{number}\nVersion: 1.0\n")
            (folder / "entry_points.txt").write_text(f"[memscope.settings]\nmine = {value}\n")
        importlib.invalidate_caches()

    yield install
    sys.modules.pop("dist_section", None)


@pytest.fixture
def alone(monkeypatch):
    """Act as if nothing but the core were installed."""
    monkeypatch.setattr(sections, "entry_points", lambda **_: ())
    monkeypatch.setattr(loader, "entry_points", lambda **_: ())


# ----------------------------------------------------------------------------------------------------------- installed


def test_a_section_is_read_from_every_source(installed, tmp_path):
    installed()
    file = {"MEMSCOPE_CONFIG": str(tmp_path / "mine.yaml")}
    (tmp_path / "mine.yaml").write_text("mine: {folder: file, token: hush}\n")
    settings = load(environ=file)
    assert settings.mine.folder == "file" and settings.mine.token.get_secret_value() == "hush"
    assert "hush" not in repr(settings) and "hush" not in settings.model_dump_json()
    assert load(environ={**file, "MEMSCOPE_MINE__FOLDER": "variable"}).mine.folder == "variable"
    assert load(environ={**file, "MEMSCOPE_MINE_FOLDER": "variable"}).mine.folder == "variable"
    assert load({"mine": {"folder": "argument"}}, environ={"MEMSCOPE_MINE__FOLDER": "x"}).mine.folder == "argument"


def test_its_model_is_imported_only_where_the_section_is_given(installed):
    installed()
    assert type(load({"batch_turns": 3}, environ={})) is Settings
    assert "dist_section" not in sys.modules
    load({"mine": {}}, environ={})
    assert "dist_section" in sys.modules


def test_mistakes_in_a_section_are_named_with_their_place(installed, tmp_path):
    installed()
    (tmp_path / "memscope.yaml").write_text("mine:\n  foldr: x\n")
    with pytest.raises(ConfigError, match=r"line 2 .*'mine\.foldr'.*'folder'"):
        load(environ={})
    with pytest.raises(ConfigError, match=r"MEMSCOPE_MINE__FOLDR.*'MEMSCOPE_MINE__FOLDER'"):
        load(environ={"MEMSCOPE_MINE__FOLDR": "x"})
    with pytest.raises(ConfigError, match=r"settings argument: mine\.folder"):
        load({"mine": {"folder": 5}}, environ={"MEMSCOPE_CONFIG": "/dev/null"})


def test_a_misspelt_section_is_an_error_that_names_the_nearest(installed):
    installed()
    with pytest.raises(ConfigError, match=r"'mien'.*'mine'"):
        load({"mien": {"folder": "x"}}, environ={})
    with pytest.raises(ConfigError, match="did you mean 'elasticsearch'"):
        load({"elasticsaerch": {"prefix": "x"}}, environ={})


def test_two_plugins_with_one_section(installed):
    installed(SOURCE, "dist_section:MineSettings", "dist_section:Other")
    with pytest.raises(PluginError, match=r"two plugins.*'mine'"):
        load({"mine": {}}, environ={})
    load({}, environ={})


def test_what_is_no_model_is_refused(installed):
    installed("MineSettings = 5")
    with pytest.raises(PluginError, match="no pydantic model"):
        load({"mine": {}}, environ={})


def test_equal_settings_are_equal(installed):
    installed()
    assert load({"mine": {"folder": "x"}}, environ={}) == load({"mine": {"folder": "x"}}, environ={})
    assert load({"mine": {"folder": "x"}}, environ={}) != load({"mine": {"folder": "y"}}, environ={})


def test_a_model_may_be_given_instead():
    settings = load({"mine": {"folder": "x"}}, environ={}, sections={"mine": Own})
    assert settings.section("mine", Own) == Own(folder="x")
    assert load({}, environ={}).section("mine", Own) == Own()


# ------------------------------------------------------------------------------------------------------- not installed


@pytest.mark.usefixtures("alone")
def test_the_section_of_a_plugin_that_is_not_installed_is_left_unread(monkeypatch):
    monkeypatch.setenv("MEMSCOPE_ELASTICSEARCH_PREFIX", "x")
    settings = load({"elasticsearch": {"password": "hush", "whatever": {"is": "there"}}})
    assert settings.unread == ("elasticsearch",)
    assert "hush" not in repr(settings) and "hush" not in settings.model_dump_json()
    with MemoryScope(":memory:", settings=settings) as memory:
        memory.add_turns([{"role": "user", "content": "hello"}], user="alice")


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("scheme", ["elasticsearch", "elasticsearch+https"])
def test_the_store_that_needs_it_says_what_to_install(scheme):
    with pytest.raises(ConfigError, match=r"pip install \./core \./stores/elasticsearch"):
        MemoryScope(f"{scheme}://host:9200", settings={"elasticsearch": {"prefix": "x"}})


def test_a_store_whose_plugin_is_blocked_says_so():
    plugins = Plugins(load({"plugins": {"block": ["elasticsearch"]}}, environ={}).plugins)
    with pytest.raises(ConfigError, match=r"elasticsearch.*plugins\.block"):
        plugins.make_store("elasticsearch://host", load({}, environ={}))


def test_a_section_whose_model_cannot_be_imported_stops_no_memory(installed):
    installed("import nowhere_at_all")
    assert load({"mine": {"folder": "x"}}, environ={}).unread == ("mine",)
