"""``memscope demo``: its output is true, and its claims are checked at run time."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from memscope import MemoryScope
from memscope.records import Hit, Retrieval, Scope, Turn
from memscope_cli.app import cli
from memscope_cli.demo import conversations, load, play

pytestmark = pytest.mark.slow


@pytest.fixture
def run(tmp_path):
    def run(*args, store=tmp_path / "memory.db"):
        return CliRunner().invoke(cli, ["--store", str(store), "demo", *map(str, args)])

    return run


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Run the demo in both languages with --json."""
    store = tmp_path_factory.mktemp("demo") / "memory.db"
    done = CliRunner().invoke(cli, ["--store", str(store), "demo", "--json", "--all"])
    assert done.exit_code == 0
    return json.loads(done.stdout)


def test_the_evidence_is_found_in_both_languages(told):
    assert [one["user"] for one in told["conversations"]] == ["demo-maya", "demo-xiaoyue"]
    assert told["questions"] == 24
    assert told["found"] >= 22
    assert told["recall_at_10"] >= 80


def test_the_reported_figures_match_the_hits(told):
    questions = [question for one in told["conversations"] for question in one["questions"]]
    for question in questions:
        keys = [hit["id"] for hit in question["hits"]]
        assert question["ranks"] == [rank for rank, key in enumerate(keys, 1) if key in question["evidence"]]
    shares = [len(question["ranks"]) / len(question["evidence"]) for question in questions]
    assert told["recall_at_10"] == pytest.approx(100 * sum(shares) / len(shares), abs=0.05)
    assert told["found"] == sum(share > 0 for share in shares)


@pytest.mark.parametrize(("place", "secret"), [(0, b"4471"), (1, b"3862")])
def test_the_secret_is_gone_from_memory_and_from_the_disk(told, place, secret):
    gone = told["conversations"][place]["forgotten"]
    assert (gone["turns"], gone["physical"], gone["found_before"], gone["found_after"]) == (1, "wiped", True, False)
    before, after = gone["traces"]
    assert before > 0 and after == 0
    store = Path(told["store"])
    assert not [file for file in store.parent.iterdir() if secret in file.read_bytes()]
    assert b"Tidewater" in store.read_bytes()


def test_the_output_has_dates_reasons_and_misses(run, tmp_path):
    done = run("--language", "en")
    assert done.exit_code == 0
    assert "[2026-10-08 18:55 Thursday] user: Change of plan" in done.stdout
    assert "found by text + period" in done.stdout
    assert "evidence found for " in done.stdout and " of 12 questions" in done.stdout
    assert "no longer finds it" in done.stdout
    assert "its bytes are gone from the file" in done.stdout
    commands = [line for line in done.stdout.splitlines() if line.startswith(f"  memscope --store {tmp_path}")]
    assert len(commands) == 3
    assert max(len(line) for line in done.stdout.splitlines() if line not in commands) <= 120


def test_the_commands_it_suggests_work(run, tmp_path):
    run("--language", "zh")
    whose = ["--store", str(tmp_path / "memory.db"), "--user", "demo-xiaoyue"]
    assert "泉州" in CliRunner().invoke(cli, [*whose, "retrieve", "--explain", "国庆我最后去了成都还是泉州？"]).stdout
    assert len(CliRunner().invoke(cli, [*whose, "list", "--limit", "5"]).stdout.splitlines()) == 5


def test_a_second_run_in_the_same_store_keeps_the_secret_forgotten(run):
    run("--language", "en")
    done = run("--language", "en")
    assert "an earlier run has forgotten it" in done.stdout
    assert done.exit_code == 0


def test_a_claim_that_is_false_is_not_printed(run, monkeypatch):
    """Show a failed check for a memory that forgets nothing."""
    monkeypatch.setattr(MemoryScope, "forget", lambda self, **_: play.ForgetReport(turns=1, physical="wiped"))
    told = run("--language", "en").stdout
    assert "it is still found" in told
    assert "no longer finds it" not in told and "are gone from" not in told


def test_without_a_store_a_new_one_is_made_in_a_temporary_folder(tmp_path):
    environment = {
        **os.environ,
        "TMPDIR": str(tmp_path),
        "TEMP": str(tmp_path),
        "MEMSCOPE_STORE": str(tmp_path / "mine.db"),
    }
    command = [sys.executable, "-m", "memscope", "demo", "--language", "en"]
    done = subprocess.run(command, env=environment, capture_output=True, check=True, timeout=60)
    assert (done.stderr, b"\x1b" in done.stdout) == (b"", False)
    assert [path.name for path in tmp_path.glob("memscope-demo-*/memory.db")] == ["memory.db"]
    assert not (tmp_path / "mine.db").exists()


@pytest.mark.skipif(os.name == "nt", reason="no pseudo terminals")
def test_a_terminal_gets_colours_and_lines_that_fit(tmp_path):
    import pty

    child, terminal = pty.fork()
    if child == 0:  # pragma: no cover
        os.environ.update(COLUMNS="72", TERM="xterm-256color")
        os.environ.pop("NO_COLOR", None)
        program = [
            sys.executable,
            "-m",
            "memscope_cli.app",
            "--store",
            str(tmp_path / "m.db"),
            "demo",
            "--language",
            "en",
        ]
        os.execv(sys.executable, program)
    seen = b""
    try:
        while chunk := os.read(terminal, 65536):
            seen += chunk
    except OSError:  # Linux: the other end is closed
        pass
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 0
    lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", seen.decode()).splitlines()
    assert b"\x1b[" in seen
    assert max(len(line.rpartition("\r")[2]) for line in lines if "memscope --store" not in line) <= 72


# ---------------------------------------------------------------------------------------------------- data of one's own


def conversation():
    turns = [
        {"id": "a1", "speaker": "Ann", "text": "My parrot is called Biscuit and talks too much."},
        {"id": "a2", "speaker": "user", "text": "What a name!", "image_caption": "a green parrot"},
        {"id": "a3", "speaker": "assistant", "text": "Noted."},
    ]
    questions = [
        {"id": "q1", "question": "What is the parrot called?", "answer": "Biscuit", "category_name": "single",
         "evidence": ["a1"]},
        {"id": "q2", "question": "Which volcano erupted?", "answer": "none", "category_name": "single",
         "evidence": ["a3"]},
        {"id": "q3", "question": "Is the parrot Bob's?", "answer": "no", "category_name": "adversarial",
         "evidence": ["a1"]},
    ]  # fmt: skip
    session = {"id": 1, "date_time": "2026-01-05T10:00:00", "turns": turns}
    return {"id": "c1", "speakers": ["Ann", "user", "assistant"], "sessions": [session], "questions": questions}


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps(conversation()) + "\n", encoding="utf-8")
    return path


def test_recall_is_computed_for_other_data(run, data):
    done = run("--data", data)
    assert done.exit_code == 0
    assert "evidence found for 1 of 2 questions" in done.stdout
    assert "recall@10  50.0 %" in done.stdout
    told = json.loads(run("--data", data, "--json", store=data.with_name("other.db")).stdout)
    assert (told["recall_at_10"], told["questions"], told["found"]) == (50.0, 2, 1)
    assert told["conversations"][0]["forgotten"]["traces"][1] == 0


def test_roles_times_and_captions_of_data(data):
    (read,) = conversations(data)
    first, second, third = play.turns(read)
    assert [turn["role"] for turn in (first, second, third)] == ["person", "user", "assistant"]
    assert second["content"] == "What a name! [shared image: a green parrot]"
    assert first["time"].isoformat() == "2026-01-05T10:00:00+00:00"


def test_a_file_in_another_format_is_refused(run, tmp_path):
    (tmp_path / "other.jsonl").write_text('{"id": "x"}\n')
    done = run("--data", tmp_path / "other.jsonl")
    assert (done.exit_code, "line 1" in done.stderr) == (2, True)


def test_the_clock_is_set_to_the_day_after():
    clock = play.DemoClock()
    clock.set_after(load("en"))
    assert clock().date().isoformat() == "2026-11-06"


def test_recall_averages_shares_and_skips_unanswerable_questions():
    def answer(evidence, found, category="single"):
        hits = tuple(Hit(turn=play_turn(key), insight=None, score=1.0, found_by=()) for key in found)
        return play.AskedQuestion({"evidence": evidence, "category_name": category}, Retrieval(hits), 1.0)

    answers = [
        answer(["a", "b"], ["x", "a"]),
        answer(["a"], ["a"]),
        answer([], ["a"]),
        answer(["a"], [], "adversarial"),
    ]
    assert play.recall(answers) == 75.0
    assert answers[0].ranks == (2,)
    assert play.recall([]) is None


def play_turn(key):
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return Turn(key=key, scope=Scope("a"), role="user", speaker="user", text="x", time=now, recorded=now)
