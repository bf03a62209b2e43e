"""The adapter for LangChain is tested where LangChain is installed: `.ci/adapters.sh langchain`."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

NEEDED = ("langchain", "langchain_classic", "langchain_openai", "langgraph", "memscope_langchain")

collect_ignore_glob = [] if all(map(find_spec, NEEDED)) else ["test_*.py"]


@pytest.fixture
async def core():
    from memscope import AsyncMemoryScope

    async with AsyncMemoryScope(":memory:", settings={}) as memory:
        yield memory


@pytest.fixture
def memory():
    """A way in for code that does not await."""
    from memscope import MemoryScope

    with MemoryScope(":memory:", settings={}) as opened:
        yield opened


@pytest.fixture(params=["in memory", "sqlite"])
def store(request, tmp_path):
    """LangGraph's store over each of ours."""
    from memscope import MemoryScope
    from memscope_langchain import MemoryScopeStore

    place = ":memory:" if request.param == "in memory" else tmp_path / "memory.db"
    with MemoryScope(place, settings={}) as memory:
        yield MemoryScopeStore(user="alice", memory=memory)
