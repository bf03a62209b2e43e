"""The program: help, exit codes, one line for an error, pipes, consoles without Unicode, an interrupt, plugins."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from importlib.metadata import version

import click
import pytest
from click.testing import CliRunner

from memscope import MemoryScope, errors
from memscope.errors import MemscopeError
from memscope_cli.app import cli
from memscope_cli.commands.options import exit_code

COMMANDS = {
    *("demo", "add", "retrieve", "context", "list", "show", "history", "update", "forget", "export", "import"),
    *("backup", "restore", "recover", "status", "plugins", "doctor", "compact", "sweep"),
    *("chat", "consolidate", "reflect", "reembed", "unpark", "worker", "review", "mcp"),
}


@pytest.fixture
def store(tmp_path):
    return str(tmp_path / "memory.db")


@pytest.fixture
def run(store, monkeypatch, tmp_path):
    """The program in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    def run(*args, input=None):
        return CliRunner().invoke(cli, ["--store", store, *args], input=input)

    return run


def program(*args, **more):
    """The program as a process of its own."""
    command = [sys.executable, "-m", "memscope", *args]
    return subprocess.run(command, capture_output=True, check=False, **{"timeout": 60, **more})


def test_without_the_command_line_the_program_says_what_to_install():
    code = "import sys, runpy\nsys.path[:] = [path for path in sys.path if 'cli/src' not in path]\n"
    code += "runpy.run_module('memscope', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 3 and "pip install ./core ./cli" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("args", [["list"], ["list", "--json"], ["status"]])
def test_output_that_does_not_fit_is_an_error_of_one_line(store, args):
    with MemoryScope(store) as memory:
        memory.add_turns([{"role": "user", "content": "hello"}], user="alice")
    command = [sys.executable, "-m", "memscope", "--store", store, "--user", "alice", *args]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    assert done.returncode == 1 and "Traceback" not in done.stderr and "Exception" not in done.stderr
    assert "No space left" in done.stderr


def test_help_names_every_command(run):
    told = run("--help").stdout
    assert not {name for name in COMMANDS if f"\n  {name} " not in told}


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_explains_itself_and_takes_the_shared_options(run, name):
    told = run(name, "--help")
    assert told.exit_code == 0
    assert "--user, --store, --json" in told.stdout
    assert run(name, "--json", "--user", "a", "--help").exit_code == 0


def test_help_loads_neither_rich_nor_numpy():
    code = "import sys\nfrom memscope_cli.app import cli\ncli(['--help'], standalone_mode=False)\n"
    code += "print({'rich', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["nonsense"], 2),
        (["retrieve"], 2),
        (["retrieve", "where?"], 2),
        (["retrieve", "where?", "--user", " a "], 2),
        (["retrieve", "where?", "--user", "a", "-k", "0"], 2),
        (["show", "nothing", "--user", "a"], 2),
        (["list", "--user", "a", "--filter", "[1]"], 2),
        (["list", "--user", "a", "--since", "2024-02-30"], 2),
        (["update", "id", "--user", "a"], 2),
        (["forget", "--user", "a"], 2),
        (["import", "nothing.jsonl"], 2),
        (["list", "--user", "a", "--config", "nothing.yaml"], 3),
        (["list", "--user", "a", "--store", "no/such/folder/memory.db"], 3),
        (["add", "hello", "--user", "a", "--store", "no/such/folder/memory.db"], 3),
        (["list", "--user", "a", "--store", "text.db"], 4),
    ],
)
def test_an_error_is_one_line_and_an_exit_code(run, tmp_path, args, code):
    (tmp_path / "text.db").write_text("not a store " * 20)
    run("add", "--user", "a", "I live in Berlin")
    done = run(*args)
    assert done.exit_code == code
    assert done.stdout == ""
    assert done.stderr.startswith("memscope: ")
    assert done.stderr.count("\n") == 1


def test_every_error_has_its_exit_code():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, MemscopeError)]
    wanted = {"ConfigError": 3, "PluginError": 3, "StoreBusy": 4, "LeaseLost": 4, "ClosedError": 4, "ModelTimeout": 5,
              "EmbeddingMismatch": 5, "InputError": 2, "LimitError": 2, "NotFound": 2, "Conflict": 2}  # fmt: skip
    found = {kind.__name__: exit_code(kind("x", limit=1, got=2) if kind.__name__ == "LimitError" else kind("x"))
             for kind in kinds}  # fmt: skip
    assert wanted.items() <= found.items()


def test_an_error_for_programs_is_an_object_on_stderr(run):
    run("add", "--user", "a", "I live in Berlin")
    done = run("show", "nothing", "--user", "a", "--json")
    assert done.stdout == ""
    told = json.loads(done.stderr)["error"]
    assert (told["code"], told["retryable"], done.exit_code) == ("not_found", False, 2)


def test_a_bug_is_told_without_its_words_unless_asked_for(run, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("a secret")

    run("add", "--user", "a", "I live in Berlin")
    monkeypatch.setattr(MemoryScope, "list", broken)
    done = run("list", "--user", "a")
    assert (done.exit_code, "RuntimeError" in done.stderr, "secret" in done.stderr) == (1, True, False)
    assert "a secret" in run("list", "--user", "a", "--debug").stderr


def test_the_shared_options_stand_before_or_after_and_the_last_wins(run):
    run("add", "--user", "alice", "I live in Berlin")
    assert "Berlin" in run("--user", "alice", "list").stdout
    assert "Berlin" in run("--user", "bob", "list", "--user", "alice").stdout
    assert "Berlin" not in run("--user", "alice", "list", "--user", "bob").stdout
    assert run("block", "--user", "alice", "list").stdout == run("block", "list", "--user", "alice").stdout != ""


def test_the_user_may_come_from_the_environment(run, monkeypatch):
    monkeypatch.setenv("MEMSCOPE_USER", "alice")
    assert run("add", "I live in Berlin").exit_code == 0
    assert "Berlin" in run("list").stdout


# ---------------------------------------------------------------------------------------------------- the world outside


def test_a_closed_pipe_is_silent(store):
    with MemoryScope(store, settings={}) as memory:
        memory.add_turns([{"role": "user", "content": f"turn {n} " + "x" * 2000} for n in range(300)], user="a")
    listing = [sys.executable, "-m", "memscope", "--store", store, "--user", "a", "list", "--limit", "0"]
    with subprocess.Popen(listing, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="closes the descriptor in the shell")
def test_a_closed_standard_input_is_an_empty_one(store):
    command = 'exec "$0" -m memscope --store "$1" --user a add <&-'
    done = subprocess.run(["sh", "-c", command, sys.executable, store], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 turns stored\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_a_console_without_unicode_gets_escapes_and_json_stays_json(store, encoding):
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHON"))}
    environment = {**bare, "LANG": "C", "PYTHONIOENCODING": encoding}
    said = {"role": "user", "content": "我住在北京 😀"}
    with MemoryScope(store, settings={}) as memory:
        memory.add_turns([said], user="a")
    for args in (
        ["list"],
        ["list", "--json"],
        ["retrieve", "北京"],
        ["retrieve", "北京", "--json"],
        ["context", "北京"],
    ):
        done = program("--store", store, "--user", "a", *args, env=environment)
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout.isascii() == (encoding == "ascii")
        if args == ["list", "--json"]:
            assert json.loads(done.stdout)["text"] == said["content"]


def test_no_colours_and_no_bars_without_a_terminal(store):
    done = program("--store", store, "--user", "a", "add", input=b'{"role": "user", "content": "hello"}\n' * 3)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\x1b" not in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("before", [signal.SIG_DFL, signal.SIG_IGN], ids=["default", "background shell"])
@pytest.mark.slow
def test_an_interrupt_ends_with_130_and_leaves_whole_batches(store, before):
    adding = [sys.executable, "-m", "memscope", "--store", store, "--user", "a", "add"]
    kept = signal.signal(signal.SIGINT, before)  # inherited by the process
    try:
        process = subprocess.Popen(adding, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    finally:
        signal.signal(signal.SIGINT, kept)
    with process:
        assert process.stdin is not None and process.stderr is not None
        process.stdin.write(b'{"role": "user", "content": "hello"}\n' * 700)
        process.stdin.flush()
        with MemoryScope(store, settings={}) as memory:
            while memory.admin.status(user="a")["turns"] < 500:  # the first batch
                assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    said, ended = filter(None, told.decode().splitlines())
    assert (process.returncode, ended) == (130, "memscope: interrupted")
    assert "--skip 500" in said
    with MemoryScope(store, settings={}) as memory:
        assert memory.admin.status(user="a")["turns"] == 500


# -------------------------------------------------------------------------------------------------------------- plugins


def test_a_plugin_adds_a_command_that_takes_the_shared_options(run, monkeypatch):
    from memscope.plugins import loader
    from memscope_cli.commands.options import Call, pass_call

    def add_commands(self, group):
        @group.command("greet")
        @pass_call
        def greet(call: Call) -> None:
            click.echo(f"hello {call.user}")

    monkeypatch.setattr(cli, "commands", dict(cli.commands))
    monkeypatch.setattr(cli, "_discovered", False)
    monkeypatch.setattr(loader.Plugins, "add_commands", add_commands)
    assert run("greet", "--user", "alice").stdout == "hello alice\n"
    assert "greet" in run("--help").stdout


def test_settings_that_are_wrong_leave_the_help_and_the_built_in_commands(run, monkeypatch):
    monkeypatch.setattr(cli, "_discovered", False)
    monkeypatch.setenv("MEMSCOPE_STOER", "x")
    done = run("--help")
    assert (done.exit_code, "retrieve" in done.stdout, "MEMSCOPE_STORE" in done.stderr) == (0, True, True)
    assert run("list", "--user", "a").exit_code == 3


@pytest.mark.parametrize("command", ["serve", "token"])
def test_a_command_of_the_server_says_how_to_install_it(command):
    done = program(
        command, text=True, env={**os.environ, "MEMSCOPE_NO_PLUGINS": "1"}
    )  # plugins are found once a process
    assert done.returncode == 3 and f"{command} comes with the extra server" in done.stderr
    assert "pip install ./core ./cli ./server" in done.stderr


def test_plugins_shows_an_adapter_with_the_version_of_its_framework(run):
    pytest.importorskip("memscope_langchain")
    listed = [json.loads(line) for line in run("plugins", "--json").stdout.splitlines()]
    langchain = next(plugin for plugin in listed if plugin["name"] == "langchain")
    assert langchain["adapters"] == ["langchain"]
    assert langchain["requires"] == {"langchain-core": version("langchain-core")}
    assert f"adapter for langchain: langchain-core {version('langchain-core')}" in run("plugins").stdout


# ---------------------------------------------------------------------------------------------------------------- hints


@pytest.mark.parametrize(
    ("args", "said", "hint"),
    [
        (["nonsense"], "No such command 'nonsense'", "see memscope --help"),
        (["list", "--kind", "x"], "Invalid value for '--kind'", "see memscope list --help"),
        (["list"], "whose memory?", "see memscope list --help"),
        (["list", "--user", "a", "--since", "spring"], "'--since'", "see memscope list --help"),
    ],
)
def test_wrong_usage_is_an_object_for_programs(run, args, said, hint):
    run("add", "--user", "a", "I live in Berlin")
    done = run(*args, "--json")
    told = json.loads(done.stderr)["error"]
    assert (done.exit_code, done.stdout, told["code"], told["hint"]) == (2, "", "usage", hint)
    assert said in told["message"] and told["retryable"] is False


@pytest.mark.parametrize(
    ("args", "option"),
    [
        (["list", "--since", "spring"], "--since"),
        (["forget", "--until", "2024-02-30"], "--until"),
        (["retrieve", "x", "--as-of", "soon"], "--as-of"),
        (["add", "x", "--time", "12:00"], "--time"),
        (["entities", "--since", "1"], "--since"),
    ],
)
def test_a_wrong_time_names_its_option_and_an_example(run, args, option):
    run("add", "--user", "a", "I live in Berlin")
    told = run(*args, "--user", "a").stderr
    assert f"'{option}'" in told and "2026-03-01T10:00" in told and "period" not in told


def test_a_period_that_ends_first_names_both_options(run):
    told = run("list", "--user", "a", "--since", "2026-03-02", "--until", "2026-03-01").stderr
    assert "--until 2026-03-01 is before --since 2026-03-02" in told


def test_a_misspelt_preset_is_guessed(run, monkeypatch):
    monkeypatch.setenv("MEMSCOPE_CHAT__PRESET", "opnai")
    told = run("list", "--user", "a").stderr
    assert "chat.preset 'opnai' is unknown; did you mean 'openai'?" in told
