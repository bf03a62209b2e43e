"""Plugins by strangers: objects that are no store, model, feature or plugin are refused at once, by a typed error."""

from __future__ import annotations

import pytest

from memscope import MemoryScope
from memscope.errors import ConfigError, PluginError
from memscope.plugins.loader import Plugins
from memscope.retrieval.features import Feature


def fail(*_):
    raise RuntimeError("my words")


@pytest.mark.parametrize(
    ("hook", "name", "made", "said"),
    [
        ("stores", "mine", lambda location, settings: None, "NoneType is no store: it has no add_tombstones, "),
        ("stores", "mine", fail, "the plugin of mine:// failed: RuntimeError"),
        ("stores", "mine", 5, "the plugin of mine:// failed: TypeError"),
        ("models", "chat.mine", lambda section, settings: "m", "str is no chat model: it has no chat, name, stream"),
        ("models", "chat.mine", fail, "the plugin of chat.mine failed: RuntimeError"),
        ("features", "mine", 5, "the ranking feature 'mine' is no Feature"),
        ("features", "mine", Feature("mine", fail, "x", float("nan")), "with a finite weight"),
    ],
)
def test_what_a_plugin_registers_is_checked_before_it_is_used(hook, name, made, said):
    plugin = type("Mine", (), {f"memscope_register_{hook}": lambda self, register: register(name, made)})()
    settings = {"store": "mine://x" if hook == "stores" else ":memory:", "chat": {"provider": "mine", "model": "m"}}
    with pytest.raises((ConfigError, PluginError)) as refused:
        MemoryScope(
            settings={one: settings[one] for one in ("store", "chat")[: 1 + (hook == "models")]}, plugins=[plugin]
        )
    assert said in str(refused.value) and "my words" not in str(refused.value)


@pytest.mark.parametrize("role", ["chat", "embedder", "reranker", "store"])
def test_an_object_that_is_no_model_or_store_is_refused_at_once(role):
    kind = {"chat": "ChatModel", "embedder": "Embedder", "reranker": "Reranker", "store": "Store"}[role]
    with pytest.raises(ConfigError, match=rf"^(object|dict) is no .*memscope\.\w+\.{kind}"):
        MemoryScope(**{"store": ":memory:", "settings": {}, role: {} if role == "chat" else object()})


@pytest.mark.parametrize("plugin", [None, "my_plugin", 5, object()])
def test_a_plugin_without_hooks_is_refused(plugin):
    with pytest.raises(PluginError, match="has no hooks; give a module or an object"):
        Plugins(extra=[plugin])


def test_a_class_in_place_of_its_object_says_so():
    class Mine:
        def memscope_before_add_turns(self, turns, scope):
            return None

    with pytest.raises(PluginError, match=r"is a class; give an object of it: Mine\(\)"):
        Plugins(extra=[Mine])


def test_a_hook_that_exits_refuses_the_call_and_ends_nothing():
    class Leaving:
        def memscope_before_add_turns(self, turns, scope):
            raise SystemExit(3)

        def memscope_after_retrieve(self, retrieval, scope):
            raise SystemExit(3)

    with MemoryScope(":memory:", settings={}, plugins=[Leaving()]) as memory:
        with pytest.raises(PluginError, match="'Leaving' refused add_turns: SystemExit"):
            memory.add_turns([{"role": "user", "content": "x"}], user="alice")
        assert not memory.retrieve("x", user="alice")


@pytest.mark.parametrize("plugins", [5, "redact", {"redact": 1}, object()])
def test_plugins_that_are_no_list_are_refused(plugins):
    with pytest.raises(ConfigError, match=r"plugins must be a list of plugins, got \w+; plugins=\[plugin\]"):
        MemoryScope(":memory:", settings={}, plugins=plugins)


@pytest.mark.parametrize("store", ["", " ", "\t"])
def test_a_store_without_a_name_is_refused(store):
    with pytest.raises(ConfigError, match="the store has no name; give a path or a URL, or leave it out"):
        MemoryScope(store, settings={})
