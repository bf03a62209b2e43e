"""The advice of doctor: after following it, the finding is gone."""

from __future__ import annotations

import os
import re
import shlex
import sqlite3
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from examining import carry_out, examined, isolate, make_store, setenv
from memscope import AsyncMemoryScope, MemoryScope
from memscope.config import sections
from memscope.plugins import loader
from memscope.records import ChangeSet, Insight, Observation, Scope, Supersession
from memscope.stores.part_files import PART_SUFFIX
from memscope.sync import loop_thread
from memscope_cli.commands import doctor as ward
from memscope_testing.models import ScriptedChat
from reflecting import Placing

NOW = datetime.now(UTC)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    return isolate(tmp_path, monkeypatch)


@pytest.fixture
def store(folder):
    return make_store(folder)


# ----------------------------------------------------------------------------------------------------------- settings

#: Wrong settings, the advice, and the settings after following it.
SETTINGS = [
    ({"MEMSCOPE_TIMEZOME": "UTC"}, "did you mean 'MEMSCOPE_TIMEZONE'?",
     {"MEMSCOPE_TIMEZOME": "", "MEMSCOPE_TIMEZONE": "UTC"}),
    ({"MEMSCOPE_TIMEZONE": "Berlin"}, 'such as "Europe/Berlin"', {"MEMSCOPE_TIMEZONE": "Europe/Berlin"}),
    ({"MEMSCOPE_LIMITS__K": "0"}, "has to be at least 1", {"MEMSCOPE_LIMITS__K": "1"}),
    ({"MEMSCOPE_BATCH_TURNS": "many"}, "has to be a whole number", {"MEMSCOPE_BATCH_TURNS": "5"}),
    ({"MEMSCOPE_REDACTION__MASK": "e-mail"}, "known: .*email", {"MEMSCOPE_REDACTION__MASK": "email"}),
    ({"MEMSCOPE_CONTEXT__CORE": "0.9"}, "CONTEXT__CORE: .*a tenth of the budget", {"MEMSCOPE_CONTEXT__CORE": "0.1"}),
    ({"MEMSCOPE_CHAT__PRESET": "opnai"}, "did you mean 'openai'?", {"MEMSCOPE_CHAT__PRESET": "openai"}),
    ({"MEMSCOPE_CHAT__PRESET": "ollama"}, "set model, e.g.", {"MEMSCOPE_CHAT__MODEL": "m"}),
    ({"MEMSCOPE_CHAT__PROVIDER": "opnai"}, "did you mean 'openai'?", {"MEMSCOPE_CHAT__PROVIDER": "openai"}),
    ({"MEMSCOPE_STORE": "http://localhost:9200"}, "elasticsearch://host:port", {"MEMSCOPE_STORE": ":memory:"}),
    ({"MEMSCOPE_STORE": "sqllite:///a.db"}, "did you mean 'sqlite'?", {"MEMSCOPE_STORE": "sqlite:///a.db"}),
    ({"MEMSCOPE_STORE": "."}, "give the path of a file", {"MEMSCOPE_STORE": "a.db"}),
    ({"MEMSCOPE_STORE": "sqlite:///"}, "give the path of a file", {"MEMSCOPE_STORE": "sqlite:///a.db"}),
    ({"MEMSCOPE_STORE": "/"}, "give the path of a file", {"MEMSCOPE_STORE": "a.db"}),
    ({"MEMSCOPE_STORE": "sqlite://a.db"}, "write sqlite:///relative.db", {"MEMSCOPE_STORE": "sqlite:///a.db"}),
    ({"MEMSCOPE_CONSOLIDATION__ROLES": "usr"}, "one of 'user', ", {"MEMSCOPE_CONSOLIDATION__ROLES": "user"}),
    ({"MEMSCOPE_STORE": "no/such/a.db"}, "create it, or choose another path", {"MEMSCOPE_STORE": "a.db"}),
    ({"MEMSCOPE_PROMPTS": "nowhere"}, "leave it out", {"MEMSCOPE_PROMPTS": ""}),
    ({"MEMSCOPE_PLUGINS__REQUIRE": "langchian"}, "did you mean 'langchain'",
     {"MEMSCOPE_PLUGINS__REQUIRE": "langchain"}),
    ({"MEMSCOPE_PLUGINS__REQUIRE": "x"}, "take it out of plugins.require", {"MEMSCOPE_PLUGINS__REQUIRE": ""}),
    ({"MEMSCOPE_PLUGINS__REQUIRE": "server", "MEMSCOPE_PLUGINS__BLOCK": "server"}, "block names it.*take it out",
     {"MEMSCOPE_PLUGINS__REQUIRE": ""}),
    ({"MEMSCOPE_PIPELINES__RETRIEVE": "serach"}, "did you mean 'search'?", {"MEMSCOPE_PIPELINES__RETRIEVE": "search"}),
    ({"MEMSCOPE_CONFIG": "nowhere.yaml"}, "MEMSCOPE_CONFIG", {"MEMSCOPE_CONFIG": os.devnull}),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "advice", "right"), SETTINGS, ids=[str(wrong) for wrong, *_ in SETTINGS])
def test_wrong_settings_are_the_only_finding_and_its_advice_fixes_them(monkeypatch, wrong, advice, right):
    setenv(monkeypatch, wrong)
    found = examined()
    (one,) = [finding for finding in found if finding["state"] == "fail"]
    told = f"{one['said']}; {one['mend']}"
    assert re.search(advice, told), told
    assert found == [one] and "chmod" not in told
    setenv(monkeypatch, right)
    said = [finding["said"] for finding in examined()]
    assert one["said"] not in said and not any("permissions" in line for line in said)


def test_a_broken_settings_file_leaves_the_store_unchecked(folder):
    (folder / "work" / "memscope.yaml").write_text("a: [")
    (one,) = examined()
    assert one["check"] == "settings" and "memscope.yaml" in one["said"]
    (folder / "work" / "memscope.yaml").write_text("approve: true")
    (one,) = examined()
    assert "memscope trust" in one["mend"]
    carry_out("memscope trust")
    assert examined() == []


def test_a_section_whose_plugin_is_missing_names_what_installs_it(monkeypatch):
    monkeypatch.setattr(sections, "entry_points", lambda **_: ())
    monkeypatch.setenv("MEMSCOPE_ELASTICSEARCH__PASSWORD", "x")
    (one,) = examined()
    assert "pip install ./core ./stores/elasticsearch" in one["mend"]


def test_a_broken_plugin_is_blocked_beside_those_that_are(monkeypatch, folder):
    (folder / "site").mkdir()
    for name in ("one", "two"):
        (folder / "site" / f"{name}_broken.py").write_text("raise RuntimeError")
        info = folder / "site" / f"{name}_broken-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Name: {name}-broken\nVersion: 1\n")
        (info / "entry_points.txt").write_text(f"[{loader.ENTRY_POINT_GROUP}]\n{name} = {name}_broken\n")
    monkeypatch.syspath_prepend(str(folder / "site"))
    monkeypatch.setenv("MEMSCOPE_PLUGINS__BLOCK", "two")
    (one,) = examined()
    assert one["check"] == "plugins" and "'one' cannot be loaded" in one["said"]
    variable, _, value = one["mend"].rpartition(" ")[2].partition("=")
    monkeypatch.setenv(variable, value)
    assert examined() == []


# -------------------------------------------------------------------------------------------------------- the machine


@pytest.mark.skipif(os.name == "nt", reason="permissions")
def test_chmod_is_advised_for_the_stores_files_only(store, folder):
    with MemoryScope(store, settings={}) as memory:
        memory.admin.status()
        parts = [store.with_name(f"memory.db{end}") for end in ("", "-wal", "-shm")]  # these contain conversation text
        for part in parts:
            part.chmod(0o644)
        (one,) = examined(check="permissions")
        assert one["mend"] == f"chmod 600 {shlex.join(map(str, parts))}"
        carry_out(one["mend"])
        assert examined(check="permissions") == []
    assert all(part.stat().st_mode & 0o777 == 0o600 for part in store.parent.glob("memory.db*"))


@pytest.mark.skipif(os.name == "nt", reason="permissions")
@pytest.mark.parametrize("place", [".", "no/such/a.db", ":memory:", "http://x"])
def test_permissions_of_other_paths_are_not_checked(place):
    assert examined("--store", place, check="permissions") == []


def test_compact_removes_what_was_left_unfinished(store):
    part = store.with_name(f"backup.db.0{PART_SUFFIX}")
    part.touch()
    (one,) = examined(check="permissions")
    carry_out(one["mend"])
    assert not part.exists() and examined() == []


def test_freeing_disk_space_helps(store, monkeypatch):
    monkeypatch.setattr(ward.shutil, "disk_usage", lambda path: SimpleNamespace(free=1_000))
    (one,) = examined(check="disk")
    assert one["mend"].startswith("make room on this disk")
    monkeypatch.setattr(ward.shutil, "disk_usage", lambda path: SimpleNamespace(free=10**9))
    assert examined() == []


def test_another_path_is_chosen_for_a_file_that_is_no_store(store, monkeypatch):
    store.write_bytes(b"no store " * 100)
    (one,) = examined(check="store")
    assert "another path" in one["mend"]
    monkeypatch.setenv("MEMSCOPE_STORE", "other.db")
    assert examined() == []
    assert store.read_bytes() == b"no store " * 100


def test_giving_write_permission_helps(store, monkeypatch):
    monkeypatch.setattr("memscope.stores.sqlite.files.writable", lambda path: bool(path.stat().st_mode & 0o200))
    store.chmod(0o400)  # root can still write it, so doctor must check the mode
    (one,) = examined()
    assert one["check"] == "store" and "write permission" in one["mend"]
    store.chmod(0o600)
    assert examined() == []


def test_setting_the_clock_helps(store):
    later = (NOW + timedelta(days=1)).timestamp()
    os.utime(store, (later, later))
    (one,) = examined(check="clock")
    assert one["mend"].startswith("set the clock of this machine")
    os.utime(store)  # after the clock was set, the file is no longer in the future
    assert examined() == []


def test_a_user_with_two_spellings_keeps_one(store):
    with MemoryScope(store, settings={}) as memory:
        memory.add_turns([{"role": "user", "content": "hello"}] * 2, user="ALICE B")
    (one,) = examined(check="users")
    advice, _, command = one["mend"].partition(": ")
    assert advice.startswith("write a name always the same way")
    carry_out(command + " --yes")
    assert examined() == []
    with MemoryScope(store, settings={}) as memory:
        assert memory.admin.users() == ["ALICE B"]  # the one with more turns


def test_a_round_trip_that_finds_nothing_is_explained(store, monkeypatch):
    find = AsyncMemoryScope.retrieve

    async def nothing(self, *_, user, **__):
        return () if user == ward.DOCTOR_USER else await find(self, *_, user=user, **__)

    monkeypatch.setattr(AsyncMemoryScope, "retrieve", nothing)
    (one,) = examined(check="round trip")
    command = one["mend"].removeprefix("add a turn of your own; ").removesuffix(" then shows why it is not found")
    carry_out(f"{command} --user 'alice b' Berlin")


def test_compact_wipes_what_a_forget_left(store, monkeypatch):
    monkeypatch.setattr("memscope.stores.sqlite.files.BUSY_S", 0.5)
    with sqlite3.connect(store) as reader:  # an open reader keeps old pages alive
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (one,) = examined(check="round trip")
        reader.rollback()
    reader.close()
    carry_out(one["mend"])
    assert examined() == []


def test_advice_names_the_examined_store(store, folder, monkeypatch):
    other, config = folder / "my data" / "other.db", folder / "my settings.yaml"
    config.write_text("batch_turns: 3")
    store.rename(other)
    other.with_name(f"x.0{PART_SUFFIX}").touch()
    options = ["--store", str(other), "--config", str(config)]
    (one,) = examined(*options, check="permissions")
    assert one["mend"] == f"memscope {shlex.join(options)} compact"
    carry_out(one["mend"])
    assert examined(*options) == [] and not store.exists()


def test_turns_from_the_future_are_forgotten_and_facts_about_the_future_are_not(store):
    with MemoryScope(store, settings={}) as memory:
        memory.add_memory("I have an appointment on 12 June 2099.", user="alice b")
        turn = {"role": "user", "content": "hello", "time": NOW + timedelta(days=3), "id": "later one"}
        memory.add_turns([turn], user="alice b")
    (one,) = examined(check="clock")
    carry_out(one["mend"].partition(": ")[2])
    assert examined() == []
    with MemoryScope(store, settings={}) as memory:
        assert len(memory.list(user="alice b")) == 3


def test_turns_with_secrets_are_forgotten_and_new_ones_masked(store, monkeypatch):
    with MemoryScope(store, settings={}) as memory:
        memory.add_turns([{"role": "user", "content": "my card is 4111 1111 1111 1111"}], user="alice b")
        memory.add_memory("the same", user="alice b", data={"cards": [4111111111111111]})
    (one,) = examined(check="secrets")
    command, _, setting = one["mend"].partition("; ")
    carry_out(command)
    assert examined() == [] and "redaction.mask" in setting
    monkeypatch.setenv("MEMSCOPE_REDACTION__MASK", "card_number")
    with MemoryScope(store) as memory:
        memory.add_turns([{"role": "user", "content": "my card is 4111 1111 1111 1111"}], user="alice b")
    assert examined() == []


# ---------------------------------------------------------------------------------------------------------- memories


def fact(id, text, **more):
    return Observation(id=id, scope=Scope("alice b"), text=text, sources=("t1",), said=NOW, recorded=NOW, **more)


def apply(store, *plans):
    with MemoryScope(store, settings={}) as memory:
        for plan in plans:
            loop_thread.run(memory.admin.runtime.services.store.apply("alice b", plan))


def test_duplicate_memories_are_shown_and_forgotten(store):
    apply(store, ChangeSet(new=tuple(fact(f"fact {n}", "The user moved to Berlin.") for n in range(2))))
    (one,) = examined(check="memories")
    for command in one["mend"].split(", then: "):
        carry_out(command)
    assert examined() == []


def test_expired_memories_are_swept(store):
    apply(store, ChangeSet(new=(fact("f", "A thing.", expires=NOW - timedelta(days=1)),)))
    (one,) = examined(check="memories")
    carry_out(one["mend"])
    assert examined() == []


def insight_on_what_is_over(store):
    old, new = (
        fact("a", "The user lives in Berlin.", about="user"),
        fact("b", "The user moved to Munich.", about="user"),
    )
    home = Insight(id="i", scope=Scope("alice b"), text="The user lives in Berlin.", sources=("a",), said=NOW,
                   recorded=NOW, subject="living situation")  # fmt: skip
    apply(
        store, ChangeSet(new=(old, new)), ChangeSet(new=(home,)), ChangeSet(closed=(Supersession("a", "b", NOW, NOW),))
    )


def test_an_insight_on_superseded_facts_is_updated_by_reflect(store, monkeypatch):
    insight_on_what_is_over(store)
    (one,) = examined(check="memories")
    assert one["mend"].endswith("memscope reflect --user 'alice b'")
    placing = ScriptedChat(Placing({"living situation": ["Berlin", "Munich"]}))
    with MemoryScope(store, settings={"pipelines": {"consolidate": []}}, chat=placing) as memory:
        memory.reflect(user="alice b")
    assert examined(check="memories") == []


def test_an_insight_on_superseded_facts_is_forgotten_if_reflect_would_skip_it(store):
    insight_on_what_is_over(store)
    apply(store, ChangeSet(done=("a", "b")))
    (one,) = examined(check="memories")
    command, _, rest = one["mend"].partition("; ")
    carry_out(command)
    assert (examined(check="memories"), rest) == ([], "the facts stay")
    with MemoryScope(store, settings={}) as memory:
        assert [memory.id for memory in memory.list(user="alice b", kinds=["observation"])] == ["b"]
