"""The guide and the examples run as they are written."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from . import test_store_scenarios, test_store_search_scenarios
from servers.faults import FaultServer

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "langchain.md").read_text(encoding="utf-8")
EXAMPLES = ROOT / "examples" / "langchain"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_the_guide(tmp_path, monkeypatch, capsys):
    """All of its code in order, the title's lines last; what it prints is what the guide says."""
    with FaultServer(script=[{"match": "", "reply": "Noted."}]) as server, warnings.catch_warnings():
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("MEMSCOPE_STORE", str(tmp_path / "memory.db"))
        title, *blocks = BLOCK.findall(GUIDE)
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


def test_the_guide_names_every_scenario():
    tables = GUIDE[GUIDE.index("## LangGraph's own tests") :]
    modules = (test_store_scenarios, test_store_search_scenarios)
    found = [name for module in modules for name, _ in inspect.getmembers(module, inspect.isfunction)]
    ours = {name for name in found if name.startswith("test_")}
    named = set(re.findall(r"`(test_\w+)` \|$", tables, re.MULTILINE))
    assert named == ours


def example(name: str, *said: str, store: Path) -> list[str]:
    command = [sys.executable, EXAMPLES / name, *said, "--store", store]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.parametrize("name", ["agent.py", "chain.py"])
def test_an_example_remembers_from_run_to_run(name, tmp_path, monkeypatch):
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    question = "What is my boat called?"
    assert example(name, question, store=tmp_path / "other.db")[-1] == "assistant: You have not told me."
    example(name, "My boat is called Aurora.", store=tmp_path / "memory.db")
    assert example(name, question, store=tmp_path / "memory.db")[-1] == "assistant: It is called Aurora."
    assert example(name, "--user", "bert", question, store=tmp_path / "memory.db")[-1].endswith("not told me.")


def test_the_graph_tells_its_users_apart(tmp_path, monkeypatch):
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    said = example("graph.py", store=tmp_path / "memory.db")
    assert said[5::2] == ["assistant: A vegetarian curry.", "assistant: A steak."]


def test_an_example_talks_to_an_endpoint_that_two_variables_name(tmp_path, monkeypatch):
    with FaultServer(script=[{"match": "", "reply": "I am real."}], require_key="sk-test") as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        assert example("agent.py", "Hi", store=tmp_path / "m.db")[-1] == "assistant: I am real."
        assert server.stats()["requests"] == 1
