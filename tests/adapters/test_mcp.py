"""The MCP server, spoken to by the SDK's own client over stdio."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import tomllib
from contextlib import asynccontextmanager

import pytest
from click.testing import CliRunner

from adapters.background import ModelScript, facts, wait_until
from memscope import AsyncMemoryScope, MemoryScope, __version__
from memscope.adapters.session import MemorySession
from memscope.errors import ConfigError
from memscope_cli.app import cli
from memscope_mcp import clients
from memscope_mcp import server as mcp_server
from memscope_testing.injections import CLAIMS, obey

from servers.faults import Script
from servers.faults.replies import Reply

mcp = pytest.importorskip("mcp", reason="the extra mcp is not installed")
TOOLS = {"add_memory", "search_memory", "list_memories", "forget_memory", "reflect"}
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]  # the SDK's own


class Obeying(Script):
    """A model of the back end that notes claims wherever they stand."""

    def answer(self, body):
        return Reply(json.dumps(obey(body["messages"])))


@pytest.fixture
def store(tmp_path):
    with MemoryScope(tmp_path / "memory.db", settings={}) as memory:
        memory.add_turns([{"role": "user", "content": "Bob's tea is a secret."}], user="bob")
        memory.add_turns([{"role": "user", "content": "I moved to Berlin last May."}], user="alice")
    return tmp_path / "memory.db"


@asynccontextmanager
async def speaking(store, user="alice", more=(), **variables):
    """``ask(tool, **arguments)``: whether it went well, and the text of the answer; and the session."""
    from mcp.client.stdio import stdio_client

    args = ["-m", "memscope", "--store", str(store), "mcp", "--user", user, *more]
    environment = {"PATH": os.environ["PATH"], "XDG_CONFIG_HOME": str(store.parent), **variables}
    server = mcp.StdioServerParameters(command=sys.executable, args=args, env=environment, cwd=str(store.parent))
    with (store.parent / "errors.txt").open("w") as errors:
        async with stdio_client(server, errlog=errors) as (read, write), mcp.ClientSession(read, write) as session:
            started = await session.initialize()
            session.told = getattr(started, "server_info", None) or started.serverInfo

            async def ask(tool, progress=None, **arguments):
                result = await session.call_tool(tool, arguments, progress_callback=progress)
                failed = getattr(result, "is_error", None) or getattr(result, "isError", None)
                return not failed, result.content[0].text

            yield ask, session


async def test_the_five_tools_take_no_user(store):
    async with speaking(store) as (_, session):
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
    assert tools.keys() == TOOLS
    schemas = [getattr(tool, "input_schema", None) or tool.inputSchema for tool in tools.values()]
    assert {name for schema in schemas for name in schema["properties"]} == {"text", "query", "kinds", "limit", "ids"}
    assert all(len(tool.description) > 40 for tool in tools.values())


async def test_more_tools_edit_core_memory(store):
    async with speaking(store, more=("--tools", "all")) as (ask, session):
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        assert len(tools) == len(TOOLS) + 7
        told = await ask("memory_append", label="human", text="Alice sails.", reason="she said so")
        assert told == (True, "Block 'human' is at version 1, 12 of 2000 characters.")
        refused, why = await ask("memory_replace", label="human", old="Bob", new="x", reason="r")
        assert (refused, "0 matches" in why) == (False, True)
        assert "moved to Berlin" in (await ask("conversation_search", text="berlin"))[1]
    with MemoryScope(store, settings={}) as memory:
        assert memory.blocks("alice").get("human").value == "Alice sails."


async def test_remember_search_list_forget_reflect(store):
    async with speaking(store) as (ask, _):
        well, told = await ask("add_memory", text="Alice's cat is called Ada.")
        id = re.search(r"id (\w+)", told)[1]
        well, found = await ask("search_memory", query="What is the cat called?")
        assert well and "Ada" in found and '<memory source="memscope">' in found
        well, listed = await ask("list_memories")
        assert well and f"[id {id}]" in listed and "Bob" not in listed
        well, told = await ask("reflect")
        assert well and "no chat model: 2 turns" in told
        well, told = await ask("forget_memory", ids=[id, "nothing"])
        assert well and "Forgotten" in told and "nothing" in told
        _, found = await ask("search_memory", query="What is the cat called?")
        assert "Ada" not in found


@pytest.mark.parametrize("claim", CLAIMS[::2])
async def test_what_the_model_adds_is_no_fact_of_the_user(store, fault_server, claim):
    fault_server.script = Obeying()
    chat = {"MEMSCOPE_CHAT__MODEL": "test-chat", "MEMSCOPE_CHAT__BASE_URL": fault_server.base_url}
    async with speaking(store, more=("--tools", "all"), **chat) as (ask, _):
        assert (await ask("add_memory", text=claim))[0]
        assert (await ask("archival_insert", text=f"NOTE TO MEMORY: {claim}"))[0]
        assert (await ask("reflect"))[0]
    with MemoryScope(store, settings={}) as memory:
        made = memory.list(user="alice", kinds=["observation", "insight"])
        assert {one.origin for one in made if claim in one.text} == {"assistant"}
        assert claim not in memory.profile(user="alice")


async def test_with_a_chat_model_facts_are_made_of_its_user_only(store, fault_server):
    fault_server.script = ModelScript("I moved to Berlin last May.", "Bob's tea is a secret.")
    chat = {"MEMSCOPE_CHAT__MODEL": "test-chat", "MEMSCOPE_CHAT__BASE_URL": fault_server.base_url}
    async with speaking(store, **chat, MEMSCOPE_IDLE_S="0.05", MEMSCOPE_POLL_S="0.1"):
        await asyncio.to_thread(wait_until, lambda: facts(store, "alice") == {"I moved to Berlin last May."})
    assert facts(store, "bob") == set()
    assert not any("secret" in prompt for prompt in fault_server.script.asked)


async def test_another_user_is_out_of_reach(store):
    async with speaking(store) as (ask, _):
        _, found = await ask("search_memory", query="Bob's tea secret", user="bob")
        assert "secret" not in found
        with MemoryScope(store, settings={}) as memory:
            (theirs,) = memory.list(user="bob")
        await ask("forget_memory", ids=[theirs.key])
    with MemoryScope(store, settings={}) as memory:
        assert len(memory.list(user="bob")) == 1


async def test_bad_input_is_an_answer_and_no_end(store):
    async with speaking(store) as (ask, _):
        well, told = await ask("add_memory", text="x" * 300_000)
        assert not well and "at most 262144" in told and "xxx" not in told
        well, _ = await ask("search_memory", query="Berlin")
        assert well
    errors = (store.parent / "errors.txt").read_text()
    assert "xxx" not in errors and "Berlin" not in errors


async def test_a_client_is_told_the_version_and_which_tools_only_read(store):
    async with speaking(store, more=("--tools", "all")) as (_, session):
        hints = {tool.name: tool.annotations for tool in (await session.list_tools()).tools}
        assert (session.told.name, session.told.version) == ("memscope", __version__)
    reading = {name for name, hint in hints.items() if hint.model_dump(by_alias=True)["readOnlyHint"]}
    assert reading == {"search_memory", "list_memories", "archival_search", "conversation_search"}
    removing = {name for name, hint in hints.items() if hint.model_dump(by_alias=True)["destructiveHint"]}
    assert removing == {"forget_memory"}


async def test_reflect_tells_its_progress(store):
    told = []

    async def progress(done, total, message):
        told.append((done, total))

    async with speaking(store) as (ask, _):
        assert (await ask("reflect", progress))[0]
    assert told == [(0, 2), (1, 2), (2, 2)]


async def test_one_id_is_an_id_and_mistakes_are_told_in_our_words(store):
    async with speaking(store) as (ask, _):
        assert await ask("forget_memory", ids="abc") == (True, "Nothing has the id 'abc'.")
        assert await ask("list_memories", limit="many") == (False, "limit must be a whole number")
        well, told = await ask("list_memories", limit=0)
        assert not well and "limit" in told and "1 to 100" in told
        assert await ask("add_memory") == (False, "text is missing")
        well, told = await ask("search_memory", query="x", kinds=["x"])
        assert not well and told.startswith("kinds ") and "Error executing" not in told and "http" not in told


@pytest.mark.skipif(os.name == "nt", reason="no pseudo terminals")
def test_at_a_terminal_it_says_what_it_is(store):
    import pty
    import subprocess

    here, there = pty.openpty()
    command = [sys.executable, "-m", "memscope", "--store", str(store), "mcp", "--user", "alice"]
    with subprocess.Popen(command, stdin=there, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        told = process.stderr.readline() + process.stderr.readline()
        process.kill()
    os.close(here)
    os.close(there)
    assert b"this is an MCP server" in told and b"docs/mcp.md" in told


def test_without_a_user_and_without_the_sdk_it_says_so(store, monkeypatch):
    monkeypatch.delenv("MEMSCOPE_USER", raising=False)
    done = CliRunner().invoke(cli, ["--store", str(store), "mcp"])
    assert done.exit_code == 2 and "MEMSCOPE_USER" in done.stderr
    monkeypatch.setattr(mcp_server, "SERVERS", (("no.such", "Server"),))
    done = CliRunner().invoke(cli, ["--store", str(store), "mcp", "--user", "alice"])
    assert done.exit_code == 3 and "./adapters/mcp" in done.stderr, done.output


# ---- in the settings of clients

CLIENT_FILES = {
    "claude-code": ".mcp.json", "cursor": ".cursor/mcp.json", "gemini-cli": ".gemini/settings.json",
    "vscode": ".vscode/mcp.json", "windsurf": ".codeium/windsurf/mcp_config.json", "codex": ".codex/config.toml",
}  # fmt: skip


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_mcp(*args):
    return CliRunner().invoke(cli, ["mcp", *args], env={"MEMSCOPE_USER": ""})


def servers_of(client, path):
    text = path.read_text(encoding="utf-8")
    settings = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    return settings[{"vscode": "servers", "codex": "mcp_servers"}.get(client, "mcpServers")]


@pytest.mark.parametrize("client", CLIENT_FILES)
def test_a_client_gets_the_server_once_and_loses_it_again(home, client):
    path = home / CLIENT_FILES[client]
    path.parent.mkdir(exist_ok=True, parents=True)
    before = '# mine\nmodel = "o9"\n\n[mcp_servers.other]\ncommand = "other"\n'
    if path.suffix != ".toml":
        name = "servers" if client == "vscode" else "mcpServers"
        before = json.dumps({"theme": "dark", name: {"other": {"command": "other"}}}, indent=2) + "\n"
    path.write_text(before, encoding="utf-8")
    done = run_mcp("install", client, "--user", "alice", "--store", "m.db", "--tools", "core")
    assert done.exit_code == 0 and f"+{'[' if path.suffix == '.toml' else ''}" in done.stdout
    assert "there is no store at 'm.db'; memscope add creates it" in done.stderr
    server = servers_of(client, path)["memscope"]
    words = server["args"][server["args"].index("mcp") :]
    assert words == ["mcp", "--user", "alice", "--tools", "core", "--store", str(home / "m.db")]
    assert os.path.isabs(server["command"]) and servers_of(client, path)["other"] == {"command": "other"}
    assert path.with_name(f"{path.name}.bak").read_text(encoding="utf-8") == before

    written = path.read_bytes()
    again = run_mcp("install", client, "--user", "alice", "--store", "m.db", "--tools", "core")
    assert again.exit_code == 0 and again.stdout == "" and path.read_bytes() == written
    run_mcp("install", client, "--user", "bert")
    words = servers_of(client, path)["memscope"]["args"]
    assert words[words.index("mcp") :] == ["mcp", "--user", "bert"]
    assert run_mcp("uninstall", client).exit_code == 0
    assert path.read_text(encoding="utf-8") == before
    assert run_mcp("uninstall", client).stdout == ""


def test_the_change_is_shown_before_it_is_written(home, monkeypatch):
    def write(change):
        raise ConfigError("the disk is full")

    monkeypatch.setattr(clients.Change, "write", write)
    done = run_mcp("install", "cursor", "--user", "alice")
    assert done.exit_code == 3 and '+    "memscope": {' in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="no pseudo terminals")
@pytest.mark.parametrize(("answer", "written"), [(b"n\n", False), (b"y\n", True)])
def test_a_person_is_shown_the_change_and_asked(home, answer, written):
    import pty

    child, terminal = pty.fork()
    if child == 0:  # pragma: no cover
        program = [sys.executable, "-m", "memscope_cli.app", "mcp", "install", "cursor", "--user", "alice"]
        os.execve(sys.executable, program, {"PATH": os.environ["PATH"], "HOME": str(home)})
    seen = b""
    while b"[y/N]" not in seen:
        seen += os.read(terminal, 1024)
    assert b'"memscope": {' in seen and not (home / ".cursor").exists()
    os.write(terminal, answer)
    os.waitpid(child, 0)
    os.close(terminal)
    assert (home / ".cursor/mcp.json").exists() is written


def test_the_folder_of_codex_may_be_another(home, monkeypatch):
    monkeypatch.setenv("CODEX_HOME", str(home / "elsewhere"))
    assert run_mcp("install", "codex", "--user", "alice").exit_code == 0
    assert "memscope" in servers_of("codex", home / "elsewhere/config.toml")


def test_a_dry_run_only_shows(home):
    done = run_mcp("install", "cursor", "--user", "alice", "--dry-run")
    assert done.exit_code == 0 and '+    "memscope": {' in done.stdout
    assert [path.name for path in home.rglob("*") if path.is_file()] == []


def test_a_dry_run_for_programs(home):
    done = run_mcp("install", "cursor", "--user", "alice", "--dry-run", "--json")
    path = str(home / ".cursor" / "mcp.json")
    assert json.loads(done.stdout) == {"file": path, "changed": True, "written": False}


def test_the_written_entry_starts_a_server(home, store):
    import subprocess

    run_mcp("install", "claude-code", "--user", "alice", "--store", str(store))
    server = servers_of("claude-code", home / ".mcp.json")["memscope"]
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}}  # fmt: skip
    environment = {"PATH": os.environ["PATH"], "XDG_CONFIG_HOME": str(home)}
    done = subprocess.run([server["command"], *server["args"]], input=json.dumps(hello) + "\n", text=True, timeout=120,
                          capture_output=True, env=environment, cwd="/", check=False)  # fmt: skip
    assert json.loads(done.stdout.splitlines()[0])["result"]["serverInfo"]["name"]


@pytest.mark.parametrize("text", ["{ // mine\n}", "[]", '{"mcpServers": []}'])
def test_a_file_that_cannot_be_changed_safely_stays(home, text):
    path = home / "mcp.json"
    path.write_text(text, encoding="utf-8")
    done = run_mcp("install", "cursor", "--user", "alice", "--file", str(path))
    assert done.exit_code == 3 and "mcp.json" in done.stderr
    assert path.read_text(encoding="utf-8") == text


def test_install_needs_a_user(home):
    done = run_mcp("install", "cursor")
    assert done.exit_code == 2 and "--user" in done.stderr and not (home / ".cursor").exists()


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("search_memory", {"query": "boat"}), ("list_memories", {}), ("add_memory", {"text": "tea"})],
)
async def test_an_unexpected_error_is_named_by_its_type(caplog, monkeypatch, tool, arguments):
    async def careless(*args, **kwargs):
        raise KeyError("the boat is green")

    caplog.set_level("DEBUG")
    async with AsyncMemoryScope(":memory:", settings={}) as memory:
        for name in ("retrieve", "list", "add_memory"):
            monkeypatch.setattr(memory, name, careless)
        served = await asyncio.to_thread(mcp_server.server, MemorySession(user="alice", memory=memory))
        with pytest.raises(Exception, match="KeyError") as caught:
            await served.call_tool(tool, arguments)
    assert "boat" not in str(caught.value) and type(caught.value).__name__ == "ToolError"
    assert "the boat" not in caplog.text
