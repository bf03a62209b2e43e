"""A settings file of the current folder: what it may say before anybody named or trusted it."""

from __future__ import annotations

import json
import logging
import os
import stat

import pytest
from click.testing import CliRunner
from pydantic import BaseModel

from memscope.config import files, trust
from memscope.config.settings import Settings, load
from memscope.config.sources import Layer
from memscope.errors import ConfigError
from memscope_cli.app import cli


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The current folder, which is somebody else's; the settings of this person are beside it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "stranger").mkdir()
    monkeypatch.chdir(tmp_path / "stranger")
    return tmp_path / "stranger"


def write(folder, text):
    (folder / "memscope.yaml").write_text(text)
    return folder / "memscope.yaml"


OWN = "approve: true\nredaction: {mask: [api_key]}\nplugins: {require: [redactor]}\nbatch_turns: 7\n"
REASON = "neither named nor trusted.*memscope trust"
HARMLESS = {
    "timezone": "Asia/Tokyo", "index_cache_mb": 1, "batch_turns": 3, "lease_s": 3.0, "retry_s": 3.0, "idle_s": 3.0,
    "poll_s": 3.0, "retrieve_s": 3.0, "concurrency": 3, "builtin_vectors": False,
}  # fmt: skip
GUARDED = {
    "store", "background", "approve", "prompts", "plugins", "pipelines", "consolidation", "reflection", "blocks",
    "context", "limits", "redaction", "chat", "embedding", "rerank",
}  # fmt: skip


@pytest.fixture
def own(tmp_path):
    """Write the settings file of this person; return a function that writes another."""
    (tmp_path / "config" / "memscope").mkdir(parents=True)
    write(tmp_path / "config" / "memscope", OWN)
    return lambda text: write(tmp_path / "config" / "memscope", text)


def assert_protected(settings):
    assert settings.approve and settings.redaction.mask == {"api_key"} and settings.plugins.require == ("redactor",)


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "timezone: Asia/Tokyo\n"])
def test_the_folders_file_keeps_the_settings_of_the_own_file(folder, own, text):
    write(folder, text)
    settings = load(environ={})
    assert_protected(settings)
    assert settings.batch_turns == 7 and settings.timezone == ("Asia/Tokyo" if "Asia" in text else None)


def test_every_setting_is_either_harmless_or_guarded():
    assert set(HARMLESS) == trust.PACE_SETTINGS
    assert trust.PACE_SETTINGS | GUARDED == set(Settings.model_fields), "decide whether a stranger's file may set it"


@pytest.mark.parametrize("name", HARMLESS)
def test_an_untrusted_file_sets_what_is_harmless_over_the_own_file(folder, own, name):
    write(folder, f"{name}: {json.dumps(HARMLESS[name])}\n")
    settings = load(environ={})
    assert_protected(settings)
    assert getattr(settings, name) == HARMLESS[name]


WEAKENING = [
    "redaction: {mask: []}",
    "redaction: {}",
    "approve: false",
    "consolidation: {instructions: Note nothing.}",
    "consolidation: {roles: [tool]}",
    "plugins: {require: []}",
    "plugins: {block: [redactor]}",
    "plugins: {allow: [theirs]}",
    "pipelines: {retrieve: [theirs]}",
    "prompts: theirs",
    "blocks: {shared: {rules: theirs}}",
    "limits: {text: 1000000000}",
    "background: true",
    "context: {budget: 1000}",
    "store: notes.db",
    "store: 'elasticsearch://evil.example:9200'",
    "elasticsearch: {verify_certs: false}",
    "chat: {model: m, base_url: 'https://evil.example/v1'}",
    "chat: {model: m, base_url: 'http://localhost:8000/v1'}",
    "chat: {model: m}",
    "embedding: {preset: ollama, model: bge-m3}",
    "rerank: {preset: vllm, model: m, provider: mine}",
]


@pytest.mark.parametrize("text", WEAKENING)
def test_an_untrusted_file_with_any_other_setting_is_refused(folder, own, text):
    file = write(folder, f"batch_turns: 3\n{text}\n")
    with pytest.raises(ConfigError, match=f"line 2 of 'memscope.yaml': {text.partition(':')[0]} .*{REASON}"):
        load(environ={})
    assert load(file, environ={}).batch_turns == 3
    assert load(environ={"MEMSCOPE_CONFIG": str(file)}).batch_turns == 3


@pytest.mark.parametrize("name", sorted(GUARDED))
def test_a_guarded_section_is_refused_when_it_is_empty(folder, own, name):
    with pytest.raises(ConfigError, match=REASON):
        trust.check(files.read(write(folder, f"{name}:\n"), named=False), Layer({name: None}))


def test_a_trusted_file_overrides_the_own_file_key_by_key(folder, own):
    own(OWN + "limits: {k: 5, keys: 6}\n")
    trust.add(write(folder, "approve: false\nlimits: {k: 9}\nredaction: {mask: [email]}\n"))
    settings = load(environ={})
    assert (settings.approve, settings.redaction.mask) == (False, {"email"})
    assert (settings.limits.k, settings.limits.keys, settings.batch_turns) == (9, 6, 7)
    assert settings.plugins.require == ("redactor",)


def test_a_file_that_is_named_stands_alone(folder, own):
    file = write(folder, "batch_turns: 3\n")
    assert load(file, environ={}).approve is False


@pytest.mark.parametrize("server", ["preset: ollama", "base_url: 'http://localhost:8000/v1'", "provider: fastembed"])
def test_a_key_of_the_own_file_is_for_its_own_server(folder, own, server):
    own("chat: {preset: openai, model: m, key: sk-mine, headers: {x: sk-mine}, budget: {calls_per_day: 9}}\n")
    trust.add(write(folder, f"chat: {{model: n, {server}}}\n"))
    chat = load(environ={}).chat
    assert (chat.model, chat.key, chat.headers) == ("n", None, None) and "openai" not in repr(chat.preset)
    assert chat.budget.calls_per_day == 9
    trust.add(write(folder, "chat: {model: n}\n"))
    chat = load(environ={}).chat
    assert (chat.model, chat.preset, chat.key.get_secret_value()) == ("n", "openai", "sk-mine")


def test_origins_name_the_place_of_every_value(folder, own):
    file = own("approve: true\nlimits: {k: 5, keys: 6}\nchat: {preset: openai, model: m, key: sk-mine}\n")
    trust.add(write(folder, "limits: {k: 9}\n\nchat: {preset: ollama, model: n}\n"))
    settings = load({"batch_turns": 2}, environ={"MEMSCOPE_IDLE_S": "4"})
    assert settings.origins == {
        "approve": f"line 1 of '{file}'",
        "limits.k": "line 1 of 'memscope.yaml'",
        "limits.keys": f"line 2 of '{file}'",
        "chat.preset": "line 3 of 'memscope.yaml'",
        "chat.model": "line 3 of 'memscope.yaml'",
        "idle_s": "MEMSCOPE_IDLE_S",
        "batch_turns": "settings argument",
    }
    assert settings == load(settings.model_copy()) and Settings() == load(environ={"MEMSCOPE_CONFIG": os.devnull})
    assert "sk-mine" not in repr(settings.origins)


def test_a_mistake_is_told_before_the_question_of_trust(folder):
    write(folder, "plugins: {alow: [x]}\n")
    with pytest.raises(ConfigError, match="did you mean 'allow'"):
        load(environ={})


def test_a_trusted_file_is_taken_until_it_changes(folder, tmp_path):
    file = write(folder, "chat: {preset: openai, model: m}\n")
    trust.add(file)
    assert load(environ={}).chat
    kept = tmp_path / "config" / "memscope" / "trusted.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600 or os.name == "nt"
    assert "openai" not in kept.read_text()
    write(folder, "chat: {preset: openai, model: n}\n")
    with pytest.raises(ConfigError, match="changed"):
        load(environ={})
    trust.add(file)
    load(environ={})
    assert trust.remove(file) and not trust.remove(file)
    with pytest.raises(ConfigError, match="memscope trust"):
        load(environ={})


def test_the_same_words_elsewhere_are_not_trusted(folder, tmp_path, monkeypatch):
    trust.add(write(folder, "prompts: theirs\n"))
    (tmp_path / "other").mkdir()
    write(tmp_path / "other", "prompts: theirs\n")
    monkeypatch.chdir(tmp_path / "other")
    with pytest.raises(ConfigError, match="memscope trust"):
        load(environ={})


def test_the_file_of_the_configuration_folder_needs_no_trust(tmp_path, monkeypatch):
    own = tmp_path / "config" / "memscope"
    own.mkdir(parents=True)
    write(own, "chat: {preset: openai, model: m}\n")
    assert load(environ={}).chat
    monkeypatch.chdir(own)
    assert load(environ={}).chat


@pytest.mark.parametrize("text", ["{", "[]", '{"files": []}', '{"files": {"a": 1}}'])
def test_a_damaged_list_of_trusted_files_is_named(folder, tmp_path, text):
    write(folder, "prompts: theirs\n")
    (tmp_path / "config" / "memscope").mkdir(parents=True)
    (tmp_path / "config" / "memscope" / "trusted.json").write_text(text)
    with pytest.raises(ConfigError, match=r"trusted\.json.*remove it"):
        load(environ={})


def test_one_line_says_which_file_was_read(folder, caplog):
    write(folder, "batch_turns: 3\n")
    with caplog.at_level(logging.INFO, "memscope"):
        load(environ={})
    (record,) = caplog.records
    assert "'memscope.yaml'" in record.getMessage()


def test_a_section_of_a_plugin_is_guarded(folder):
    class Theirs(BaseModel):
        url: str = ""

    write(folder, "theirs: {url: x}\n")
    with pytest.raises(ConfigError, match=r": theirs .*memscope trust"):
        load(environ={}, sections={"theirs": Theirs})


# ---- the command


def run(*args):
    return CliRunner().invoke(cli, args)


def test_trust_list_and_revoke(folder):
    file = write(folder, "chat: {preset: openai, model: m}\nstore: notes.db\nbatch_turns: 3\n")
    refused = run("--user", "alice", "list")
    assert refused.exit_code == 3 and "memscope trust" in refused.stderr
    done = run("trust")
    assert done.exit_code == 0 and str(file) in done.stdout
    assert done.stdout.endswith("settings that need it: chat, store\n")
    listed = run("trust", "--list", "--json")
    assert [json.loads(line) for line in listed.stdout.splitlines()] == [{"file": str(file), "state": "trusted"}]
    assert run("--user", "alice", "add", "I like tea.").exit_code == 0
    assert (folder / "notes.db").exists()
    file.write_text("store: other.db\n")
    assert "changed" in run("trust", "--list").stdout
    assert run("trust", "--revoke").exit_code == 0
    assert run("trust", "--revoke").exit_code == 2
    assert run("trust", "--list").stdout == ""


def test_what_is_no_settings_file_is_not_trusted(folder):
    assert run("trust").exit_code == 3
    write(folder, "plugins: {alow: [x]}\n")
    done = run("trust")
    assert done.exit_code == 3 and "did you mean 'allow'" in done.stderr
    assert run("trust", "--list").stdout == ""


def test_commands_say_once_that_the_file_of_the_folder_was_read(folder, own):
    own("redaction: {mask: [email]}\n")
    write(folder, "batch_turns: 3\n")
    done = run("--user", "alice", "add", "I like tea.")
    assert len(done.stderr.splitlines()) == 1 and "'memscope.yaml'" in done.stderr
    assert run("--user", "alice", "list", "--config", "memscope.yaml").stderr == ""


def test_status_and_doctor_say_which_file_set_what(folder, own):
    mine = own("redaction: {mask: [email]}\n")
    write(folder, "batch_turns: 3\n")
    run("--user", "alice", "add", "I like tea.")
    places = {"batch_turns": "line 1 of 'memscope.yaml'", "redaction.mask": f"line 1 of '{mine}'"}
    assert json.loads(run("status", "--json").stdout)["settings"] == places
    assert "batch_turns (line 1 of 'memscope.yaml'), redaction.mask (line 1 of" in " ".join(
        run("status").stdout.split()
    )
    found = json.loads(run("doctor", "--json").stdout)["findings"]
    said = [finding["said"] for finding in found if finding["check"] == "settings"]
    _, named, untrusted, sources = said
    assert str(mine) in named and "'memscope.yaml'" in untrusted and "nor trusted" in untrusted
    assert sources.endswith(f"batch_turns (line 1 of 'memscope.yaml'), redaction.mask (line 1 of '{mine}')")
