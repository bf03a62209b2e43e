"""The MCP server, spoken to by the SDK's own client over stdio."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from contextlib import asynccontextmanager

import pytest
from click.testing import CliRunner

from adapters.background import ModelScript, facts, wait_until
from memscope import MemoryScope
from memscope.adapters import mcp as memscope_mcp
from memscope.cli import cli

mcp = pytest.importorskip("mcp", reason="the extra mcp is not installed")
TOOLS = {"add_memory", "search_memory", "list_memories", "forget_memory", "reflect"}
pytestmark = pytest.mark.filterwarnings("default")  # the SDK's own


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

    args = ["-m", "memscope.cli", "--store", str(store), "mcp", "--user", user, *more]
    environment = {"PATH": os.environ["PATH"], "XDG_CONFIG_HOME": str(store.parent), **variables}
    server = mcp.StdioServerParameters(command=sys.executable, args=args, env=environment, cwd=str(store.parent))
    with (store.parent / "errors.txt").open("w") as errors:
        async with stdio_client(server, errlog=errors) as (read, write), mcp.ClientSession(read, write) as session:
            await session.initialize()

            async def ask(tool, **arguments):
                result = await session.call_tool(tool, arguments)
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


def test_without_a_user_and_without_the_sdk_it_says_so(store, monkeypatch):
    monkeypatch.delenv("MEMSCOPE_USER", raising=False)
    done = CliRunner().invoke(cli, ["--store", str(store), "mcp"])
    assert done.exit_code == 2 and "MEMSCOPE_USER" in done.stderr
    monkeypatch.setattr(memscope_mcp, "SERVERS", (("no.such", "Server"),))
    done = CliRunner().invoke(cli, ["--store", str(store), "mcp", "--user", "alice"])
    assert done.exit_code == 3 and "./core[mcp]" in done.stderr, done.output
