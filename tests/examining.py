"""Parts of the tests of doctor's advice: a folder of its own, the findings, and an advice carried out."""

from __future__ import annotations

import json
import shlex
import subprocess

from click.testing import CliRunner

from memscope import MemoryScope
from memscope_cli.app import cli


def isolate(tmp_path, monkeypatch):
    """The current folder, readable by others as folders are, and a place for the store whose name has a blank."""
    (tmp_path / "work").mkdir(mode=0o755)
    (tmp_path / "my data").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("MEMSCOPE_STORE", str(tmp_path / "my data" / "memory.db"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def make_store(folder):
    path = folder / "my data" / "memory.db"
    with MemoryScope(path, settings={}) as memory:
        memory.add_turns([{"role": "user", "content": "I moved to Berlin.", "id": "t1"}], user="alice b")
    return path


def examined(*options, check=None):
    """The findings that are not ok."""
    done = CliRunner().invoke(cli, [*options, "doctor", "--json"])
    findings = [one for one in json.loads(done.stdout)["findings"] if one["state"] != "ok"]
    assert bool(findings) == bool(done.exit_code)
    return [one for one in findings if check in (None, one["check"])]


def carry_out(mend):
    """Run the commands of an advice."""
    for line in mend.split("; "):
        program, *words = shlex.split(line)
        if program == "memscope":
            assert CliRunner().invoke(cli, words).exit_code == 0, line
        else:
            subprocess.run([program, *words], check=True)


def setenv(monkeypatch, variables):
    for name, value in variables.items():
        monkeypatch.setenv(name, value) if value else monkeypatch.delenv(name)
