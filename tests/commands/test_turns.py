"""The commands add, import and export."""

from __future__ import annotations

import json
import re
import shlex
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from memscope import MemoryScope
from memscope.errors import StoreFull
from memscope.transfer.export_lines import EXPORT_FORMAT
from memscope_cli.app import cli
from memscope_cli.commands import turns


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    def run(*args, input=None, store="memory.db", user="alice"):
        whose = ["--user", user] if user else []
        return CliRunner().invoke(cli, ["--store", store, *whose, *args], input=input)

    return run


def objects(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def lines(*contents, **more):
    return "".join(json.dumps({"role": "user", "content": content, **more}) + "\n" for content in contents)


def test_the_first_example_in_the_docs_works(run):
    page = (Path(__file__).parents[2] / "docs" / "commands.md").read_text("utf-8")
    add, retrieve, forget = re.search(r"^```\n(.*?)^```$", page, re.S | re.M)[1].splitlines()
    assert run(*shlex.split(add)[1:]).exit_code == 0
    found = run(*shlex.split(retrieve)[1:])
    assert (found.exit_code, found.stdout.count("\n")) == (0, 1) and "I moved to Berlin last May" in found.stdout
    assert run(*shlex.split(forget)[1:], input="y\n").exit_code == 0
    assert "Berlin" not in run(*shlex.split(retrieve)[1:]).stdout


def test_a_year_has_four_digits(run):
    run("add", "I met Karl in Aachen.", "--time", "0987-05-03T10:00Z")
    assert run("--zone", "UTC", "list").stdout.startswith("0987-05-03 10:00")
    assert "0987-05-03" in run("--zone", "UTC", "entities").stdout
    assert "0987-05-01" in run("--zone", "UTC", "timeline", "--by", "month").stdout


def test_a_turn_from_arguments(run):
    done = run(
        "add", "I moved", "--role", "assistant", "--speaker", "Ann", "--time", "2026-01-02T03:04:05+00:00", "--json"
    )
    (key,) = objects(done)[0]["keys"]
    (turn,) = objects(run("list", "--json"))
    told = {name: turn[name] for name in ("id", "role", "speaker", "text", "time")}
    assert told == {
        "id": key,
        "role": "assistant",
        "speaker": "Ann",
        "text": "I moved",
        "time": "2026-01-02T03:04:05+00:00",
    }


@pytest.mark.parametrize("option", ["--role", "--speaker", "--time", "--id"])
@pytest.mark.parametrize("source", [["-"], []])
def test_an_option_about_one_turn_is_refused_beside_lines(run, option, source):
    value = {"--role": "assistant", "--time": "2026-01-02"}.get(option, "x")
    done = run("add", *source, option, value, input=lines("hello"))
    assert done.exit_code == 2 and option in done.stderr
    assert not run("list").stdout


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the system's zone cannot be set here")
@pytest.mark.parametrize(
    ("system", "options", "settings"),
    [
        ("Asia/Tokyo", [], None),
        ("UTC", ["--zone", "Asia/Tokyo"], "Europe/Berlin"),
        ("UTC", [], "Asia/Tokyo"),
    ],
)
def test_times_without_a_zone_are_the_users(run, monkeypatch, system, options, settings):
    if settings:
        monkeypatch.setenv("MEMSCOPE_TIMEZONE", settings)
    try:
        with monkeypatch.context() as patched:
            patched.setenv("TZ", system)
            time.tzset()
            run("add", "I moved to Oslo", "--time", "2026-12-01T03:00", *options)
            (turn,) = objects(run("list", "--json"))
            assert turn["time"] == "2026-12-01T03:00:00+09:00"
            for edge, found in (("2026-12-01T02:59", 0), ("2026-12-01T03:01", 1), ("2026-12-01", 0), ("2026-12-02", 1)):
                shown = run("retrieve", "Oslo", "--as-of", edge, "--json", *options)
                assert len(objects(shown)[0]["hits"]) == found, edge
            assert objects(run("list", "--since", "2026-12-01", "--until", "2026-12-01", "--json", *options)) == [turn]
            assert objects(run("list", "--until", "2026-11-30", "--json", *options)) == []
    finally:
        time.tzset()


def test_an_unknown_zone_is_refused(run):
    done = run("add", "I moved", "--zone", "Mars/Base")
    assert (done.exit_code, "unknown time zone 'Mars/Base'" in done.stderr) == (2, True)


def test_a_repeated_id_adds_nothing_and_says_so(run):
    assert run("add", "hello", "--id", "m1").stdout == "1 turn stored  m1\n"
    assert run("add", "hello", "--id", "m1").stdout == "0 turns stored, 1 known before  m1\n"


@pytest.mark.parametrize("args", [["add"], ["add", "-"]])
def test_turns_from_stdin(run, args):
    assert run(*args, input="\ufeff" + lines("one", "two") + "\n").stdout == "2 turns stored\n"


def test_a_replay_adds_only_new_turns(run):
    run("add", "--replay", input=lines("ok", "ok"))
    assert run("add", "--replay", input=lines("ok", "ok", "ok")).stdout.startswith("1 turn stored, 2 known before")


def broken_at_17(good):
    twenty = [good(number) for number in range(1, 21)]
    twenty[16] = "{broken\n"
    return "".join(twenty)


@pytest.mark.parametrize("bad", ["{broken\n", "[1]\n", '{"role": "root", "content": "x"}\n', '{"content": 5}\n'])
def test_a_broken_line_is_named_and_the_others_are_stored(run, bad):
    given = [lines(f"turn {number}") for number in range(1, 21)]
    given[16] = bad
    done = run("add", input="".join(given))
    assert (done.exit_code, done.stdout) == (6, "19 turns stored\n")
    assert done.stderr.startswith("memscope: line 17 ")
    assert objects(run("add", "--json", input="".join(given)))[0]["broken"][0]["line"] == 17


def test_strict_stores_nothing_when_a_line_is_broken(run):
    done = run("add", "--strict", input=broken_at_17(lambda number: lines(f"turn {number}")))
    assert (done.exit_code, "line 17" in done.stderr) == (2, True)
    assert not Path("memory.db").exists()


@pytest.mark.parametrize("filling", ["x", "\\n"])
def test_an_overlong_line_is_cut_off_and_counts_as_one(run, filling):
    done = run(
        "add", input=lines("one") + '{"role": "user", "content": "' + filling * 9_000_000 + '"}\n' + lines("three")
    )
    assert (done.exit_code, done.stdout) == (6, "2 turns stored\n")
    assert "line 2" in done.stderr


def test_lines_may_name_their_session(run):
    run("add", "--session", "s1", input=lines("here") + lines("there", session="s2"))
    assert [turn["text"] for turn in objects(run("list", "--session", "s2", "--json"))] == ["there"]


# ------------------------------------------------------------------------------------------------------- import, export


@pytest.fixture
def exported(run, tmp_path):
    """Export 19 turns and return the lines: the header and one per turn."""
    run("add", input=lines(*(f"turn {number}" for number in range(1, 20))))
    assert run("export", "all.jsonl").stdout == "19 turns written to all.jsonl\n"
    return (tmp_path / "all.jsonl").read_text(encoding="utf-8")


def test_export_and_import_are_lossless_and_may_be_repeated(run, exported):
    assert run("import", "all.jsonl", store="other.db").stdout == "19 turns stored\n"
    assert run("import", "all.jsonl", store="other.db").stdout == "0 turns stored, 19 known before\n"
    assert run("list", "--json").stdout == run("list", "--json", store="other.db").stdout


def test_export_goes_to_stdout_and_import_comes_from_stdin(run, exported):
    assert run("export", "-").stdout == exported
    assert run("import", "-", input=exported, store="other.db").stdout == "19 turns stored\n"


def test_import_names_a_broken_line_and_stores_the_others(run, exported):
    broken = exported.splitlines(keepends=True)
    broken[16] = "{broken\n"
    done = run("import", "-", input="".join(broken), store="other.db")
    assert (done.exit_code, done.stdout) == (6, "18 turns stored\n")
    assert "line 17" in done.stderr
    assert objects(run("import", "-", "--json", input="".join(broken), store="other.db"))[0]["first_broken_line"] == 17


def test_importing_lines_of_turns_points_to_add(run):
    Path("turns.jsonl").write_text(lines("I moved to Berlin"), "utf-8")
    done = run("import", "turns.jsonl")
    assert done.exit_code == 2 and "memscope add - < FILE" in " ".join(done.stderr.split())
    done = run("add", "turns.jsonl")
    assert done.exit_code == 2 and "memscope add - < turns.jsonl" in " ".join(done.stderr.split())
    assert run("list").stdout == ""
    assert run("add", "see turns.jsonl").exit_code == 0


def test_strict_import_stores_nothing_when_a_line_is_broken(run, exported):
    broken = exported.splitlines(keepends=True)
    broken[16] = "{broken\n"
    done = run("import", "-", "--strict", input="".join(broken), store="other.db")
    assert (done.exit_code, "line 17" in done.stderr) == (2, True)
    assert run("list", store="other.db").stdout == ""


def test_one_user_or_all_are_exported(run):
    run("add", "hers", user="alice")
    run("add", "his", user="bob")
    assert objects(run("export", "one.jsonl", "--json"))[0]["turn"] == 1
    assert objects(run("export", "all.jsonl", "--json", user=None))[0]["turn"] == 2
    assert run("import", "all.jsonl", user="bob", store="other.db").stdout == "1 turn stored, 1 of other users\n"
    assert run("import", "all.jsonl", user="carl", store="other.db").stdout == "0 turns stored, 2 of other users\n"


def test_forgotten_records_are_not_imported(run, exported):
    run("forget", "--text", "turn 7")
    done = run("import", "all.jsonl")
    assert "1 forgotten here and left out" in done.stdout
    assert "turn 7" not in run("list").stdout


def test_skip_ignores_lines_that_are_already_stored(run):
    lines = "".join(json.dumps({"role": "user", "content": f"turn {n}"}) + "\n" for n in range(5))
    run("add", "-", input=lines)
    assert "2 turns stored" in run("add", "-", "--skip", "3", input=lines).stdout


def test_a_store_that_fails_midway_says_where_to_go_on(run, monkeypatch):
    lines = "".join(json.dumps({"role": "user", "content": f"turn {n}"}) + "\n" for n in range(5))
    monkeypatch.setattr(turns, "TURNS_PER_CALL", 2)
    add_turns, calls = MemoryScope.add_turns, []

    def full(self, *args, **more):
        calls.append(args)
        if len(calls) == 3:
            raise StoreFull("no room left")
        return add_turns(self, *args, **more)

    monkeypatch.setattr(MemoryScope, "add_turns", full)
    done = run("add", "-", input=lines)
    assert done.exit_code == 4 and "4 lines are done; continue with --skip 4" in done.stderr
    assert "1 turn stored" in run("add", "-", "--skip", "4", input=lines).stdout


def test_a_broken_turn_is_reported_with_its_line_only(run):
    lines = '{"role": "user", "content": "one"}\n\n{"role": "cook", "content": "two"}\n'
    assert re.search(r"line 3 .*role", run("add", "-", input=lines).stderr)
    told = run("add", "-", "--strict", input=lines).stderr
    assert re.search(r"line 3: .*role", told) and "turns[" not in told


def test_an_export_for_the_user_has_no_secret_and_can_be_imported(run, tmp_path):
    run("add", "I live in Berlin.")
    assert run("export", "--for-user", str(tmp_path / "mine.jsonl")).exit_code == 0
    head = json.loads((tmp_path / "mine.jsonl").read_text().splitlines()[0])
    assert head == {"memscope": EXPORT_FORMAT}
    run("export", str(tmp_path / "whole.jsonl"))
    assert len(json.loads((tmp_path / "whole.jsonl").read_text().splitlines()[0])["secret"]) >= 32
    other = ["--store", str(tmp_path / "other.db")]
    assert "1 turn stored" in run("import", str(tmp_path / "mine.jsonl"), *other).stdout
    assert "I live in Berlin." in run("list", *other).stdout
