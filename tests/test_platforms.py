"""Windows and macOS: nothing that only POSIX systems have is imported or called without a guard."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

PROGRAM = """
import asyncio, importlib, multiprocessing, os, pkgutil, shutil, signal, sqlite3, subprocess, sys, tempfile, time, types
import click, hypothesis, numpy, pydantic, pytest, rich.console, rich.live  # they look at the system
if SERVER:
    import fastapi, uvicorn

store = sys.argv[1]
locks = []
for name in "fcntl grp posix pty pwd readline resource syslog termios tty _posixsubprocess".split():
    sys.modules[name] = None
windows = types.ModuleType("msvcrt")
windows.LK_NBLCK, windows.LK_UNLCK, windows.locking = 1, 2, lambda file, mode, size: locks.append(mode)
sys.modules["msvcrt"] = windows
for module, names in {
    os: "fork register_at_fork getuid geteuid fchown killpg setsid mkfifo O_NOFOLLOW O_DIRECTORY O_CLOEXEC",
    time: "tzset",
    signal: "SIGHUP SIGKILL SIGQUIT SIGUSR1 SIGALRM",
}.items():
    for name in filter(lambda name: hasattr(module, name), names.split()):
        delattr(module, name)
sys.platform = "win32"

import memscope

packages = [memscope]
if SERVER:
    import memscope_server
    packages.append(memscope_server)
for package in packages:
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)

from click.testing import CliRunner
from memscope import MemoryScope
from memscope_cli.app import cli

with MemoryScope(store) as memory:
    memory.add_turns([{"role": "user", "content": "I live in Berlin."}], user="alice")
    assert "Berlin" in memory.context("Where do I live?", user="alice")
    memory.admin.backup(store + ".copy")
    assert memory.forget(user="alice", everything=True).physical == "wiped"
for command in ("demo", "doctor", "users"):
    done = CliRunner().invoke(cli, ["--store", store, command])
    assert done.exit_code == 0, (command, done.output, done.exception)
print("locked", locks[:2])
"""


@pytest.mark.slow
def test_the_main_job_runs_without_posix_modules(tmp_path):
    program = PROGRAM.replace("SERVER", repr(bool(find_spec("memscope_server"))))
    home = {name: str(tmp_path) for name in ("HOME", "LOCALAPPDATA", "APPDATA", "PATH")}
    command = [sys.executable, "-c", program, str(tmp_path / "memory.db")]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env={**home, "PYTHONUTF8": "1"}, timeout=300)
    assert done.stdout == "locked [1, 2]\n", done.stderr[-2000:]
