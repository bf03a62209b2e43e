"""retrieve, context, list, show, history, update, forget, status, plugins."""

from __future__ import annotations

import json
import os
import sys

import pytest
from click.testing import CliRunner

from memscope import MemoryScope
from memscope_cli.app import cli

TURNS = [
    {"role": "user", "content": "I moved to Berlin last May.", "id": "m1", "time": "2026-03-02T10:00:00+00:00"},
    {"role": "assistant", "content": "How do you like Berlin?", "id": "m2", "time": "2026-03-02T10:01:00+00:00"},
    {"role": "user", "content": "I play chess \u202eon Sundays.", "id": "m3", "time": "2026-06-01T10:00:00+00:00"},
]


@pytest.fixture
def store(tmp_path):
    path = str(tmp_path / "memory.db")
    with MemoryScope(path, settings={}) as memory:
        memory.add_turns(TURNS[:2], user="alice", session="spring", agent="helper")
        memory.add_turns(TURNS[2:], user="alice", session="summer")
        memory.add_memory("Prefers tea", user="alice", name="drink", data={"kind": "taste"})
    return path


@pytest.fixture
def run(store):
    def run(*args, user="alice", input=None):
        return CliRunner().invoke(cli, ["--store", store, "--user", user, *args], input=input)

    return run


def ids(done):
    return [json.loads(line)["id"] for line in done.stdout.splitlines()]


def test_retrieve_shows_dated_evidence_and_what_found_it_when_asked(run):
    first, why, *_ = run("retrieve", "--explain", "Where did she move to?").stdout.splitlines()
    assert first == " 1  [2026-03-02 10:00 Monday] user: I moved to Berlin last May (2025-05)."
    assert why.strip().startswith("found by text") and why.endswith("  m1")
    short = run("retrieve", "Where did she move to?").stdout
    assert short.splitlines()[0] == f"{first}  m1" and "found by" not in short


def test_retrieve_for_programs(run):
    (line,) = run("retrieve", "chess", "--json", "-k", "1").stdout.splitlines()
    answer = json.loads(line)
    (hit,) = answer["hits"]
    assert (answer["query"], hit["rank"], hit["id"], hit["turn"]["text"]) == ("chess", 1, "m3", TURNS[2]["content"])
    assert "explanation" not in answer
    assert sum(one["value"] * one["weight"] for one in hit["features"]) == pytest.approx(hit["score"], abs=0.01)


def test_retrieve_narrows_and_explains(run):
    assert "m1" not in run("retrieve", "Berlin", "--session", "summer").stdout
    assert "m3" not in run("retrieve", "Berlin chess", "--agent", "helper").stdout
    assert "m3" not in run("retrieve", "chess", "--as-of", "2026-05-01T00:00:00+00:00").stdout
    told = run("retrieve", "Berlin", "--explain").stdout
    assert " = +" in told
    assert json.loads(run("retrieve", "Berlin", "--explain", "--json").stdout)["explanation"]


def test_an_empty_result_is_explained_and_no_error(run):
    for done in (run("retrieve", "?!"), run("context", "?!"), run("list", "--text", "volcano")):
        assert (done.exit_code, done.stdout) == (0, "")
        assert done.stderr.startswith("memscope: ")
    assert run("retrieve", "?!").stderr == "memscope: the query has no words\n"


def test_context_prints_lines_for_a_prompt(run):
    assert (
        run("context", "Berlin", "-k", "1").stdout
        == "[2026-03-02 10:00 Monday] user: I moved to Berlin last May (2025-05).\n"
    )
    assert json.loads(run("context", "Berlin", "--json").stdout)["context"].startswith("[2026-03-02 10:00 Monday]")


def test_list_narrows(run):
    assert ids(run("list", "--json", "--kind", "turn"))[:3] == ["m1", "m2", "m3"]
    assert ids(run("list", "--json", "--since", "2026-03-01", "--until", "2026-03-02")) == ["m1", "m2"]
    assert ids(run("list", "--json", "--until", "2026-03-02")) == ["m1", "m2"]
    assert ids(run("list", "--json", "--text", "chess")) == ["m3"]
    assert ids(run("list", "--json", "--session", "spring")) == ["m1", "m2"]
    assert len(ids(run("list", "--json", "--kind", "observation", "--filter", '{"kind": "taste"}'))) == 1
    assert len(ids(run("list", "--json", "--name", "drink", "--limit", "0"))) == 1
    assert run("list", user="bob").stdout == ""


def test_records_and_hits_are_shown_in_the_zone_of_the_call(run):
    first = run("list", "--zone", "Asia/Tokyo").stdout.splitlines()[0]
    assert first.startswith("2026-03-02 19:00  turn")
    assert "[2026-03-02 19:00 Monday]" in run("retrieve", "moved to Berlin", "--zone", "Asia/Tokyo").stdout
    assert run("list").stdout.startswith("2026-03-02 10:00  turn")


def test_hidden_characters_are_shown_escaped(run):
    for args in (["list"], ["retrieve", "chess"], ["show", "m3"], ["context", "chess"], ["list", "--json"]):
        told = run(*args).stdout
        assert r"chess \u202eon" in told
        assert "\u202e" not in told


def test_show_a_turn_and_a_memory(run):
    told = run("show", "m1").stdout
    assert "I moved to Berlin last May.\n" in told
    assert "2026-03-02T10:00:00+00:00" in told
    (memory,) = ids(run("list", "--json", "--name", "drink"))
    assert "Prefers tea" in run("show", memory).stdout
    assert json.loads(run("show", memory, "--json").stdout)["name"] == "drink"


def test_a_corrected_memory_keeps_its_history(run):
    (memory,) = ids(run("list", "--json", "--name", "drink"))
    assert "Prefers coffee" in run("update", memory, "--text", "Prefers coffee", "--version", "1").stdout
    versions = [json.loads(line) for line in run("history", memory, "--json").stdout.splitlines()]
    assert [version["text"] for version in versions] == ["Prefers tea", "Prefers coffee"]
    told = run("history", memory).stdout
    assert told.index("Prefers tea") < told.index("Prefers coffee")
    late = run("update", memory, "--data", '{"a": 1}', "--version", "1")
    assert (late.exit_code, json.loads(run("show", memory, "--json").stdout)["data"]) == (2, {"kind": "taste"})
    assert run("update", "m1", "--text", "no").exit_code == 2
    assert "never altered" in run("history", "m1").stderr


# --------------------------------------------------------------------------------------------------------------- forget


def test_forget_lists_its_selectors(run):
    done = run("forget")
    assert done.exit_code == 2
    assert not {name for name in ("--id", "--session", "--text", "--everything") if name not in done.stderr}


@pytest.mark.parametrize(
    ("selector", "gone"),
    [
        (["--id", "m1"], {"m1"}),
        (["--id", "m1", "--id", "m3"], {"m1", "m3"}),
        (["--text", "Berlin"], {"m1", "m2"}),
        (["--text", "Berlin", "--session", "summer"], set()),
        (["--session", "spring"], {"m1", "m2"}),
        (["--since", "2026-06-01", "--until", "2026-06-01"], {"m3"}),
        (["--everything", "--yes"], {"m1", "m2", "m3"}),
    ],
)
def test_forget_removes_what_is_selected(run, selector, gone):
    dry = json.loads(run("forget", *selector, "--dry-run", "--json").stdout)
    assert gone <= set(dry["ids"])
    assert ids(run("list", "--json"))[:3] == ["m1", "m2", "m3"]
    done = run("forget", *selector)
    assert done.exit_code == 0
    left = set(ids(run("list", "--json")))
    assert {"m1", "m2", "m3"} - left == gone


def test_the_receipt_contains_no_text(run):
    done = run("forget", "--text", "chess")
    assert done.stdout == "1 turn removed and wiped from the file\n"
    assert run("forget", "--text", "chess").stdout == "nothing matched, nothing was removed\n"
    assert json.loads(run("forget", "--id", "m1", "--json").stdout)["physical"] == "wiped"


def test_forgetting_everything_needs_confirmation(run):
    done = run("forget", "--everything", input="y\n")
    assert (done.exit_code, "--yes" in done.stderr) == (2, True)
    assert len(ids(run("list", "--json"))) == 5


@pytest.mark.skipif(os.name == "nt", reason="no pseudo terminals")
@pytest.mark.parametrize(("answer", "code", "left"), [(b"n\n", 2, 5), (b"y\n", 0, 0)])
def test_a_terminal_asks_for_confirmation(run, store, answer, code, left):
    import pty

    child, terminal = pty.fork()
    if child == 0:  # pragma: no cover
        program = [
            sys.executable,
            "-m",
            "memscope_cli.app",
            "--store",
            store,
            "--user",
            "alice",
            "forget",
            "--everything",
        ]
        os.execv(sys.executable, program)
    seen = b""
    while b"[y/N]" not in seen:
        seen += os.read(terminal, 1024)
    os.write(terminal, answer)
    try:
        while os.read(terminal, 1024):
            pass
    except OSError:  # Linux: the other end is closed
        pass
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == code
    assert len(ids(run("list", "--json"))) == left


# ------------------------------------------------------------------------------------------------------ status, plugins


def test_status(run, store):
    told = json.loads(run("status", "--json").stdout)
    assert (told["store"], told["turns"], told["models"]["chat"]) == (store, 4, "none")
    words = run("status").stdout
    assert "4 turns" in words and store in words
    assert "0 turns" in run("status", user="bob").stdout


def test_plugins(run):
    assert "memscope.builtin" in run("plugins").stdout
    (line,) = run("plugins", "--json", "--hook", "memscope_register_workers").stdout.splitlines()
    assert json.loads(line)["state"] == "loaded"
    assert run("plugins", "--hook", "memscope_after_forget").stdout == ""


@pytest.mark.parametrize(
    "name",
    "autogen agentscope langchain agent-framework openai-agents pydantic-ai google-adk llama-index".split(),
)
def test_plugins_lists_each_adapter_and_its_framework(run, name):
    listed = [json.loads(line) for line in run("plugins", "--json").stdout.splitlines()]
    (one,) = [plugin for plugin in listed if name in plugin["adapters"]]
    assert (one["distribution"], one["state"]) == (f"memscope-{name}", "loaded")
    (line,) = [line for line in run("plugins").stdout.splitlines() if f"adapter for {name}:" in line]
    framework = next(iter(f"{name} {version}" for name, version in one["requires"].items()), "not installed")
    assert framework in line


def test_compact(run):
    assert run("compact").exit_code == 0
    assert json.loads(run("compact", "--json").stdout)["physical"] == "wiped"


def test_an_expired_memory_that_is_named_by_its_id_says_so(store, run):
    with MemoryScope(store, settings={}) as memory:
        gone = memory.add_memory("The code is 4711.", user="alice", expires="2020-01-01T10:00Z").id
        later = memory.add_memory("The code is 4712.", user="alice", expires="2999-01-01T10:00Z").id
    for command in ("show", "history"):
        assert "(expired 2020-01-01)" in run(command, gone).stdout
        assert "(expires 2999-01-01)" in run(command, later).stdout
