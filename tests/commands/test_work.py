"""The back end from the command line: consolidate, reflect, review, reembed, unpark and worker."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner

from memscope import MemoryScope
from memscope.sync import loop_thread
from memscope_cli.app import cli

from servers.faults import FaultServer, Plan, Script

pytestmark = pytest.mark.slow

EXTRACTED = {
    "turns": [{"turn": 1, "level": 3}],
    "facts": [{"text": "The user moved to Berlin.", "about": "user", "when": "", "keywords": ["Berlin"],
               "quotes": [{"turn": 1, "words": "I moved to Berlin"}]}],
}  # fmt: skip
SCRIPT = [
    {"in": "user", "match": '"by":', "reply": EXTRACTED},
    {"in": "user", "match": '"earlier":', "reply": {"sentences": [], "alone": [1], "relations": []}},
]


@pytest.fixture
def server(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("MEMSCOPE_STORE", str(tmp_path / "memory.db"))
    monkeypatch.setenv("MEMSCOPE_IDLE_S", "0.01")  # for the worker process
    with FaultServer(script=SCRIPT) as server:
        for section in ("CHAT", "EMBEDDING"):
            monkeypatch.setenv(f"MEMSCOPE_{section}__BASE_URL", server.base_url)
            monkeypatch.setenv(f"MEMSCOPE_{section}__MODEL", "test")
            monkeypatch.setenv(f"MEMSCOPE_{section}__FIRST_PAUSE_S", "0.01")
        with MemoryScope(settings={"embedding": None}) as memory:
            memory.add_turns([{"role": "user", "content": "I moved to Berlin."}], user="alice")
        yield server


def run(*args):
    return CliRunner().invoke(cli, list(args))


def test_consolidate_previews_then_writes(server):
    done = run("consolidate", "--preview")
    assert done.exit_code == 0 and "The user moved to Berlin." in done.stdout and "nothing was written" in done.stdout
    done = run("consolidate", "--user", "alice", "--json")
    assert json.loads(done.stdout)["new"] == 1
    assert run("consolidate").stdout == "consolidate: 0 turns read\n"


def test_reflect_needs_a_user(server):
    assert run("reflect").exit_code == 2
    done = run("reflect", "--user", "alice")
    assert done.exit_code == 0 and "reflect: " in done.stdout and "1 new" in done.stdout


def test_a_model_error_leaves_work_pending_with_the_reason(server):
    server.plan = Plan([{"fault": "server_error"}])
    done = run("consolidate")
    assert done.exit_code == 6 and "1 pending (model_unavailable)" in done.stdout and "doctor" in done.stderr


@pytest.mark.parametrize(
    "command", [["consolidate"], ["consolidate", "--user", "alice"], ["reflect", "--user", "alice"]]
)
def test_work_leased_by_another_worker_is_waited_for_and_then_reported(server, monkeypatch, command):
    monkeypatch.setenv("MEMSCOPE_LEASE_S", "0.1")
    with MemoryScope(settings={"embedding": None}) as memory:
        hold(memory)
        done = run(*command)
    assert done.exit_code == 6 and "read, 1 pending (another_worker)" in done.stdout
    assert done.stderr.startswith("memscope: another worker") and "call again later" in done.stderr


def test_a_chat_reports_work_leased_by_another_worker(server, monkeypatch):
    monkeypatch.setenv("MEMSCOPE_LEASE_S", "0.1")
    with MemoryScope(settings={"embedding": None}) as memory:
        hold(memory)
        done = CliRunner().invoke(cli, ["chat", "--user", "alice"], input="/consolidate\n")
    assert done.exit_code == 6 and "1 pending (another_worker)" in done.stdout
    assert "memscope: another worker" in done.stderr


def hold(memory):
    """Claim the pending work like a worker with a lease of an hour."""
    (claim,) = loop_thread.run(memory.admin.runtime.services.store.claim("consolidate", 10, 3600))
    assert memory.admin.status()["pending"]["consolidate"] == len(claim.items) == 1


def test_without_a_model_work_stays_pending(server, monkeypatch):
    for name in ("BASE_URL", "MODEL", "FIRST_PAUSE_S"):
        monkeypatch.delenv(f"MEMSCOPE_CHAT__{name}")
    done = run("consolidate")
    assert done.exit_code == 6 and "1 pending" in done.stdout and "no chat model" in done.stderr
    run("forget", "--user", "alice", "--everything", "--yes")
    assert run("consolidate").exit_code == 0  # nothing waits


def test_review_accepts_and_rejects(server, monkeypatch):
    monkeypatch.setenv("MEMSCOPE_APPROVE", "yes")
    run("consolidate")
    assert "The user moved to Berlin." in run("review", "--user", "alice").stdout
    (waiting,) = run("review", "--user", "alice", "--json").stdout.splitlines()
    assert run("review", "--user", "alice", "--accept", "nonsense").exit_code == 2
    done = run("review", "--user", "alice", "--accept", json.loads(waiting)["id"])
    assert done.stdout == "1 proposal accepted, 0 rejected\n"
    assert run("review", "--user", "alice").stdout == ""
    with MemoryScope() as memory:
        memory.add_turns([{"role": "user", "content": "I moved to Berlin."}], user="bob")
    run("consolidate")
    assert run("review", "--user", "bob", "--accept", "all", "--reject", "all").exit_code == 2
    assert run("review", "--user", "bob", "--reject", "all").stdout == "0 proposals accepted, 1 rejected\n"
    with MemoryScope() as memory:
        held = {user: len(memory.list(user=user, kinds=["observation"])) for user in ("alice", "bob")}
    assert held == {"alice": 1, "bob": 0}


def test_reembed(server):
    done = run("reembed")
    assert (done.exit_code, done.stdout) == (0, "1 unit embedded\n")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_the_worker_works_until_it_is_told_to_stop(server, how):
    command = [sys.executable, "-m", "memscope_cli.app", "worker", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            told = json.loads(process.stdout.readline())
            assert (told["user"], told["operation"], told["new"]) == ("alice", "consolidate", 1)
            process.send_signal(how)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, errors) == (0, "")
    with MemoryScope() as memory:
        status = memory.admin.status()
    assert status["pending"]["consolidate"] == 0 and status["vectors"] > 0


def test_a_worker_that_is_stopped_in_the_middle_gives_the_work_back(server):
    server.plan = Plan([{"fault": "hang", "seconds": 60, "endpoint": "chat"}])
    command = [sys.executable, "-m", "memscope_cli.app", "worker", "--drain", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            while not server.counts["chat"]:  # until the worker waits for the model
                assert process.poll() is None
            process.terminate()
            told, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, errors) == (0, "") and told.endswith("stopped\n")
    with MemoryScope() as memory:
        assert memory.admin.status()["pending"]["consolidate"] == 1
        server.plan = Plan([])
        assert memory.consolidate().new == 1


def test_a_worker_without_a_model_says_what_to_set(server, monkeypatch):
    for section in ("CHAT", "EMBEDDING"):
        for name in ("BASE_URL", "MODEL", "FIRST_PAUSE_S"):
            monkeypatch.delenv(f"MEMSCOPE_{section}__{name}")
    done = run("worker")
    assert done.exit_code == 3 and "set chat or embedding" in done.stderr


def test_refused_facts_are_shown_with_quotes_and_counted(server):
    bad = [{**EXTRACTED["facts"][0], "text": f"The user was in Rome {n}.",
            "quotes": [{"turn": 1, "words": "I was in Rome"}]} for n in range(2)]  # fmt: skip
    server.script = Script(
        [{"in": "user", "match": '"by":', "reply": {**EXTRACTED, "facts": EXTRACTED["facts"] + bad}}]
    )
    done = run("consolidate", "--user", "alice", "--preview")
    assert "The user was in Rome 0.  no_quote  “I was in Rome”" in " ".join(done.stdout.split("\n"))
    assert re.search("67 % .*no_quote", " ".join(done.stdout.split()))


def test_review_shows_the_quotes_of_a_proposal_and_what_it_would_replace(server, monkeypatch):
    assert run("consolidate", "--user", "alice").exit_code == 0
    monkeypatch.setenv("MEMSCOPE_APPROVE", "yes")
    moved = {
        **EXTRACTED["facts"][0],
        "text": "The user left Berlin.",
        "quotes": [{"turn": 1, "words": "I left Berlin"}],
        "known": [{"k": 1, "words": "moved to Berlin", "relation": "ends", "rest": ""}],
    }
    lost = {**moved, "text": "The user was in Rome.", "quotes": [{"turn": 1, "words": "I was in Rome"}]}
    server.script = Script(
        [
            {"in": "user", "match": '"by":', "reply": {"turns": [{"turn": 1, "level": 3}], "facts": [moved, lost]}},
        ]
    )
    with MemoryScope(settings={"embedding": None}) as memory:
        memory.add_turns([{"role": "user", "content": "I left Berlin."}], user="alice", session="later")
    assert run("consolidate", "--user", "alice").exit_code == 0
    lines = [" ".join(line.split()) for line in run("review", "--user", "alice").stdout.splitlines()]
    assert "said “I left Berlin”" in lines
    assert "replaces The user moved to Berlin." in lines
    assert "refused no_quote “I was in Rome”" in lines
