"""The guide and the examples run as they are written."""

from __future__ import annotations

import inspect
import re

import pytest

from adapters.guide import BLOCK, ROOT, ExamplesSuite, execute, follow, readme_blocks

from . import test_scenarios
from .talking import INFO
from servers.faults import FaultServer

pytestmark = pytest.mark.slow

GUIDE = (ROOT / "docs" / "autogen.md").read_text(encoding="utf-8")
TABLES = (ROOT / "docs" / "maintaining" / "autogen-tests.md").read_text(encoding="utf-8")


@pytest.mark.filterwarnings("ignore:Resolved model mismatch")  # the pretend server gives the model's short name
async def test_the_guide(tmp_path, monkeypatch, capsys):
    """The page's whole code in order, the title's line last; what it prints is what the guide says."""
    with FaultServer(script=[{"match": "", "reply": "Noted."}]) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("MEMSCOPE_STORE", str(tmp_path / "memory.db"))
        title, *blocks = [(kind, text) for kind, _, text in BLOCK.findall(GUIDE)]
        names: dict = {}
        await follow(blocks, names, capsys)
        await execute(title[1], names)
        result = await names["agent"].run(task="Hello")
        assert result.messages[-1].content == "Noted."
        await names["agent"]._memory[0].close()
        await names["memory"].close()
        await names["model_client"].close()


def client(url):
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    return OpenAIChatCompletionClient(model="test-chat", api_key="none", base_url=url, model_info=INFO)


@pytest.mark.filterwarnings("ignore:Resolved model mismatch")
@pytest.mark.parametrize("code", readme_blocks("autogen"), ids=["en", "zh"])
async def test_the_readme(code, tmp_path, monkeypatch):
    """The README's first screen runs as it stands, and is remembered by the next agent."""
    monkeypatch.setenv("MEMSCOPE_STORE", str(tmp_path / "memory.db"))
    with FaultServer(script=[{"match": "", "reply": "Noted."}]) as server:
        names: dict = {"model_client": client(server.base_url)}
        await execute(code, names)
        memory = names["agent"]._memory[0]
        found = await memory.query("What is my boat called? 我的船叫什么？")
        assert found.results[0].content in code
        await memory.close()
        await names["model_client"].close()


def test_the_guide_names_every_scenario():
    ours = {name for name, _ in inspect.getmembers(test_scenarios, inspect.isfunction) if name.startswith("test_")}
    named = set(re.findall(r"`(test_\w+)` \|$", TABLES, re.MULTILINE))
    assert named == ours


class TestExamples(ExamplesSuite):
    folder, remembering = "autogen", "remembering_assistant.py"
    pytestmark = pytest.mark.filterwarnings("ignore:Resolved model mismatch")

    @pytest.mark.parametrize(
        ("name", "first", "question", "fresh", "remembered"),
        [
            (
                "remembering_assistant.py", "My boat is called Aurora.", "What is my boat called?",
                "assistant: You have not told me.", "assistant: It is called Aurora.",
            ),
            (
                "team.py", "Plan my Sunday. I never eat meat.", "Plan my birthday dinner.",
                "planner: A steak house, at eight.", "planner: A vegetarian menu at the old mill.",
            ),
        ],
    )  # fmt: skip
    def test_an_example_remembers_from_run_to_run(self, name, first, question, fresh, remembered, examples):
        assert examples.other().run(f"autogen/{name}", question)[1] == fresh
        examples.run_alone(f"autogen/{name}", first)
        assert examples.run(f"autogen/{name}", question)[1] == remembered
