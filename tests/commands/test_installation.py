"""``memscope completion``: printed, installed once, and usable in bash."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest
from click.testing import CliRunner

from memscope_cli.app import cli


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", "/bin/zsh")
    return lambda *args: CliRunner().invoke(cli, ["completion", *args])


def test_the_script_is_printed_for_the_given_or_the_current_shell(run):
    assert "_MEMSCOPE_COMPLETE=zsh_complete" in run().stdout
    assert "_MEMSCOPE_COMPLETE=fish_complete" in json.loads(run("fish", "--json").stdout)["script"]


def test_the_script_is_installed_once(run, tmp_path):
    (tmp_path / ".zshrc").write_text("alias ll=ls")
    assert "from the next shell on" in run("--install").stdout
    written = (tmp_path / ".zshrc").read_text()
    assert written.startswith("alias ll=ls\n#") and written.count("_MEMSCOPE_COMPLETE") == 1
    assert "already" in run("--install").stdout and (tmp_path / ".zshrc").read_text() == written
    assert run("fish", "--install").exit_code == 0
    assert (tmp_path / ".config/fish/completions/memscope.fish").exists()


def test_an_unsupported_shell_is_refused(run, monkeypatch):
    monkeypatch.setenv("SHELL", "/bin/dash")
    assert (run().exit_code, "bash, zsh or fish" in run().stderr) == (2, True)


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
def test_bash_completes_with_the_script(run, tmp_path):
    program = tmp_path / "memscope"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m memscope_cli.app "$@"\n')
    program.chmod(0o755)
    typed = 'COMP_WORDS=(memscope ret); COMP_CWORD=1; _memscope_completion memscope; echo "${COMPREPLY[@]}"'
    script = f"{run('bash').stdout}\n{typed}"
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.split() == ["retrieve"]
