"""A missing store: reading it is an error and does not create a file."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from memscope_cli.app import cli


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("MEMSCOPE_USER", "alice")
    monkeypatch.chdir(tmp_path)
    return lambda *args, **more: CliRunner().invoke(cli, args, **more)


READING = [
    ["retrieve", "tea"],
    ["context", "tea"],
    ["profile"],
    ["list"],
    ["show", "x"],
    ["history", "x"],
    ["export", "out.jsonl"],
    ["backup", "out.db"],
    ["status"],
    ["doctor"],
    ["update", "x", "--text", "y"],
    ["review"],
    ["forget", "--id", "x"],
    ["consolidate"],
    ["reflect"],
    ["reembed"],
    ["unpark"],
    ["compact"],
    ["sweep"],
    ["worker"],
    ["mcp"],
]


@pytest.mark.parametrize("args", READING, ids=lambda args: args[0])
@pytest.mark.parametrize("place", ["typo.db", "sqlite:///typo.db", "no/such/folder.db"])
def test_a_wrong_path_is_an_error_and_creates_no_file(run, tmp_path, args, place):
    done = run("--store", place, *args)
    assert done.exit_code != 0 and place.rpartition("/")[2] in done.output
    assert "Traceback" not in done.output
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_path_in_the_environment_is_an_error_too(run, tmp_path, monkeypatch):
    monkeypatch.setenv("MEMSCOPE_STORE", "typo.db")
    assert run("list").exit_code == 3
    assert list(tmp_path.iterdir()) == []


def test_an_empty_installation_names_the_first_step(run, tmp_path):
    done = run("list")
    assert done.exit_code == 3 and "memscope add" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("source", ["typo.db", "sqlite:///typo.db"])
def test_copy_from_a_wrong_path_creates_neither_file(run, tmp_path, source):
    done = run("copy", "--from", source, "--to", "new.db")
    assert done.exit_code == 3 and "'typo.db'" in done.stderr
    assert "--from" in done.stderr and "--store" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_add_creates_the_store(run, tmp_path):
    assert run("--store", "new.db", "add", "I like tea.").exit_code == 0
    assert run("--store", "new.db", "list").exit_code == 0
    assert run("--store", ":memory:", "list").exit_code == 0
    assert run("copy", "--from", "new.db", "--to", "copy.db").exit_code == 0
