"""Names that people try instead of a command: aliases, or a pointer to the right command."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

import catalogue
from memscope.retrieval import explain, features
from memscope_cli.app import COMMAND_ALIASES, COMMANDS_OF_EXTRAS, QUIT_WORDS, SUGGESTED_COMMANDS, cli

from servers.faults import FaultServer, Script

CHINESE = re.compile(r"[\u4e00-\u9fff]")


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("MEMSCOPE_STORE", str(tmp_path / "memory.db"))
    return lambda *args, input=None: CliRunner().invoke(cli, args, input=input)


def test_an_alias_runs_its_command(run):
    assert run("remember", "My boat is called Aurora.", "--user", "alice").output.startswith("1 turn stored")
    for word in ("ask", "search", "find"):
        assert "Aurora" in run(word, "What is my boat called?", "--user", "alice").output
    assert "Aurora" in run("ls", "--user", "alice").output


def test_ask_shows_what_an_assistant_would_be_shown_or_says_why_nothing(run):
    run("add", "My boat is called Aurora and I live in Leipzig.", "--user", "alice")
    assert "Aurora" in run("ask", "What do you know about me?", "--user", "alice").stdout
    assert "Aurora" in run("retrieve", "What do you know about me?", "--user", "alice").stdout
    poem = run("ask", "Write a poem about the sea.", "--user", "alice")
    assert poem.stdout == "" and "asks nothing about the user" in poem.stderr
    assert run("ask", "", "--user", "alice").stderr == "memscope: empty query\n"


def test_aliases_are_neither_commands_nor_listed(run):
    assert not {*COMMAND_ALIASES, *SUGGESTED_COMMANDS, *QUIT_WORDS} & {*cli.commands}
    assert {*COMMAND_ALIASES.values(), *SUGGESTED_COMMANDS.values()} <= {*cli.commands, *COMMANDS_OF_EXTRAS}
    assert "  ask " not in run("--help").output


@pytest.mark.parametrize(
    ("word", "hint"),
    [("rm", "memscope forget --help"), ("ui", "memscope serve --help"), ("quit", "/exit"), ("q", "/exit")],
)
def test_no_alias_deletes_or_exits(run, word, hint):
    done = run(word)
    assert done.exit_code == 2 and hint in done.stderr
    assert CHINESE.search(run("--lang", "zh", word).stderr)


@pytest.mark.parametrize(("word", "meant"), [("serach", "search"), ("rember", "remember"), ("retreive", "retrieve")])
def test_a_misspelt_command_gets_a_suggestion(run, word, meant):
    done = run(word, "boat")
    assert done.exit_code == 2 and f"'{meant}'" in done.stderr
    assert f"'{meant}'" in run("--lang", "zh", word, "boat").stderr


@pytest.fixture
def no_plugins_yet(monkeypatch):
    built_in = {name: one for name, one in cli.commands.items() if name not in COMMANDS_OF_EXTRAS}
    monkeypatch.setattr(cli, "commands", built_in)
    monkeypatch.setattr(cli, "_discovered", False)
    monkeypatch.setenv("MEMSCOPE_STORRE", "memory.db")


@pytest.mark.usefixtures("no_plugins_yet")
@pytest.mark.parametrize("command", ["mcp", "serve"])
def test_a_misspelt_setting_is_the_only_error_of_a_command_that_a_plugin_brings(run, command):
    done = run(command)
    assert done.exit_code == 3
    assert re.search("MEMSCOPE_STORRE.*'MEMSCOPE_STORE'", done.stderr)


@pytest.mark.usefixtures("no_plugins_yet")
def test_the_list_of_commands_is_shown_despite_a_misspelt_setting(run):
    done = run("--help")
    assert done.exit_code == 0 and "retrieve" in done.stdout and "MEMSCOPE_STORRE" in done.stderr


def test_an_empty_user_name_is_refused(run):
    assert "Give --user NAME" in run("add", "hello", "--user", "").stderr


def test_a_user_without_memory_is_told_the_command(run):
    run("add", "hello", "--user", "alice")
    told = run("retrieve", "boat", "--user", "bob").stderr
    assert "memscope add" in told
    assert "memscope add" in run("--lang", "zh", "retrieve", "boat", "--user", "bob").stderr


def test_the_explanation_of_a_ranking_is_wholly_chinese(run):
    for text in ("我的船叫极光。", "我昨天去了菜市场。", "你喜欢船吗？"):
        run("add", text, "--user", "小明")
    told = run("--lang", "zh", "retrieve", "我的船叫什么？", "--user", "小明", "--explain").output
    lines = told.partition("\n\n")[2].splitlines()
    assert len(lines) > 8
    assert not [line for line in lines if not CHINESE.search(line)]
    assert "空" in run("--lang", "zh", "retrieve", "", "--user", "小明").stderr


def test_every_explanation_of_a_channel_is_translated():
    known = {key[0] for key, text in catalogue.read().items() if text}
    meanings = {one.meaning for one in features.FEATURES}
    assert not (meanings | {*explain.BROUGHT_BY.values()}) - known


@pytest.mark.parametrize("word", ["/quit", "/q", "/bye", "quit", "exit", "退出"])
def test_a_chat_ends_by_common_exit_words(run, monkeypatch, word):
    with FaultServer(script=Script([{"match": ".", "reply": "Hello."}])) as server:
        monkeypatch.setenv("MEMSCOPE_CHAT__BASE_URL", server.base_url)
        monkeypatch.setenv("MEMSCOPE_CHAT__MODEL", "test-chat")
        done = run("chat", "--user", "alice", input=f"{word}\nhello\n")
        assert (done.exit_code, done.output, server.requests) == (0, "", [])


def test_a_chat_has_aliases_for_retrieve(run, monkeypatch):
    monkeypatch.setenv("MEMSCOPE_CHAT__BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("MEMSCOPE_CHAT__MODEL", "test-chat")
    done = run("chat", "--user", "alice", input="/find boat\n/remember My boat is called Aurora.\n/ask boat\n")
    assert "/add" in done.stderr and "Aurora" in done.stdout
