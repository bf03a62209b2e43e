"""The guide and the examples run as they are written."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from . import test_scenarios
from servers.faults import FaultServer

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "autogen.md").read_text(encoding="utf-8")
EXAMPLES = ROOT / "examples" / "autogen"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```", re.DOTALL | re.MULTILINE)


async def run(code: str, names: dict) -> None:
    result = eval(compile(code, "docs/autogen.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
    if inspect.iscoroutine(result):
        await result


@pytest.mark.filterwarnings("ignore:Resolved model mismatch")  # the pretend server gives the model's short name
async def test_the_guide(tmp_path, monkeypatch, capsys):
    """All of its code in order, the title's line last; what it prints is what the guide says."""
    with FaultServer(script=[{"match": "", "reply": "Noted."}]) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("MEMSCOPE_STORE", str(tmp_path / "memory.db"))
        title, *blocks = BLOCK.findall(GUIDE)
        names: dict = {}
        for kind, text in blocks:
            if kind == "python":
                await run(text, names)
            elif not text.startswith("<memory"):
                assert capsys.readouterr().out == text
        await run(title[1], names)
        result = await names["agent"].run(task="Hello")
        assert result.messages[-1].content == "Noted."
        await names["agent"]._memory[0].close()
        await names["memory"].close()
        await names["model_client"].close()


def test_the_guide_names_every_scenario():
    tables = GUIDE[GUIDE.index("## AutoGen's own tests") :]
    ours = {name for name, _ in inspect.getmembers(test_scenarios, inspect.isfunction) if name.startswith("test_")}
    named = set(re.findall(r"`(test_\w+)` \|$", tables, re.MULTILINE))
    assert named == ours


def example(name: str, *said: str, store: Path) -> str:
    command = [sys.executable, EXAMPLES / name, *said, "--store", store]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()[-1 if name.startswith("remember") else 1]


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
def test_an_example_remembers_from_run_to_run(name, first, question, fresh, remembered, tmp_path, monkeypatch):
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    assert example(name, question, store=tmp_path / "other.db") == fresh
    example(name, first, store=tmp_path / "memory.db")
    assert example(name, question, store=tmp_path / "memory.db") == remembered


def test_what_one_agent_writes_into_core_memory_another_has_in_the_next_run(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    store, question = tmp_path / "memory.db", "What do you know about me?"
    assert example("core_memory.py", question, "--agent", "cook", store=store) == "cook: Nothing yet."
    wrote = example("core_memory.py", "I am Alice, and I sail.", "--agent", "host", store=store)
    assert wrote == "host: Block 'human' is at version 1, 12 of 2000 characters."
    assert example("core_memory.py", question, "--agent", "cook", store=store) == "cook: You are Alice. You sail."


def test_an_example_talks_to_an_endpoint_that_two_variables_name(tmp_path, monkeypatch):
    with FaultServer(script=[{"match": "", "reply": "I am real."}], require_key="sk-test") as server:
        monkeypatch.setenv("PYTHONWARNINGS", "ignore:Resolved model mismatch")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        assert example("remembering_assistant.py", "Hi", store=tmp_path / "m.db") == "assistant: I am real."
        assert server.stats()["requests"] == 1
