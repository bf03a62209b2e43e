"""The examples run: the notebook's cells one after another, and the chat in ten lines."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[1] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("notebook/*.ipynb"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_notebook_runs(notebook, capsys):
    """Run like Jupyter: in a thread whose event loop runs already."""
    namespace: dict = {"__name__": "__main__"}

    async def run():
        for number, cell in enumerate(json.loads(notebook.read_text("utf-8"))["cells"]):
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), f"{notebook.name}[{number}]", "exec"), namespace)

    asyncio.run(run())
    assert "Hamburg" in capsys.readouterr().out


def test_there_is_a_notebook():
    assert NOTEBOOKS


def test_a_chat_in_ten_lines(fault_server, tmp_path, monkeypatch):
    lines = [line for line in (EXAMPLES / "chat.py").read_text().splitlines() if line.strip()]
    assert len(lines) <= 10
    monkeypatch.setenv("MEMSCOPE_STORE", str(tmp_path / "memory.db"))
    monkeypatch.setenv("MEMSCOPE_CHAT__BASE_URL", fault_server.base_url)
    monkeypatch.setenv("MEMSCOPE_CHAT__MODEL", "test-chat")
    done = subprocess.run(
        [sys.executable, EXAMPLES / "chat.py"],
        input="I like tea.\n\n",
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert done.stdout == "you> echo: I like tea.\nyou> " and done.stderr == ""


def test_a_month_is_as_its_guide_shows_it(tmp_path):
    picture = tmp_path / "graph.svg"
    done = subprocess.run(
        [sys.executable, EXAMPLES / "month.py", picture], capture_output=True, encoding="utf-8", check=True,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    docs = EXAMPLES.parent / "docs"
    assert done.stdout in (docs / "entities.md").read_text("utf-8")
    assert picture.read_text("utf-8") == (docs / "entities-month.svg").read_text("utf-8")
