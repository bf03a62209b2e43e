"""A settings file of the current folder: what it may say before anybody named or trusted it."""

from __future__ import annotations

import json
import logging
import os
import stat

import pytest
from click.testing import CliRunner
from pydantic import BaseModel

from memscope.cli import cli
from memscope.config import trust
from memscope.config.settings import Settings, load
from memscope.errors import ConfigError


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


REFUSED = [
    ("chat: {model: m, base_url: 'https://evil.example/v1'}", "chat"),
    ("chat: {model: m}", "chat"),  # OpenAI's, with the key of this person
    ("embedding: {preset: jina, model: m}", "embedding"),
    ("rerank: {preset: vllm, model: m, provider: mine}", "rerank"),
    ("chat: {model: m, base_url: 'http://127.0.0.1.evil.example/v1'}", "chat"),
    ("chat: {model: m, base_url: 'http://192.168.0.5/v1'}", "chat"),
    ("chat: {preset: ollama, model: m, base_url: 'https://evil.example/v1'}", "chat"),
    ("store: 'elasticsearch://evil.example:9200'", "store"),
    ("store: '//evil.example/share/memory.db'", "store"),
    ("elasticsearch: {verify_certs: false}", "elasticsearch"),
    ("plugins: {block: [redaction]}", "plugins"),
    ("plugins: {allow: [theirs]}", "plugins"),
    ("pipelines: {retrieve: [theirs]}", "pipelines"),
    ("prompts: theirs", "prompts"),
    ("blocks: {shared: {rules: theirs}}", "blocks"),
]


@pytest.mark.parametrize(("text", "name"), REFUSED)
def test_it_names_no_remote_store_or_model_and_loads_no_plugin(folder, text, name):
    file = write(folder, f"batch_turns: 3\n{text}\n")
    with pytest.raises(ConfigError, match=f"line 2 of 'memscope.yaml': {name} .*memscope trust"):
        load(environ={})
    assert load(file, environ={}).batch_turns == 3
    assert load(environ={"MEMSCOPE_CONFIG": str(file)}).batch_turns == 3


@pytest.mark.parametrize(
    "text",
    [
        "store: notes.db\ntimezone: Europe/Berlin\nbatch_turns: 5\nlimits: {k: 50}\n",
        "store: sqlite:///notes.db\n",
        "store: ':memory:'\n",
        "embedding: {preset: ollama, model: bge-m3}\n",
        "chat: {model: m, base_url: 'http://localhost:8000/v1'}\n",
        "chat: {model: m, base_url: 'http://[::1]:8000/v1', key: theirs}\n",
        "chat:\n",
    ],
)
def test_what_stays_on_this_machine_is_taken(folder, text):
    write(folder, text)
    load(environ={"OPENAI_API_KEY": "sk-mine"})


@pytest.mark.parametrize("name", ["KEY", "HEADERS"])
def test_it_brings_no_secret_of_the_environment_to_an_address_of_its_own(folder, name):
    write(folder, "chat: {model: m, base_url: 'http://localhost:8000/v1'}\n")
    environ = {f"MEMSCOPE_CHAT__{name}": '{"x-key": "mine"}'}
    with pytest.raises(ConfigError, match=r"line 1 .*: chat .*MEMSCOPE_CHAT__"):
        load(environ=environ)
    with pytest.raises(ConfigError, match=r"line 1 .*: chat "):
        load({"chat": {"key": "mine"}}, environ={})


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
    with pytest.raises(ConfigError, match="changed since it was trusted"):
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
    assert [record.getMessage() for record in caplog.records] == [
        "settings are read from 'memscope.yaml' of the current folder, neither named nor trusted"
    ]


def test_every_setting_is_either_harmless_or_guarded():
    guarded = {"store", "chat", "embedding", "rerank", "prompts", "plugins", "pipelines", "blocks"}
    assert trust.HARMLESS.isdisjoint(guarded)
    assert trust.HARMLESS | guarded == set(Settings.model_fields), "decide whether a stranger's file may set it"


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
    file = write(folder, "chat: {preset: openai, model: m}\nstore: notes.db\n")
    refused = run("--user", "alice", "list")
    assert refused.exit_code == 3 and "memscope trust" in refused.stderr
    done = run("trust")
    assert done.exit_code == 0 and str(file) in done.stdout and "chat" in done.stdout
    listed = run("trust", "--list", "--json")
    assert [json.loads(line) for line in listed.stdout.splitlines()] == [{"file": str(file), "state": "trusted"}]
    assert run("--user", "alice", "add", "I like tea.").exit_code == 0
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


def test_commands_say_once_that_the_file_of_the_folder_was_read(folder):
    write(folder, "store: notes.db\n")
    done = run("--user", "alice", "add", "I like tea.")
    assert done.stderr.count("memscope.yaml") == 1
    assert run("--user", "alice", "list", "--config", "memscope.yaml").stderr == ""
    found = json.loads(run("doctor", "--json").stdout)["findings"]
    assert any("memscope.yaml" in finding["said"] for finding in found if finding["check"] == "settings")
