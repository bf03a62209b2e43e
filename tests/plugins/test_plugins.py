"""Plugins: tolerant loading, choices, registered names, and the relay of the operation hooks."""

from __future__ import annotations

import asyncio
import importlib
import logging
import re
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime

import click
import pluggy
import pytest

from memscope.config.settings import PluginSettings, load
from memscope.errors import ConfigError, PluginError
from memscope.plugins import hookspecs
from memscope.plugins.hookspecs import hookimpl
from memscope.plugins.loader import DEFAULT_PLUGINS, Plugins
from memscope.records import Scope
from memscope.retrieval import Query
from memscope.stores.memory import InMemoryStore
from memscope_testing.models import ScriptedChat

SCOPE = Scope("alice")


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Make a distribution with plugins: ``installed("dist", name="module source")``."""
    monkeypatch.syspath_prepend(tmp_path)

    def install(distribution: str, **sources: str) -> None:
        points = []
        for name, source in sources.items():
            module = f"{distribution.replace('-', '_')}_{name}"
            (tmp_path / f"{module}.py").write_text(source)
            points.append(f"{name} = {module}")
        folder = tmp_path / f"{distribution.replace('-', '_')}-1.2.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.2\n")
        (folder / "entry_points.txt").write_text("[memscope]\n" + "\n".join(points) + "\n")
        importlib.invalidate_caches()

    before = set(sys.modules)
    yield install
    for name in set(sys.modules) - before:
        if name.startswith("dist_"):
            del sys.modules[name]


def by_name(plugins: Plugins) -> dict:
    return {plugin.name: plugin for plugin in plugins.listed()}


GOOD = """
def memscope_register_stores(register):
    register("toy", "toy_framework_that_is_not_imported:Store")
"""


# ------------------------------------------------------------------------------------------------------------- loading


def test_built_ins_register_like_any_other():
    plugins = Plugins()
    first = plugins.listed()[0]
    assert (first.name, first.state) == (DEFAULT_PLUGINS[0], "loaded") and "memscope_register_stores" in first.hooks
    assert {"memory", "sqlite"} <= set(plugins.registered("stores"))
    models = {"chat.openai", "embedding.openai", "embedding.fastembed", "rerank.openai"}
    assert models == set(plugins.registered("models"))


def test_one_broken_plugin_stops_no_other(installed, caplog):
    installed(
        "dist-a",
        broken="import a_module_that_is_not_there",
        good=GOOD,
        worse="raise SystemError('secret words')",
        leaving="import sys; sys.exit('secret words')",
    )
    plugins = Plugins()
    listed = by_name(plugins)
    assert listed["good"].state == "loaded" and listed["good"].hooks == ("memscope_register_stores",)
    assert (listed["good"].distribution, listed["good"].version) == ("dist-a", "1.2")
    assert listed["good"].file.endswith("dist_a_good.py")
    assert listed["broken"].state == "broken" and "a_module_that_is_not_there" in listed["broken"].reason
    assert listed["leaving"].state == "broken"
    assert listed["worse"].state == "broken" and "toy" in plugins.registered("stores")
    assert "secret words" not in caplog.text


def test_scanning_imports_no_framework(installed):
    installed("dist-lazy", lazy=GOOD)
    plugins = Plugins()
    assert "toy_framework_that_is_not_imported" not in sys.modules
    with pytest.raises(PluginError, match=r"toy_framework.*'lazy'"):
        plugins.make_store("toy://x", load({}, environ={}))


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            "def memscope_register_store(register): pass",
            "no hook 'memscope_register_store'; did you mean 'memscope_register_stores'",
        ),
        ("def memscope_before_retrieve(question): return question", "question"),
        ("async def memscope_register_stores(register): pass", "async"),
        ("def memscope_register_stores(register): register('sqlite', 1)", r"'sqlite'.*'memscope\.builtin' has"),
        ("def memscope_register_stores(register): raise OSError('no')", "OSError: no"),
        ("def memscope_register_stores(register): raise SystemExit('no')", "SystemExit: no"),
    ],
)
def test_a_wrong_hook_is_an_error_and_nothing_of_the_plugin_stays(installed, source, reason):
    also = "\ndef memscope_register_adapters(register): register('mine', object)\n"
    installed("dist-wrong", wrong=source + also)
    plugins = Plugins()
    wrong = by_name(plugins)["wrong"]
    assert wrong.state == "broken" and "mine" not in plugins.registered("adapters")
    assert re.search(reason, wrong.reason)


def test_a_wrong_hook_of_an_object_given_raises():
    class Misspelt:
        def memscope_before_add_turn(self, turns):
            return turns

    with pytest.raises(PluginError, match=r"'memscope_before_add_turn'.*'memscope_before_add_turns'"):
        Plugins(extra=[Misspelt()])


def test_wrappers_are_refused():
    class Wrapping:
        @pluggy.HookimplMarker("memscope")(wrapper=True)
        def memscope_before_retrieve(self):
            return (yield)

    with pytest.raises(PluginError, match="wrapper"):
        Plugins(extra=[Wrapping()])


def test_two_plugins_of_one_name(installed):
    installed("dist-first", same=GOOD)
    installed("dist-second", same=GOOD.replace("toy", "other"))
    states = {plugin.name: plugin for plugin in Plugins().listed() if plugin.name.startswith("same")}
    second = next(plugin for name, plugin in states.items() if name != "same")
    assert states["same"].state == "loaded" and second.state == "broken" and "has the name 'same'" in second.reason


def test_the_same_object_twice():
    class Mine:
        pass

    with pytest.raises(PluginError, match="'Mine'"):
        Plugins(extra=[Mine(), Mine()])


def test_a_name_registered_twice_names_both(installed):
    class Mine:
        def memscope_register_adapters(self, register):
            register("autogenous", object)

    class Yours(Mine):
        pass

    with pytest.raises(PluginError, match=r"'Yours'.*'autogenous'.*'Mine'"):
        Plugins(extra=[Mine(), Yours()])


# ------------------------------------------------------------------------------------------------------------- choices


def test_allow_and_block(installed):
    installed("dist-many", one=GOOD, two=GOOD.replace("toy", "b"), three=GOOD.replace("toy", "c"))
    listed = by_name(Plugins(PluginSettings(allow=("one", "two"), block=("two",))))
    assert {name: listed[name].state for name in ("one", "two", "three")} == {
        "one": "loaded",
        "two": "blocked",
        "three": "blocked",
    }
    assert listed["two"].reason == "plugins.block names it"


@pytest.mark.parametrize("choice", ["allow", "block"])
def test_a_chosen_name_that_is_no_plugin_is_listed_and_logged(installed, caplog, choice):
    installed("dist-typo", redaction=GOOD)
    names = {"allow": ("redaction", "redactoin"), "block": ("redactoin",)}[choice]
    listed = by_name(Plugins(PluginSettings(**{choice: names})))
    assert listed["redaction"].state == "loaded" and listed["redactoin"].state == "missing"
    assert f"plugins.{choice} names it" in listed["redactoin"].reason
    assert "did you mean 'redaction'?" in listed["redactoin"].reason and "'redactoin'" in caplog.text


def test_required_plugins(installed):
    installed("dist-req", redaction="import a_module_that_is_not_there")
    with pytest.raises(PluginError, match=r"'redaction'.*ModuleNotFoundError"):
        Plugins(PluginSettings(require=("redaction",)))
    with pytest.raises(PluginError, match=r"'redaction'.*blocked"):
        Plugins(PluginSettings(require=("redaction",), block=("redaction",)))
    with pytest.raises(PluginError, match=r"'redactoin'.*'redaction'"):
        Plugins(PluginSettings(require=("redactoin",)))


def test_the_settings_choose(installed):
    installed("dist-env", one=GOOD, two=GOOD.replace("toy", "b"))
    chosen = load({}, environ={"MEMSCOPE_PLUGINS_BLOCK": "two"}).plugins
    assert by_name(Plugins(chosen))["two"].state == "blocked"
    nothing = load({}, environ={"MEMSCOPE_NO_PLUGINS": "1"}).plugins
    assert by_name(Plugins(nothing))["one"].state == "blocked"


# --------------------------------------------------------------------------------------------------------------- names


def test_unknown_names_say_the_nearest():
    plugins = Plugins()
    with pytest.raises(ConfigError, match=r"'sqlight'.*'sqlite'"):
        plugins.make_store("sqlight://x", load({}, environ={}))
    settings = load({"chat": {"model": "m", "provider": "opanai"}}, environ={})
    with pytest.raises(ConfigError, match="did you mean 'openai'"):
        plugins.make_model("chat", settings)
    assert plugins.make_model("embedding", settings) is None


def test_stores_and_models_of_ones_own():
    made, store, model = [], InMemoryStore(), ScriptedChat([])

    class Mine:
        def memscope_register_stores(self, register):
            register("mine", lambda location, settings: made.append(location) or store)

        def memscope_register_models(self, register):
            register("chat.mine", lambda section, settings: made.append(section.model) or model)

        def memscope_register_workers(self, register):
            register("retrieve.mine", "json:dumps")

    plugins = Plugins(extra=[Mine()])
    settings = load({"chat": {"model": "m", "provider": "mine"}}, environ={})
    assert plugins.make_store("mine://somewhere", settings) is store
    assert plugins.make_model("chat", settings) is model and made == ["mine://somewhere", "m"]
    workers = plugins.workers("retrieve")
    assert "mine" in workers and "mine" not in plugins.workers("reflect")
    assert workers["mine"]("x") == '"x"'


def test_commands_and_their_failure(caplog):
    class Good:
        def memscope_register_commands(self, cli):
            cli.command("hello")(lambda: None)

    class Bad:
        def memscope_register_commands(self, cli):
            raise ValueError("secret words")

    group = click.Group()
    Plugins(extra=[Good(), Bad()]).add_commands(group)
    assert "hello" in group.commands and "'Bad'" in caplog.text and "secret words" not in caplog.text


# ---------------------------------------------------------------------------------------------------------- operations


async def test_before_hooks_are_a_chain_and_sync_or_async():
    def asked(query, more):
        return replace(query, text=f"{query.text} {more}")

    class One:
        def memscope_before_retrieve(self, query):
            return asked(query, "one")

    class Two:
        async def memscope_before_retrieve(self, scope, query):
            await asyncio.sleep(0)
            return asked(query, f"two for {scope.user}")

    class Silent:
        def memscope_before_retrieve(self):
            return None

    class First:
        @hookimpl(tryfirst=True)
        def memscope_before_retrieve(self, query):
            return asked(query, "first")

    plugins = Plugins(extra=[First(), One(), Silent(), Two()])
    query = Query("q", SCOPE, datetime.now(UTC))
    assert (await plugins.before("retrieve", query, scope=SCOPE)).text == "q first two for alice one"
    assert await plugins.before("forget", "unchanged", scope=SCOPE) == "unchanged"


async def test_an_exception_before_refuses_the_call():
    class Strict:
        async def memscope_before_add_turns(self, turns):
            raise ValueError("secret words")

    with pytest.raises(PluginError, match=r"'Strict'.*add_turns.*ValueError") as caught:
        await Plugins(extra=[Strict()]).before("add_turns", (), scope=SCOPE)
    assert "secret words" not in str(caught.value) and isinstance(caught.value.__cause__, ValueError)


async def test_a_hook_that_never_answers_is_over_at_its_deadline():
    class Stuck:
        async def memscope_before_add_turns(self, turns):
            await asyncio.Event().wait()

    with pytest.raises(PluginError, match="TimeoutError"):
        await Plugins(PluginSettings(deadline_s=0.01), extra=[Stuck()]).before("add_turns", (), scope=SCOPE)


async def test_cancelling_goes_through():
    class Waiting:
        async def memscope_after_forget(self, report):
            await asyncio.Event().wait()

    task = asyncio.create_task(Plugins(extra=[Waiting()]).after("forget", None, scope=SCOPE))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_after_hooks_fail_open_and_are_logged_once(caplog):
    seen = []

    class Bad:
        def memscope_after_add_turns(self, report):
            raise ValueError("secret words")

    class Good:
        def memscope_after_add_turns(self, report, scope):
            seen.append((report, scope.user))

    plugins = Plugins(extra=[Good(), Bad()])
    with caplog.at_level(logging.DEBUG):
        await plugins.after("add_turns", "r1", scope=SCOPE)
        await plugins.after("add_turns", "r2", scope=SCOPE)
    assert seen == [("r1", "alice"), ("r2", "alice")]
    assert caplog.text.count("'Bad' failed after add_turns: ValueError") == 1 and "secret words" not in caplog.text


async def test_the_relay_checks_its_arguments():
    class Any:
        def memscope_before_forget(self):
            return None

    plugins = Plugins(extra=[Any()])
    with pytest.raises(PluginError) as caught:
        await plugins.before("forget", "x", user="alice")
    assert "select, user" in str(caught.value.__cause__)


def test_every_operation_has_both_hooks():
    names = {name for name in vars(hookspecs) if name.startswith("memscope_")}
    for operation in ("add_turns", "consolidate", "reflect", "retrieve", "forget"):
        assert {f"memscope_before_{operation}", f"memscope_after_{operation}"} <= names


def test_plugins_of_two_memories_know_nothing_of_each_other():
    class Mine:
        def memscope_register_adapters(self, register):
            register("mine", object)

    assert "mine" in Plugins(extra=[Mine()]).registered("adapters")
    assert "mine" not in Plugins().registered("adapters")


def test_hookspecs_load_nothing_heavy():
    code = (
        "import sys, memscope.plugins.hookspecs; print([m for m in ('click', 'pydantic', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
