"""For the adapters' tests: servers of agents forbid calls that block an event loop, so they are forbidden here too."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest
from blockbuster import blockbuster_ctx

from adapters.guide import Examples

PARTS = ("memscope", "memscope_autogen", "memscope_agentscope", "memscope_elasticsearch", "memscope_langchain")
MAY_BLOCK = (
    # without await there is no other way: a memory that is made reads its settings, MemoryScope waits
    ("memscope/memory.py", {"__init__"}),
    ("memscope/sync.py", {"run"}),
    # importing, and a framework's own code inside of ours
    ("<frozen importlib._bootstrap>", {"_find_and_load", "_handle_fromlist"}),
    ("agentscope/agent/_utils.py", {"_resolve_timezone"}),
)


@pytest.fixture(autouse=True)
def loops_stay_free() -> Iterator[None]:
    """As ``langgraph dev`` has it: ``BlockingError`` for a call of ours that blocks on an event loop."""
    installed = [part for part in PARTS if find_spec(part)]
    with blockbuster_ctx(installed, excluded_modules=["memscope.testing"]) as forbidden:
        for function in forbidden.functions.values():
            function.can_block_functions.extend(MAY_BLOCK)
        yield


@pytest.fixture
def examples(tmp_path, monkeypatch, capsys) -> Examples:
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    return Examples(tmp_path, monkeypatch, capsys)
