"""Fixtures of the adapters' tests: servers of agents forbid calls that block an event loop, and so do these."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from blockbuster import blockbuster_ctx

from adapters.guide import Examples

if find_spec("anyio"):  # clients import it on their loop, where they may have to wait for another thread's import
    import_module("anyio._backends._asyncio")

ROOT = Path(__file__).parents[2]
PARTS = ("memscope", *(part.name for part in ROOT.glob("*/*/src/memscope_*")))
MAY_BLOCK = (
    # without await there is no other way: a memory that is made reads its settings, MemoryScope waits
    ("memscope/memory.py", {"__init__"}),
    ("memscope/sync/loop.py", {"run"}),
    # an import reads files: which AgentScope is there
    ("memscope_agentscope/installed.py", {"_version"}),
    # a framework's own code inside of ours
    ("agentscope/agent/_utils.py", {"_resolve_timezone"}),
    ("openai/__init__.py", {"<module>"}),
    ("httpcore2/__init__.py", {"<module>"}),
    ("llama_index/core/utils.py", {"get_tokenizer"}),
)


@pytest.fixture(autouse=True)
def loops_stay_free() -> Iterator[None]:
    """The rule of ``langgraph dev``: ``BlockingError`` for a call of ours that blocks on an event loop."""
    installed = [part for part in PARTS if find_spec(part)]
    with blockbuster_ctx(installed, excluded_modules=["memscope_testing"]) as forbidden:
        for function in forbidden.functions.values():
            function.can_block_functions.extend(MAY_BLOCK)
        yield


@pytest.fixture
def examples(tmp_path, monkeypatch, capsys) -> Examples:
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    return Examples(tmp_path, monkeypatch, capsys)
