"""The adapter for LlamaIndex is tested where that is installed: `.ci/adapters.sh llama_index`."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

NEEDED = ("llama_index.core", "llama_index.llms.openai_like", "memscope_llama_index")


def _installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # of the parent
        return False


collect_ignore_glob = [] if all(map(_installed, NEEDED)) else ["test_*.py"]
if not collect_ignore_glob:  # before any loop runs, as importing reads files
    import llama_index.core.agent.workflow
    import llama_index.llms.openai_like  # noqa: F401

    from memscope_llama_index import MemoryScopeBlock  # noqa: F401


@pytest.fixture
async def core():
    from memscope import AsyncMemoryScope

    async with AsyncMemoryScope(":memory:", settings={}) as memory:
        yield memory


def pytest_collection_modifyitems(items):
    for item in items:
        if "adapters/llama_index" in item.path.as_posix():  # LlamaIndex's calls of what pydantic deprecates
            item.add_marker(pytest.mark.filterwarnings("ignore::DeprecationWarning"))
