"""Runs a framework's guide and its examples, for the adapters' ``test_docs.py``."""

from __future__ import annotations

import ast
import gc
import inspect
import re
import runpy
import subprocess
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from memscope.prompts.memory_block import block

from servers.faults import FaultServer

ROOT = Path(__file__).parents[2]
MAX_README_LINES = 8
README_BLOCK = re.compile(r"^```py\n(.*?)^```", re.DOTALL | re.MULTILINE)
BLOCK = re.compile(r"^```(python|text)( v1)?\n(.*?)^```", re.DOTALL | re.MULTILINE)


def readme_blocks(framework: str) -> list[str]:
    """The code for a framework of both READMEs, which is one but for what is said."""
    pages = [(ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "README.zh.md")]
    blocks = [
        code for page in pages for code in README_BLOCK.findall(page) if f"memscope.adapters.{framework} " in code
    ]
    assert len(blocks) == len(pages) and all(len(code.splitlines()) <= MAX_README_LINES for code in blocks)
    return blocks


async def execute(code: str, names: dict[str, Any]) -> None:
    """Run a block of a guide, which may await."""
    result = eval(compile(code, "guide", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
    if inspect.iscoroutine(result):
        await result


async def follow(blocks: Iterable[tuple[str, str]], names: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """Run the code in order; what it prints is what the guide says."""
    for kind, text in blocks:
        if kind == "python":
            await execute(text, names)
        elif text.startswith("<memory"):
            assert text == block(text.splitlines()[2]) + "\n"
        else:
            assert capsys.readouterr().out == text


class Examples:
    """Examples of one framework over a store of their own; ``other()`` is the same over another store."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.monkeypatch, self.capsys = folder, monkeypatch, capsys
        self.store = "memory.db"

    def other(self) -> Examples:
        made = Examples(self.folder, self.monkeypatch, self.capsys)
        made.store = "other.db"
        return made

    def run(self, path: str, *arguments: str) -> list[str]:
        """Run an example in this process, where its framework is imported already; returns the lines that it prints."""
        file, more = self._command(path, arguments)
        self.monkeypatch.setattr(sys, "argv", [str(file), *more])
        self.monkeypatch.syspath_prepend(file.parent)
        self.monkeypatch.delitem(sys.modules, "model", raising=False)  # each framework's examples have one
        self.capsys.readouterr()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # frameworks never close their client for the model
            runpy.run_path(str(file), run_name="__main__")
            gc.collect()
        return self.capsys.readouterr().out.splitlines()

    def run_alone(self, path: str, *arguments: str) -> list[str]:
        """Run an example in a process of its own, which must warn of nothing."""
        file, more = self._command(path, arguments)
        done = subprocess.run(
            [sys.executable, file, *more], capture_output=True, text=True, encoding="utf-8", timeout=180, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.splitlines()

    def _command(self, path: str, arguments: Iterable[str]) -> tuple[Path, list[str]]:
        return ROOT / "examples" / path, [*arguments, "--store", str(self.folder / self.store)]


class ExamplesSuite:
    """``folder`` is the framework's folder in examples/, ``remembering`` the example of an agent that remembers."""

    folder: str
    remembering: str
    core_memory = "core_memory.py"

    def test_two_agents_share_core_memory_and_keep_it_over_two_runs(self, examples: Examples) -> None:
        path, question = f"{self.folder}/{self.core_memory}", "What do you know about me?"
        assert examples.other().run(path, f"host: {question}")[-1] == "host: Nothing yet."
        said = examples.run(path, "host: I am Alice, and I sail.", f"cook: {question}")
        assert said[-1] == "cook: You are Alice. You sail."
        assert examples.run(path, f"host: {question}")[-1] == "host: You are Alice. You sail."

    def test_an_example_talks_to_an_endpoint_that_two_variables_name(
        self, examples: Examples, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with FaultServer(script=[{"match": "", "reply": "I am real."}], require_key="sk-test") as server:
            monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
            monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
            assert examples.run(f"{self.folder}/{self.remembering}", "Hi")[-1] == "assistant: I am real."
            assert server.stats()["requests"] == 1
