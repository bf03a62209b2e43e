"""The guide and the examples run as they are written."""

from __future__ import annotations

import inspect
import re
import warnings

import pytest
from langchain_openai import ChatOpenAI

from adapters.guide import BLOCK, ROOT, ExamplesSuite, readme_blocks

from . import test_store_scenarios, test_store_search_scenarios
from servers.faults import FaultServer

pytestmark = pytest.mark.slow

GUIDE = (ROOT / "docs" / "langchain.md").read_text(encoding="utf-8")
TABLES = (ROOT / "docs" / "maintaining" / "langchain-tests.md").read_text(encoding="utf-8")


def test_the_guide(tmp_path, monkeypatch, capsys):
    """The page's whole code in order, the title's lines last; what it prints is what the guide says."""
    with FaultServer(script=[{"match": "", "reply": "Noted."}]) as server, warnings.catch_warnings():
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("MEMSCOPE_STORE", str(tmp_path / "memory.db"))
        title, *blocks = [(kind, text) for kind, _, text in BLOCK.findall(GUIDE)]
        names: dict = {}
        for kind, text in blocks:
            if kind == "python":
                exec(compile(text, "docs/langchain.md", "exec"), names)
            elif not text.startswith("<memory"):
                assert capsys.readouterr().out == text
        exec(compile(title[1], "docs/langchain.md", "exec"), names)
        config = {"configurable": {"user_id": "alice"}}
        result = names["agent"].invoke({"messages": [{"role": "user", "content": "Hello"}]}, config)
        assert result["messages"][-1].content == "Noted."


@pytest.mark.parametrize("code", readme_blocks("langchain"), ids=["en", "zh"])
def test_the_readme(code, tmp_path, monkeypatch):
    """The README's first screen runs as it stands, and is shown to the model by the next run."""
    monkeypatch.setenv("MEMSCOPE_STORE", str(tmp_path / "memory.db"))
    script = [{"match": name, "reply": "Aurora."} for name in ("Aurora", "极光号")]
    with FaultServer(script=[*script, {"match": "", "reply": "Noted."}]) as server, warnings.catch_warnings():
        model = ChatOpenAI(model="test-chat", base_url=server.base_url, api_key="none")
        names: dict = {"model": model}
        exec(compile(code, "README.md", "exec"), names)
        asked = {"messages": [{"role": "user", "content": "What is my boat called? 我的船叫什么？"}]}
        result = names["agent"].invoke(asked, {"configurable": {"user_id": "alice"}})
        assert result["messages"][-1].content == "Aurora."  # the prompt had the name, which only memory knew


def test_the_guide_names_every_scenario():
    modules = (test_store_scenarios, test_store_search_scenarios)
    found = [name for module in modules for name, _ in inspect.getmembers(module, inspect.isfunction)]
    ours = {name for name in found if name.startswith("test_")}
    named = set(re.findall(r"`(test_\w+)` \|$", TABLES, re.MULTILINE))
    assert named == ours


class TestExamples(ExamplesSuite):
    folder, remembering = "langchain", "agent.py"

    @pytest.mark.parametrize("name", ["agent.py", "chain.py"])
    def test_an_example_remembers_from_run_to_run(self, name, examples):
        path, question = f"langchain/{name}", "What is my boat called?"
        assert examples.other().run(path, question)[-1] == "assistant: You have not told me."
        examples.run_alone(path, "My boat is called Aurora.")
        assert examples.run(path, question)[-1] == "assistant: It is called Aurora."
        assert examples.run(path, "--user", "bert", question)[-1].endswith("not told me.")

    def test_the_graph_tells_its_users_apart(self, examples):
        assert examples.run("langchain/graph.py")[5::2] == ["assistant: A vegetarian curry.", "assistant: A steak."]
