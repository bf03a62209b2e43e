"""The code in docs/adapters.md is tested; that of the Chinese page is the same (tests/test_docs.py)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")
PLACES = (
    "tests/testing/toy.py",
    "tests/testing/test_adapter_suite.py",
    "adapters/llama_index/src/memscope_llama_index/memory_block.py",
    "adapters/autogen/src/memscope_autogen/plugin.py",
    "adapters/autogen/pyproject.toml",
)
SOURCE = "\n".join((ROOT / place).read_text(encoding="utf-8") for place in PLACES)


@pytest.mark.parametrize("block", re.findall(r"^```(?:python|toml)\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE))
def test_each_block_stands_in_the_code(block):
    assert block in SOURCE


def test_each_name_of_the_session_exists():
    from memscope.adapters import kit

    rows = re.findall(r"^\| (.*?) \|", GUIDE, re.MULTILINE)
    names = [name for row in rows for name in re.findall(r"`(?:await )?(?:session\.)?(\w+)", row)]
    assert len(names) > 10
    for name in names:
        assert hasattr(kit, name) or hasattr(kit.MemorySession, name), name
