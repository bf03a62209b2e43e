"""``memscope block``, and core memory in the chat."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from memscope import AsyncMemoryScope, MemoryScope
from memscope.stores.memory import InMemoryStore
from memscope_cli.app import cli
from memscope_testing.models import ScriptedChat


@pytest.fixture
def store(tmp_path):
    return str(tmp_path / "memory.db")


@pytest.fixture
def run(store):
    def run(*args, user="alice"):
        return CliRunner().invoke(cli, ["--store", store, "--user", user, "block", *args])

    return run


def test_a_block_is_made_edited_shown_and_reverted(run):
    assert run("append", "human", "Alice lives in Berlin.", "--reason", "said so").exit_code == 0
    assert run("replace", "human", "Berlin", "Lisbon").stdout.splitlines() == [
        "human  version 2, 22 of 2,000 characters",
        "  Alice lives in Lisbon.",
    ]
    assert run("set", "project", "Bread", "--limit", "50", "--description", "what we do").exit_code == 0
    assert json.loads(run("set", "project", "--order", "7", "--json").stdout)["order"] == 7
    told = run("history", "human").stdout
    assert "person: said so" in told and "Berlin" in told
    assert run("revert", "human", "1").stdout.endswith("  Alice lives in Berlin.\n")
    listed = [json.loads(line) for line in run("list", "--json").stdout.splitlines()]
    assert [(one["label"], one.get("version", 0)) for one in listed] == [("persona", 0), ("human", 3), ("project", 2)]
    assert run("show", "human", "--version", "2").stdout.endswith("Lisbon.\n")
    assert run("replace", "human", " in Berlin", "").stdout.endswith("  Alice lives.\n")


def test_a_block_is_erased_with_its_history_after_a_question(run, store):
    run("append", "human", "Alice lives in Berlin.")
    run("append", "human", "She sails.")
    asked = run("erase", "human")
    assert (asked.exit_code, "give --yes" in asked.stderr) == (2, True)
    assert run("erase", "human", "--dry-run").stdout == "1 block would be removed\n"
    assert run("erase", "human", "--yes").stdout == "1 block removed and wiped from the file\n"
    assert run("history", "human").stdout == "" and b"Berlin" not in Path(store).read_bytes()
    assert "'human'" in run("erase", "human", "--yes").stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["append", "nope", "x"], "there are persona, human"),
        (["replace", "human", "zz", "y"], "0 matches"),
        (["set", "human"], "nothing to set"),
        (["set", "human", "--limit", "3"], "shorten it by 2"),
        (["show", "human", "--version", "9"], "no version 9"),
        (["revert", "human", "9"], "no version 9"),
        (["append", "human", ""], "rewrite it with an empty text"),
        (["erase", "nope"], "there is no block 'nope'"),
        (["erase", "persona"], "nobody wrote block 'persona'"),
    ],
)
def test_an_impossible_edit_says_why(run, args, said):
    run("append", "human", "Alice")
    done = run(*args)
    assert (done.exit_code, said in done.stderr) == (2, True)
    assert "Alice" in run("show", "human").stdout


def test_a_read_only_block_is_opened_by_a_person(run):
    run("set", "rules", "Be brief.", "--read-only")
    done = run("append", "rules", "x")
    assert (done.exit_code, "--editable" in done.stderr) == (2, True)
    assert run("set", "rules", "--editable").exit_code == run("append", "rules", "x").exit_code == 0


def test_reading_does_not_create_a_store(run, tmp_path):
    assert run("list").exit_code == 3
    assert not list(tmp_path.iterdir())


def test_a_receipt_names_blocks_that_may_repeat_what_was_forgotten(run, store):
    run("append", "human", "Alice lives in Berlin.")
    with MemoryScope(store, settings={}) as memory:
        memory.add_turns([{"role": "user", "content": "I live in Berlin", "id": "m1"}], user="alice")
    done = CliRunner().invoke(cli, ["--store", store, "--user", "alice", "forget", "--id", "m1"])
    assert "look at them: human" in done.stdout


# ---- the chat


async def test_the_persona_of_the_chat_is_the_block_and_the_others_stand_before_the_memories():
    chat = ScriptedChat(["hello", "hello"])
    async with AsyncMemoryScope(InMemoryStore(), settings={}, chat=chat) as memory:
        await memory.blocks("alice").append("persona", "You are a pirate.")
        await memory.blocks("alice").append("human", "Alice sails.")
        await memory.chat("Who are you?", user="alice")
        system, *_, last = chat.prompts[0]
        assert system["content"].startswith("You are a pirate.")
        assert "Alice sails." in last["content"] and "pirate" not in last["content"]
        await memory.chat("Who are you?", user="alice", persona="You are a cook.")
        assert chat.prompts[1][0]["content"].startswith("You are a cook.")
