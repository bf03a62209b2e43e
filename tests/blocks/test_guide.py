"""docs/blocks.md prints what it says."""

from __future__ import annotations

import re
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "blocks.md"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_the_guide_prints_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for kind, text in BLOCK.findall(GUIDE.read_text(encoding="utf-8")):
        if kind == "python":
            exec(compile(text, GUIDE.name, "exec"), names)
        else:
            assert capsys.readouterr().out == text
