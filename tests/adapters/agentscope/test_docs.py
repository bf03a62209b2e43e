"""The guide and the examples run as they are written, each part where the AgentScope that it is for is installed."""

from __future__ import annotations

import gc
import re
from pathlib import Path

import pytest

from adapters.guide import BLOCK, ROOT, ExamplesSuite, execute, follow, readme_blocks
from memscope_agentscope.installed import generation

from servers.faults import FaultServer

pytestmark = pytest.mark.slow

GUIDE = (ROOT / "docs" / "agentscope.md").read_text(encoding="utf-8")
TABLES = (ROOT / "docs" / "maintaining" / "agentscope-tests.md").read_text(encoding="utf-8")
BLOCKS = [(kind, text) for kind, v1, text in BLOCK.findall(GUIDE) if bool(v1) == (generation() == 1)]
SILENT = "ignore:unclosed:ResourceWarning"  # AgentScope never closes its client for the model
ASSISTANT = "assistant_v1.py" if generation() == 1 else "assistant.py"


@pytest.fixture
def server(tmp_path, monkeypatch):
    with FaultServer(script=[{"match": "", "reply": "Noted."}]) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("MEMSCOPE_STORE", str(tmp_path / "memory.db"))
        yield server
    gc.collect()  # or what is unclosed is found while another test runs


@pytest.mark.skipif(generation() == 1, reason="for 2.x")
@pytest.mark.filterwarnings(SILENT)
async def test_the_guide(server, capsys):
    """The page's whole code in order, the title's last; what it prints is what the guide says."""
    title, *blocks = BLOCKS
    names: dict = {}
    await follow(blocks, names, capsys)
    await execute(title[1], names)
    reply = await names["agent"].reply(names["UserMsg"]("user", "Hello"))
    assert reply.get_text_content() == "Noted."
    await names["memory"].close()


@pytest.mark.skipif(generation() == 1, reason="for 2.x")
@pytest.mark.filterwarnings(SILENT)
@pytest.mark.parametrize("code", readme_blocks("agentscope"), ids=["en", "zh"])
async def test_the_readme(code, server):
    """The README's first screen runs as it stands, and is remembered by the next agent."""
    from agentscope.credential import OpenAICredential
    from agentscope.model import OpenAIChatModel

    names: dict = {"model": OpenAIChatModel(OpenAICredential(api_key="none", base_url=server.base_url), "test-chat")}
    await execute(code, names)
    found = await names["memory"].memory_session().search("What is my boat called? 我的船叫什么？")
    assert len(found) >= 1
    await names["memory"].close()


@pytest.mark.skipif(generation() == 2, reason="for 1.x")
@pytest.mark.filterwarnings(SILENT)
async def test_the_guide_for_1x(server, capsys):
    from agentscope.model import OpenAIChatModel

    names = {"model": OpenAIChatModel("any", "none", stream=False, client_kwargs={"base_url": server.base_url})}
    code, printed = BLOCKS
    await execute(code[1], names)
    assert capsys.readouterr().out.endswith(printed[1])  # the agent prints its replies


@pytest.mark.parametrize("name", ["mem0", "reme"])
def test_the_guide_names_every_scenario(name):
    ours = Path(__file__).with_name(f"test_v2_{name}_scenarios.py").read_text(encoding="utf-8")
    (table,) = [table for table in TABLES.split("\n\n") if table.startswith(f"| `tests/{name}_middleware_test.py`")]
    rows = re.findall(r"^\| `(test_\w+)` \| `(test_\w+)` \|$", table, re.MULTILINE)
    written = re.findall(r'^(?:async )?def (test_\w+)\(.*?\):\n    """(test_\w+)', ours, re.MULTILINE)
    assert [(stands_for, test) for test, stands_for in written] == rows


class TestRemembering:
    @pytest.mark.parametrize("mode", ["static_control", "agent_control", "both"])
    def test_an_assistant_remembers_from_run_to_run(self, mode, examples):
        path, question = f"agentscope/{ASSISTANT}", "What is my boat called?"
        assert examples.other().run(path, "--mode", mode, question)[-1] == "assistant: You have not told me."
        tell = examples.run_alone if mode == "agent_control" else examples.run
        tell(path, "--mode", mode, "My boat is called Aurora.")
        assert examples.run(path, "--mode", mode, question)[-1] == "assistant: It is called Aurora."


class TestExamples(ExamplesSuite):
    folder, remembering = "agentscope", ASSISTANT
    core_memory = "core_memory_v1.py" if generation() == 1 else "core_memory.py"

    @pytest.mark.skipif(generation() == 1, reason="for 2.x")
    def test_a_chat_in_chinese_remembers_from_run_to_run(self, examples):
        path, question = "agentscope/chat_zh.py", "我的船叫什么名字？"
        assert examples.other().run(path, question)[-1] == "助手：您还没有告诉我。"
        examples.run(path, "我的船叫极光号。")
        assert examples.run(path, question)[-1] == "助手：您的船叫极光号。"
