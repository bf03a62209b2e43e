"""The guide and the examples run as they are written, each part where the AgentScope that it is for is installed."""

from __future__ import annotations

import ast
import gc
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from memscope_agentscope.installed import generation

from servers.faults import FaultServer

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "agentscope.md").read_text(encoding="utf-8")
EXAMPLES = ROOT / "examples" / "agentscope"
BLOCK = re.compile(r"^```(python|text)( v1)?\n(.*?)^```", re.DOTALL | re.MULTILINE)
BLOCKS = [(kind, text) for kind, v1, text in BLOCK.findall(GUIDE) if bool(v1) == (generation() == 1)]
SILENT = "ignore:unclosed:ResourceWarning"  # AgentScope never closes its client for the model


async def run(code: str, names: dict) -> None:
    result = eval(compile(code, "docs/agentscope.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
    if inspect.iscoroutine(result):
        await result


@pytest.fixture
def server(tmp_path, monkeypatch):
    with FaultServer(script=[{"match": "", "reply": "Noted."}]) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("MEMSCOPE_STORE", str(tmp_path / "memory.db"))
        yield server
    gc.collect()  # or what is unclosed is found while another test runs


async def check(blocks, names, capsys):
    for kind, text in blocks:
        if kind == "python":
            await run(text, names)
        elif not text.startswith("<memory"):
            assert capsys.readouterr().out == text


@pytest.mark.skipif(generation() == 1, reason="for 2.x")
@pytest.mark.filterwarnings(SILENT)
async def test_the_guide(server, capsys):
    """All of its code in order, the title's last; what it prints is what the guide says."""
    title, *blocks = BLOCKS
    names: dict = {}
    await check(blocks, names, capsys)
    await run(title[1], names)
    reply = await names["agent"].reply(names["UserMsg"]("user", "Hello"))
    assert reply.get_text_content() == "Noted."
    await names["memory"].close()


@pytest.mark.skipif(generation() == 2, reason="for 1.x")
@pytest.mark.filterwarnings(SILENT)
async def test_the_guide_for_1x(server, capsys):
    from agentscope.model import OpenAIChatModel

    names = {"model": OpenAIChatModel("any", "none", stream=False, client_kwargs={"base_url": server.base_url})}
    code, printed = BLOCKS
    await run(code[1], names)
    assert capsys.readouterr().out.endswith(printed[1])  # the agent prints its replies


@pytest.mark.parametrize("name", ["mem0", "reme"])
def test_the_guide_names_every_scenario(name):
    ours = Path(__file__).with_name(f"test_v2_{name}_scenarios.py").read_text(encoding="utf-8")
    tables = GUIDE[GUIDE.index("## AgentScope's own tests") :].split("\n\n")
    (table,) = [table for table in tables if table.startswith(f"| `tests/{name}_middleware_test.py`")]
    rows = re.findall(r"^\| `(test_\w+)` \| `(test_\w+)` \|$", table, re.MULTILINE)
    written = re.findall(r'^(?:async )?def (test_\w+)\(.*?\):\n    """(test_\w+)', ours, re.MULTILINE)
    assert [(stands_for, test) for test, stands_for in written] == rows


def example(name: str, *arguments: str, store: Path) -> str:
    command = [sys.executable, EXAMPLES / name, *arguments, "--store", store]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()[-1]


@pytest.fixture
def no_key(monkeypatch):
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize("mode", ["static_control", "agent_control", "both"])
def test_an_assistant_remembers_from_run_to_run(mode, tmp_path, no_key):
    name = "assistant_v1.py" if generation() == 1 else "assistant.py"
    fact, question = "My boat is called Aurora.", "What is my boat called?"
    options = ("--mode", mode)
    assert example(name, question, *options, store=tmp_path / "other.db") == "assistant: You have not told me."
    example(name, fact, *options, store=tmp_path / "memory.db")
    assert example(name, question, *options, store=tmp_path / "memory.db") == "assistant: It is called Aurora."


@pytest.mark.skipif(generation() == 1, reason="for 2.x")
def test_a_chat_in_chinese_remembers_from_run_to_run(tmp_path, no_key):
    question = "我的船叫什么名字？"
    assert example("chat_zh.py", question, store=tmp_path / "other.db") == "助手：您还没有告诉我。"
    example("chat_zh.py", "我的船叫极光号。", store=tmp_path / "memory.db")
    assert example("chat_zh.py", question, store=tmp_path / "memory.db") == "助手：您的船叫极光号。"


@pytest.mark.skipif(generation() == 1, reason="for 2.x")
def test_an_example_talks_to_an_endpoint_that_two_variables_name(tmp_path, monkeypatch):
    with FaultServer(script=[{"match": "", "reply": "I am real."}], require_key="sk-test") as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        assert example("assistant.py", "Hi", store=tmp_path / "m.db") == "assistant: I am real."
        assert server.stats()["requests"] == 1
